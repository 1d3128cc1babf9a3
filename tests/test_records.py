"""Records of games: what the text says, and what reading it refuses."""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pytest
from record_cases import (
    BLOCKED,
    BY_HAND,
    DRAW,
    ILLEGAL,
    MATCH,
    NO_POINTS,
    OPPONENTS,
    PARTNERS,
    SET_UP,
    TIE,
    UNFINISHED,
    custom,
)
from record_oracle import accepted, is_true, played, tiles_of, view_text

from block_env import Rules, notation, raw_env
from block_env.actions import PASS, Move
from block_env.notation import NotationError, Record, RoundRecord, Turn


@pytest.mark.parametrize("text", BY_HAND.values(), ids=BY_HAND)
def test_the_worked_cases_are_read_and_written(text: str) -> None:
    (record,) = notation.read(text)
    assert notation.write(record) == text
    assert is_true(text)


def test_what_a_record_says() -> None:
    (record,) = notation.read(DRAW.replace("scores: 0 0", "seed: 17\nscores: 0 0", 1))
    lay = [Move(tile, end) for tile, end in [((0, 0), "left"), ((0, 1), "left"), ((0, 2), "right"), ((1, 2), "right")]]
    turns = (
        Turn(0, lay[0]),
        Turn(1, PASS, ((0, 1),)),
        Turn(1, lay[1]),
        Turn(0, PASS, ((0, 2),)),
        Turn(0, lay[2]),
        Turn(1, lay[3]),
        Turn(0, PASS, (), True),
        Turn(1, Move((1, 1), "left")),
    )
    hands = (((0, 0), (2, 2)), ((1, 1), (1, 2)))
    rules = Rules(max_pip=2, hand_size=2, draw=True)
    one = RoundRecord(0, hands, turns, "domino", 1, 4, (((2, 2),), ()), (0, 4))
    assert record == Record(rules, ("a", "b"), (0, 0), (one,), "P1 wins", 17, None, False)


def test_a_match_over_rounds() -> None:
    (record,) = notation.read(MATCH)
    assert [one.opener for one in record.rounds] == [1, 0, 1]
    assert [(one.winner, one.points, one.scores) for one in record.rounds] == [
        (1, 4, (0, 4)),
        (0, 6, (6, 4)),
        (1, 12, (6, 16)),
    ]
    assert [notation.read(text)[0].set_up for text in (MATCH, SET_UP)] == [False, True]


def test_partners_are_named_by_rules_of_the_text() -> None:
    (record,) = notation.read(PARTNERS)
    assert record.rules == Rules(4, hand_size=3, partnership=True)
    assert (record.rounds[0].winner, record.rounds[0].points, record.result) == (0, 16, "P0+P2 win")
    assert notation.read(OPPONENTS)[0].rounds[0].points == 46


def test_several_games_in_a_text() -> None:
    texts = list(BY_HAND.values())
    records = notation.read("\n".join(texts))
    assert [notation.write(record) for record in records] == texts


# Single falsifications ------------------------------------------------------------------------------------------------

FALSE: list[tuple[str, str, str, int | None, int | None]] = [
    # the text, what is changed, into what, round and ply of the refusal; its line is the changed one
    (BLOCKED, "P0 [6|6]L ", "P0 [1|6]L ", 1, 1),  # not in the hand
    (BLOCKED, "P0 [6|6]L ", "P0 [0|1]L ", 1, 1),  # in another's hand
    (BLOCKED, "P0 [6|6]L ", "P0 [6|6]R ", 1, 1),  # the opening tile has one action
    (BLOCKED, "P0 [6|6]L ", "P0 pass ", 1, 1),
    (BLOCKED, "P0 [6|6]L ", "P0 [7|9]L ", 1, 1),
    (BLOCKED, "P1 pass ", "P1 [0|1]L ", 1, 2),  # does not fit
    (BLOCKED, "  P1 pass", "", 1, 2),
    (BLOCKED, "P1 pass  P2 pass  P0 pass", "P1 pass  P2 pass", 1, None),
    (BLOCKED, "P2 pass  P0 pass", "P2 pass  P0 pass  P1 pass", 1, 4),
    (BLOCKED, "P1 pass  P2", "P1 pass  P1 pass  P2", 1, 3),
    (BLOCKED, "P1 pass", "P2 pass", 1, 2),
    (BLOCKED, "P1 pass", "P9 pass", 1, 2),
    (BLOCKED, "P1 pass", "P1 draw [5|5]", 1, 2),
    (BLOCKED, "P1 pass", "P1 draw [5|5] pass", 1, 2),
    (BLOCKED, "P1 pass", "P1 draw 1 pass", 1, 2),
    (BLOCKED, "round 1, P0 opens", "round 1, P1 opens", 1, 1),
    (BLOCKED, "round 1, P0 opens", "round 1, P3 opens", 1, None),
    (BLOCKED, "round 1, P0 opens", "round 1, P9 opens", 1, None),
    (BLOCKED, "round 1, P0", "round 2, P0", None, None),
    (BLOCKED, "P0 has [1|2] [6|6]", "P0 has [6|6] [1|2]", 1, None),
    (BLOCKED, "P0 has [1|2] [6|6]", "P0 has [2|1] [6|6]", 1, None),
    (BLOCKED, "P0 has [1|2] [6|6]", "P0 has [1|2]", 1, None),
    (BLOCKED, "P0 has [1|2] [6|6]", "P0 has [1|2] [5|5] [6|6]", 1, None),
    (BLOCKED, "P0 has [1|2] [6|6]", "P0 has 2 tiles", 1, None),
    (BLOCKED, "P0 has [1|2] [6|6]", "P0 has -", None, None),
    (BLOCKED, "P0 has [1|2] [6|6]", "P0 has [1|2] [6|7]", 1, None),
    (BLOCKED, "P1 has", "P2 has", None, None),
    (BLOCKED, "blocked, P0 wins 12", "domino, P0 wins 12", 1, None),
    (BLOCKED, "blocked, P0 wins 12", "blocked, P1 wins 12", 1, None),
    (BLOCKED, "blocked, P0 wins 12", "blocked, nobody wins 12", 1, None),
    (BLOCKED, "blocked, P0 wins 12", "blocked, P0 wins 15", 1, None),
    (BLOCKED, "blocked, P0 wins 12", "blocked, P0 wins 012", None, None),
    (BLOCKED, "blocked, P0 wins 12", "blocked, P0+P2 win 12", None, None),
    (BLOCKED, "P1 shows [0|1] [2|4]", "P1 shows [0|1]", 1, None),
    (BLOCKED, "P1 shows [0|1] [2|4]", "P1 shows [0|1] [2|5]", 1, None),
    (BLOCKED, "P1 shows [0|1] [2|4]", "P1 shows -", 1, None),
    (BLOCKED, "P1 shows [0|1] [2|4]", "P1 shows [0|1] [2|x]", None, None),
    (BLOCKED, "scores: 12 0 0", "scores: 0 12 0", 1, None),
    (BLOCKED, "scores: 12 0 0", "scores: 12 0", None, None),
    (BLOCKED, "scores: 0 0 0", "scores: 1 0 0", None, None),
    (BLOCKED, "result: P0 wins", "result: P1 wins", None, None),
    (BLOCKED, "result: P0 wins", "result: draw", None, None),
    (BLOCKED, "result: P0 wins", "result: unfinished", None, None),
    (BLOCKED, "result: P0 wins", "result: illegal action 3 by P0", None, None),
    (BLOCKED, "result: P0 wins", "result: ", None, None),
    (BLOCKED, "view: all", "view: P0", 1, None),
    (BLOCKED, "view: all", "view: P3", None, None),
    (BLOCKED, "view: all", "view: none", None, None),
    (BLOCKED, "block record 1", "block record 2", None, None),
    (BLOCKED, "block record 1", "block record", None, None),
    (BLOCKED, "block record 1", "block record 01", None, None),
    (BLOCKED, "block record 1", f"block record {'9' * 5000}", None, None),
    (BLOCKED, "hand_size=2", "hand_size=20", None, None),
    (BLOCKED, "hand_size=2", "hand_size=None", None, None),
    (BLOCKED, "hand_size=2, ", "", None, None),
    (BLOCKED, "hand_size=2", "hand_size=2, hand_size=2", None, None),
    (BLOCKED, "num_players=3", "num_players=9", None, None),
    (BLOCKED, "max_pip=6", f"max_pip={'9' * 5000}", None, None),
    (BLOCKED, "max_pip=6", "max_pip=six", None, None),
    (BLOCKED, "partnership=False", "partnership=True", None, None),
    (BLOCKED, "draw=False", "draw=0", None, None),
    (BLOCKED, "stock_reserve=0", "stock_reserve=1", None, None),
    (BLOCKED, "rules: custom", "rules: match", None, None),
    (BLOCKED, "rules: custom", "rules: chess", None, None),
    (BLOCKED, "P0: a", "P0: ", None, None),
    (BLOCKED, "P0: a", "P0: a ", None, None),
    (BLOCKED, "P0: a", "P0: \x07", None, None),
    (BLOCKED, "P0: a", "P0: a\u2028b", None, None),
    (BLOCKED, "P0: a", "P0: \ud800", None, None),
    (NO_POINTS, "seed: 0", "seed: -1", None, None),
    (NO_POINTS, "seed: 0", "seed: 00", None, None),
    (NO_POINTS, "seed: 0", f"seed: {'9' * 9000}", None, None),
    (DRAW, "P1 draw [0|1]  P1", "P1", 1, 2),
    (DRAW, "P1 draw [0|1]", "P1 pass", 1, 2),
    (DRAW, "P1 draw [0|1]", "P1 draw [0|1] pass", 1, 2),
    (DRAW, "P1 draw [0|1]", "P1 draw 1", 1, 2),
    (DRAW, "P1 draw [0|1]", "P1 draw [0|1] [0|2]", None, None),
    (DRAW, "P1 draw [0|1]", "P1 draw [1|0]", None, None),
    (DRAW, "P1 draw [0|1]", "P1 draw [0|3]", None, None),
    (DRAW, "P1 draw [0|1]", "P1 draw [0|2]", None, None),
    (DRAW, "P1 draw [0|1]", "P1 draw", None, None),
    (DRAW, "P1 draw [0|1]", "P1 draw 0", None, None),
    (DRAW, "P1 draw [0|1]", "P1 draw 99", None, None),
    (DRAW, "P1 [1|2]R", "P1 [2|1]R", 1, 6),
    (DRAW, "P1 [1|2]R", "P1 [1|2]", 1, 6),
    (DRAW, "P1 [1|2]R", "P1", 1, 6),
    (DRAW, "P0 pass  P1 [1|1]L", "P1 [1|1]L", 1, 7),
    (MATCH, "round 2, P0 opens", "round 2, P1 opens", 2, None),
    (MATCH, "round 3, P1 opens", "round 3, P0 opens", 3, None),
    (MATCH, "scores: 6 4", "scores: 6 0", 2, None),
    (SET_UP, "set up\n", "", None, None),
    (SET_UP, "scores: 12 12", "scores: 12 21", None, None),
    (SET_UP, "scores: 12 12", "scores: 12 -1", None, None),
    (UNFINISHED, "result: unfinished", "result: draw", None, None),
    (UNFINISHED, "result: unfinished", "result: P0 wins", None, None),
    (UNFINISHED, "result: unfinished", "result: Unfinished", None, None),
    (ILLEGAL, "action 3 by P2", "action 3 by P1", None, None),
    (ILLEGAL, "action 3 by P2", "action 56 by P2", None, None),  # the pass is legal
    (ILLEGAL, "action 3 by P2", "action 57 by P2", None, None),
    (ILLEGAL, "action 3 by P2", "action 03 by P2", None, None),
    (ILLEGAL, "action 3 by P2", "action \u0663 by P2", None, None),
    (ILLEGAL, "action 3 by P2", f"action {'3' * 5000} by P2", None, None),
    (ILLEGAL, "action 3 by P2", "action -1 by P2", None, None),
]


AWAY = {"round 1, P1 opens": 4, "view: P0": 7, "hand_size=None": 7, "P1 pass  P2 pass": 1}
"""Where the refusal is not at the changed line, but so many lines on: what disagrees with it stands there."""


@pytest.mark.parametrize(("text", "old", "new", "round_", "ply"), FALSE)
def test_a_falsified_record_is_refused_where_it_is_false(
    text: str, old: str, new: str, round_: int | None, ply: int | None
) -> None:
    assert old in text
    line = text[: text.index(old)].count("\n") + 1
    with pytest.raises(NotationError) as refusal:
        notation.read(text.replace(old, new, 1))
    error = refusal.value
    if round_ is not None:
        assert error.round == round_
    if ply is not None:
        assert error.ply == ply
    assert error.line == line + AWAY.get(new, 0)
    assert f"line {error.line}" in str(error)
    assert not is_true(text.replace(old, new, 1))


def test_a_tile_that_fits_by_its_other_half_alone_is_refused() -> None:
    """BUGS D19: [1|2], then [2|3] at the 2, then [0|2], which meets the end 3 by no half."""
    text = f"""\
block record 1
rules: {custom(max_pip=3, hand_size=3)}
view: all
P0: a
P1: b
scores: 0 0
round 1, P0 opens
P0 has [0|2] [0|3] [1|2]
P1 has [0|0] [2|2] [2|3]
P0 [1|2]L  P1 [2|3]R  P0 [0|3]R
result: unfinished
"""
    notation.read(text)
    for wrong in ("P0 [0|2]R", "P0 [0|2]L", "P0 [0|3]L"):
        with pytest.raises(NotationError) as refusal:
            notation.read(text.replace("P0 [0|3]R", wrong))
        assert (refusal.value.line, refusal.value.round, refusal.value.ply) == (10, 1, 3)


def test_a_tile_is_dealt_or_drawn_once() -> None:
    for old, new in [("P1 has [0|1] [2|4]", "P1 has [0|1] [1|2]"), ("P0 has [1|2] [6|6]", "P0 has [6|6] [6|6]")]:
        with pytest.raises(NotationError, match=r"line \d+, round 1: .*twice"):
            notation.read(BLOCKED.replace(old, new))
    with pytest.raises(NotationError, match="twice"):
        notation.read(DRAW.replace("P0 draw [0|2]", "P0 draw [0|1]"))


def test_no_round_after_the_end_of_a_game() -> None:
    head, last = MATCH.split("round 3")
    again = f"round 3{last.split('result')[0]}".replace("round 3, P1", "round 4, P0").replace("6 16", "6 28")
    with pytest.raises(NotationError, match=r"line 31, round 4: the game is over"):
        notation.read(f"{head}round 3{last.split('result')[0]}{again}result: P1 wins\n")


def test_a_round_that_does_not_end_is_the_last() -> None:
    lines = MATCH.split("\n")
    with pytest.raises(NotationError):
        notation.read("\n".join(lines[:9] + lines[14:]))
    with pytest.raises(NotationError):
        notation.read("\n".join(lines[:10] + lines[14:]))


# Texts that are no records --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", BY_HAND.values(), ids=BY_HAND)
def test_a_text_cut_off_anywhere_is_refused(text: str) -> None:
    for end in range(len(text)):
        with pytest.raises(NotationError) as refusal:
            notation.read(text[:end])
        assert refusal.value.line in (text[:end].count("\n"), text[:end].count("\n") + 1)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("\n", 1),
        ("\n\n", 1),
        (TIE + "\n", 19),
        (TIE + "\n\n", 20),
        (TIE + "\n\n" + TIE, 20),
        (TIE + TIE, 19),
        ("\n" + TIE, 1),
        (TIE + "and more\n", 19),
        (TIE.replace("\n", "\r\n"), 1),
        (TIE.replace("\n", "\r"), 1),
        ("\ufeff" + TIE, 1),
        (TIE.replace("view", "\nview"), 2),
        (TIE.replace("view: all", "view:  all"), 3),
        (TIE.replace("P1 pass  P2", "P1 pass P2"), 12),
        (TIE.replace("P1 pass  P2", "P1 pass\nP2"), 12),
        (TIE.replace("round 1", "round \u0661"), 8),
    ],
)
def test_no_record_at_all(text: str, line: int) -> None:
    with pytest.raises(NotationError) as refusal:
        notation.read(text)
    assert refusal.value.line == line


def test_files_that_are_no_text(tmp_path: Path) -> None:
    for content in (b"", b"\xff\xfe\x00", TIE.encode("utf-16"), bytes(range(256)), b"\xef\xbb\xbf" + TIE.encode()):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(NotationError):
            notation.read_file(tmp_path / "file")
    with pytest.raises(FileNotFoundError):
        notation.read_file(tmp_path / "none")
    with pytest.raises(OSError, match="directory"):
        notation.read_file(tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        "P0 draw " + "[1|1] " * 3000 + "x",
        "P0 draw " + "[1|1] [" * 3000,
        "P0 draw " + "[" * 20000,
        "P0 " + "[" * 20000 + "L",
        "P1 draw 99  " * 3000 + "P1 draw 99",
        "  ".join(["P0 [0|0]L", "P1 [0|0]R"] * 3000),
        "  ".join(["P1 pass"] * 20000),
        "P0 pass" + " " * 20000 + "P1 pass",
    ],
)
@pytest.mark.parametrize("viewer", ["all", "P0"])
def test_nonsense_takes_no_time(line: str, viewer: str) -> None:
    text = re.sub(r"P0 \[0\|0\]L .*", lambda _: line, DRAW).replace("view: all", f"view: {viewer}")
    if viewer == "P0":
        text = text.replace("P1 has [1|1] [1|2]", "P1 has 2 tiles")
    start = time.perf_counter()
    assert not accepted(text)
    assert time.perf_counter() - start < 2


def test_names_are_one_line_of_text() -> None:
    (record,) = notation.read(TIE)
    for name in ("", " a", "a ", "a\nb", "\r", "\x00"):
        with pytest.raises(ValueError, match="names: takes"):
            notation.write(Record(**{**vars(record), "names": (name, "b", "c")}))
    for name in ("P1: x", "result: draw", "[1|2]", "名前", "a: b", "-"):
        (back,) = notation.read(TIE.replace("P0: a", f"P0: {name}"))
        assert back.names[0] == name


def test_a_record_made_by_hand_is_checked_too() -> None:
    (record,) = notation.read(DRAW)
    notation.check(record)
    (one,) = record.rounds
    for wrong in (
        {"opener": 1},
        {"opener": 7},
        {"hands": (one.hands[1], one.hands[0])},
        {"turns": one.turns[:-1]},
        {"turns": (Turn(7, PASS), *one.turns)},
        {"points": 5},
        {"scores": (4, 0)},
    ):
        with pytest.raises(NotationError):
            notation.check(Record(**{**vars(record), "rounds": (RoundRecord(**{**vars(one), **wrong}),)}))


# What a record must say -----------------------------------------------------------------------------------------------


def test_a_record_has_all_that_a_game_needs(tmp_path: Path) -> None:
    """BUGS L04: version, options, seed and deal, seats, names, all turns, result."""
    table = raw_env(rules="single_round", num_players=3, record=tmp_path / "game")
    table.reset(seed=77)
    deal = table.game.hands
    while table.agents:
        action = None
        if not table.terminations[table.agent_selection]:
            action = int(table.observe(table.agent_selection)["action_mask"].argmax())
        table.step(action)
    text = (tmp_path / "game").read_text()
    head = ["block record 1", "rules: single_round, num_players=3", "view: all"]
    assert text.split("\n")[:8] == [*head, "P0: player_0", "P1: player_1", "P2: player_2", "seed: 77", "scores: 0 0 0"]
    assert [tiles_of(line) for line in re.findall(r"P\d has (.*)", text)] == [list(hand) for hand in deal]
    assert len(moves(text)) == len(notation.read(text)[0].rounds[0].turns) == len(table.game.history)


def test_a_view_holds_no_seed_and_no_deal(tmp_path: Path, rng: np.random.Generator) -> None:
    """BUGS O10: before hands are shown, a view names no tile of another seat but those laid."""
    for text in played(Rules.preset("draw", 3), tmp_path, rng, 5, 8):
        for seat in range(3):
            seen = view_text(text, seat)
            assert "seed" not in seen
            own = re.search(rf"P{seat} has (.*)", text)[1]
            drawn = " ".join(re.findall(rf"P{seat} draw ((?:\[.\|.\] ?)+)", text))
            laid = re.findall(r"(\[.\|.\])[LR]", text)
            assert set(re.findall(r"\[.\|.\]", seen)) == {*re.findall(r"\[.\|.\]", f"{own} {drawn}"), *laid}


def moves(text: str) -> list[str]:
    return re.findall(r"P\d pass|P\d \[.\|.\][LR]|P\d draw \S+", text)
