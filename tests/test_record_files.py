"""Files of records: what every environment writes on request, and that they hold whole games, however a run ends."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from helpers import every_rules, random_actions, scaled
from numpy.typing import NDArray
from record_cases import BLOCKED, TIE
from record_oracle import is_true, played

import evaluate
from block_env import Rules, env, notation, parallel_env, raw_env
from block_env.play import Games
from block_env.recording import RecordFile
from block_env.vector_env import BlockVectorEnv

ROOT = Path(__file__).resolve().parents[1]


def texts_of(file: Path) -> list[str]:
    """The games of a file, each of which must be whole and true."""
    texts = [f"{text}\n" for text in file.read_text().rstrip("\n").split("\n\n")]
    for text in texts:
        assert is_true(text), text
    return texts


def leftovers(folder: Path, *expected: str) -> bool:
    return sorted(os.listdir(folder)) == sorted(expected)


# Every environment ----------------------------------------------------------------------------------------------------


@every_rules
def test_the_batch_and_the_aec_env_write_the_same_bytes(rules: Rules, tmp_path: Path, rng: np.random.Generator) -> None:
    batch, table = Games(1, rules, seed=7, record=tmp_path / "batch"), raw_env(rules=rules, record=tmp_path / "aec")
    table.reset(seed=7)
    for _ in range(scaled(150, 40)):
        actions = random_actions(batch.action_mask, rng)
        batch.step(actions)
        table.step(int(actions[0]))
        if any(table.terminations.values()):
            table.reset()
    batch.close()
    table.close()
    assert (tmp_path / "batch").read_text() == (tmp_path / "aec").read_text()
    assert texts_of(tmp_path / "aec")
    assert leftovers(tmp_path, "aec", "batch")


def test_the_checked_env_and_the_parallel_env_write_games(tmp_path: Path) -> None:
    for name, table in (
        ("aec", env(record=tmp_path / "aec")),
        ("parallel", parallel_env(record=tmp_path / "parallel")),
    ):
        observation = table.reset(seed=3)
        for _ in range(500):
            if name == "aec":
                agent = table.agent_selection
                action = int(table.observe(agent)["action_mask"].argmax()) if not table.terminations[agent] else None
                table.step(action)
            else:
                seen = observation[0]
                observation = table.step({agent: int(seen[agent]["action_mask"].argmax()) for agent in table.agents})
            if not table.agents:
                break
        table.close()
    aec, parallel = texts_of(tmp_path / "aec"), texts_of(tmp_path / "parallel")
    assert aec == parallel
    assert "\nseed: 3\n" in aec[0]


def lowest_legal(mask: NDArray[np.int8]) -> int:
    return int(mask.argmax())


def test_gymnasium_names_learner_and_opponents(tmp_path: Path) -> None:
    table = gymnasium.make("block_env/Block-v0", opponent="greedy", rules="draw", record=tmp_path / "games")
    rewards = []
    for _ in range(3):
        observation, _ = table.reset(seed=3 if not rewards else None)
        done = False
        while not done:
            observation, reward, terminated, truncated, _ = table.step(lowest_legal(observation["action_mask"]))
            done = terminated or truncated
        rewards.append(reward)
    observation, _ = table.reset()
    with pytest.warns(UserWarning, match="not legal"):
        table.step(int(np.flatnonzero(observation["action_mask"] == 0)[0]))
    table.close()
    records = notation.read("\n".join(texts_of(tmp_path / "games")))
    assert len(records) == 4
    assert [record.seed for record in records] == [3, None, None, None]
    assert all(sorted(record.names) == ["greedy", "learner"] for record in records)
    assert "illegal action" in records[3].result
    for record, reward in zip(records, rewards, strict=False):
        won = record.result == f"P{record.names.index('learner')} wins"
        assert (reward > 0) == won


def test_the_vector_env_writes_each_game_that_ends(tmp_path: Path, rng: np.random.Generator) -> None:
    table = BlockVectorEnv(8, "random", rules="single_round", record=tmp_path / "games", max_cycles=13)
    observation, _ = table.reset(seed=1)
    ends = 0
    for _ in range(scaled(200, 60)):
        masks = observation["action_mask"]
        observation, _, terminated, truncated, _ = table.step(random_actions(masks, rng))
        ends += int((terminated | truncated).sum())
    table.close()
    records = notation.read("\n".join(texts_of(tmp_path / "games")))
    assert ends <= len(records) <= ends + 8
    assert {record.result for record in records} >= {"unfinished", "P0 wins", "P1 wins"}


def test_a_batch_writes_whole_games_in_the_order_of_their_ends(tmp_path: Path, rng: np.random.Generator) -> None:
    games = Games(20, Rules.preset("match", 3), seed=5, record=tmp_path / "games")
    finished = 0
    for _ in range(scaled(400, 60)):
        finished += int(games.step(random_actions(games.action_mask, rng))[1].sum())
    whole = notation.read("\n".join(texts_of(tmp_path / "games"))) if finished else []
    assert len(whole) == finished
    assert all(record.result.endswith("wins") for record in whole)
    games.close()
    assert len(texts_of(tmp_path / "games")) == finished + 20


@pytest.mark.parametrize("unit", ["round", "match"])
def test_evaluate_writes_every_game(unit: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "games"
    command = ["greedy", "heuristic", "random", "--deals", "3", "--unit", unit, "--records", str(file), "--seed", "4"]
    assert evaluate.main(command) == 0
    capsys.readouterr()
    records = notation.read("\n".join(texts_of(file)))
    assert len(records) == 3 * 3 * 2
    pairs = [record.names for record in records]
    assert {frozenset(names) for names in pairs} == {
        frozenset(pair) for pair in [("greedy", "heuristic"), ("greedy", "random"), ("heuristic", "random")]
    }
    assert {pairs.count(names) for names in pairs} == {3}  # each seating of each pair, three deals
    by_deal = {(frozenset(record.names), record.rounds[0].hands) for record in records}
    assert len(by_deal) == 9
    if unit == "round":
        assert all(len(record.rounds) == 1 and record.rounds[0].reason for record in records)
    else:
        assert all(record.result.endswith("wins") for record in records)


def test_records_do_not_change_the_result(tmp_path: Path) -> None:
    from agents import make
    from agents.evaluation import Log, play_pair

    rules = Rules.preset("match")
    file = RecordFile(tmp_path / "games")
    a, b = make("greedy", rules), make("random", rules)
    plain = vars(play_pair(a, b, rules, deals=20))
    logged = vars(play_pair(a, b, rules, deals=20, log=Log(file, ("a", "b"))))
    file.close()
    assert {k: v for k, v in plain.items() if k[:2] != "ms"} == {k: v for k, v in logged.items() if k[:2] != "ms"}


# Games that are left --------------------------------------------------------------------------------------------------


def test_a_game_left_by_reset_or_close_is_unfinished(tmp_path: Path) -> None:
    table = raw_env(record=tmp_path / "games")
    table.reset(seed=1)  # no turn: nothing to tell
    table.reset(seed=2)
    table.step(lowest_legal(table.observe(table.agent_selection)["action_mask"]))
    table.reset(seed=3)
    table.step(lowest_legal(table.observe(table.agent_selection)["action_mask"]))
    table.step(lowest_legal(table.observe(table.agent_selection)["action_mask"]))
    table.close()
    table.close()
    records = notation.read("\n".join(texts_of(tmp_path / "games")))
    assert [(record.seed, len(record.rounds[0].turns), record.result) for record in records] == [
        (2, 1, "unfinished"),
        (3, 2, "unfinished"),
    ]


def test_no_game_no_file_and_an_older_file_stays(tmp_path: Path) -> None:
    raw_env(record=tmp_path / "new").close()
    assert leftovers(tmp_path)
    (tmp_path / "old").write_text(TIE)
    table = raw_env(record=tmp_path / "old")
    table.reset(seed=1)
    assert (tmp_path / "old").read_text() == TIE
    table.close()
    assert (tmp_path / "old").read_text() == TIE
    assert leftovers(tmp_path, "old")


def test_games_are_added_to_an_older_file_if_that_is_wanted(tmp_path: Path) -> None:
    file = tmp_path / "games"
    for _ in range(2):
        kept = RecordFile(file, add=True)
        kept.write(notation.read(TIE)[0])
        kept.close()
    assert file.read_text() == f"{TIE}\n{TIE}"
    RecordFile(file, add=True).close()
    assert file.read_text() == f"{TIE}\n{TIE}"
    for other in (b"letters", BLOCKED.encode()[:-9], b"\xff"):
        file.write_bytes(other)
        with pytest.raises(ValueError, match=r"record: .* holds no records to add to"):
            RecordFile(file, add=True)
        assert file.read_bytes() == other
    assert leftovers(tmp_path, "games")


@pytest.mark.parametrize(
    "make",
    [
        lambda file: Games(1, record=file),
        lambda file: gymnasium.make_vec("block_env/Block-v0", num_envs=2, record=file),
    ],
    ids=["batch", "vector"],
)
def test_a_forgotten_environment_frees_its_file_at_once(make: Callable[[Path], object], tmp_path: Path) -> None:
    for _ in range(3):
        make(tmp_path / "games")


def test_a_refused_step_adds_nothing(tmp_path: Path) -> None:
    games = Games(2, seed=1, record=tmp_path / "games")
    legal = games.action_mask.argmax(axis=1)
    illegal = legal.copy()
    illegal[1] = int(np.flatnonzero(games.action_mask[1] == 0)[0])
    for wrong in (illegal, legal[:1], legal + 0.5):
        with pytest.raises(ValueError, match="action"):
            games.step(wrong)
    games.step(legal)
    games.close()
    assert [len(notation.read(text)[0].rounds[0].turns) for text in texts_of(tmp_path / "games")] == [1, 1]


def test_copies_and_pickles_record_nothing(tmp_path: Path) -> None:
    games = Games(1, "single_round", seed=1, record=tmp_path / "games")
    games.step(games.action_mask.argmax(axis=1))
    for other in (copy.deepcopy(games), pickle.loads(pickle.dumps(games))):
        other.step(other.action_mask.argmax(axis=1))
        other.close()
    assert leftovers(tmp_path, ".games.part")
    games.close()
    assert len(texts_of(tmp_path / "games")) == 1


# Where a file can lie -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["", "no/such/folder/games", ".", "/", "/dev/null", b"games", 3, "a\0b"])
def test_paths_that_no_file_can_have(path: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for make in (raw_env, env, parallel_env):
        with pytest.raises(ValueError, match="record: takes the name of a file in a folder that can be written"):
            make(record=path)
    with pytest.raises(ValueError, match="record: takes"):
        Games(1, record=path)
    with pytest.raises(ValueError, match="record: takes"):
        gymnasium.make("block_env/Block-v0", record=path)
    assert leftovers(tmp_path)


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    first = Games(1, "single_round", seed=1, record=tmp_path / "games")
    with pytest.raises(ValueError, match=r"record: .*games is being written by another environment"):
        raw_env(record=tmp_path / "games")
    first.step(first.action_mask.argmax(axis=1))
    first.close()
    assert len(texts_of(tmp_path / "games")) == 1
    raw_env(record=tmp_path / "games").close()


def test_an_environment_that_is_forgotten_keeps_its_games(tmp_path: Path, rng: np.random.Generator) -> None:
    games = Games(1, "single_round", seed=1, record=tmp_path / "games", auto_reset=False)
    while games.to_play[0] >= 0:
        games.step(random_actions(games.action_mask, rng))
    del games
    assert len(texts_of(tmp_path / "games")) == 1
    assert leftovers(tmp_path, "games")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    games = Games(1, seed=1, record=tmp_path / "link")
    games.step(games.action_mask.argmax(axis=1))
    games.close()
    assert (tmp_path / "link").is_symlink()
    assert len(texts_of(tmp_path / "file")) == 1


# However the program ends ---------------------------------------------------------------------------------------------

ENDLESS = """
import sys, numpy as np
from block_env.play import Games
games = Games(16, "single_round", seed=1, record=sys.argv[1])
rng = np.random.default_rng(2)
print("playing", flush=True)
while True:
    masks = games.action_mask
    games.step((rng.random(masks.shape) * masks).argmax(axis=1))
"""


BROKEN_OFF = """
import sys
from block_env import raw_env
table = raw_env("single_round", record=sys.argv[1])
for seed in (1, 2):
    table.reset(seed=seed)
    table.step(int(table.last()[0]["action_mask"].argmax()))
"""


@pytest.mark.parametrize("end", ["", "raise RuntimeError", "sys.exit(3)", "del table; import os; os._exit(0)"])
def test_a_program_that_ends_writes_the_game_that_is_on(end: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", f"{BROKEN_OFF}\n{end}", str(tmp_path / "games")]
    subprocess.run(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    records = notation.read("\n".join(texts_of(tmp_path / "games")))
    assert [(record.seed, record.result) for record in records] == [(1, "unfinished"), (2, "unfinished")]
    assert leftovers(tmp_path, "games")


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_ended_leaves_whole_games(sent: signal.Signals, tmp_path: Path) -> None:
    file = tmp_path / "games"
    file.write_text(BLOCKED)
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS, str(file)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as run:
        assert run.stdout.readline() == b"playing\n"
        while file.read_text() == BLOCKED:
            time.sleep(0.01)
        counts = [file.read_text().count("block record") for _ in range(50)]
        run.send_signal(sent)
        run.wait()
    assert counts == sorted(counts)
    left = len(texts_of(file))
    assert left >= counts[-1] > 0
    assert leftovers(tmp_path, "games") or sent == signal.SIGKILL
    again = Games(1, seed=3, record=file)  # what a killed run left beside the file is in nobody's way
    again.step(again.action_mask.argmax(axis=1))
    again.close()
    assert len(texts_of(file)) == 1
    assert {name for name in os.listdir(tmp_path) if name.endswith(".part")} == set()


def test_a_forked_child_leaves_its_parents_file_alone_and_says_so(tmp_path: Path) -> None:
    program = """
import os, sys, warnings
warnings.simplefilter("always")
from block_env.play import Games
games = Games(1, "single_round", seed=1, record=sys.argv[1])
games.step(games.action_mask.argmax(axis=1))
if os.fork() == 0:
    while not games.step(games.action_mask.argmax(axis=1))[1].any():
        pass
    games.step(games.action_mask.argmax(axis=1))
    sys.exit()
os.wait()
games.close()
"""
    command = [sys.executable, "-c", program, str(tmp_path / "games")]
    run = subprocess.run(command, cwd=ROOT, check=True, stderr=subprocess.PIPE, text=True)
    assert run.stderr.count("a forked copy of an environment records nothing") == 1
    (text,) = texts_of(tmp_path / "games")
    assert len(notation.read(text)[0].rounds[0].turns) == 1


def play_on(games: Games, rng: np.random.Generator) -> None:
    while True:
        games.step(random_actions(games.action_mask, rng))


def test_a_full_disk_is_an_error_and_leaves_whole_games(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    games = Games(1, "single_round", seed=1, record=tmp_path / "games")
    while not games.step(random_actions(games.action_mask, rng))[1].any():
        pass
    whole = (tmp_path / "games").read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("block_env.recording.shutil.copyfile", full)
    with pytest.raises(OSError, match="No space left"):
        play_on(games, rng)
    assert (tmp_path / "games").read_bytes() == whole
    monkeypatch.undo()
    games.close()
    assert len(texts_of(tmp_path / "games")) >= 2


def test_ten_thousand_games_are_written_in_time_that_grows_with_their_number(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    """The whole file is copied once in a while only: at most seventeen times what was written goes to the disk."""
    copied = 0
    file = RecordFile(tmp_path / "games")
    journal = file._journal
    publish = journal._publish

    def counted() -> None:
        nonlocal copied
        copied += journal._size
        publish()

    journal._publish = counted
    (record,) = notation.read(played(Rules.preset("match"), tmp_path, rng)[0])
    for _ in range(scaled(3000, 1500)):
        file.write(record)
    written = journal._size
    file.close()
    assert written > 2_000_000 or scaled(1, 0) == 0
    small = (1 << 20) ** 2 / (2 * len(notation.write(record)))  # below a megabyte after each game
    assert copied <= small + 18 * written
