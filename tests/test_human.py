"""Playing against agents: the session, what it shows, and the terminal.

The session's games are held against the core played with the same seed and actions; what a person may see is tested by
swapping all that is hidden.
"""

from __future__ import annotations

import builtins
import copy
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import every_rules, random_rules, scaled, swapped
from numpy.typing import NDArray
from record_cases import TIE

from block_env import human, notation, opponents
from block_env.actions import Move
from block_env.play import Games
from block_env.session import AgentError, Frame, Session
from block_env.state import REASONS
from block_env.variants import Rules

ROOT = Path(__file__).parents[1]
TWO = Rules.preset("match")


def new_session(rules: Rules = TWO, seat: int = 0, seed: int = 0, agent: str = "random") -> Session:
    return Session(rules, [(agent, opponents.make(agent, rules))] * (rules.num_players - 1), seat, seed)


def advance(session: Session, rng: np.random.Generator) -> int | None:
    """One turn or deal, the person's moves at random; the action, None for a deal."""
    frame = session.frame
    if frame.phase.endswith("over"):
        session.go_on()
        return None
    action = session.ask() if frame.phase == "wait" else int(rng.choice([action for action, _ in frame.legal]))
    session.play(action)
    return action


def as_bytes(frame: Frame) -> bytes:
    return json.dumps(frame.as_dict()).encode()


# The session ----------------------------------------------------------------------------------------------------------


@every_rules
def test_games_are_the_cores(rules: Rules, rng: np.random.Generator) -> None:
    """Two games in a row: the same scores, ends and winner as the core gives for the same seed and actions."""
    session = new_session(rules, rules.num_players - 1, seed=5)
    core = Games(1, rules, reward="points", seed=5, auto_reset=False)
    total, ended = np.zeros(rules.num_players), 0
    while ended < 2:
        action = advance(session, rng)
        if action is None:
            continue
        rewards, done = core.step(np.array([action]))
        total += rewards[0]
        state, frame = core.states[0], session.frame
        assert frame.view.scores == tuple(state.scores[: rules.num_sides])
        assert frame.phase.endswith("over") == bool(core.reasons[0])
        if core.reasons[0]:
            check_end(frame, core)
        if done[0]:
            winner = None if state.winner < 0 else state.winner
            assert (frame.phase, frame.view.over, frame.view.winner) == ("game over", True, winner)
            paid = np.zeros(rules.num_sides)
            for line in frame.sheet:
                paid += side_gains(rules, line.round.winner, line.round.points)
            assert np.allclose(total[: rules.num_sides], paid)
            total[:], ended = 0, ended + 1
            core.reset()


def side_gains(rules: Rules, winner: int | None, points: int) -> NDArray[np.float64]:
    """What each side gets for a round: zero-sum."""
    others = rules.num_sides - 1
    return np.array([points if side == winner else -points / others for side in range(rules.num_sides)]) * (
        winner is not None
    )


def check_end(frame: Frame, core: Games) -> None:
    """The sheet's last line is the core's; the table is as the last turn left it, with all hands."""
    state, line, view = core.states[0], frame.sheet[-1], frame.view
    assert line.round.reason == REASONS[core.reasons[0]]
    assert line.round.points == state.last_points
    assert line.round.winner == (None if state.last_winner < 0 else state.last_winner)
    assert line.scores == view.scores
    assert tuple(seat.hand for seat in view.seats) == line.round.hands
    laid = [tile for tile in (ply.move.tile for ply in view.history) if tile is not None]
    assert [one.tile for one in view.line] == laid
    held = [tile for hand in line.round.hands for tile in hand]
    assert len({*laid, *held}) == len(laid) + len(held) == view.rules.num_tiles - view.stock
    assert any(seat.hand == () for seat in view.seats) == (line.round.reason == "domino")
    assert view.history[-1].passed == (line.round.reason == "blocked")
    assert not any(seat.to_play for seat in view.seats)


def test_many_games_pay_what_their_rounds_pay(rng: np.random.Generator) -> None:
    """A random person among random agents, rules of any kind: each round's points by the words of the rules."""
    for _ in range(scaled(60, 5)):
        rules = random_rules(rng)
        session = new_session(rules, int(rng.integers(rules.num_players)), int(rng.integers(1000)))
        while session.frame.phase != "game over":
            advance(session, rng)
        scores = [0] * rules.num_sides
        for line in session.frame.sheet:
            pips = [sum(map(sum, hand)) for hand in line.round.hands]
            sides = [sum(pips[side :: rules.num_sides]) for side in range(rules.num_sides)]
            if line.round.winner is None:
                assert line.round.points == 0
                continue
            own = sides[line.round.winner]
            subtract = line.round.reason == "blocked" and rules.blocked_points == "difference"
            assert line.round.points == max(sum(sides) - own - own * subtract, 0)
            scores[line.round.winner] += line.round.points
            assert line.scores == tuple(scores)


@every_rules
def test_nothing_hidden_is_shown(rules: Rules, rng: np.random.Generator) -> None:
    """With all hidden tiles drawn anew, the person's move gives the same frame and text, byte for byte."""
    compared = 0
    for seed in range(scaled(4, 2)):
        session = new_session(rules, seed % rules.num_players, seed)
        for _ in range(60):
            twin = copied(session)
            twin._games.states[:] = swapped(session._games.states, rules, 0, session.seat, rng)
            if session.frame.phase in ("play", "wait"):
                assert session.table() == twin.table()
                assert as_bytes(twin.frame) == as_bytes(refreshed(twin))
            was_mine = session.frame.phase == "play"
            action = advance(session, rng)
            ply = session.frame.view.history[-1:]
            if not was_mine or session.frame.phase.endswith("over") or ply[0].drawn:
                continue  # hands are shown, or the person drew a hidden tile
            assert action is not None
            twin.play(action)
            assert as_bytes(twin.frame) == as_bytes(session.frame)
            compared += 1
    assert compared or rules.hand_size == 1


def copied(session: Session) -> Session:
    """The same session with games of its own."""
    other = copy.copy(session)
    other.frames, other._games = session.frames[:], copy.deepcopy(session._games)
    return other


def refreshed(session: Session) -> Frame:
    """The last frame made anew from the session's game."""
    other = copied(session)
    other._number -= 1
    other._add(other._phase(), other._see(other._games.snapshot(0)), other.frame.sheet)
    return other.frame


def test_other_hands_are_hidden_until_the_end(rng: np.random.Generator) -> None:
    session = new_session(Rules.preset("partnership"), 2, 1)
    for _ in range(300):
        frame = session.frame
        shown = [seat.hand is not None for seat in frame.view.seats]
        assert shown == ([True] * 4 if frame.phase.endswith("over") else [False, False, True, False])
        assert bool(frame.legal) == (frame.phase == "play")
        advance(session, rng)


def test_frames_since(rng: np.random.Generator) -> None:
    """Numbers go up by one over games too; a known number gets all that came later, another the last frame."""
    rules = Rules(2, max_pip=2, hand_size=2, target=None)
    session = new_session(rules)
    seen = session.since(-1)
    assert [frame.number for frame in seen] == [1]
    while session.frame.number < 60:
        advance(session, rng)
        news = session.since(seen[-1].number)
        assert [frame.number for frame in news] == [seen[-1].number + 1]
        seen += news
    first = session.frames[0].number
    assert first > 1
    assert [frame.number for frame in session.since(first)] == list(range(first + 1, 61))
    for stale in (-5, 0, first - 2, 61, 10**9):
        assert session.since(stale) == [session.frame]
    assert session.since(60) == []


def test_seeds_repeat_and_differ(rng: np.random.Generator) -> None:
    hands = [new_session(seed=seed).frame.view.seats[0].hand for seed in (1, 1, 2)]
    assert hands[0] == hands[1] != hands[2]


class Fixed:
    """Answers always the same."""

    needs_history = False

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def act(self, observation: Any, action_mask: Any, rng: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("answer", [RuntimeError("I hold [6|6]"), np.array([99]), np.array([56]), None, [0.5]])
def test_an_agent_that_fails(answer: Any) -> None:
    """It is named; nothing has changed; what it said stays out of the frame."""
    session = Session(TWO, [("odd", Fixed(answer))], seed=3)  # the agent opens
    before = session._games.states.tobytes()
    with pytest.raises(AgentError, match="odd at seat 1 failed") as caught:
        session.ask()
    assert session._games.states.tobytes() == before
    session.fail(caught.value)
    assert (session.frame.phase, session.frame.legal) == ("failed", ())
    assert session.frame.failure == "odd at seat 1 failed; the game cannot go on."
    assert b"6|6" not in as_bytes(session.frame).split(b'"failure"')[1]
    with pytest.raises(ValueError, match="phase 'failed'"):
        session.play(0)


class Widths:
    """Notes how wide the observations are; the first legal action."""

    def __init__(self, history: bool) -> None:
        self.needs_history, self.widths = history, set[int]()

    def act(self, observation: Any, action_mask: Any, rng: Any) -> Any:
        self.widths.add(observation.shape[1])
        return action_mask.argmax(axis=1)


def test_history_goes_to_those_who_need_it(rng: np.random.Generator) -> None:
    rules = Rules.preset("match", 3)
    short, long = Widths(False), Widths(True)
    session = Session(rules, [("short", short), ("long", long)], seed=1)
    while session.frame.phase != "game over":
        advance(session, rng)
    games = [Games(1, rules, history=history, seed=1) for history in (False, True)]
    assert [short.widths, long.widths] == [{one.layout.size} for one in games]


def test_what_a_session_takes() -> None:
    greedy = opponents.make("greedy", TWO)
    for arguments, words in [
        ((TWO, []), "agents: takes 1, one for each other seat, got 0"),
        ((TWO, [("greedy", greedy)], 2), "seat: takes a seat from 0 to 1, got 2"),
        ((TWO, [("greedy", greedy)], True), "seat: takes a seat from 0 to 1, got True"),
        ((TWO, [("greedy", greedy)], 0, -1), "seed: takes None or a whole number from 0, got -1"),
    ]:
        with pytest.raises(ValueError, match=re.escape(words)):
            Session(*arguments)


def test_refused_turns_change_nothing(rng: np.random.Generator) -> None:
    session = new_session(seed=1)
    while session.frame.phase != "play":
        advance(session, rng)
    before, frame = session._games.states.tobytes(), session.frame
    for action in (56, -1, 57, 10**6):
        with pytest.raises(ValueError, match="action"):
            session.play(action)
    with pytest.raises(ValueError, match="go_on"):
        session.go_on()
    assert (session._games.states.tobytes(), session.frame) == (before, frame)


def test_names() -> None:
    agents = [(name, opponents.make(name, Rules.preset("match", 4))) for name in ("greedy", "random", "greedy")]
    session = Session(Rules.preset("match", 4), agents, seat=2)
    assert [seat.name for seat in session.frame.view.seats] == ["random", "greedy 2", "you", "greedy 1"]


# What is typed --------------------------------------------------------------------------------------------------------


def frame_of(legal: str, hand: list[tuple[int, int]], begun: bool = True) -> Frame:
    """A frame with these moves, ``35L 35R``: only what reading a move looks at is meant."""
    frame = new_session().frame
    moves = tuple(
        (k, Move((int(word[0]), int(word[1])), "left" if word[2] == "L" else "right"))
        for k, word in enumerate(legal.split())
    )
    seats = (copy.copy(frame.view.seats[0]), frame.view.seats[1])
    object.__setattr__(seats[0], "hand", tuple(hand))
    view = copy.copy(frame.view)
    object.__setattr__(view, "seats", seats)
    object.__setattr__(view, "line", (1,) if begun else ())
    return Frame(1, "play", view, moves, ())


TYPED = frame_of("35L 36L 35R 11R", [(1, 1), (3, 5), (3, 6), (2, 4)])


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("1", 0),
        (" 4 ", 3),
        ("35L", 0),
        ("35r", 2),
        ("53R", 2),
        ("[3|5]L", 0),
        ("[5|3] right", 2),
        ("3 5 left", 0),
        ("3-5r", 2),
        ("36", 1),
        ("[3|6]", 1),
        ("11", 3),
        ("1:1R", 3),
    ],
)
def test_typed_moves(text: str, place: int) -> None:
    assert human.read_move(text, TYPED) == place


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("35", "[3|5] fits both ends: add L or R."),
        ("36R", "[3|6] does not fit the right end."),
        ("24L", "[2|4] cannot be laid now."),
        ("66L", "You do not hold [6|6]."),
        ("0", "Type a number from 1 to 4, a move such as 35L, or help."),
        ("5", "Type a number from 1 to 4, a move such as 35L, or help."),
        ("-1", "Type a number from 1 to 4, a move such as 35L, or help."),
        ("", "Type a number from 1 to 4, a move such as 35L, or help."),
        ("left 35", "Type a number from 1 to 4, a move such as 35L, or help."),
        ("pass", "You may only pass when no tile fits."),
    ],
)
def test_typing_errors(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
        human.read_move(text, TYPED)
    assert str(caught.value).startswith(words)


def test_the_opening_has_no_end() -> None:
    frame = frame_of("35L 11L", [(1, 1), (3, 5)], begun=False)
    assert [human.read_move(text, frame) for text in ("35", "35R", "[3|5]", "11l")] == [0, 0, 0, 1]


# The terminal ---------------------------------------------------------------------------------------------------------


def typed(monkeypatch: pytest.MonkeyPatch, lines: Iterator[str] | list[str]) -> None:
    """What ``input`` gives; then the end of the input."""
    given = iter(lines)

    def ask(prompt: str = "") -> str:
        print(prompt)
        try:
            return next(given)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr(builtins, "input", ask)


def played(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lines: list[str], *arguments: str
) -> str:
    typed(monkeypatch, lines)
    assert human.main(list(arguments)) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("rules", ["match", "single_round", "partnership", "draw"])
def test_a_game_by_numbers(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], rules: str) -> None:
    """The first move always, Enter between rounds, to the end of a game; no line is too wide."""
    monkeypatch.setenv("COLUMNS", "72")
    out = played(monkeypatch, capsys, ["1"] * 400, "--rules", rules, "--seed", "4")
    assert "The game is over: " in out
    assert "round 1: " in out
    assert max(map(len, out.splitlines())) <= 72


def test_commands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["help", "?", "hand", "score", "table", "what", "", "99", "1", "quit", "1"]
    out = played(monkeypatch, capsys, lines, "--seed", "3", "--opponent", "heuristic")
    assert out.count("no move can be taken back") == 2
    assert out.count("score: you 0, heuristic 0; 100 win") == 1
    assert out.count("Type a number from 1 to") == 2
    assert "You do not hold [9|9]." in out
    assert out.count("\nYou lay ") == 1
    assert out.count("> \n") == 10


@pytest.mark.parametrize("columns", ["1", "30", "40", "1000", "x"])
def test_narrow_terminals(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    out = played(monkeypatch, capsys, ["help"] + ["1"] * 40, "--seed", "4", "--rules", "draw", "--num-players", "4")
    width = min(max(int(columns), 20), 100) if columns != "x" else 100
    assert max(map(len, out.splitlines())) <= max(width, len("Enter deals the next round: "))


def test_partners_are_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    out = played(monkeypatch, capsys, ["1"] * 400, "--rules", "partnership", "--opponent", "random", "--seed", "1")
    assert "score: you and random 2 " in out
    assert re.search(r"(you and random 2|random 1 and random 3) win \d+ points", out)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--opponent", "nobody"], "agent: takes"),
        (["--opponent", "greedy,random"], "--opponent: takes one name, or 1 for the other seats, got 2"),
        (["--opponent", "greedy,random", "--num-players", "4"], "or 3 for the other seats, got 2"),
        (["--seat", "2"], "seat: takes a seat from 0 to 1, got 2"),
        (["--seat", "-1"], "takes a whole number from 0 to 3, got -1"),
        (["--seed", "x"], "takes a whole number from 0, got 'x'"),
        (["--rules", "chess"], "invalid choice"),
        (["--rules", "partnership", "--num-players", "3"], "partnership"),
        (["--record", "/no/such/folder/x"], "takes the name of a file in a folder"),
        (["--port", "70000", "--web"], "takes a whole number from 0 to 65535"),
        (["greedy"], "unrecognized arguments"),
    ],
)
def test_errors_take_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    with pytest.raises(SystemExit) as caught:
        human.main(arguments)
    out, err = capsys.readouterr()
    assert (caught.value.code, out) == (2, "")
    assert err.startswith("python -m block_env.human: error: ")
    assert err.count("\n") == 1
    assert words in err


def run_human(*arguments: str, typing: str = "", **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "block_env.human", *arguments]
    env = {**os.environ, **environment}
    return subprocess.run(command, input=typing.encode(), capture_output=True, timeout=120, cwd=ROOT, env=env)


def test_through_pipes_in_ascii() -> None:
    """Without UTF-8 all that is written is ASCII."""
    run = run_human("--seed", "4", typing="1\n" * 60, PYTHONIOENCODING="ascii")
    assert (run.returncode, run.stderr) == (0, b"")
    assert run.stdout.isascii()
    assert b"The round is over" in run.stdout
    assert b"[6=6]" in run.stdout


def test_typing_what_is_no_text() -> None:
    command = [sys.executable, "-m", "block_env.human", "--seed", "4"]
    run = subprocess.run(command, input=b"\xff\xfe\n\x00\nquit\n", capture_output=True, timeout=120, cwd=ROOT)
    assert (run.returncode, run.stderr) == (0, b"")


def test_ctrl_c_leaves() -> None:
    command = [sys.executable, "-u", "-m", "block_env.human", "--seed", "4"]
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, cwd=ROOT, **pipes) as running:
        out = b""
        while b"> " not in out.splitlines()[-1:]:
            out += running.stdout.read1()
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (0, b"")


def test_an_agent_fails_in_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "odd_agents.py").write_text(
        "class Odd:\n    def act(self, *_):\n        raise RuntimeError('no idea')\n\n"
        "def odd(rules):\n    return Odd()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    typed(monkeypatch, ["1"] * 50)
    with pytest.raises(SystemExit) as caught:
        human.main(["--opponent", "odd_agents:odd"])
    err = capsys.readouterr().err
    assert caught.value.code == 2
    assert err.count("\n") == 1
    assert "odd_agents:odd at seat 1 failed: RuntimeError: no idea" in err


# Records --------------------------------------------------------------------------------------------------------------


def test_a_record_of_a_session(tmp_path: Path, rng: np.random.Generator) -> None:
    """Each game as it ends, what is left at the close; read and checked by the core."""
    file = tmp_path / "games.txt"
    session = Session(TWO, [("random", opponents.make("random", TWO))], 1, 7, file)
    sheets = []
    while len(sheets) < 2:
        advance(session, rng)
        if session.frame.phase == "game over":
            sheets.append(session.frame.sheet)
            assert len(notation.read_file(file)) == len(sheets)
    for _ in range(6):
        advance(session, rng)
    session.close()
    records = notation.read_file(file)
    assert [record.names for record in records] == [("random", "human")] * 3
    assert [record.seed for record in records] == [7, None, None]
    for record, sheet in zip(records, sheets, strict=False):
        assert [(one.points, one.scores) for one in record.rounds] == [
            (line.round.points, line.scores) for line in sheet
        ]
    assert records[2].result == "unfinished"


def test_quitting_keeps_the_record(tmp_path: Path) -> None:
    file = tmp_path / "games.txt"
    for count, typing in enumerate(("1\n1\nquit\n", "1\n1\n"), start=1):
        run = run_human("--seed", "3", "--record", str(file), typing=typing)
        assert (run.returncode, run.stderr) == (0, b"")
        assert run.stdout.endswith(f"The record is in {file}.\n".encode())
        records = notation.read_file(file)
        told = [(record.names, record.result, record.seed) for record in records]
        assert told == [(("human", "greedy"), "unfinished", 3)] * count


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("web", [[], ["--web", "--no-browser"]], ids=["terminal", "web"])
def test_a_signal_that_ends_it_keeps_the_record(sent: signal.Signals, web: list[str], tmp_path: Path) -> None:
    file = tmp_path / "games"
    file.write_text(TIE)
    command = [sys.executable, "-m", "block_env.human", "--rules", "single_round", "--seed", "1", "--record", str(file)]
    command += ["--opponent", "random", *web]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as run:
        run.stdin.write(b"1\n")
        run.stdin.flush()
        seen = b""
        while not (b"Ctrl-C ends it" in seen if web else seen.count(b"> ") > 1):
            seen += run.stdout.read1()
        time.sleep(1 if web else 0)  # the agent opens
        run.send_signal(sent)
        printed, _ = run.communicate(timeout=60)
    assert b"The record is in" in printed
    old, *new = notation.read_file(file)
    assert notation.write(old) == TIE
    assert [record.result for record in new] == ["unfinished"]


def test_help_where_the_terminal_has_few_letters() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    for name in ("human", "replay", "render"):
        command = [sys.executable, "-m", f"block_env.{name}", "--help"]
        subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)


def test_a_record_whose_name_cannot_be_shown(tmp_path: Path) -> None:
    file = tmp_path / os.fsdecode(b"g\xe9\xff")
    run = run_human("--seed", "3", "--record", str(file), typing="1\nquit\n", PYTHONIOENCODING="ascii")
    assert (run.returncode, run.stderr) == (0, b"")
    assert b"The record is in" in run.stdout
    assert len(notation.read_file(file)) == 1
