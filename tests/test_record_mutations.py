"""Records of random games, whole and with something changed, against a second opinion."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from helpers import ALL_RULES, SOME_RULES, random_rules, scaled
from record_oracle import MUTATIONS, accepted, is_true, played

from block_env import Rules, notation
from block_env.notation import NotationError, Record, RoundRecord


def some_rules(count: int) -> Iterator[Rules]:
    """All rule sets that have a name here, and random ones."""
    rng = np.random.default_rng(31)
    every = ALL_RULES if count > 20 else SOME_RULES
    yield from every
    for _ in range(count - len(every)):
        yield random_rules(rng)


def test_write_read_write_gives_the_same_bytes(tmp_path: Path, rng: np.random.Generator) -> None:
    for rules in some_rules(scaled(100, 6)):
        steps = int(rng.integers(1, 60)) if rng.random() < 0.4 else 400
        for text in played(rules, tmp_path, rng, 5, steps):
            (record,) = notation.read(text)
            assert notation.write(record) == text, text
            assert record.rules == rules
            assert is_true(text), text


def test_a_thousand_mutations_are_refused_or_true(tmp_path: Path, rng: np.random.Generator) -> None:
    """Read is what the second opinion takes, and nothing else.

    What it takes of a *finished* game differs from it only in what nothing in a record tells: names, the seed, whether
    it was set up, a rule that this game never came to, or at which end a tile lies that both ends take.
    """
    taken = 0
    sources = [text for rules in some_rules(scaled(60, 8)) for text in played(rules, tmp_path, rng, 1, 120)]
    for _ in range(scaled(1400, 100)):
        text = sources[rng.integers(len(sources))]
        changed = MUTATIONS[rng.integers(len(MUTATIONS))](text, rng)
        assert accepted(changed) == is_true(changed), changed
        if changed == text or not accepted(changed):
            continue
        taken += 1
        (old,), (new,) = notation.read(text), notation.read(changed)
        if old.result != "unfinished":
            assert same_game(old, new), changed
    assert taken > scaled(20, 1)


def same_game(old: Record, new: Record) -> bool:
    """Whether two records tell the same game but for what no record proves."""
    free = ("names", "seed", "set_up", "rules", "rounds")
    rest = [{k: v for k, v in vars(one).items() if k not in free} for one in (old, new)]
    rounds = [[ends_left_out(one) for one in record.rounds] for record in (old, new)]
    return rest[0] == rest[1] and rounds[0] == rounds[1]


def ends_left_out(one: RoundRecord) -> dict[str, Any]:
    turns = [(turn.seat, turn.move.tile, turn.drawn, turn.passed) for turn in one.turns]
    return {**vars(one), "turns": turns}


def test_random_bytes_are_refused_by_a_notation_error(tmp_path: Path, rng: np.random.Generator) -> None:
    sources = [text.encode() for rules in SOME_RULES for text in played(rules, tmp_path, rng, 2, 60)]
    pieces = [
        b"9" * 50,
        b"P9",
        b"[7|9]",
        b"[-1|0]",
        b"draw 99",
        b"  ",
        b"\n\n",
        b"[9|9]R",
        b"view: P1",
        b"\xc3\xa9",
        b"\x00",
    ]
    for _ in range(scaled(1500, 60)):
        data = bytearray(sources[rng.integers(len(sources))])
        for _ in range(rng.integers(1, 4)):
            place = int(rng.integers(len(data)))
            piece = pieces[rng.integers(len(pieces))] if rng.random() < 0.5 else rng.bytes(1)
            data[place : place + int(rng.integers(0, 4))] = piece
        file = tmp_path / "fuzzed"
        file.write_bytes(bytes(data))
        with contextlib.suppress(NotationError):
            notation.read_file(file)
