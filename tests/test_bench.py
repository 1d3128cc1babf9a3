"""The benchmarks' arithmetic, table, JSON and plot; and that yardsticks play the same game. Nothing is timed."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import block_env
from benchmarks import batches, bench, empty_env, measure, openspiel, plot, training
from benchmarks.measure import QUICK, Goal, Pair, Result, Row, SkippedError
from benchmarks.numpy_block import NumpyGames
from block_env.play import Games

ROOT = Path(__file__).parents[1]
RATIO = Row("ratio", "ours", "steps/s", lambda size: Pair(float), "theirs", Goal(0.75))
PLAIN = Row("plain", "seconds", "s", lambda size: Pair(float), goal=Goal(20, at_most=True))
PEER = Row("peer", "ours", "steps/s", lambda size: Pair(float), "theirs")


# Arithmetic -----------------------------------------------------------------------------------------------------------


def test_a_ratio_is_taken_repeat_by_repeat() -> None:
    """The median of the ratios, 2, 0.5 and 0.75; the ratio of the medians would be 1."""
    result = Result(RATIO, (4.0, 1.0, 3.0), (2.0, 2.0, 4.0))
    assert result.figures == [2.0, 0.5, 0.75]
    assert (result.figure, result.spread, result.met) == (0.75, (0.5, 2.0), True)


def test_without_a_yardstick_the_figure_is_our_own() -> None:
    result = Result(PLAIN, (21.0, 19.0, 20.5, 22.0))
    assert (result.figure, result.spread, result.met) == (20.75, (19.0, 22.0), False)


@pytest.mark.parametrize(
    ("goal", "met", "words"),
    [
        (Goal(0.75), [False, True, True], ">= 0.75"),
        (Goal(0.75, at_most=True), [True, True, False], "<= 0.75"),
        (Goal(300_000), [False, False, False], ">= 300,000"),
    ],
)
def test_goals(goal: Goal, met: list[bool], words: str) -> None:
    assert [goal.met(figure) for figure in (0.74, 0.75, 0.76)] == met
    assert str(goal) == words


def test_nothing_is_met_without_a_goal_or_a_measurement() -> None:
    assert Result(PEER, (1.0,), (2.0,)).met is None
    skipped = Result(RATIO, skipped="There is none.")
    assert skipped.met is None
    assert (skipped.as_dict()["figure"], skipped.as_dict()["skipped"]) == (None, "There is none.")
    assert skipped.as_dict().keys() == Result(PEER, (1.0,), (2.0,)).as_dict().keys()


def test_the_two_sides_take_turns() -> None:
    calls: list[str] = []

    def sampler(name: str) -> Any:
        return lambda: calls.append(name) or float(len(calls))

    row = Row("row", "ours", "s", lambda size: Pair(sampler("ours"), sampler("other")), "theirs")
    result = measure.measure(row, QUICK, 3)
    assert calls == ["ours", "other"] * 3
    assert (result.ours, result.other) == ((1.0, 3.0, 5.0), (2.0, 4.0, 6.0))


def test_a_rate_leaves_start_and_end_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two seconds of start, and then a hundred a second."""
    now = 0.0

    def play(count: int) -> int:
        nonlocal now
        now += 2 + count / 100
        return count

    monkeypatch.setattr(training.time, "perf_counter", lambda: now)
    assert training._rate(play, (50, 1050)) == pytest.approx(100)


def test_a_program_that_fails_says_why() -> None:
    with pytest.raises(RuntimeError, match="no such reason"):
        measure.run_python(["-c", "raise SystemExit('no such reason')"])


# Table and command line -----------------------------------------------------------------------------------------------


def test_lines_of_the_table() -> None:
    line = bench.table_line(Result(RATIO, (4e6, 1e6, 3e6), (2e6, 2e6, 4e6)))
    assert line.split("  ")[0] == "ratio"
    for words in ("0.75  0.5 to 2", ">= 0.75", " yes ", "ours: 3 M steps/s; theirs: 2 M"):
        assert words in line
    assert " no " in bench.table_line(Result(PLAIN, (21.0,)))
    assert " yes " not in bench.table_line(Result(PEER, (1.0,), (2.0,)))
    assert bench.table_line(Result(PLAIN, skipped="There is none.")).endswith("skipped: There is none.")


def test_columns_stand_below_their_heads() -> None:
    heads = ("least", "goal", "met", "what")
    line = bench.table_line(Result(PLAIN, (21.0, 1234.5, 300_000.0)))
    places = [bench.HEAD.index(head) for head in heads]
    assert [line[place:].split("  ")[0].strip() for place in places] == ["21 to 300,000", "<= 20", "no", "seconds, s"]


@pytest.mark.parametrize(
    ("number", "words"),
    [(0.0123, "0.0123"), (1.5, "1.5"), (832, "832"), (1424.6, "1,425"), (999_999, "999,999"), (31.23e6, "31.2 M")],
)
def test_numbers_in_short(number: float, words: str) -> None:
    assert plot.short(number) == words


def test_help_names_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        bench.main(["--help"])
    assert stop.value.code == 0
    told = "".join(capsys.readouterr().out.split())  # lines are broken within names
    assert ",".join(bench.NAMES) in told
    assert all(option in told for option in ("--rows", "--quick", "--repeats", "--json", "--plot"))


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["--rows", "step-64,fastest"], "'fastest'"),
        (["--rows", ""], "--rows"),
        (["--repeats", "0"], "--repeats"),
        (["--json", "no/such/folder/file"], "--json"),
        (["--plot", "tests"], "--plot"),
        (["more"], "more"),
    ],
)
def test_bad_arguments_get_one_line_and_status_2(
    arguments: list[str], names: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        bench.main(arguments)
    printed = capsys.readouterr()
    assert (stop.value.code, printed.err.count("\n"), printed.out) == (2, 1, "")
    assert names in printed.err


def test_each_goal_has_a_row() -> None:
    """The table of goals, line by line."""
    goals = {row.name: str(row.goal) for row in bench.ROWS if row.goal}
    assert goals == {
        "step-4096": ">= 0.75",
        "step-64": ">= 0.45",
        "step-1": ">= 0.02",
        "threads": ">= 1.8",
        "vector-env": ">= 0.4",
        "raw-env": ">= 0.35",
        "env": ">= 2.5",
        "sb3": ">= 4.5",
        "train": ">= 20,000",
        "train-env": "<= 0.05",
        "evaluate": ">= 300,000",
        "cold": "<= 20",
        "start": "<= 1.5",
        "import": "<= 0.6",
        "memory": "<= 1,000",
        "train-memory": "<= 1,500",
    }
    assert len(set(bench.NAMES)) == len(bench.ROWS)


def test_json_of_a_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "results.json"
    assert bench.main(["--rows", "raw-env", "--quick", "--repeats", "2", "--json", str(file)]) == 0
    head, line = capsys.readouterr().out.splitlines()
    assert head.startswith("row")
    assert line.startswith("raw-env")
    report = json.loads(file.read_text())
    assert report.keys() == {"format", "date", "quick", "repeats", "machine", "rows", "curve"}
    assert (report["format"], report["quick"], report["repeats"], report["curve"]) == (1, True, 2, [])
    assert report["machine"].keys() == {"cpu", "cores", "system", "python", "compiler", "versions"}
    assert report["machine"]["versions"]["numpy"] == np.__version__
    (row,) = report["rows"]
    assert (row["name"], row["goal"], row["skipped"]) == ("raw-env", {"value": 0.35, "kind": "at least"}, None)
    figures = [a / b for a, b in zip(row["ours"], row["other"], strict=True)]
    assert len(figures) == 2
    assert row["figure"] == pytest.approx(sum(figures) / 2)
    assert row["spread"] == [min(figures), max(figures)]
    assert row["met"] == (row["figure"] >= 0.35)
    assert list(tmp_path.iterdir()) == [file]


def test_a_disk_that_is_full_is_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bench, "write_file", full)
    monkeypatch.setattr(bench, "ROWS", ())
    with pytest.raises(SystemExit) as stop:
        bench.main(["--json", str(tmp_path / "file")])
    message = capsys.readouterr().err
    assert (stop.value.code, message.count("\n")) == (2, 1)
    assert "--json" in message
    assert "No space left" in message


def test_without_a_compiler_rows_are_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "yardstick", batches.yardstick.__wrapped__)
    monkeypatch.setattr(batches.shutil, "which", lambda name: None)
    file = tmp_path / "results.json"
    assert bench.main(["--rows", "step-1,step-64", "--quick", "--json", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split()[0] for line in lines] == ["step-64", "step-1"]
    assert all("skipped: There is no C compiler" in line for line in lines)
    assert [row["figure"] for row in json.loads(file.read_text())["rows"]] == [None, None]


def test_without_openspiel_its_row_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    with pytest.raises(SkippedError, match="OpenSpiel"):
        openspiel.load()


def test_without_the_extra_nothing_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "find_spec", lambda name: None if name == "sb3_contrib" else "there")
    with pytest.raises(SkippedError, match=r"train.*sb3_contrib"):
        training.needs_training()


# Plot -----------------------------------------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"
CURVES = {
    "plain C": [(1, 3e7), (4, 3.1e7), (262_144, 2.9e7)],
    "one & two": [(1, 4e5), (262_144, 2.8e7)],
    "three": [(1, 4.1e5), (64, 9e6), (262_144, 2.85e7)],
    "four": [(1, 3e5), (64, 9e6), (262_144, 2.85e7)],
    "short": [(1, 3e5), (4, 3.3e5)],
    "shorter": [(1, 2e5), (4, 3.3e5)],
}


@pytest.fixture(name="drawn")
def draw_curves() -> ET.Element:
    return ET.fromstring(plot.draw(CURVES, "Title <1>", "games", "steps a second"))


def test_the_plot_has_a_line_for_each(drawn: ET.Element) -> None:
    lines = drawn.findall(f"{SVG}polyline")
    assert [len(line.attrib["points"].split()) for line in lines] == [len(points) for points in CURVES.values()]
    assert len({line.attrib["stroke"] for line in lines}) == len(CURVES)
    texts = [text.text for text in drawn.iter(f"{SVG}text")]
    assert {"Title <1>", "games", "steps a second", *CURVES} <= set(texts)
    assert {"1", "4", "64", "262,144", "100,000", "1 M", "10 M", "100 M"} <= set(texts)


def test_points_lie_where_the_axes_say(drawn: ET.Element) -> None:
    """Ten times as many are the same way up from anywhere; the first and the last lie at the ends."""
    line = drawn.find(f"{SVG}polyline[2]")
    assert line is not None
    (x0, y0), (x1, y1) = (map(float, point.split(",")) for point in line.attrib["points"].split())
    assert (x0, x1) == (plot.LEFT, plot.RIGHT)
    decade = (plot.BOTTOM - plot.TOP) / 3
    assert y0 - y1 == pytest.approx(decade * np.log10(2.8e7 / 4e5), abs=0.2)
    assert plot.BOTTOM - y0 == pytest.approx(decade * np.log10(4), abs=0.1)


def test_names_do_not_overlap(drawn: ET.Element) -> None:
    names = [text for text in drawn.iter(f"{SVG}text") if text.get("class") == "name"]
    places = sorted(float(text.attrib["y"]) for text in names)
    assert len(places) == len(CURVES)
    assert all(b - a >= plot.NAME_SIZE + 2 for a, b in pairwise(places))
    assert plot.TOP <= places[0] <= places[-1] <= plot.HEIGHT - plot.NAME_SIZE
    # A letter of Helvetica is less than 0.6 of its height wide, on average.
    widest = max(len(str(text.text)) for text in names)
    assert float(names[0].attrib["x"]) + 0.6 * plot.NAME_SIZE * max(widest, *map(len, batches.CURVES)) < plot.WIDTH


@pytest.mark.parametrize(
    ("wanted", "places"),
    [
        ([10.0, 50.0], [10.0, 50.0]),
        ([30.0, 30.0], [25.0, 35.0]),
        ([30.0, 32.0, 50.0], [26.0, 36.0, 50.0]),
        ([30.0, 30.0, 37.0], [22.333, 32.333, 42.333]),
        ([0.0, 0.0, 1.0], [0.0, 10.0, 20.0]),
        ([99.0, 100.0, 100.0], [80.0, 90.0, 100.0]),
    ],
)
def test_places_apart(wanted: list[float], places: list[float]) -> None:
    assert plot.apart(wanted, 10, 0, 100) == pytest.approx(places, abs=0.001)


@pytest.mark.parametrize("lines", [{}, {"empty": []}])
def test_nothing_to_draw(lines: dict[str, plot.Line]) -> None:
    with pytest.raises(ValueError, match="lines: takes"):
        plot.draw(lines, "", "", "")


def test_one_point_can_be_drawn() -> None:
    assert ET.fromstring(plot.draw({"one": [(1, 1000.0)]}, "", "", "")).find(f"{SVG}polyline") is not None


def test_the_plot_of_a_curve(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the measurements replaced: what is printed, drawn and kept is the same."""
    points = [batches.Point(line, games, 1e6 * games) for line in batches.CURVES for games in (1, 4)]
    monkeypatch.setattr(bench.batches, "curve", lambda size, repeats: iter(points))
    monkeypatch.setattr(bench, "ROWS", ())
    files = tmp_path / "results.json", tmp_path / "speed.svg"
    assert bench.main(["--json", str(files[0]), "--plot", str(files[1])]) == 0
    assert len(ET.fromstring(files[1].read_text()).findall(f"{SVG}polyline")) == len(batches.CURVES)
    curve = json.loads(files[0].read_text())["curve"]
    assert curve[1] == {"line": "plain C, 2 seats", "games": 4, "rate": 4e6}
    assert len(curve) == len(points) == len(capsys.readouterr().out.splitlines()) - 1


def test_a_curve_without_a_compiler_has_no_line_for_c(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "yardstick", batches.yardstick.__wrapped__)
    monkeypatch.setattr(batches.shutil, "which", lambda name: None)
    monkeypatch.setattr(batches, "Stepping", FakeStepping)
    points = list(batches.curve(QUICK, 1))
    assert {point.line for point in points} == {line for line, rules in batches.CURVES.items() if rules}
    assert [point.games for point in points if point.line == "3 seats"] == [1, 4, 16, 64, 256, 1024, 4096]


class FakeStepping:
    """As many steps a second as there are games."""

    def __init__(self, count: int, rules: block_env.Rules) -> None:
        self.count = count

    def rate(self, seconds: float) -> float:
        return self.count


# The same game --------------------------------------------------------------------------------------------------------

PAIRS = [(low, high) for low in range(7) for high in range(low, 7)]


def set_up(games: Games, row: int, hands: NDArray[np.bool_], opener: int, scores: list[int]) -> None:
    """Deal a round: hands bool [2, 28]."""
    tiles = [[PAIRS[tile] for tile in np.flatnonzero(hand)] for hand in hands]
    games.reset(options={"hands": tiles, "opener": opener, "scores": scores}, rows=np.array([row]))


def after_round(opener: int, scores: list[int], rewards: NDArray[np.float32]) -> tuple[list[int], int | None]:
    """Scores and opener of the next round; None: by lot, in a new match."""
    summed = [score + max(int(reward), 0) for score, reward in zip(scores, rewards, strict=True)]
    return ([0, 0], None) if max(summed) >= 100 else (summed, 1 - opener)


@pytest.fixture(name="trace", scope="module")
def trace_of_the_yardstick() -> dict[str, NDArray[Any]]:
    """20,000 steps of one game in plain C; each array [20000, …], as before the step."""
    try:
        command = [str(batches.yardstick()), "trace", "20000"]
    except SkippedError as reason:
        pytest.skip(str(reason))
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    table = np.array(printed.split(), np.float64).reshape(20_000, -1)
    assert table.shape[1] == 6 + 121 + 57
    return {
        "hands": table[:, :2].astype(np.int64)[:, :, None] >> np.arange(28) & 1 == 1,
        "opener": table[:, 2].astype(np.int64),
        "scores": table[:, 3:5].astype(np.int64),
        "action": table[:, 5].astype(np.int64),
        "observation": table[:, 6:127].astype(np.float32),
        "mask": table[:, 127:].astype(np.int8),
    }


def first_turns(observation: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Where a round begins: nobody has laid a tile."""
    return observation[..., 28:84].sum(axis=-1) == 0


def test_plain_c_plays_the_same_game(trace: dict[str, NDArray[Any]]) -> None:
    """Step by step: observation and mask, who opens, when a round ends, and what it pays."""
    games = Games(1, reward="points")
    begins, after = first_turns(trace["observation"]), None
    for k in range(6000):
        opener, scores = int(trace["opener"][k]), trace["scores"][k].tolist()
        assert begins[k] == (after is not None or k == 0)
        if begins[k]:
            assert after in (None, (scores, opener), (scores, None))
            set_up(games, 0, trace["hands"][k], opener, scores)
        np.testing.assert_array_equal(games.observation[0], trace["observation"][k])
        np.testing.assert_array_equal(games.action_mask[0], trace["mask"][k])
        rewards, _ = games.step(trace["action"][k : k + 1])
        after = after_round(opener, scores, rewards[0]) if games.reasons[0] else None


def test_plain_c_draws_as_it_should(trace: dict[str, NDArray[Any]]) -> None:
    """Deals, lots and choices, each within five standard deviations of what is fair."""
    begins = np.flatnonzero(first_turns(trace["observation"]))
    hands = trace["hands"][begins]
    assert (hands.sum(axis=2) == 7).all()
    assert not (hands[:, 0] & hands[:, 1]).any()
    # A tile is in a given hand with odds of one in four.
    assert np.abs(hands.mean(axis=0) - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / len(begins))
    matches = begins[(trace["scores"][begins] == 0).all(axis=1)]
    assert abs(trace["opener"][matches].mean() - 0.5) < 5 * 0.5 / np.sqrt(len(matches))
    rank = np.cumsum(trace["mask"], axis=1)[np.arange(20_000), trace["action"]]
    count = trace["mask"].sum(axis=1)
    free = count > 1
    middle = ((rank - 0.5) / count)[free]
    assert abs(middle.mean() - 0.5) < 5 * np.sqrt(1 / 12 / free.sum())
    assert (trace["mask"][np.arange(20_000), trace["action"]] == 1).all()


def test_rounds_are_as_long_as_in_plain_c(trace: dict[str, NDArray[Any]]) -> None:
    """Mean turns of a round under random play, against Games."""
    lengths = np.diff(np.flatnonzero(first_turns(trace["observation"])))
    games, picker = Games(256, seed=1), batches.Picker(256)
    ends = 0
    for _ in range(1500):
        games.step(picker(games.action_mask))
        ends += int((games.reasons != 0).sum())
    assert abs(lengths.mean() - 256 * 1500 / ends) < 5 * lengths.std() / np.sqrt(len(lengths))


def test_the_batch_in_numpy_plays_the_same_game() -> None:
    """As above, for 48 games side by side."""
    numpy, games, picker = NumpyGames(48, seed=3), Games(48, reward="points"), batches.Picker(48)
    due: list[Any] = [([0, 0], None)] * 48
    for _ in range(1500):
        begins = first_turns(numpy.observation)
        assert begins.tolist() == [after is not None for after in due]
        before = list(zip(numpy.opener.tolist(), numpy.scores.tolist(), strict=True))
        for row in np.flatnonzero(begins).tolist():
            opener, scores = before[row]
            assert due[row] in ((scores, opener), (scores, None))
            set_up(games, row, numpy.hands[row], opener, scores)
        np.testing.assert_array_equal(games.observation, numpy.observation)
        np.testing.assert_array_equal(games.action_mask, numpy.action_mask)
        actions = picker(games.action_mask)
        rewards, _ = games.step(actions)
        numpy.step(actions)
        due = [after_round(*before[row], rewards[row]) if games.reasons[row] else None for row in range(48)]


def test_the_batch_in_numpy_deals_fairly() -> None:
    games = NumpyGames(8000, seed=4)
    assert (games.hands.sum(axis=2) == 7).all()
    assert not games.hands.all(axis=1).any()
    assert np.abs(games.hands.mean(axis=0) - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 8000)


def test_picks_are_legal_and_uniform(rng: np.random.Generator) -> None:
    masks = np.repeat(np.array([[0, 1, 1, 0, 1], [1, 0, 0, 0, 0]], np.int8), 15_000, axis=0)
    counts = [np.bincount(half, minlength=5) for half in batches.Picker(30_000)(masks).reshape(2, -1)]
    assert counts[1].tolist() == [15_000, 0, 0, 0, 0]
    assert counts[0][[0, 3]].tolist() == [0, 0]
    assert np.abs(counts[0][[1, 2, 4]] - 5000).max() < 5 * np.sqrt(15_000 * 2 / 9)


# The empty environment ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda env: env, empty_env.wrapped])
def test_the_empty_environment_is_one(wrap: Callable[[Any], Any]) -> None:
    """Nine turns, and then each agent is taken out."""
    env = wrap(empty_env.EmptyEnv(block_env.raw_env(), turns=9))
    ((seed, actions),) = empty_env.random_games(env, 1)
    assert seed == empty_env.SEED
    assert [action is None for action in actions] == [False] * 9 + [True] * 2
    env.reset(seed=1)
    assert env.agent_selection == "player_0"
    observation, reward, terminated, truncated, _ = env.last()
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert env.observation_space("player_0").contains(observation)
    env.step(actions[0])
    assert env.agent_selection == "player_1"


def test_the_wrapped_one_has_the_three_checks() -> None:
    env, names = empty_env.wrapped(empty_env.EmptyEnv(block_env.raw_env(), turns=9)), []
    while env is not env.unwrapped:
        names.append(type(env).__name__)
        env = env.env
    assert set(names) == {"OrderEnforcingWrapper", "AssertOutOfBoundsWrapper", "TerminateIllegalWrapper"}


def test_games_are_played_again_as_they_were() -> None:
    """What is timed on ``raw_env`` and ``env`` are whole legal matches."""
    for env in (block_env.raw_env(), block_env.env()):
        for seed, actions in empty_env.random_games(env, 2):
            env.reset(seed=seed)
            for action in actions:
                env.step(action)
            assert env.agents == []
            assert env.unwrapped.game.over


def test_the_readme_shows_what_was_measured() -> None:
    told = json.loads((ROOT / "benchmarks" / "results.json").read_text())
    assert not told["quick"]
    assert bench.markdown(told) in (ROOT / "README.md").read_text()
