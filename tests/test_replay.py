"""The replay page: what is in its bytes, what it shows in headless Chromium, and what agents would have played."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from helpers import ALL_RULES, play_out_at_random, random_actions, random_states, rules_name, seen_by_all, swapped

import agents
from agents.learned import LearnedPolicy
from block_env import Rules, named_agents, notation, opponents, replay
from block_env.analysis import decisions
from block_env.game import snapshot
from block_env.play import Games
from block_env.policy import choose, probabilities
from block_env.svg import tile_symbols
from block_env.view import see

NAMES = ["Ada", "greedy", "</script><img src=x onerror=alert(1)>", "a <b>long</b> name & " * 8]
MATCH = Rules.preset("match")
EACH_RULES = pytest.mark.parametrize("rules", ALL_RULES, ids=rules_name)


def record_of(rules: Rules, seed: int, names: list[str] | None = None) -> notation.Record:
    """A whole game, played at random."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "games.txt"
        games = Games(1, rules, seed=seed, auto_reset=False, record=file)
        play_out_at_random(games, np.random.default_rng(seed))
        games.close()
        record = notation.read_file(file)[0]
    return dataclasses.replace(record, names=tuple(NAMES[: rules.num_players] if names is None else names))


def data_of(page: str) -> dict[str, Any]:
    """What the page's script reads."""
    found = re.findall(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert len(found) == 1
    return json.loads(found[0])


# The bytes of a page --------------------------------------------------------------------------------------------------


def test_names_are_text_and_no_markup() -> None:
    record = record_of(Rules.preset("partnership"), 1)
    page = replay.page([record], "<script>alert(1)</script>")
    assert data_of(page)["games"][0]["names"] == NAMES
    assert page.count("<script") == page.count("</script>") == 2
    assert "<img" not in page
    assert "<b>long" not in page


def test_a_page_is_as_long_as_its_games() -> None:
    """Each tile is placed once, however many positions there are."""
    record = record_of(MATCH, 2)
    one, three = replay.page([record]), replay.page([record] * 3)
    rounds = data_of(one)["games"][0]["rounds"]
    turns = sum(len(game["plies"]) for game in rounds)
    laid = sum(ply["move"][0] is not None for game in rounds for ply in game["plies"])
    assert one.count('"placed":{') == laid
    each = (len(three) - len(one)) / 2
    assert each < 600 * turns + 1000 * len(rounds)


def test_nothing_from_elsewhere() -> None:
    page = replay.page([record_of(MATCH, 3)], agents="heuristic")
    assert set(re.findall(r"https?://[^\s\"'<>]+", page)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(link|script|img|iframe)[^>]+(src|href)=[\"'](?!data:,)", page)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; ")
    assert "unsafe" not in policy[1]


@EACH_RULES
def test_a_page_for_a_seat_holds_its_hand_and_shown_ones(rules: Rules) -> None:
    """O10: of the other hands only what was laid and shown."""
    record = record_of(rules, 4)
    for viewer in range(rules.num_players):
        for one in data_of(replay.page([notation.view(record, viewer)], agents="random"))["games"][0]["rounds"]:
            assert [seat for seat, hand in enumerate(one["hands"]) if hand is not None] == [viewer]
            assert all(ply["took"] is None for ply in one["plies"] if ply["seat"] != viewer)
            assert all(ply["choice"] is None for ply in one["plies"] if ply["seat"] != viewer)


def swapped_record(
    record: notation.Record, viewer: int, rng: np.random.Generator
) -> tuple[notation.Record, notation.Record]:
    """The game cut off within its last round, and the same for ``viewer`` with other tiles in the hidden places.

    What the others have laid until then stays with them; what they hold and what lies aside changes places.
    """
    rules, last = record.rules, record.rounds[-1]
    one = dataclasses.replace(last, turns=last.turns[: len(last.turns) // 2])
    one = dataclasses.replace(one, reason=None, winner=None, points=0, shown=(), scores=())
    cut = dataclasses.replace(record, rounds=(*record.rounds[:-1], one), result="unfinished")
    position = list(notation.replay(cut))[-1]
    other = snapshot(swapped(position.state, rules, 0, viewer, rng)[0], rules)
    laid = [(turn.seat, turn.move.tile) for turn in one.turns if turn.move.tile is not None]
    hands = tuple(
        tuple(sorted([*hand, *(tile for mover, tile in laid if mover == seat)]))
        for seat, hand in enumerate(other.hands)
    )
    changed = dataclasses.replace(cut, rounds=(*cut.rounds[:-1], dataclasses.replace(one, hands=hands)))
    return cut, changed


@pytest.mark.parametrize("rules", [rules for rules in ALL_RULES if not rules.draw], ids=rules_name)
def test_hidden_tiles_change_no_byte(rules: Rules, rng: np.random.Generator) -> None:
    """O10, O11: two games that differ only in what a seat has not seen give it the same page."""
    differ = checked = 0
    for seed in range(3):
        for viewer in range(rules.num_players):
            record, other = swapped_record(record_of(rules, seed), viewer, rng)
            try:
                notation.check(other)
            except notation.NotationError:  # a pass that the swapped hand could not have made
                continue
            checked += 1
            one, two = (replay.page([notation.view(each, viewer)], agents="random,greedy") for each in (record, other))
            assert one == two
            differ += replay.page([record]) != replay.page([other])
    assert checked
    assert differ or rules.num_tiles == 3


# The program ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def games_file(tmp_path: Path) -> Path:
    file = tmp_path / "games.txt"
    file.write_text("\n".join(notation.write(record_of(MATCH, seed, ["a", "b"])) for seed in (1, 2, 3)))
    return file


def test_the_program_writes_a_page(games_file: Path) -> None:
    page = games_file.with_name("game.html")
    assert replay.main([str(games_file), "-o", str(page)]) == 0
    assert page.read_text() == replay.page(notation.read_file(games_file), "games.txt")
    assert replay.main([str(games_file), "-o", str(page), "--game", "2", "--view", "1", "--agents", "greedy"]) == 0
    record = notation.view(notation.read_file(games_file)[1], 1)
    assert page.read_text() == replay.page([record], "games.txt", "greedy", 2)
    assert sorted(path.name for path in games_file.parent.iterdir()) == ["game.html", "games.txt"]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--game", "4"], "--game: takes a game from 1 to 3, got 4"),
        (["--game", "0"], "--game"),
        (["--view", "2"], "takes a seat from 0 to 1, got 2"),
        (["--view", "-1"], "--view"),
        (["--agents", "greedier"], "'greedier'"),
        (["--agents", ""], "agent: takes "),
        (["-o", "no/such/folder/page.html"], "no/such/folder"),
        (["-o", ""], "-o"),
        (["--page", "x"], "--page"),
    ],
)
def test_bad_options_get_one_line_and_status_2(
    games_file: Path, options: list[str], names: str, capsys: pytest.CaptureFixture[str]
) -> None:
    page = games_file.with_name("game.html")
    with pytest.raises(SystemExit) as stop:
        replay.main([str(games_file), "-o", str(page), *options])
    message = capsys.readouterr().err
    assert stop.value.code == 2
    assert message.count("\n") == 1
    assert names in message
    assert not page.exists()


def test_bad_files_get_one_line_and_status_2(games_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut, empty, page = (games_file.with_name(name) for name in ("cut.txt", "empty.txt", "game.html"))
    empty.write_text("")
    cut.write_text(games_file.read_text()[:-30])
    for file, names in ((games_file.with_name("none"), "cannot be read"), (games_file.parent, "cannot be read"),
                        (cut, "line "), (empty, "there is no record")):  # fmt: skip
        with pytest.raises(SystemExit) as stop:
            replay.main([str(file), "-o", str(page)])
        message = capsys.readouterr().err
        assert stop.value.code == 2
        assert message.count("\n") == 1
        assert names in message


# What agents would have played ----------------------------------------------------------------------------------------


@EACH_RULES
def test_decisions_are_those_of_the_policies(rules: Rules, rng: np.random.Generator) -> None:
    games = random_states(rules, 80, rng)
    states = games.states[games.to_play >= 0]
    observation, mask = seen_by_all(states, rules, -1)
    policies = [opponents.make(name, rules) for name in opponents.OPPONENTS]
    played = random_actions(mask, rng)
    told = decisions(states, rules, policies, played)
    assert [one is None for one in told] == [row.sum() == 1 for row in mask]
    chosen = [policy.act(observation, mask, rng) for policy in policies]
    for row, one in enumerate(told):
        if one is None:
            continue
        legal = np.flatnonzero(mask[row]).tolist()
        assert one.actions.tolist() == legal
        assert one.odds[0].tolist() == [1 / len(legal)] * len(legal)
        assert [one.odds[k].tolist() for k in (1, 2)] == [
            [float(action == chosen[k][row]) for action in legal] for k in (1, 2)
        ]
        apart = [max(sum(a - b for a, b in zip(p, q, strict=True) if a > b) for p, q in ((p, q), (q, p))) for p, q in
                 combinations(one.odds.tolist(), 2)]  # fmt: skip
        assert one.differ == pytest.approx(max(apart))
        assert one.scores[2] is not None
        assert one.odds[2][one.scores[2].argmax()] == 1


def test_one_agent_is_held_against_what_was_played(rng: np.random.Generator) -> None:
    games = random_states(MATCH, 60, rng)
    states = games.states[games.to_play >= 0]
    mask = seen_by_all(states, MATCH, -1)[1]
    played = random_actions(mask, rng)
    greedy = opponents.make("greedy")
    observation = seen_by_all(states, MATCH, -1)[0]
    same = greedy.act(observation, mask, rng) == played
    for one, agrees in zip(decisions(states, MATCH, [greedy], played), same, strict=True):
        assert one is None or one.differ == (0 if agrees else 1)
    for one in decisions(states, MATCH, [opponents.make("random")], played):
        assert one is None or one.differ == pytest.approx(1 - 1 / len(one.actions))


@EACH_RULES
def test_hidden_tiles_change_no_decision(rules: Rules, rng: np.random.Generator) -> None:
    games = random_states(rules, 30, rng)
    policies = [opponents.make(name, rules) for name in opponents.OPPONENTS]
    played = np.zeros(1, np.int64)
    for row in np.flatnonzero(games.to_play >= 0):
        other = swapped(games.states, rules, int(row), int(games.to_play[row]), rng)
        one, two = (decisions(states, rules, policies, played)[0] for states in (games.states[row : row + 1], other))
        assert (one is None) == (two is None)
        if one is not None and two is not None:
            assert np.array_equal(one.odds, two.odds)


def test_odds_of_a_network_are_those_that_it_draws_with(rng: np.random.Generator) -> None:
    policy = agents.make("ppo,sample")
    assert isinstance(policy, LearnedPolicy)
    games = random_states(MATCH, 12, rng)
    states = games.states[games.to_play >= 0]
    observation, mask = seen_by_all(states, MATCH, -1)
    odds, draws = probabilities(policy, observation, mask, rng), 2000
    drawn = np.zeros(mask.shape)
    for _ in range(draws):
        drawn[np.arange(len(mask)), policy.act(observation, mask, rng)] += 1
    assert np.abs(drawn / draws - odds).max() < 5 * np.sqrt(0.25 / draws)
    likeliest = agents.make("ppo").act(observation, mask, rng)
    assert (odds[np.arange(len(mask)), likeliest] == odds.max(axis=1)).all()
    assert not odds[mask == 0].any()


class Told:
    """A policy that gives whatever odds it was made with."""

    def __init__(self, odds: object) -> None:
        self.odds = odds

    def act(self, observation: Any, action_mask: Any, rng: Any) -> Any:
        return action_mask.argmax(axis=1)

    def probabilities(self, observation: Any, action_mask: Any) -> Any:
        return self.odds


@pytest.mark.parametrize(
    "odds",
    [[[1.0]], None, "odds", [[0.5, 0.2, 0.3]], [[0.5, 0.4, 0.0]], [[1.5, -0.5, 0.0]], [[1, 0, 0]], [[np.nan] * 3]],
)
def test_odds_that_are_none(odds: object, rng: np.random.Generator) -> None:
    mask = np.array([[1, 1, 0]], np.int8)
    with pytest.raises(ValueError, match=r"^Told\.probabilities: is to return float \[1, 3\], 0 where "):
        probabilities(Told(odds), np.zeros((1, 4), np.float32), mask, rng)


def test_without_odds_the_choice_has_them_all(rng: np.random.Generator) -> None:
    games = Games(20, seed=1)
    greedy = opponents.make("greedy")
    odds = probabilities(greedy, games.observation, games.action_mask, rng)
    assert (odds.argmax(axis=1) == choose(greedy, games.observation, games.action_mask, rng)).all()
    assert (odds.sum(axis=1) == 1).all()


# Agents by name -------------------------------------------------------------------------------------------------------


def test_agents_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(
        "from block_env import opponents\n"
        "make = lambda rules: opponents.make('greedy', rules)\n"
        "none = lambda rules: 3\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert type(named_agents.make("heuristic", MATCH)) is opponents.HeuristicPolicy
    assert type(named_agents.make("mine:make", MATCH)) is opponents.GreedyPolicy
    assert type(named_agents.make("ppo", MATCH)) is LearnedPolicy
    with pytest.raises(ValueError, match=r"^agent: mine:none: is to give a policy"):
        named_agents.make("mine:none", MATCH)
    with pytest.raises(ValueError, match=r"^agent: mine:other: there is no such function"):
        named_agents.make("mine:other", MATCH)
    with pytest.raises(ValueError, match="'greedier'"):
        named_agents.make("greedier", MATCH)


def test_without_an_agents_package_the_error_says_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"^agent: takes random, greedy, heuristic, module:factory, .*; got 'ppo'$"):
        named_agents.make("ppo", MATCH)


def test_lists_of_agents() -> None:
    assert named_agents.split("greedy,ppo,sample,random", MATCH) == ["greedy", "ppo,sample", "random"]
    assert named_agents.split("heuristic", MATCH) == ["heuristic"]
    for names in ("", "greedy,,random", "greedy,none"):
        with pytest.raises(ValueError, match=r"^agent: takes "):
            named_agents.split(names, MATCH)


# In the browser -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One headless Chromium for all tests of this file."""
    needs = "the pages' tests need Debian's packages chromium and chromium-driver, and selenium"
    webdriver = pytest.importorskip("selenium.webdriver", reason=needs)
    driver = shutil.which("chromedriver")
    if driver is None or shutil.which("chromium") is None:
        pytest.skip(needs)
    options = webdriver.ChromeOptions()
    for name in ("headless=new", "no-sandbox", "disable-gpu", "no-first-run", "disable-background-networking"):
        options.add_argument(f"--{name}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield chrome
    chrome.quit()


def set_screen(browser: Any, width: int = 1280, height: int = 900, dark: bool = False, still: bool = False) -> None:
    screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    features = [
        {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
        {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"},
    ]
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def open_page(browser: Any, folder: Path, page: str, place: str = "", **screen: Any) -> None:
    set_screen(browser, **screen)
    file = folder / "page.html"
    file.write_text(page)
    browser.get("about:blank")
    browser.get(file.as_uri() + place)
    browser.get_log("browser")


def press(browser: Any, *keys: str) -> None:
    from selenium.webdriver import ActionChains

    for key in keys:
        ActionChains(browser).send_keys(key).perform()


def at(browser: Any) -> tuple[int, int]:
    """The round and the turn shown."""
    place = browser.execute_script("return replay.steps[replay.step]")
    return place["round"], place["ply"]


def test_positions_are_those_of_the_game(browser: Any, tmp_path: Path) -> None:
    """Each position, with hands hidden and shown, is what a view of the same game says."""
    records = [record_of(rules, seed) for seed, rules in enumerate(ALL_RULES)]
    open_page(browser, tmp_path, replay.page(records))
    for number, record in enumerate(records):
        positions = list(notation.replay(record))
        for reveal in (False, True):
            script = """
                const game = data.games[arguments[0]];
                return stepsOf(game).map((at) => viewAt(game, at, arguments[1]));
            """
            views = browser.execute_script(script, number, reveal)
            assert len(views) == len(positions)
            for view, position in zip(views, positions, strict=True):
                _compare(view, position, reveal, record)


def _compare(shown: dict[str, Any], position: notation.Position, reveal: bool, record: notation.Record) -> None:
    finished = position.game.to_play is None
    over = finished and position.round == len(record.rounds) - 1
    view = json.loads(json.dumps(see(position.game, None, reveal or finished, record.names).as_dict()))
    for name in ("viewer", "seats", "table", "stock", "scores", "round_number", "history"):
        assert shown[name] == view[name], name
    for name in ("line", "ends"):
        assert shown[name] == [{**one, "x": round(one["x"], 3), "y": round(one["y"], 3)} for one in view[name]]
    assert shown["rules"] == {"name": record.rules.name, **record.rules.as_dict()}
    assert shown["over"] == over
    assert (shown["winner"] is None) == (not over or record.result == "draw")
    assert not over or shown["winner"] is None or f"P{shown['winner']}" in record.result


@pytest.mark.parametrize("rules", [MATCH, Rules.preset("partnership"), Rules.preset("draw")], ids=rules_name)
def test_random_steps_are_straight_play(browser: Any, tmp_path: Path, rules: Rules) -> None:
    """L05: to the end, then forward and back at random 500 times; every position looks as it did in straight play."""
    open_page(browser, tmp_path, replay.page([record_of(rules, 5)], agents="greedy,heuristic"))
    script = """
        const shown = () => document.querySelector("main").outerHTML;
        const data0 = JSON.stringify(data), straight = [];
        for (let k = 0; k < replay.steps.length; k++) { byId(k ? "forward" : "first").click(); straight.push(shown()); }
        let wrong = 0, visited = new Set(), seed = 7;
        for (let k = 0; k < 500; k++) {
            seed = (seed * 1103515245 + 12345) % 2147483648;
            const way = Math.floor(seed / 65536) % 8;
            if (way < 3) byId("backward").click();
            else if (way < 6) byId("forward").click();
            else replay.go(Math.floor(seed / 1024) % straight.length);
            visited.add(replay.step);
            wrong += shown() !== straight[replay.step];
        }
        return [wrong, visited.size, straight.length, new Set(straight).size, data0 === JSON.stringify(data)];
    """
    wrong, visited, steps, distinct, same = browser.execute_script(script)
    assert wrong == 0
    assert visited > min(steps, 100) / 2
    assert distinct == steps
    assert same


def test_keys(browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver import Keys

    record = record_of(MATCH, 6)
    open_page(browser, tmp_path, replay.page([record], agents="greedy,heuristic"))
    rounds = browser.execute_script("return data.games[0].rounds.map((round) => round.plies.length)")
    press(browser, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_LEFT)
    assert at(browser) == (0, 2)
    press(browser, Keys.PAGE_DOWN)
    assert at(browser) == (1, 0)
    press(browser, Keys.PAGE_UP)
    assert at(browser) == (0, 0)
    press(browser, Keys.END)
    assert at(browser) == (len(rounds) - 1, rounds[-1])
    press(browser, Keys.ARROW_RIGHT)
    assert at(browser) == (len(rounds) - 1, rounds[-1])
    press(browser, Keys.HOME, Keys.ARROW_LEFT)
    assert at(browser) == (0, 0)
    backs = "return document.querySelectorAll('#board use[href=\"#back\"]').length"
    assert browser.execute_script(backs) == 14
    press(browser, "h")
    assert browser.execute_script(backs) == 0
    press(browser, "h")
    assert browser.execute_script(backs) == 14
    press(browser, "?")
    assert browser.execute_script("return byId('keys').open")
    press(browser, Keys.ESCAPE)
    assert not browser.execute_script("return byId('keys').open")
    press(browser, " ")
    assert browser.execute_script("return replay.timer !== null")
    press(browser, " ")
    assert browser.execute_script("return replay.timer === null")
    press(browser, "d")
    assert (
        browser.execute_script(
            "const at = replay.steps[replay.step]; return data.games[0].rounds[at.round].plies[at.ply].choice.differ"
        )
        >= 0.5
    )


def test_the_keyboard_reaches_every_button(browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver import Keys

    open_page(browser, tmp_path, replay.page([record_of(MATCH, 6)]))
    reached = []
    for _ in range(12):
        press(browser, Keys.TAB)
        reached.append(browser.execute_script("return document.activeElement.id"))
    assert [name for name in reached if name][:7] == ["help", "slider", "play", "forward", "last", "round", "hands"]


def test_places_to_jump_to(browser: Any, tmp_path: Path) -> None:
    records = [record_of(MATCH, seed) for seed in (7, 8)]
    open_page(browser, tmp_path, replay.page(records, agents="greedy,heuristic"), "#g2r2t3")
    assert at(browser) == (1, 3)
    assert browser.execute_script("return [replay.number, byId('game').selectedIndex]") == [1, 1]
    browser.execute_script("document.querySelectorAll('#moves button')[4].click()")
    assert at(browser) == (1, 5)
    browser.execute_script("document.querySelectorAll('#sheet button')[0].click()")
    assert at(browser) == (0, len(browser.execute_script("return data.games[1].rounds[0].plies")))
    assert "Domino: " in browser.execute_script("return byId('caption').textContent") or "Blocked: " in (
        browser.execute_script("return byId('caption').textContent")
    )
    browser.execute_script("document.querySelector('#differ button').click()")
    turn = "const at = replay.steps[replay.step]; return replay.game.rounds[at.round].plies[at.ply]"
    assert browser.execute_script(turn)["choice"]["differ"] == 1
    for place in ("#g3r1t0", "#g1r999t0", "#g1r1t999", "#other"):
        open_page(browser, tmp_path, replay.page(records), place)
        assert at(browser) == (0, 0)


def test_what_the_agents_would_play(browser: Any, tmp_path: Path) -> None:
    open_page(browser, tmp_path, replay.page([record_of(MATCH, 9)], agents="random,ppo,heuristic"))
    seen = browser.execute_script("""
        const turn = replay.game.rounds[0].plies[0];
        return [turn, [...document.querySelectorAll(".choices > li")].map((row) => ({
            tile: row.querySelector(".tile").getAttribute("aria-label"), played: row.classList.contains("is-played"),
            shares: [...row.querySelectorAll(".share")].map((one) => one.textContent),
            widths: [...row.querySelectorAll(".fill")].map((one) => Number(one.getAttribute("width"))),
            scores: [...row.querySelectorAll(".score")].map((one) => one.textContent)}))];
    """)
    turn, rows = seen
    assert len(rows) == 7
    assert [row["tile"] for row in rows if row["played"]] == ["|".join(map(str, turn["move"][0]))]
    for row in rows:
        k = ["|".join(map(str, move[0])) for move in turn["choice"]["moves"]].index(row["tile"])
        odds = [given[k] for given in turn["choice"]["odds"]]
        assert row["widths"] == pytest.approx([100 * share for share in odds], abs=0.006)
        assert row["shares"][0] == "14 %"
        assert row["scores"] == ["", "", f"{turn['choice']['scores'][2][k]:.2f}"]
    legend = browser.execute_script("return [...document.querySelectorAll('.legend b')].map((one) => one.textContent)")
    assert legend == ["random", "ppo", "heuristic"]


def test_no_errors_no_network_and_names_stay_text(browser: Any, tmp_path: Path) -> None:
    set_screen(browser)
    page = tmp_path / "page.html"
    page.write_text(replay.page([record_of(Rules.preset("partnership"), 10)], "<b>games</b>", "greedy,random"))
    browser.get_log("browser")
    browser.get(page.as_uri())
    browser.execute_script("for (let k = 0; k < replay.steps.length; k++) byId('forward').click(); replay.showHands();")
    assert browser.get_log("browser") == []
    assert browser.execute_script("return performance.getEntriesByType('resource').map((one) => one.name)") == []
    assert browser.execute_script("return document.querySelectorAll('img, main b b, #board b').length") == 0
    assert browser.title == "<b>games</b>"
    names = browser.execute_script(
        "return [...document.querySelectorAll('#board .name')].map((one) => one.querySelector('title')?.textContent "
        "?? one.textContent)"
    )
    assert sorted(name.rsplit("…", 1)[-1] for name in names) == sorted(NAMES)
    run = "const one = document.createElement('script'); one.textContent = 'window.ran = 1'; document.body.append(one);"
    assert browser.execute_script(run + "return window.ran") is None
    fetched = (
        "const done = arguments[0]; fetch('http://127.0.0.1:9/').then(() => done('sent'), (why) => done(String(why)))"
    )
    assert "Failed to fetch" in browser.execute_async_script(fetched)
    assert any("Content Security Policy" in line["message"] for line in browser.get_log("browser"))


@pytest.mark.parametrize("rules", [MATCH, Rules.preset("partnership"), Rules(4, max_pip=9)], ids=rules_name)
@pytest.mark.parametrize("width", [390, 320, 768])
def test_small_screens(browser: Any, tmp_path: Path, rules: Rules, width: int) -> None:
    page = replay.page([record_of(rules, 11)], agents="greedy,heuristic" if rules.num_tiles < 40 else None)
    open_page(browser, tmp_path, page, width=width, height=844)
    script = """
        let wide = 0, small = new Set(), out = 0;
        for (let k = 0; k < replay.steps.length; k += 1 + k % 3 + (replay.steps.length >> 6)) {
            replay.go(k);
            if (k % 2) replay.showHands();
            wide = Math.max(wide, document.documentElement.scrollWidth);
            const board = byId("board").getBoundingClientRect();
            for (const one of byId("board").querySelectorAll("use, .name, .notes")) {
                const box = one.getBoundingClientRect();
                out += box.left < board.left - 1 || box.right > board.right + 1;
                out += box.top < board.top - 1 || box.bottom > board.bottom + 1;
            }
        }
        for (const one of document.querySelectorAll("body *:not(script, style, defs *)"))
            if ([...one.childNodes].some((child) => child.nodeType === 3 && child.data.trim()) && one.checkVisibility())
                if (parseFloat(getComputedStyle(one).fontSize) < 12) small.add(one.outerHTML);
        return [wide, [...small], out];
    """
    wide, small, out = browser.execute_script(script)
    assert wide <= width
    assert small == []
    assert out == 0


LUMINANCE = """
    const light = (color) => {
        const [r, g, b] = color.match(/[\\d.]+/g).map(Number).map((c) => c / 255).map(
            (c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ratio = (one, two) => (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    const of = (selector, name) => light(getComputedStyle(document.querySelector(selector))[name]);
"""


@pytest.mark.parametrize("dark", [False, True])
def test_light_and_dark(browser: Any, tmp_path: Path, dark: bool) -> None:
    """Text stands out by 4.5 to 1 (WCAG 2, AA)."""
    open_page(browser, tmp_path, replay.page([record_of(MATCH, 3)], agents="greedy,ppo"), "#g1r1t6", dark=dark)
    assert (browser.execute_script(LUMINANCE + "return of('body', 'backgroundColor')") < 0.1) == dark
    pairs = browser.execute_script(
        LUMINANCE
        + """
        const page = of("body", "backgroundColor"), felt = of(".felt", "fill");
        const panel = of(".side section", "backgroundColor");
        return [[of("#board .name", "fill"), page], [of("#board .notes", "fill"), page],
            [of("#board .stock", "fill"), felt], [of("#board .end text", "fill"), felt],
            [of("#caption", "color"), page], [of(".soft", "color"), panel],
            [of(".who", "color"), panel], [of("#about", "color"), page], [of(".played", "color"), page]
        ].map(([one, two]) => ratio(one, two));
    """
    )
    assert min(pairs) >= 4.5


def test_motion_is_for_those_who_want_it(browser: Any, tmp_path: Path) -> None:
    page = replay.page([record_of(MATCH, 13)])
    for still, moving in ((False, 1), (True, 0)):
        open_page(browser, tmp_path, page, still=still)
        script = "byId('forward').click(); return byId('board').getAnimations({subtree: true}).length"
        assert browser.execute_script(script) == moving


def test_another_width_draws_anew(browser: Any, tmp_path: Path) -> None:
    open_page(browser, tmp_path, replay.page([record_of(MATCH, 13)]), "#g1r1t5")
    box = "return byId('board').getAttribute('viewBox')"
    wide = browser.execute_script(box)
    set_screen(browser, width=390, height=844)
    script = "const done = arguments[0]; setTimeout(() => done(byId('board').getAttribute('viewBox')), 300)"
    assert browser.execute_async_script(script) != wide


# The board by itself --------------------------------------------------------------------------------------------------


def board_page(view: dict[str, Any], how: dict[str, Any]) -> str:
    pages = Path(replay.__file__).parent / "pages"
    return f"""<!doctype html><style>{(pages / "board.css").read_text()}</style>
        <svg width="0" height="0"><defs>{tile_symbols(6)}</defs></svg><svg id="board"></svg><p id="live"></p>
        <script>{(pages / "board.js").read_text()}
        const chosen = [];
        const board = new Board(document.getElementById("board"), {{live: document.getElementById("live"),
            onTile: (tile) => chosen.push(tile), onEnd: (end) => chosen.push(end)}});
        board.show({json.dumps(view)}, {json.dumps(how)});</script>"""


def test_playable_tiles_and_ends(browser: Any, tmp_path: Path) -> None:
    """The mouse and the keyboard choose what is playable, and nothing else."""
    from selenium.webdriver import Keys

    games = Games(1, MATCH, seed=3)
    games.step(games.action_mask.argmax(axis=1))
    view = see(games.snapshot(0), int(games.to_play[0])).as_dict()
    hand = view["seats"][view["viewer"]]["hand"]
    how = {"playable": {"tiles": [hand[2]], "ends": ["left"]}, "selected": hand[2]}
    open_page(browser, tmp_path, board_page(view, how))
    click = """
        for (const one of document.querySelectorAll(".held, .end, .placed")) one.dispatchEvent(new MouseEvent("click"));
        return chosen.splice(0);
    """
    assert browser.execute_script(click) == ["left", list(hand[2])]
    press(browser, Keys.TAB, Keys.ENTER, Keys.TAB, " ")
    assert browser.execute_script("return chosen") == ["left", list(hand[2])]
    named = browser.execute_script(
        "return [...document.querySelectorAll('[role=button]')].map((one) => one.getAttribute('aria-label'))"
    )
    tile = "|".join(map(str, hand[2]))
    assert named == [f"Lay at the left end, {view['ends'][0]['pip']}", f"Play {tile}"]
    first = view["history"][-1]
    assert browser.execute_script("return document.getElementById('live').textContent") == (
        f"{view['seats'][first['seat']]['name']} lays {'|'.join(map(str, first['move'].tile))}."
    )
    browser.execute_script("board.show(board.view, board.how)")
    assert browser.execute_script("return document.activeElement.getAttribute('data-key')").startswith("tile-")


def test_the_page_does_not_take_its_records_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, link = tmp_path / "games", tmp_path / "link"
    file.write_text(notation.write(record_of(MATCH, 1)))
    link.symlink_to(file)
    before = file.read_bytes()
    with pytest.raises(SystemExit):
        replay.main([str(file), "-o", str(link)])
    assert "FILE and -o: take two files" in capsys.readouterr().err
    assert file.read_bytes() == before


def test_a_file_name_that_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / os.fsdecode(b"a\xff.txt")
    file.write_text(notation.write(record_of(MATCH, 1)))
    assert replay.main([str(file), "-o", str(tmp_path / "page.html")]) == 0
    assert "a\ufffd.txt" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("names", ["greedy,", ",greedy", "greedy,,random", ""])
def test_a_name_that_is_missing_in_a_list(names: str) -> None:
    with pytest.raises(ValueError, match="agent: takes one or more names with commas between them"):
        named_agents.split(names, MATCH)
    assert named_agents.split("greedy, random", MATCH) == ["greedy", "random"]
