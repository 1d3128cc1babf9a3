"""Tournaments: the same results however the work is shared out, and ratings that fit what was planted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest

import evaluate
from agents import tournament
from agents.evaluation import CHUNK, play_pair
from agents.tournament import Pairing, Task, play, rate, rating_table
from block_env import Rules, opponents

ROOT = Path(__file__).resolve().parents[1]
MATCH = Rules.preset("match")
TASK = Task(("random", "greedy", "heuristic"), MATCH, "round", CHUNK + 100, 3)


def figures(pairings: list[Pairing]) -> list[tuple[object, ...]]:
    """All but the time taken."""
    return [(one.a, one.b, {**asdict(one.result), "ms_a": 0, "ms_b": 0}, tuple(one.scores)) for one in pairings]


def test_processes_change_nothing() -> None:
    alone = figures(play(TASK, workers=1))
    assert figures(play(TASK, workers=2)) == alone
    assert figures(play(TASK, workers=5)) == alone
    assert not set(tournament.ONE_THREAD) - {"OMP_NUM_THREADS"} & set(os.environ)


def test_a_pair_is_what_play_pair_plays() -> None:
    pairing = play(TASK)[2]
    expected = play_pair(opponents.make("greedy"), opponents.make("heuristic"), MATCH, "round", TASK.deals, TASK.seed)
    assert {**asdict(pairing.result), "ms_a": 0, "ms_b": 0} == {**asdict(expected), "ms_a": 0, "ms_b": 0}
    assert sum(pairing.scores) / len(pairing.scores) == pytest.approx(pairing.result.share)


def test_a_longer_tournament_begins_with_the_shorter() -> None:
    short, long = play(replace(TASK, deals=50)), play(replace(TASK, deals=50 + CHUNK))
    more = play(replace(TASK, deals=CHUNK))
    for one, other, full in zip(short, long, more, strict=True):
        assert list(other.scores[:CHUNK]) == list(full.scores)
        if "random" not in (one.a, one.b):  # it draws for a chunk as a whole
            assert list(full.scores[:50]) == list(one.scores)


def test_the_order_of_agents_changes_no_result_of_those_without_chance() -> None:
    names = ("greedy", "heuristic")
    (forth,), (back,) = play(replace(TASK, names=names, deals=300)), play(replace(TASK, names=names[::-1], deals=300))
    assert forth.result.points == -back.result.points
    assert [1 - score for score in forth.scores] == list(back.scores)


def test_every_chunk_is_told_of() -> None:
    for workers in (1, 2):
        told: list[int] = []
        play(TASK, workers, progress=told.append)
        assert sum(told) == TASK.games == 3 * 2 * TASK.deals


def test_ratings_are_in_the_order_of_strength() -> None:
    ratings = rate(play(TASK), MATCH)
    assert ratings is not None
    assert ratings.names == ("heuristic", "greedy", "random")
    assert (ratings.anchor, ratings.rating("random")) == ("random", 0)
    assert (ratings.low[:2] > 0).all()
    text = rating_table(ratings)
    assert "random at 0" in text
    assert f"{ratings.rating('greedy'):+.0f}" in text


def test_two_agents_and_more_than_two_sides_have_no_ratings() -> None:
    assert rate(play(replace(TASK, names=TASK.names[:2], deals=4)), MATCH) is None
    three = Rules.preset("match", 3)
    assert rate(play(replace(TASK, rules=three, deals=4)), three) is None
    partners = Rules.preset("partnership")
    ratings = rate(play(replace(TASK, rules=partners, deals=100)), partners)
    assert ratings is not None


def test_bad_agents_and_arguments_are_refused_before_anything_is_played() -> None:
    for change in ({"names": ("greedy", "greedier")}, {"deals": 1}, {"seed": -1}):
        told: list[int] = []
        with pytest.raises(ValueError, match=r"agent|deals|seed"):
            play(replace(TASK, **change), progress=told.append)
        assert not told


def test_the_script_with_processes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reports = []
    for workers in ("1", "2"):
        file = tmp_path / workers
        options = ["--deals", "60", "--workers", workers, "--json", str(file)]
        assert evaluate.main(["random", "greedy", "heuristic", *options]) == 0
        report = json.loads(file.read_text())
        for pair in report["pairs"]:
            del pair["ms_a"], pair["ms_b"]
        reports.append(report)
    assert reports[0] == reports[1]
    assert [agent["name"] for agent in reports[0]["ratings"]["agents"]] == ["heuristic", "greedy", "random"]
    printed = capsys.readouterr().out
    assert "Bradley-Terry ratings on the Elo scale, random at 0" in printed
    assert "Bonferroni" in printed


def test_ctrl_c_stops_processes_without_a_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "evaluate.py", "greedy", "heuristic", "--deals", "50000000", "--workers", "2"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True) as run:
        time.sleep(12)
        os.killpg(run.pid, signal.SIGINT)
        _, errors = run.communicate(timeout=60)
    assert run.returncode == 130
    assert errors == "stopped\n"
