"""evaluate.py as its users call it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import evaluate
from agents.evaluation import play_pair
from block_env import Rules, opponents


def test_table_and_json(tmp_path, capsys):
    file = tmp_path / "results.json"
    assert evaluate.main(["greedy", "random", "heuristic", "--deals", "50", "--seed", "2", "--json", str(file)]) == 0
    printed = capsys.readouterr().out
    report = json.loads(file.read_text())
    assert report["format"] == 1
    assert (report["rules"]["name"], report["rules"]["num_players"], report["seed"]) == ("match", 2, 2)
    assert [(pair["a"], pair["b"]) for pair in report["pairs"]] == [
        ("greedy", "random"),
        ("greedy", "heuristic"),
        ("random", "heuristic"),
    ]
    expected = play_pair(opponents.make("greedy"), opponents.make("heuristic"), Rules.preset("match"), "round", 50, 2)
    pair = report["pairs"][1]
    assert (pair["points"], pair["points_ci"], pair["share"]) == (
        expected.points,
        list(expected.points_ci),
        expected.share,
    )
    assert {"unit", "deals", "share_ci", "ms_a", "ms_b"} <= pair.keys()
    assert f"{expected.points:+.2f}" in printed
    assert "seed 2" in printed
    assert "95 %" in printed


def test_random_against_random_twice_is_the_same(tmp_path, capsys):
    """BUGS S05."""
    for name in ("one", "two"):
        assert evaluate.main(["random", "random", "--deals", "20", "--json", str(tmp_path / name)]) == 0
    one, two = (json.loads((tmp_path / name).read_text())["pairs"][0] for name in ("one", "two"))
    assert {key: one[key] for key in one if key[:2] != "ms"} == {key: two[key] for key in two if key[:2] != "ms"}


@pytest.mark.parametrize(
    "rules", [["match", "3"], ["match", "4"], ["partnership", "4"], ["draw", "2"], ["single_round", "3"]]
)
@pytest.mark.parametrize("unit", ["round", "match"])
def test_every_rule_set_and_unit(rules, unit, capsys):
    options = ["--rules", rules[0], "--num-players", rules[1], "--unit", unit, "--deals", "5"]
    assert evaluate.main(["heuristic", "random", *options]) == 0
    assert "heuristic  random" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["greedy"], "AGENT"),
        ([], "AGENT"),
        (["greedy", "greedier"], "'greedier'"),
        (["greedy", "ppo:no/such"], "no/such"),
        (["greedy", "tests"], "policy.json"),
        (["ppo", "greedy", "--num-players", "3"], "match with 3 players"),
        (["greedy", "random", "--deals", "1"], "--deals"),
        (["greedy", "random", "--deals", "ten"], "--deals"),
        (["greedy", "random", "--seed", "-3"], "--seed"),
        (["greedy", "random", "--unit", "hand"], "--unit"),
        (["greedy", "random", "--rules", "partnership", "--num-players", "2"], "num_players"),
        (["greedy", "random", "--json", "no/such/folder/file"], "--json"),
        (["greedy", "random", "--json", "tests"], "--json"),
        (["greedy", "random", "--json", ""], "--json"),
        (["greedy", "random", "--json", "x" * 300], "--json"),
        (["greedy", "x" * 5000], "agent"),
    ],
)
def test_bad_arguments_get_one_line_and_status_2(arguments, names, capsys):
    with pytest.raises(SystemExit) as stop:
        evaluate.main(arguments)
    message = capsys.readouterr().err
    assert stop.value.code == 2
    assert message.count("\n") == 1
    assert names in message


def test_what_is_no_regular_file_is_left_as_it_is(tmp_path, capsys):
    pipe, target, link = tmp_path / "pipe", tmp_path / "target", tmp_path / "link"
    os.mkfifo(pipe)
    with pytest.raises(SystemExit):
        evaluate.main(["greedy", "random", "--json", str(pipe)])
    assert "--json" in capsys.readouterr().err
    assert pipe.is_fifo()
    link.symlink_to(target)
    assert evaluate.main(["greedy", "random", "--deals", "2", "--json", str(link)]) == 0
    assert link.is_symlink()
    assert json.loads(target.read_text())["format"] == 1


def test_a_closed_output_loses_no_json_and_shows_no_traceback(tmp_path):
    file = tmp_path / "results.json"
    command = f"{sys.executable} evaluate.py greedy random --deals 2 --json {file} | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert json.loads(file.read_text())["format"] == 1


def test_two_results_do_not_go_into_one_file(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        evaluate.main(["greedy", "random", "--records", str(tmp_path / "same"), "--json", str(tmp_path / "." / "same")])
    message = capsys.readouterr().err
    assert (stop.value.code, message.count("\n")) == (2, 1)
    assert "--json and --records: take two files" in message
    assert not list(tmp_path.iterdir())
