"""Pictures: SVG and pixels of one scene, the window, and videos.

What the tests look at is the SVG as a stranger reads it: parsed as XML, its tiles placed by their own ``transform`` and
put on a grid of pixels with NumPy. ``python tests/test_pictures.py`` writes the files in ``tests/golden`` anew.
"""

from __future__ import annotations

import copy
import os
import pickle
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import Distribution
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pygame
import pytest
from gymnasium.error import DependencyNotInstalled
from helpers import ALL_RULES, play_out_at_random, random_actions, random_rules, random_states, rules_name, swapped
from numpy.typing import NDArray
from pettingzoo.utils import wrappers
from test_render import TABLE, line_of

from block_env import Rules, env, parallel_env, raw_env
from block_env.actions import Move
from block_env.game import Game, Ply, snapshot
from block_env.gym_env import BlockGymEnv
from block_env.line import table_size
from block_env.picture import Box, frame
from block_env.play import Games
from block_env.render import describe, main, render_rgb, render_svg
from block_env.svg import tile_symbols
from block_env.vector_env import BlockVectorEnv

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden"
SVG = "{http://www.w3.org/2000/svg}"
PARTNERS = Rules.preset("partnership")
EACH_RULES = pytest.mark.parametrize("rules", ALL_RULES, ids=rules_name)


# Reading a picture ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Area:
    """A rectangle on the picture."""

    left: float
    top: float
    right: float
    bottom: float

    def holds(self, other: Area) -> bool:
        across = self.left <= other.left and other.right <= self.right
        return across and self.top <= other.top and other.bottom <= self.bottom

    def meets(self, other: Area) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


@dataclass(frozen=True)
class Seen:
    """A parsed picture, as areas: each tile by name, the pointed badges of the free ends, all texts."""

    frame: Area
    tiles: list[tuple[str, Area]]
    badges: list[Area]
    texts: list[tuple[str, Area]]

    def tiles_on(self, area: Area) -> Counter[str]:
        return Counter(name for name, covered in self.tiles if area.holds(covered))


def look(svg: str) -> Seen:
    root = ET.fromstring(svg)
    faces = {str(group.get("id")): numbers(group[0]) for group in root.iterfind(f"{SVG}defs/{SVG}g")}
    uses = [(str(use.get("href"))[1:], str(use.get("transform"))) for use in root.iterfind(f"{SVG}use")]
    return Seen(
        frame=Area(0, 0, float(root.get("width", "0")), float(root.get("height", "0"))),
        tiles=[(name, placed(transform, faces[name])) for name, transform in uses],
        badges=[badge(*pair) for pair in pairwise(root) if pair[1].tag == f"{SVG}circle"],
        texts=[(str(text.text), written(text)) for text in root.iterfind(f"{SVG}text")],
    )


def numbers(node: ET.Element) -> dict[str, float]:
    return {name: float(value) for name, value in node.items() if re.fullmatch(r"-?[\d.]+", value)}


def placed(transform: str, face: dict[str, float]) -> Area:
    """What a tile covers, its outline with it: the corners of its face moved, turned and made larger."""
    match = re.fullmatch(r"translate\((\S+) (\S+)\) rotate\((\d+)\) scale\((\S+)\)", transform)
    assert match is not None
    x, y, angle, scale = map(float, match.groups())
    line = face["stroke-width"] / 2
    corners = [
        complex(face["x"] - line, face["y"] - line),
        complex(face["x"] + face["width"] + line, face["y"] + face["height"] + line),
    ]
    turned = [complex(x, y) + corner * scale * 1j ** (angle / 90) for corner in corners]
    across, down = sorted(one.real for one in turned), sorted(one.imag for one in turned)
    return Area(across[0], down[0], across[1], down[1])


def badge(pointer: ET.Element, circle: ET.Element) -> Area:
    corners = [tuple(map(float, corner.split(","))) for corner in str(pointer.get("points")).split()]
    disc = numbers(circle)
    across = [x for x, _ in corners] + [disc["cx"] - disc["r"], disc["cx"] + disc["r"]]
    down = [y for _, y in corners] + [disc["cy"] - disc["r"], disc["cy"] + disc["r"]]
    return Area(min(across), min(down), max(across), max(down))


def written(text: ET.Element) -> Area:
    """What a text covers in the bold font of the pixels, which is wider than others."""
    place = numbers(text)
    width = font().size(str(text.text or ""))[0] * place["font-size"] / 100
    left = place["x"] - width * {"middle": 0.5, "end": 1.0}.get(text.get("text-anchor", ""), 0.0)
    return Area(left, place["y"] - 0.75 * place["font-size"], left + width, place["y"] + 0.25 * place["font-size"])


@cache
def font() -> pygame.font.Font:
    pygame.font.init()
    return pygame.font.Font(pygame.font.get_default_font(), 100)


def area(box: Box) -> Area:
    return Area(box.x, box.y, box.x + box.width, box.y + box.height)


# Tiles ----------------------------------------------------------------------------------------------------------------


def symbols() -> dict[str, ET.Element]:
    root = ET.fromstring(f'<svg xmlns="http://www.w3.org/2000/svg">{tile_symbols(9)}</svg>')
    return {str(group.get("id")): group for group in root}


def test_every_tile_has_its_pips() -> None:
    """Counted in each half, the low one to the left; all within the half, none touching another or the bar."""
    found = symbols()
    assert set(found) == {f"t{low}{high}" for low in range(10) for high in range(low, 10)} | {"back"}
    for name, group in found.items():
        dots = [(float(dot.get("cx", "")), float(dot.get("cy", ""))) for dot in group.iterfind(f"{SVG}circle")]
        radii = {float(dot.get("r", "")) for dot in group.iterfind(f"{SVG}circle")}
        assert len(radii) <= 1
        radius = max(radii, default=0.0)
        counted = "".join(str(sum((x > 0) == right for x, _ in dots)) for right in (False, True))
        assert counted == (name[1:] if name != "back" else "00")
        assert all(abs(x) - radius > 0.05 and abs(x) + radius < 0.95 and abs(y) + radius < 0.45 for x, y in dots)
        assert all(abs(complex(*one) - complex(*other)) > 2 * radius + 0.05 for one, other in combinations(dots, 2))


def test_sixes_lie_along_the_tile() -> None:
    dots = [(dot.get("cx"), dot.get("cy")) for dot in symbols()["t66"].iterfind(f"{SVG}circle")]
    assert len({x for x, _ in dots}) == 6
    assert len({y for _, y in dots}) == 2


def test_symbols_of_smaller_sets() -> None:
    assert tile_symbols(2).count("<g id=") == 7
    assert set(tile_symbols(2).splitlines()) < set(tile_symbols(9).splitlines())


# The whole picture ----------------------------------------------------------------------------------------------------


def check_layout(svg: str, rules: Rules) -> Seen:
    """Everything has its own place: tiles and badges, the table, the seats' panels, the words."""
    seen, parts = look(svg), frame(rules, table_size(rules))
    table, seats = area(parts.table), [area(box) for box in parts.seats]
    assert seen.frame == Area(0, 0, parts.width, parts.height)
    assert all(seen.frame.holds(one) for one in (table, *seats))
    assert not any(one.meets(other) for one, other in combinations([table, *seats], 2))
    things = [covered for _, covered in seen.tiles] + seen.badges
    assert all(any(part.holds(thing) for part in (table, *seats)) for thing in things)
    assert not any(one.meets(other) for one, other in combinations(things, 2))
    for words, covered in seen.texts:
        inside = [part for part in (table, *seats) if part.meets(covered)]
        assert seen.frame.holds(covered), words
        assert all(part.holds(covered) for part in inside), words
        assert words.isdecimal() or not any(thing.meets(covered) for thing in things), words
    return seen


def names(tiles: Any) -> Counter[str]:
    return Counter(f"t{min(tile)}{max(tile)}" for tile in tiles)


@EACH_RULES
def test_what_a_picture_shows(rules: Rules, rng: np.random.Generator) -> None:
    """At any moment: the line on the table, the viewer's hand below it, the others' backs, all faces with reveal."""
    games, parts = random_states(rules, 12, rng), frame(rules, table_size(rules))
    for row in range(12):
        game = games.snapshot(row)
        for viewer, reveal in ((None, False), (rules.num_players - 1, False), (0, True)):
            seen = check_layout(render_svg(game, viewer, reveal), rules)
            assert seen.tiles_on(area(parts.table)) == names(game.line)
            assert len(seen.badges) == (0 if game.ends is None else 2)
            for place, box in enumerate(parts.seats):
                seat = ((viewer or 0) + place) % rules.num_players
                shown = reveal or game.over or seat == viewer
                expected = names(game.hands[seat]) if shown else Counter({"back": len(game.hands[seat])})
                assert seen.tiles_on(area(box)) == +expected


def test_any_rules(rng: np.random.Generator) -> None:
    """Names of any width; hands that have drawn much."""
    for _ in range(60):
        rules = random_rules(rng)
        games = random_states(rules, 3, rng)
        called = ["W" * 30, "漢字" * 9, "player_0", "i"][: rules.num_players]
        for row in range(3):
            check_layout(render_svg(games.snapshot(row), 0, True, called), rules)


def test_the_largest_hands() -> None:
    """All but one tile of double-nine in one seat: more than any game can bring, at each place of the table."""
    for seats in (2, 3, 4):
        rules = Rules(seats, max_pip=9, hand_size=1, draw=True)
        game = Games(1, rules, seed=0).snapshot(0)
        every = tuple((low, high) for low in range(10) for high in range(low, 10))
        for seat in range(seats):
            hands = tuple(every[:54] if one == seat else () for one in range(seats))
            check_layout(render_svg(replace(game, hands=hands), 0, True), rules)


def words(game: Game, **keywords: Any) -> list[str]:
    return [said for said, _ in look(render_svg(game, **keywords)).texts]


def test_what_is_said() -> None:
    """Round, rules, scores, opener, whose turn, passes of the last turn, the stock."""
    table = raw_env(rules=Rules(3, hand_size=2, target=50))
    hands = [[(6, 6), (5, 6)], [(0, 0), (0, 1)], [(1, 1), (1, 2)]]
    table.reset(seed=0, options={"hands": hands, "opener": 0, "scores": [7, 8, 1]})
    said = words(table.game)
    assert {"Block, round 1", "player_0 to play", "no tile laid yet", "7 points", "8 points", "1 point"} <= set(said)
    assert {"2 tiles, opens", "22 tiles out of play"} <= set(said)
    table.step(27)
    table.step(56)
    said = words(table.game, names=["Ada", "Grace", "Alan"])
    assert {"Ada", "Grace", "Alan", "Alan to play", "1 tile, opened", "1 pass", "pass"} <= set(said)
    assert said.count("pass") == 1
    assert [one for one in said if one.isdecimal()] == ["6", "6"]


def test_what_is_said_at_the_end() -> None:
    """1 pip against 4: seat 0 wins 3."""
    table = raw_env(rules=Rules(2, hand_size=2))
    table.reset(seed=0, options={"hands": [[(6, 6), (0, 1)], [(2, 2), (0, 0)]], "opener": 0})
    for action in (27, 56, 56):
        table.step(action)
    said = words(table.game)
    assert {"game over, player_0 wins", "Round 1: blocked, player_0 wins, 3 points", "wins", "3 points"} <= set(said)
    assert said.count("wins") == 1


def test_partners_win_together() -> None:
    games = Games(20, "partnership", seed=0, auto_reset=False)
    play_out_at_random(games, np.random.default_rng(0))
    ends = {words(games.snapshot(row), names=list("ABCD"))[1] for row in range(20)}
    assert ends == {"game over, A and C win", "game over, B and D win"}


def test_the_last_tile_laid_is_outlined() -> None:
    """One rectangle around it, on the table, and no other there."""
    game = line_of("14L 11L 44R 34R")
    root = ET.fromstring(render_svg(game))
    around = [node for node in root.iterfind(f"{SVG}rect") if node.get("fill") == "none"]
    outline, last = numbers(around[0]), look(render_svg(game)).tiles[3]
    assert (len(around), last[0]) == (1, "t34")
    assert outline["x"] == pytest.approx(last[1].left)
    assert outline["y"] == pytest.approx(last[1].top)
    assert outline["width"] == pytest.approx(2 * outline["height"])


def test_svg_is_a_file_of_its_own() -> None:
    """Valid, the same bytes every time, with a title and the words of the line, and without any address."""
    game = line_of("14L 11L 44R 34R")
    svg = render_svg(game, 0)
    root = ET.fromstring(svg)
    assert svg == render_svg(game, 0)
    assert root.findtext(f"{SVG}title") == "Block, round 1: player_0 to play"
    assert root.findtext(f"{SVG}desc") == str(describe(game))
    assert svg.count("http") == 1
    assert all(str(use.get("href")).startswith("#") for use in root.iterfind(f"{SVG}use"))
    assert not re.search(r"\d\.\d{4}|-0[^.\d]|nan|inf|\de-", svg.split("</desc>")[1])


def test_names_are_escaped() -> None:
    """Also those that no XML can hold."""
    game = line_of("14L")
    svg = render_svg(game, names=["<b>&\"'", "a\0b\ud800"])
    assert "<b>" not in svg
    assert {"<b>&\"'", "a\ufffdb\ufffd"} <= set(words(game, names=["<b>&\"'", "a\0b\ud800"]))
    svg.encode()


@pytest.mark.parametrize("picture", [render_svg, render_rgb])
def test_who_looks(picture: Callable[..., Any]) -> None:
    game = line_of("14L")
    with pytest.raises(ValueError, match="viewer: takes None or a seat from 0 to 1, got 2"):
        picture(game, 2)
    with pytest.raises(ValueError, match="names: takes 2, one a seat, got 1"):
        picture(game, names=["A"])


# Long lines -----------------------------------------------------------------------------------------------------------


def trail(rng: np.random.Generator) -> list[tuple[int, int]]:
    """All 28 tiles in one random line, left to right as they lie: a closed walk over all pairs of seven pips."""
    rest = {pip: list(rng.permutation([other for other in range(7) if other != pip])) for pip in range(7)}
    stack, walk = [int(rng.integers(7))], []
    while stack:
        if rest[stack[-1]]:
            other = int(rest[stack[-1]].pop())
            rest[other].remove(stack[-1])
            stack.append(other)
        else:
            walk.append(stack.pop())
    where = {pip: int(rng.choice(np.flatnonzero(np.array(walk) == pip))) for pip in range(7)}
    pips = [pip for place, pip in enumerate(walk) for _ in range(1 + (where[pip] == place))]
    return list(pairwise(pips))


def whole_line(game: Game, rng: np.random.Generator) -> Game:
    """The game with all 28 tiles on the table, laid from a random one on at random ends."""
    line = trail(rng)
    first = right = int(rng.integers(28))
    left, order = first, [(first, "left")]
    while left > 0 or right < 27:
        to_left = right == 27 or (left > 0 and rng.random() < 0.5)
        left, right = left - to_left, right + (not to_left)
        order.append((left, "left") if to_left else (right, "right"))
    moves = [Move((min(line[place]), max(line[place])), end) for place, end in order]
    history = tuple(Ply(0, 0, move, 0, False) for move in moves)
    return replace(game, history=history, line=tuple(line), ends=(line[0][0], line[-1][1]), hands=((), (), (), ()))


def test_tiles_never_overlap(rng: np.random.Generator) -> None:
    """1,000 lines of all 28 tiles: every pixel of the picture belongs to one tile at most, and all lie on the table."""
    game, parts = Games(1, PARTNERS, seed=0).snapshot(0), frame(PARTNERS, table_size(PARTNERS))
    table = area(parts.table)
    for _ in range(1000):
        long = whole_line(game, rng)
        seen = look(render_svg(long))
        grid = np.zeros((parts.height, parts.width), np.uint8)
        assert seen.tiles_on(table) == names(long.line)
        assert len(seen.tiles) == len(set(long.line)) == 28
        for covered in [one for _, one in seen.tiles] + seen.badges:
            assert table.holds(covered)
            grid[pixels_of(covered)] += 1
        assert grid.max() == 1


def pixels_of(covered: Area) -> tuple[slice, slice]:
    """The pixels whose middle is in the area."""
    down = slice(round(covered.top), round(covered.bottom))
    return down, slice(round(covered.left), round(covered.right))


def golden() -> Iterator[tuple[str, str]]:
    """File names and what they hold: RULES.md's table of lines, and a line of all tiles."""
    for moves, *_ in TABLE:
        yield f"{moves.replace(' ', '_')}.svg", render_svg(line_of(moves))
    game = whole_line(Games(1, PARTNERS, seed=0).snapshot(0), np.random.default_rng(0))
    yield "all_28_tiles.svg", render_svg(game)


def test_golden_pictures() -> None:
    """Looked at once, and the same since."""
    kept = {file.name: file.read_text("utf-8") for file in GOLDEN.iterdir()}
    assert kept == dict(golden())


# Pixels ---------------------------------------------------------------------------------------------------------------


@EACH_RULES
def test_frames(rules: Rules, rng: np.random.Generator) -> None:
    """One size for all positions of the same rules, even in both directions, and two positions look different."""
    games = random_states(rules, 4, rng)
    frames = [render_rgb(games.snapshot(row), 0) for row in range(4)]
    height, width, colours = frames[0].shape
    assert (height % 2, width % 2, colours) == (0, 0, 3)
    assert width <= 1200
    assert {(one.shape, one.dtype) for one in frames} == {(frames[0].shape, np.dtype(np.uint8))}
    different = {render_svg(games.snapshot(row), 0) for row in range(4)}
    assert len({one.tobytes() for one in frames}) == len(different)


def test_pixels_are_those_of_the_svg() -> None:
    """Each tile on the table is light with as many dark dots as it has pips: at their places in the SVG."""
    game = line_of("14L 11L 44R 34R")
    pixels = render_rgb(game).astype(int)
    for name, covered in look(render_svg(game)).tiles[:4]:
        tile = pixels[pixels_of(covered)]
        dark = (tile.sum(axis=2) < 250)[3:-3, 3:-3]
        assert count_spots(dark) == int(name[1]) + int(name[2])
        assert (tile.min(axis=2) > 220).mean() > 0.6


def count_spots(dark: NDArray[np.bool_]) -> int:
    """Connected parts: flood each one away."""
    rest, spots = {(int(y), int(x)) for y, x in np.argwhere(dark)}, 0
    while rest:
        front, spots = [rest.pop()], spots + 1
        while front:
            y, x = front.pop()
            near = {(y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)} & rest
            rest -= near
            front += near
    return spots


@pytest.mark.parametrize("rules", [Rules(2), Rules(3, target=61), PARTNERS, Rules.preset("draw")], ids=rules_name)
def test_hidden_tiles_change_no_pixel(rules: Rules, rng: np.random.Generator) -> None:
    games, differ = random_states(rules, 12, rng), 0
    for row in np.flatnonzero(games.to_play >= 0)[:4]:
        twin = swapped(games.states, rules, int(row), 1, rng)
        game, other = games.snapshot(int(row)), snapshot(twin[0], rules)
        assert (render_rgb(game, 1) == render_rgb(other, 1)).all()
        if game.hands != other.hands:
            assert (render_rgb(game, 1, reveal=True) != render_rgb(other, 1, reveal=True)).any()
            differ += 1
    assert differ


def test_width() -> None:
    game = line_of("14L")
    assert render_rgb(game, width=440).shape == (298, 440, 3)
    assert render_rgb(game, width=2).shape == (2, 2, 3)
    for width in (0, -2, 3, 2.0, "2", True):
        with pytest.raises(ValueError, match="width: takes None or an even number from 2, got"):
            render_rgb(game, width=width)


HEADLESS = """
import os
from block_env import raw_env
tables = [raw_env(render_mode="rgb_array") for _ in range(2)]
for table in tables:
    table.reset(seed=1)
frames = [table.render() for table in tables]
assert (frames[0] == frames[1]).all()
tables[0].close(); tables[0].close()
child = os.fork()
same = bool((tables[1].render() == frames[1]).all())
if child == 0:
    os._exit(0 if same else 1)
assert same and os.waitpid(child, 0)[1] == 0
import pygame
assert not pygame.display.get_init()
"""


def test_pixels_need_no_display() -> None:
    """No video driver, nothing printed; two environments, a fork, and closing twice."""
    hidden = {"SDL_VIDEODRIVER", "DISPLAY", "WAYLAND_DISPLAY", "PYGAME_HIDE_SUPPORT_PROMPT"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    run = subprocess.run([sys.executable, "-c", HEADLESS], capture_output=True, text=True, env=environment, cwd=ROOT)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


# Environments ---------------------------------------------------------------------------------------------------------

AEC = pytest.mark.parametrize("make", [raw_env, env], ids=["raw_env", "env"])


def step_all(table: Any, rng: np.random.Generator, turns: int = 10_000) -> None:
    """Play an AEC environment at random, and look at it after every turn."""
    for agent in table.agent_iter(turns):
        if table.terminations[agent]:
            return
        table.step(int(random_actions(table.observe(agent)["action_mask"][None], rng)[0]))
        table.render()


@pytest.fixture
def no_screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """SDL's driver without a screen, and environments that show a thousand pictures a second."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    for kind in (raw_env, BlockGymEnv):
        monkeypatch.setitem(kind.metadata, "render_fps", 1000)
    yield
    pygame.display.quit()


@AEC
@pytest.mark.parametrize("mode", ["ansi", "rgb_array", "human"])
@pytest.mark.parametrize("rules", [Rules(2, max_pip=1, hand_size=1), Rules(4, max_pip=2, hand_size=1)], ids=rules_name)
@pytest.mark.usefixtures("no_screen")
def test_going_out(make: Callable[..., Any], mode: str, rules: Rules, rng: np.random.Generator) -> None:
    """D05: nothing breaks on an empty hand, in any mode."""
    table = make(rules=rules, render_mode=mode)
    for seed in range(5):
        table.reset(seed=seed)
        step_all(table, rng)
        assert table.game.over
        shown = table.render()
        assert {"ansi": str, "rgb_array": np.ndarray, "human": type(None)}[mode] is type(shown)
    table.close()


def test_viewers() -> None:
    """The agent to move; after the end player_0; in Gymnasium the learner; in a batch each its own."""
    table = raw_env(rules="single_round", render_mode="rgb_array")
    table.reset(seed=1)
    assert (table.render() == render_rgb(table.game, table.game.to_play)).all()
    step_all(table, np.random.default_rng(1))
    assert (table.render() == render_rgb(table.game, 0)).all()
    learner = BlockGymEnv(seat=1, render_mode="rgb_array")
    learner.reset(seed=1)
    assert (learner.render() == render_rgb(learner.game, 1)).all()
    batch = BlockVectorEnv(3, render_mode="rgb_array")
    batch.reset(seed=1)
    frames = batch.render()
    assert isinstance(frames, tuple)
    for row, pixels in enumerate(frames):
        assert (pixels == render_rgb(batch.snapshot(row), int(batch.learner_seats[row]))).all()


def test_parallel_and_checkers() -> None:
    """The parallel environment shows what the other does; Gymnasium's checker takes the frames."""
    one, other = parallel_env(render_mode="rgb_array"), raw_env(render_mode="rgb_array")
    one.reset(seed=3)
    other.reset(seed=3)
    assert (one.render() == other.render()).all()
    one.close()
    learner = gymnasium.make("block_env/Block-v0", render_mode="rgb_array")
    learner.reset(seed=0)
    assert np.asarray(learner.render()).dtype == np.uint8
    learner.close()
    batch = gymnasium.make_vec("block_env/Block-v0", num_envs=2, render_mode="rgb_array")
    batch.reset(seed=0)
    assert len(batch.render() or ()) == 2
    batch.close()


def test_a_batch_has_no_window() -> None:
    with pytest.raises(ValueError, match=r"render_mode: takes None or 'ansi' or 'rgb_array', got 'human'"):
        BlockVectorEnv(2, render_mode="human")
    assert BlockVectorEnv(2).metadata["render_modes"] == ["ansi", "rgb_array"]


def test_images_for_stable_baselines() -> None:
    """One picture of all environments, as its own batches give it."""
    from stable_baselines3.common.vec_env import DummyVecEnv

    from block_env.sb3 import BlockVecEnv

    ours = BlockVecEnv(3, seat=0, render_mode="rgb_array")
    theirs = DummyVecEnv([lambda: BlockGymEnv(seat=0, render_mode="rgb_array")] * 3)
    for batch in (ours, theirs):
        batch.seed(5)
        batch.reset()
    assert (ours.render() == theirs.render()).all()
    assert BlockVecEnv(2).get_images() == [None, None]


# The window -----------------------------------------------------------------------------------------------------------


def shown(table: Any) -> NDArray[np.uint8]:
    """What stands in an environment's window."""
    surface = table._window._window.get_surface()
    return pygame.surfarray.array3d(surface).transpose(1, 0, 2)


@AEC
@pytest.mark.usefixtures("no_screen")
def test_the_window_follows(make: Callable[..., Any], rng: np.random.Generator) -> None:
    """By itself, on reset and step, refused moves too; render() returns nothing."""
    table = make(rules="single_round", render_mode="human")
    table.reset(seed=1)
    for _ in range(6):
        assert (shown(table) == render_rgb(table.game, table.game.to_play)).all()
        step_all(table, rng, 1)
    assert table.render() is None
    table.reset(seed=2)
    assert (shown(table) == render_rgb(table.game, table.game.to_play)).all()
    table.close()
    table.close()


@pytest.mark.usefixtures("no_screen")
def test_the_learners_window(rng: np.random.Generator) -> None:
    """Through ``gymnasium.make``, to the end."""
    learner = gymnasium.make("block_env/Block-v0", rules="single_round", seat=1, render_mode="human")
    inner: Any = learner.unwrapped
    learner.reset(seed=1)
    over = False
    while not over:
        assert (shown(inner) == render_rgb(inner.game, 1)).all()
        _, _, over, _, _ = learner.step(int(random_actions(inner.action_masks()[None], rng)[0]))
    assert (shown(inner) == render_rgb(inner.game, 1)).all()
    assert learner.render() is None
    learner.close()


@pytest.mark.usefixtures("no_screen")
def test_closing_a_window_by_hand(rng: np.random.Generator) -> None:
    """It goes, the game goes on, and the other window stays."""
    one, other = (raw_env(render_mode="human") for _ in range(2))
    one.reset(seed=1)
    other.reset(seed=2)
    pygame.event.post(pygame.event.Event(pygame.WINDOWCLOSE, window=one._window._window))
    pygame.event.post(pygame.event.Event(pygame.MOUSEMOTION, pos=(1, 1), rel=(0, 0), buttons=(0, 0, 0)))
    step_all(other, rng, 2)
    assert (shown(other) == render_rgb(other.game, other.game.to_play)).all()
    one.render()
    assert one._window._window is None
    step_all(one, rng, 2)
    one.reset(seed=1)
    assert one._window._window is None
    one.close()
    one.reset(seed=1)
    assert (shown(one) == render_rgb(one.game, one.game.to_play)).all()
    one.close()
    other.close()


@pytest.mark.usefixtures("no_screen")
def test_copies_have_windows_of_their_own() -> None:
    table = raw_env(render_mode="human")
    table.reset(seed=1)
    for twin in (copy.deepcopy(table), pickle.loads(pickle.dumps(table))):
        assert twin._window._window is None
        twin.render()
        assert (shown(twin) == shown(table)).all()
        twin.close()
    assert (shown(table) == render_rgb(table.game, table.game.to_play)).all()
    table.close()


@pytest.mark.usefixtures("no_screen")
def test_pictures_a_second(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    """``render_fps``; to show the same again takes no time."""
    monkeypatch.setitem(raw_env.metadata, "render_fps", 4)
    table = raw_env(render_mode="human")
    table.reset(seed=1)
    start = time.monotonic()
    step_all(table, rng, 3)
    assert time.monotonic() - start > 0.7
    start = time.monotonic()
    for _ in range(10):
        table.render()
    assert time.monotonic() - start < 1
    table.close()


# Without pygame-ce ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [raw_env, env, parallel_env, BlockGymEnv, BlockVectorEnv])
@pytest.mark.parametrize("mode", ["rgb_array", "human"])
def test_without_pygame(make: Callable[..., Any], mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence, when the environment is made; text and SVG work."""
    monkeypatch.setitem(sys.modules, "pygame", None)
    make(render_mode="ansi")
    if make is BlockVectorEnv and mode == "human":
        return
    sentence = f'render_mode="{mode}" needs pygame-ce: pip install "block-env[render]"'
    with pytest.raises(DependencyNotInstalled, match=re.escape(sentence)) as caught:
        make(render_mode=mode)
    assert isinstance(caught.value, ImportError)


def test_with_the_old_pygame(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the same name, and no sized SVG."""
    monkeypatch.setattr(Distribution, "discover", lambda name: iter(()))
    with pytest.raises(DependencyNotInstalled, match="needs pygame-ce"):
        raw_env(render_mode="rgb_array")


def test_functions_without_pygame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    game = line_of("14L")
    render_svg(game)
    with pytest.raises(ImportError, match=r'^render_rgb needs pygame-ce: pip install "block-env\[render\]"$'):
        render_rgb(game)


# Videos ---------------------------------------------------------------------------------------------------------------


def frames_of(folder: Path, shape: tuple[int, ...]) -> float:
    """How many frames of that shape (H, W, 3) the one video there holds."""
    import imageio_ffmpeg

    (file,) = folder.glob("*.mp4")
    command = [
        imageio_ffmpeg.get_ffmpeg_exe(),
        "-v",
        "error",
        "-i",
        str(file),
        "-f",
        "rawvideo",
        "-pix_fmt",
        "gray",
        "-",
    ]
    pixels = subprocess.run(command, capture_output=True, check=True).stdout
    return len(pixels) / (shape[0] * shape[1])


def test_video_by_gymnasium(tmp_path: Path, rng: np.random.Generator) -> None:
    plain = gymnasium.make("block_env/Block-v0", rules="single_round", render_mode="rgb_array")
    recorded = gymnasium.wrappers.RecordVideo(plain, str(tmp_path / "videos"))
    recorded.reset(seed=1)
    inner: Any = recorded.unwrapped
    steps, over = 0, False
    while not over:
        _, _, over, _, _ = recorded.step(int(random_actions(inner.action_masks()[None], rng)[0]))
        steps += 1
    shape = render_rgb(inner.game).shape
    recorded.close()
    assert frames_of(tmp_path / "videos", shape) == steps + 1


@pytest.mark.skipif(not hasattr(wrappers, "RecordVideo"), reason="PettingZoo has it from 1.27 on")
@AEC
def test_video_by_pettingzoo(make: Callable[..., Any], tmp_path: Path, rng: np.random.Generator) -> None:
    recorded = wrappers.RecordVideo(make(rules="partnership", render_mode="rgb_array"), str(tmp_path / "videos"))
    recorded.reset(seed=1)
    step_all(recorded, rng, 5)
    shape = render_rgb(recorded.unwrapped.game).shape
    recorded.close()
    assert frames_of(tmp_path / "videos", shape) == 6


@pytest.mark.skipif(not hasattr(wrappers, "RecordVideoParallel"), reason="PettingZoo has it from 1.27 on")
def test_video_of_the_parallel_game(tmp_path: Path) -> None:
    recorded = wrappers.RecordVideoParallel(parallel_env(render_mode="rgb_array"), str(tmp_path / "videos"))
    seen, _ = recorded.reset(seed=1)
    for _ in range(4):
        seen, *_ = recorded.step({agent: int(one["action_mask"].argmax()) for agent, one in seen.items()})
    shape = render_rgb(recorded.unwrapped.game).shape
    recorded.close()
    assert frames_of(tmp_path / "videos", shape) == 5


# The command ----------------------------------------------------------------------------------------------------------


def test_the_picture_of_the_readme(tmp_path: Path) -> None:
    """``docs/table.svg`` is what this command makes."""
    run(tmp_path / "table.svg", "--seed 1531 --plies 12")
    assert (tmp_path / "table.svg").read_bytes() == (ROOT / "docs" / "table.svg").read_bytes()


def run(file: Path, options: str) -> None:
    assert main([*options.split(), "-o", str(file)]) == 0


def test_options_of_the_command(tmp_path: Path) -> None:
    """Who looks, whether all is shown, the rules; more turns than there are stop at the end."""
    pictures = {}
    for options in ("--viewer 1", "--viewer -1", "--reveal", "--rules partnership", "--num-players 3"):
        run(tmp_path / "one.svg", options)
        pictures[options] = (tmp_path / "one.svg").read_text("utf-8")
    assert len(set(pictures.values())) == 5
    assert look(pictures["--reveal"]).tiles
    assert not any(name == "back" for name, _ in look(pictures["--reveal"]).tiles)
    run(tmp_path / "one.svg", "--rules single_round --plies 1000")
    assert "game over" in (tmp_path / "one.svg").read_text("utf-8")
    assert list(tmp_path.iterdir()) == [tmp_path / "one.svg"]


@pytest.mark.parametrize(
    "options", ["--viewer 2", "--plies -1", "--rules chess", "--rules partnership --num-players 3"]
)
def test_what_the_command_refuses(options: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        run(tmp_path / "one.svg", options)
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


if __name__ == "__main__":
    for file_name, content in golden():
        (GOLDEN / file_name).write_text(content, "utf-8")
