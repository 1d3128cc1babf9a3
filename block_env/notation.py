"""A game as text: write, read and check it. One game is a block of lines, made to be read and diffed.

Header, then for each round who opens, the hands, the turns, how it ended, the hands shown and the scores, then the
result. A blank line parts two games. Reading checks all of it by playing the game again with the core, and takes only
what :func:`write` writes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from block_env.actions import PASS, Move
from block_env.positions import Position, check, end_of_round, replay
from block_env.records import (
    UNFINISHED,
    NotationError,
    Record,
    RoundRecord,
    Turn,
    drawn_count,
    end_words,
    result_words,
    tiles_words,
    view,
)
from block_env.tiles import Tile, parse_tile
from block_env.variants import PRESETS, Rules

VERSION = 1
_FIRST_LINE = "block record "
_TURN = re.compile(r"P(\d)(?: draw (\d{1,2}|\[[^][]*\](?: \[[^][]*\])*))??(?: (?:(\[[^][]*\])([LR])|(pass)))?")


# Write ----------------------------------------------------------------------------------------------------------------


def write(record: Record) -> str:
    """The record as text, a line break at its end; :func:`read` gives the record back.

    Raises:
        ValueError: a name is not one line of printable text without blanks around it.
    """
    return "".join(f"{line}\n" for line in _lines(record))


def _lines(record: Record) -> Iterator[str]:
    yield f"{_FIRST_LINE}{VERSION}"
    yield f"rules: {_rules_words(record.rules)}"
    yield f"view: {'all' if record.viewer is None else f'P{record.viewer}'}"
    for seat, name in enumerate(record.names):
        if not _is_name(name):
            raise ValueError(f"names: takes printable text without blanks around it, got {name!r}")
        yield f"P{seat}: {name}"
    if record.seed is not None:
        yield f"seed: {record.seed}"
    if record.set_up:
        yield "set up"
    yield _scores_words(record.start_scores)
    for number, one in enumerate(record.rounds):
        yield from _round_lines(one, number, record.rules)
    yield f"result: {record.result}"


def _is_name(text: str) -> bool:
    return bool(text) and text.isprintable() and text == text.strip()


def _round_lines(one: RoundRecord, number: int, rules: Rules) -> Iterator[str]:
    yield f"round {number + 1}, P{one.opener} opens"
    for seat, hand in enumerate(one.hands):
        yield f"P{seat} has {f'{rules.hand_size} tiles' if hand is None else tiles_words(hand)}"
    width = turns_a_line(rules)
    for first in range(0, len(one.turns), width):
        yield "  ".join(map(_turn_words, one.turns[first : first + width]))
    if one.reason is not None:
        yield end_words(rules, one.reason, one.winner, one.points)
        for seat, hand in enumerate(one.shown):
            yield f"P{seat} shows {tiles_words(hand)}"
        yield _scores_words(one.scores)


def turns_a_line(rules: Rules) -> int:
    """Whole rounds of the table, so that each seat has its column: 8, or with three seats 6."""
    return 8 - 8 % rules.num_players


def _rules_words(rules: Rules) -> str:
    if rules.name in PRESETS:
        return f"{rules.name}, num_players={rules.num_players}"
    return ", ".join(["custom", *(f"{name}={value}" for name, value in rules.as_dict().items())])


def _turn_words(turn: Turn) -> str:
    words = [f"P{turn.seat}"]
    if drawn_count(turn):
        words += ["draw", str(turn.drawn) if isinstance(turn.drawn, int) else tiles_words(turn.drawn)]
    if turn.move.tile is not None or turn.passed:
        words.append(str(turn.move))
    return " ".join(words)


def _scores_words(scores: Sequence[int]) -> str:
    return f"scores: {' '.join(map(str, scores))}"


# Read -----------------------------------------------------------------------------------------------------------------


def read_file(path: str | os.PathLike[str]) -> list[Record]:
    """The records in a file.

    Raises:
        OSError: it cannot be read.
        NotationError: it is no text of records, see :func:`read`.
    """
    try:
        return read(Path(path).read_bytes().decode())
    except UnicodeDecodeError:
        raise NotationError("takes text in UTF-8") from None


def read(text: str) -> list[Record]:
    """The games in a text, each one checked (:func:`check`).

    Raises:
        NotationError: the text is not what :func:`write` writes, of another version, cut off, or tells of a game that
            cannot be. The message says where.
    """
    lines = text.split("\n")
    if lines.pop():
        raise NotationError("the text ends within a line; it may have been cut off", len(lines) + 1)
    records, first = [], 0
    while first < len(lines):
        last = next((k for k in range(first, len(lines)) if not lines[k]), len(lines))
        records.append(_Reader(lines[first:last], first).read())
        first = last + 1
        if first == len(lines) and last < len(lines):
            raise NotationError("takes no empty line at the end", first)
    if not records:
        raise NotationError(f"there is no record: takes '{_FIRST_LINE}{VERSION}'", 1)
    return records


class _Reader:
    """Reads the lines of one game; ``offset`` of them stand before it in the text."""

    def __init__(self, lines: list[str], offset: int) -> None:
        self._lines, self._offset, self._next = lines, offset, 0
        self._marks: dict[tuple[int | None, int | str], int] = {}  # where each part stands

    def read(self) -> Record:
        self._first_line()
        record = self._record()
        try:
            check(record)
        except NotationError as error:
            line = self._marks.get(error._part) if error._part else None
            raise NotationError(error.what, line or self._offset + 1, error.round, error.ply) from None
        self._compare(record)
        return record

    def _compare(self, record: Record) -> None:
        for number, line in enumerate(_lines(record)):
            if number >= len(self._lines) or self._lines[number] != line:
                raise NotationError(f"takes {line!r}", self._offset + number + 1)

    def _fail(self, takes: str) -> NotationError:
        if self._next >= len(self._lines):
            return NotationError(f"takes {takes}; the record is cut off", self._offset + max(len(self._lines), 1))
        return NotationError(f"takes {takes}, got {self._lines[self._next]!r}", self._offset + self._next + 1)

    def _take(self, pattern: str, takes: str, part: tuple[int | None, int | str]) -> re.Match[str]:
        found = self._match(pattern)
        if found is None:
            raise self._fail(takes)
        self._marks[part] = self._offset + self._next + 1
        self._next += 1
        return found

    def _match(self, pattern: str) -> re.Match[str] | None:
        return re.fullmatch(pattern, self._lines[self._next]) if self._next < len(self._lines) else None

    def _first_line(self) -> None:
        found = self._take(_FIRST_LINE + r"(\d+)", f"'{_FIRST_LINE}{VERSION}'", (None, "version"))
        if found[1] != str(VERSION):
            raise NotationError(f"takes version {VERSION}, got {found[1]}", self._offset + 1)

    def _record(self) -> Record:
        rules = self._rules()
        seats = range(rules.num_players)
        view_ = self._take(rf"view: (all|P[0-{seats[-1]}])", "'view: all' or 'view: P0', …", (None, "view"))[1]
        names = tuple(self._name(seat) for seat in seats)
        seed = self._maybe(r"seed: (\d{1,4000})", "seed")
        set_up = self._maybe(r"(set up)", "set up") is not None
        start = self._scores(rules, (None, "start"))
        rounds: list[RoundRecord] = []
        while self._match(r"round .*"):
            rounds.append(self._round(rules, len(rounds)))
        result = self._take(r"result: (.+)", "'result: …' or the next round", (None, "result"))[1]
        if self._next < len(self._lines):
            raise self._fail("nothing after the result")
        viewer = None if view_ == "all" else int(view_[1])
        return Record(rules, names, start, tuple(rounds), result, None if seed is None else int(seed), viewer, set_up)

    def _name(self, seat: int) -> str:
        takes = f"'P{seat}: NAME'"
        found = self._take(rf"P{seat}: (.+)", takes, (None, f"P{seat}"))
        if not _is_name(found[1]):
            raise NotationError(f"takes {takes} in printable text, got {found[0]!r}", self._offset + self._next)
        return found[1]

    def _maybe(self, pattern: str, part: str) -> str | None:
        return self._take(pattern, "", (None, part))[1] if self._match(pattern) else None

    def _rules(self) -> Rules:
        found = self._take(r"rules: (\w+)((?:, \w+=\w+)+)", "'rules: match, num_players=2', …", (None, "rules"))
        values = {name: _value(text) for name, text in re.findall(r"(\w+)=(\w+)", found[2])}
        try:
            if found[1] in PRESETS and list(values) == ["num_players"]:
                return Rules.preset(found[1], values["num_players"])
            if found[1] == "custom" and list(values) == [field.name for field in fields(Rules)]:
                return Rules(**values)
            what = f"takes a preset and num_players, or custom and all fields of Rules, got {found[0]!r}"
        except (ValueError, TypeError) as error:
            what = str(error)
        raise NotationError(what, self._marks[None, "rules"])

    def _scores(self, rules: Rules, part: tuple[int | None, int | str]) -> tuple[int, ...]:
        takes = f"'scores:' and {rules.num_sides} numbers"
        found = self._take(r"scores:" + r" (\d{1,9})" * rules.num_sides, takes, part)
        return tuple(map(int, found.groups()))

    def _round(self, rules: Rules, number: int) -> RoundRecord:
        opener = self._take(rf"round {number + 1}, P(\d) opens", f"'round {number + 1}, P0 opens'", (number, "opener"))
        hands = tuple(self._hand(rules, number, seat) for seat in range(rules.num_players))
        turns: list[Turn] = []
        while self._match(r"P\d (?:\[|pass|draw).*"):
            turns += self._turns(number, len(turns))
        end = r"(domino|blocked), (?:nobody wins|P(\d)(?: wins|\+P\d win)) (\d{1,9})"
        if not self._match(end):
            return RoundRecord(int(opener[1]), hands, tuple(turns))
        reason, winner, points = self._take(end, "", (number, "reason")).groups()
        shown = tuple(self._shown(number, seat) for seat in range(rules.num_players))
        scores = self._scores(rules, (number, "scores"))
        side = None if winner is None else int(winner)
        return RoundRecord(int(opener[1]), hands, tuple(turns), reason, side, int(points), shown, scores)

    def _hand(self, rules: Rules, number: int, seat: int) -> tuple[Tile, ...] | None:
        hidden = f"{rules.hand_size} tiles"
        found = self._take(rf"P{seat} has (.+)", f"'P{seat} has', and tiles or '{hidden}'", (number, f"has {seat}"))
        return None if found[1] == hidden else self._tiles(found[1])

    def _shown(self, number: int, seat: int) -> tuple[Tile, ...]:
        found = self._take(rf"P{seat} shows (.+)", f"'P{seat} shows', and tiles or '-'", (number, f"shows {seat}"))
        return () if found[1] == "-" else self._tiles(found[1])

    def _tiles(self, words: str) -> tuple[Tile, ...]:
        try:
            return tuple(map(parse_tile, words.split(" ")))
        except ValueError as error:
            raise NotationError(str(error), self._offset + self._next) from None

    def _turns(self, number: int, count: int) -> list[Turn]:
        turns: list[Turn] = []
        self._next += 1
        for words in self._lines[self._next - 1].split("  "):
            self._marks[number, count + len(turns) + 1] = self._offset + self._next
            found = _TURN.fullmatch(words)
            if found is None or words == f"P{found[1]}":
                what = f"takes a turn such as 'P0 [3|5]L', 'P1 pass', 'P1 draw 2', got {words!r}"
                raise NotationError(what, self._offset + self._next, number + 1, count + len(turns) + 1)
            turns.append(self._turn(found))
        return turns

    def _turn(self, found: re.Match[str]) -> Turn:
        seat, drawn, tile, end, passed = found.groups()
        move = PASS
        if tile is not None:
            move = Move(self._tiles(tile)[0], "left" if end == "L" else "right")
        taken: tuple[Tile, ...] | int = ()
        if drawn is not None:
            taken = int(drawn) if drawn.isdigit() else self._tiles(drawn)
        return Turn(int(seat), move, taken, passed is not None)


def _value(text: str) -> Any:
    """A field of the rules as written: None, True, False, a whole number, or a word."""
    if text in ("None", "True", "False"):
        return {"None": None, "True": True, "False": False}[text]
    return int(text) if re.fullmatch(r"\d{1,9}", text) else text


__all__ = [
    "UNFINISHED",
    "VERSION",
    "NotationError",
    "Position",
    "Record",
    "RoundRecord",
    "Turn",
    "check",
    "end_of_round",
    "read",
    "read_file",
    "replay",
    "result_words",
    "view",
    "write",
]
