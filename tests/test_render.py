"""Words and text: every row of RULES.md's table of lines, the width of lines, and what a picture keeps to itself.

The ids in the docstrings (D05, O11, …) are those of the list of faults that users of such projects reported.
"""

from __future__ import annotations

import re
import unicodedata

import numpy as np
import pytest
from helpers import ALL_RULES, action_id, play_out_at_random, random_actions, random_states, rules_name, swapped
from reference import tile_order

from block_env import Rules, raw_env
from block_env.game import Game, snapshot
from block_env.play import Games
from block_env.render import WIDTH, Half, describe, render_svg, text
from block_env.tiles import parse_tile

EACH_RULES = pytest.mark.parametrize("rules", ALL_RULES, ids=rules_name)


# Words ----------------------------------------------------------------------------------------------------------------


def line_of(moves: str) -> Game:
    """The table after these moves (as ``helpers.action_id`` reads them) of two seats, each dealt what it is to lay."""
    laid = moves.split()
    mine = [[(int(move[0]), int(move[1])) for move in laid[seat::2]] for seat in range(2)]
    rest = [tile for tile in tile_order(6) if tile not in mine[0] + mine[1]]
    hands = [mine[0] + rest[: 7 - len(mine[0])], mine[1] + rest[7 : 14 - len(mine[1])]]
    table = raw_env(rules=Rules(2))
    table.reset(seed=0, options={"hands": hands, "opener": 0})
    for move in laid:
        table.step(action_id(move, 6))
    return table.game


def half(words: str) -> Half:
    """``"14 low"`` is the low end of [1|4], ``"11 A"`` line side A of [1|1]."""
    tile, part = words.split()
    low, high = int(tile[0]), int(tile[1])
    names = {"low": ("low end", low), "high": ("high end", high), "A": ("line side A", low), "B": ("line side B", low)}
    return Half((low, high), *names[part])


TABLE = [
    # after laying, connections, free ends: RULES.md, "The line as a picture and as words"
    ("14L", "", "14 high, 14 low"),
    ("14L 11L", "14 low - 11 A", "11 B, 14 high"),
    ("14L 11L 44R", "14 low - 11 A, 14 high - 44 A", "11 B, 44 B"),
    ("14L 11L 44R 34R", "14 low - 11 A, 14 high - 44 A, 44 B - 34 high", "11 B, 34 low"),
    ("36L 66R", "36 high - 66 A", "36 low, 66 B"),
    ("00L", "", "00 A, 00 B"),
    ("22L", "", "22 A, 22 B"),
]
MORE = [
    # By the same rules: an opening double's side A is the first joined one, at whichever end; a double in the line.
    ("22L 25R", "22 A - 25 low", "22 B, 25 high"),
    ("22L 25L", "22 A - 25 low", "22 B, 25 high"),
    ("22L 25L 12R", "22 A - 25 low, 22 B - 12 high", "25 high, 12 low"),
    ("22L 25R 12L", "22 A - 25 low, 22 B - 12 high", "25 high, 12 low"),
    ("00L 06L 66L 46L", "00 A - 06 low, 06 high - 66 A, 66 B - 46 high", "00 B, 46 low"),
]


@pytest.mark.parametrize(("moves", "connections", "free"), TABLE + MORE)
def test_lines_in_words(moves: str, connections: str, free: str) -> None:
    """Connections and free ends as sets, as the table gives no order; tiles in the order laid."""
    words = describe(line_of(moves))
    joined = [pair.split(" - ") for pair in connections.split(", ") if pair]
    assert {frozenset(pair) for pair in words.connections} == {frozenset(map(half, pair)) for pair in joined}
    assert len(words.connections) == len(joined)
    assert set(words.free_ends) == {half(one) for one in free.split(", ")}
    assert len(words.free_ends) == 2
    assert words.tiles == tuple((int(move[0]), int(move[1])) for move in moves.split())


def test_no_line_in_words() -> None:
    table = raw_env()
    table.reset(seed=0)
    words = describe(table.game)
    assert (words.tiles, words.connections, words.free_ends) == ((), (), ())
    assert str(words) == "tiles: none\nconnections: none\nfree ends: none"


def test_words_written_out() -> None:
    assert str(describe(line_of("14L 11L 44R 34R"))) == (
        "tiles: [1|4]; [1|1]; [4|4]; [3|4]\n"
        "connections: [1|4] low end – [1|1] line side A; [1|4] high end – [4|4] line side A; "
        "[4|4] line side B – [3|4] high end\n"
        "free ends: [1|1] line side B 1; [3|4] low end 3"
    )


@EACH_RULES
def test_words_of_random_lines(rules: Rules, rng: np.random.Generator) -> None:
    """Every half joins an equal one and joins once; the free ones are the two ends, in order."""
    games = random_states(rules, 40, rng)
    for row in range(40):
        game = games.snapshot(row)
        words = describe(game)
        assert sorted(words.tiles) == sorted(tuple(sorted(tile)) for tile in game.line)
        assert all(one.pip == other.pip for one, other in words.connections)
        halves = [*words.free_ends, *(half for pair in words.connections for half in pair)]
        assert len(set(halves)) == len(halves) == 2 * len(words.tiles)
        assert game.ends == (None if not words.tiles else tuple(half.pip for half in words.free_ends))


# Text -----------------------------------------------------------------------------------------------------------------


def seat_lines(picture: str) -> dict[int, str]:
    """What a picture says of each seat; a long hand goes on in the next line."""
    parts = re.split(r"\n[> ] seat (\d): ", "\n" + picture)[1:]
    return {int(seat): said for seat, said in zip(parts[::2], parts[1::2], strict=True)}


def tiles_in(said: str) -> list[tuple[int, int]]:
    return [parse_tile(tile) for tile in re.findall(r"\[\d\|\d\]", said)]


def test_text_written_out() -> None:
    """The line with its doubles crosswise and both ends marked, the mover, the scores, the own hand alone."""
    game = line_of("14L 11L 44R 34R")
    assert text(game, viewer=0) == (
        "Block, round 1, scores 0 : 0, seat 0 opened, seat 0 to play\n"
        "<1 [1‖1] [1|4] [4‖4] [4|3] 3>\n"
        "> seat 0: 5 tiles: [0|0] [0|1] [0|2] [0|3] [0|4] (10 pips)\n"
        "  seat 1: 5 tiles\n"
    )


def test_text_of_a_match_written_out() -> None:
    """One tile each: seat 0 goes out, and the next round is dealt."""
    table = raw_env(rules=Rules(2, max_pip=1, hand_size=1, target=3))
    table.reset(seed=0, options={"hands": [[(0, 0)], [(0, 1)]], "opener": 0, "scores": [0, 0]})
    assert text(table.game) == (
        "Block, round 1, scores 0 : 0, seat 0 opens, seat 0 to play\n"
        "no tile laid yet\n"
        "> seat 0: 1 tile\n"
        "  seat 1: 1 tile\n"
    )
    table.step(0)
    assert text(table.game) == (
        "Block, round 2, scores 1 : 0, seat 1 opens, seat 1 to play\n"
        "round 1: domino, seat 0 wins, 1 point\n"
        "hands shown then: seat 0 none, seat 1 [0|1] (1 pip)\n"
        "no tile laid yet\n"
        "  seat 0: 1 tile\n"
        "> seat 1: 1 tile\n"
    )


@EACH_RULES
def test_ascii(rules: Rules, rng: np.random.Generator) -> None:
    """The same text, but for the sign of the doubles in the line, which is ``=``."""
    games = random_states(rules, 30, rng)
    for row in range(30):
        plain = text(games.snapshot(row), 0, True, ascii=True)
        assert plain.isascii()
        assert plain == text(games.snapshot(row), 0, True).replace("‖", "=")


def test_ascii_written_out() -> None:
    assert "\n<1 [1=1] [1|4] [4=4] [4|3] 3>\n" in text(line_of("14L 11L 44R 34R"), ascii=True)


def test_text_after_the_end_written_out() -> None:
    """RULES.md: "Then all hands are shown". Nobody holds a six here; 1 pip against 4 wins 3."""
    table = raw_env(rules=Rules(2, hand_size=2))
    table.reset(seed=0, options={"hands": [[(6, 6), (0, 1)], [(2, 2), (0, 0)]], "opener": 0})
    for move in ("66L", "pass", "pass"):
        table.step(action_id(move, 6))
    assert text(table.game) == (
        "Block, round 1, scores 3 : 0, seat 0 opened, the game is over, seat 0 wins\n"
        "round 1: blocked, seat 0 wins, 3 points\n"
        "<6 [6‖6] 6>\n"
        "  seat 0: 1 tile, 1 pass: [0|1] (1 pip)\n"
        "  seat 1: 2 tiles, 1 pass: [0|0] [2|2] (4 pips)\n"
    )


def test_text_of_partners() -> None:
    """Partners win together."""
    games = Games(200, "partnership", seed=0, auto_reset=False)
    play_out_at_random(games, np.random.default_rng(0))
    endings = {text(games.snapshot(row)).splitlines()[0].split(", ")[-1] for row in range(200)}
    assert endings == {"seats 0+2 win", "seats 1+3 win"}


def test_text_of_a_tie() -> None:
    """Both hold 2 pips: a shared lowest total, no winner, no points."""
    table = raw_env(rules=Rules(2, hand_size=2))
    table.reset(seed=0, options={"hands": [[(6, 6), (0, 2)], [(0, 0), (1, 1)]], "opener": 0})
    for move in ("66L", "pass", "pass"):
        table.step(action_id(move, 6))
    assert text(table.game).splitlines()[:2] == [
        "Block, round 1, scores 0 : 0, seat 0 opened, the game is over, nobody wins",
        "round 1: blocked, nobody wins, 0 points",
    ]


def test_text_of_draw() -> None:
    """It tells how many tiles are left to draw."""
    table = raw_env(rules="draw")
    table.reset(seed=0)
    assert text(table.game).startswith("draw, round 1, ")
    assert "\nstock: 14 tiles\n" in text(table.game)


@EACH_RULES
def test_lines_are_not_too_wide(rules: Rules, rng: np.random.Generator) -> None:
    """At any moment, for any viewer, all hands open or not; every character is one column wide."""
    assert WIDTH == 100
    games = random_states(rules, 40, rng)
    for row in range(40):
        for viewer in (None, 0, rules.num_players - 1):
            for picture in (text(games.snapshot(row), viewer), text(games.snapshot(row), viewer, reveal=True)):
                assert max(map(len, picture.splitlines())) <= 100
                assert picture.endswith("\n")
                assert not any(line != line.rstrip() or not line for line in picture.splitlines())
                assert not any(unicodedata.east_asian_width(one) in "WF" for one in picture)


@pytest.mark.parametrize(
    "rules",
    [
        Rules(4, max_pip=9, hand_size=13, partnership=True, target=10_000),
        Rules(4, max_pip=9, draw=True, hand_size=5, target=10_000),
        Rules(2, max_pip=9, hand_size=27, target=10_000),
    ],
    ids=rules_name,
)
def test_the_longest_lines_are_not_too_wide(rules: Rules, rng: np.random.Generator) -> None:
    """Double-nine with every tile laid or held, and the largest scores; hands and lines go on in the next lines."""
    games = Games(30, rules, seed=0, auto_reset=False)
    games.reset(options={"scores": [9_990] * rules.num_sides})
    longest = 0
    while (rows := np.flatnonzero(games.to_play >= 0)).size:
        games.step(random_actions(games.action_mask[rows], rng), rows)
        game = games.snapshot(int(rows[0]))
        picture = text(game, reveal=True)
        assert max(map(len, picture.splitlines())) <= 100
        now = re.sub(r"\nhands shown then: .*(\n   .*)*", "", picture)
        assert len(tiles_in(now.replace("‖", "|"))) == rules.num_tiles - len(game.stock)
        longest = max(longest, len(game.line))
    assert longest > 25


@EACH_RULES
def test_text_shows_the_own_hand_alone(rules: Rules, rng: np.random.Generator) -> None:
    """O11: to nobody no hand, to a viewer its own; all of them with ``reveal`` and after the end."""
    games = random_states(rules, 40, rng)
    for row in range(40):
        game = games.snapshot(row)
        for viewer in (None, *range(rules.num_players)):
            for reveal in (False, True):
                said = seat_lines(text(game, viewer, reveal))
                assert list(said) == list(range(rules.num_players))
                for seat, hand in enumerate(game.hands):
                    shown = reveal or game.over or seat == viewer
                    assert tiles_in(said[seat]) == (list(hand) if shown else [])
                    assert said[seat].startswith(f"{len(hand)} tile")


@EACH_RULES
def test_hidden_tiles_change_no_picture(rules: Rules, rng: np.random.Generator) -> None:
    """O03: swap all that the viewer cannot see, in first and later rounds; text and SVG stay, byte for byte."""
    games = random_states(rules, 60, rng)
    differ, rounds = 0, set()
    for row in np.flatnonzero(games.to_play >= 0):
        for viewer in range(rules.num_players):
            twin = swapped(games.states, rules, int(row), viewer, rng)
            game, other = games.snapshot(int(row)), snapshot(twin[0], rules)
            assert text(game, viewer) == text(other, viewer)
            assert render_svg(game, viewer) == render_svg(other, viewer)
            differ += game.hands != other.hands
            rounds.add(min(game.round_number, 1))
    assert differ or rules.num_tiles == 3
    assert rounds == ({0} if rules.target is None else {0, 1})


def picture_line(picture: str) -> tuple[list[tuple[int, int]], tuple[int, int] | None]:
    """The tiles and the marked ends of a picture's line."""
    found = re.search(r"^<(\d) (.*?) (\d)>$", picture, re.DOTALL | re.MULTILINE)
    if found is None:
        return [], None
    return tiles_in(found[2].replace("‖", "|")), (int(found[1]), int(found[3]))


@EACH_RULES
def test_text_shows_the_table(rules: Rules, rng: np.random.Generator) -> None:
    """D05: in every position of random games, the end included: the line as it lies, doubles crosswise, the ends."""
    games = random_states(rules, 40, rng)
    for row in range(40):
        game = games.snapshot(row)
        picture = text(game)
        assert picture_line(picture) == (list(game.line), game.ends)
        assert all((tile[0] == tile[1]) == (f"[{tile[0]}‖{tile[1]}]" in picture) for tile in game.line)
        assert f"scores {' : '.join(map(str, game.scores))}, " in picture
        assert ("the game is over" in picture) == game.over
        marked = [line[:8] for line in picture.splitlines() if line.startswith(">")]
        assert marked == ([] if game.over else [f"> seat {game.to_play}"])
        describe(game)


def test_passes_are_told() -> None:
    """How often a seat has passed in this round."""
    table = raw_env(rules=Rules(3, hand_size=2))
    hands = [[(6, 6), (5, 6)], [(0, 0), (0, 1)], [(1, 1), (1, 2)]]
    table.reset(seed=0, options={"hands": hands, "opener": 0})
    for move in ("66L", "pass", "pass"):
        table.step(action_id(move, 6))
    said = seat_lines(text(table.game))
    assert [said[seat].strip() for seat in range(3)] == ["1 tile", "2 tiles, 1 pass", "2 tiles, 1 pass"]


def test_a_draw_is_no_pass() -> None:
    """In Draw, who draws a tile that fits has not passed; here the stock holds one for seat 1 in every order."""
    table = raw_env(rules=Rules(2, max_pip=2, hand_size=2, draw=True))
    table.reset(seed=0, options={"hands": [[(0, 0), (0, 1)], [(1, 1), (2, 2)]], "opener": 0})
    table.step(action_id("00L", 2))
    table.step(action_id("pass", 2))
    assert table.game.history[-1].drawn > 0
    assert "pass" not in text(table.game)
