"""Where tiles lie: joined halves meet, doubles lie crosswise, nothing overlaps, leaves the table or moves again.

Coordinates are checked by their geometry alone: each tile's two halves as unit squares, worked out here from its centre
and its angle.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from helpers import ALL_RULES, random_states, rules_name

from block_env import Rules
from block_env.actions import Move
from block_env.line import GAP, FreeEnd, Placed, place, table_size
from block_env.tiles import Tile

Moves = list[tuple[int, Move]]
EACH_RULES = pytest.mark.parametrize("rules", ALL_RULES, ids=rules_name)


def direction(angle: int) -> tuple[int, int]:
    """The unit vector of an angle, clockwise from the x axis, y down."""
    return {0: (1, 0), 90: (0, 1), 180: (-1, 0), 270: (0, -1)}[angle]


def halves(one: Placed) -> list[tuple[int, float, float]]:
    """(pip, x, y) of both halves: the low one lies half a unit against the angle's direction."""
    dx, dy = direction(one.angle)
    low, high = one.tile
    return [(low, one.x - dx / 2, one.y - dy / 2), (high, one.x + dx / 2, one.y + dy / 2)]


def box(one: Placed) -> tuple[float, float, float, float]:
    """Left, top, right, bottom."""
    width, height = (2, 1) if one.angle % 180 == 0 else (1, 2)
    return one.x - width / 2, one.y - height / 2, one.x + width / 2, one.y + height / 2


def overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return all(min(one[k + 2], other[k + 2]) - max(one[k], other[k]) > 1e-9 for k in (0, 1))


def full_line(max_pip: int, rng: np.random.Generator) -> list[Tile]:
    """A random line of the whole set (``max_pip`` even): an Eulerian circuit, the doubles put in at random places."""
    count = max_pip + 1
    left = {pip: [int(other) for other in rng.permutation(count) if other != pip] for pip in range(count)}
    stack, circuit = [int(rng.integers(count))], []
    while stack:
        pip = stack[-1]
        if left[pip]:
            other = left[pip].pop()
            left[other].remove(pip)
            stack.append(other)
        else:
            circuit.append(stack.pop())
    places = {pip: int(rng.choice([k for k, one in enumerate(circuit) if one == pip])) for pip in range(count)}
    line: list[Tile] = []
    for k, pip in enumerate(circuit):
        line += [(pip, pip)] * (places[pip] == k)
        line += [tuple(sorted((pip, circuit[k + 1])))] if k + 1 < len(circuit) else []
    return line


def laid_from(line: list[Tile], start: int, rng: np.random.Generator) -> Moves:
    """The line laid from the tile at ``start`` on, at either end by chance of one odds."""
    left, right, moves, odds = start, start, [Move(line[start], "left")], rng.random()
    while left > 0 or right < len(line) - 1:
        if left > 0 and (right == len(line) - 1 or rng.random() < odds):
            left -= 1
            moves.append(Move(line[left], "left"))
        else:
            right += 1
            moves.append(Move(line[right], "right"))
    return list(enumerate(moves))


def check(placed: tuple[Placed, ...], ends: tuple[FreeEnd, ...], rules: Rules) -> None:
    """Nothing overlaps, all is on the table, and so is the place where a marker of each free end goes."""
    width, height = table_size(rules)
    boxes = [box(one) for one in placed]
    for index, one in enumerate(boxes):
        assert max(abs(one[0]), abs(one[2])) <= width / 2
        assert max(abs(one[1]), abs(one[3])) <= height / 2
        assert not any(overlap(one, other) for other in boxes[:index])
    for end in ends:
        dx, dy = direction(end.angle)
        assert abs(end.x + 1.5 * dx) <= width / 2
        assert abs(end.y + 1.5 * dy) <= height / 2
        marker = (end.x + 0.75 * dx, end.y + 0.75 * dy)
        room = (marker[0] - 0.5, marker[1] - 0.5, marker[0] + 0.5, marker[1] + 0.5)
        assert not any(overlap(room, one) for one in boxes)


@pytest.mark.parametrize(
    "rules",
    [
        Rules.preset("partnership"),
        Rules.preset("draw"),
        Rules(2, max_pip=2, hand_size=3),
        Rules(3, max_pip=4, hand_size=5),
        Rules(4, max_pip=8, hand_size=11),
    ],
    ids=rules_name,
)
def test_full_lines_stay_on_the_table(rules: Rules, rng: np.random.Generator) -> None:
    """1,000 lines of the whole set of six, from any opening tile, the outermost too, at either end."""
    for game in range(1000 if rules.max_pip == 6 else 100):
        line = full_line(rules.max_pip, rng)
        dealt = rules.num_tiles if rules.draw else rules.num_players * rules.hand_size
        line = line[:dealt]
        start = (0, len(line) - 1, int(rng.integers(len(line))))[game % 3]
        placed, ends = place(laid_from(line, start, rng), rules)
        assert len(placed) == len(line)
        check(placed, ends, rules)


@EACH_RULES
def test_played_lines(rules: Rules, rng: np.random.Generator) -> None:
    """Each tile's joining half meets an equal half of an earlier tile, one gap away; ends are the game's."""
    games = random_states(rules, 40, rng)
    for row in range(40):
        game = games.snapshot(row)
        placed, ends = place(((ply, turn.move) for ply, turn in enumerate(game.history)), rules)
        check(placed, ends, rules)
        assert [one.tile for one in placed] == [turn.move.tile for turn in game.history if turn.move.tile is not None]
        assert [game.history[one.ply].move.tile for one in placed] == [one.tile for one in placed]
        assert [end.pip for end in ends] == list(game.ends or ())
        for index, one in enumerate(placed[1:], start=1):
            assert meets(one, placed[:index])


def meets(one: Placed, earlier: tuple[Placed, ...]) -> bool:
    """Whether a half lies as near to an equal half as joined halves do; a double joins by its middle."""
    joints = [(pip, x, y) for other in earlier for pip, x, y in [*halves(other), *middle(other)]]
    mine, apart = [*halves(one), *middle(one)], 1 + GAP
    pairs = ((own, joint) for own in mine for joint in joints if own[0] == joint[0])
    return any(math.isclose(math.dist(own[1:], joint[1:]), apart) for own, joint in pairs)


def middle(one: Placed) -> list[tuple[int, float, float]]:
    return [(one.tile[0], one.x, one.y)] if one.tile[0] == one.tile[1] else []


def test_a_laid_tile_never_moves(rng: np.random.Generator) -> None:
    """Every beginning of a line lies as the whole line does: pictures of a game can be laid over each other."""
    rules = Rules.preset("partnership")
    moves = laid_from(full_line(6, rng), 11, rng)
    whole, _ = place(moves, rules)
    for count in range(len(moves)):
        assert place(moves[:count], rules)[0] == whole[:count]


def test_doubles_lie_crosswise(rng: np.random.Generator) -> None:
    """A double's long side is across the direction of the tile that it joined; the opening one's across the row."""
    rules = Rules.preset("partnership")
    for _ in range(50):
        placed, _ = place(laid_from(full_line(6, rng), 0, rng), rules)
        assert placed[0].angle % 180 == (90 if placed[0].tile[0] == placed[0].tile[1] else 0)
        for last, one in pairwise(placed):
            if one.tile[0] == one.tile[1] and last is not placed[0]:
                along_x = abs(one.x - last.x) > abs(one.y - last.y)
                assert one.angle % 180 == (90 if along_x else 0)


@pytest.mark.parametrize(
    ("moves", "expected"),
    [
        # by hand: tile, end -> centre x, y, angle, in halves of a tile with gaps of 0.1
        ([((1, 4), "left")], [(0.0, 0.0, 0)]),
        ([((2, 2), "left")], [(0.0, 0.0, 90)]),
        ([((1, 4), "left"), ((1, 1), "left")], [(0.0, 0.0, 0), (-1.6, 0.0, 270)]),
        ([((1, 4), "left"), ((4, 4), "right"), ((3, 4), "right")], [(0, 0, 0), (1.6, 0, 90), (3.2, 0, 180)]),
        ([((2, 2), "left"), ((0, 2), "left"), ((2, 5), "right")], [(0, 0, 90), (-1.6, 0, 0), (1.6, 0, 0)]),
    ],
)
def test_short_lines_by_hand(moves: list[tuple[Tile, str]], expected: list[tuple[float, float, int]]) -> None:
    placed, _ = place(enumerate(Move(*move) for move in moves), Rules())
    assert [one.angle for one in placed] == [angle for _, _, angle in expected]
    assert np.allclose([(one.x, one.y) for one in placed], [(x, y) for x, y, _ in expected])


def test_passes_lay_nothing() -> None:
    assert place([(0, Move(None, None))], Rules()) == ((), ())
