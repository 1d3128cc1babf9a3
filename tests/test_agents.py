"""Agents by name, learned agents from files, and the symmetry that networks see through."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import agents
from agents.learned import CARD, WEIGHTS, LearnedPolicy, RunFolderError, load_policy, save_policy, write_file
from agents.symmetry import orientation
from block_env import Rules
from block_env.observation import decode, layout
from block_env.play import Games, play_out
from block_env.policy import Policy

MATCH = Rules.preset("match")


def random_weights(sizes: list[int], seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    weights = {}
    for k, (inputs, outputs) in enumerate(pairwise(sizes)):
        weights[f"layer{k}.weight"] = rng.normal(size=(outputs, inputs)).astype(np.float32)
        weights[f"layer{k}.bias"] = rng.normal(size=outputs).astype(np.float32)
    return weights


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    card = {
        "architecture": {"kind": "mlp", "activation": "relu", "hidden": [8]},
        "rules": MATCH.as_dict(),
        "history": False,
        "layout_hash": layout(MATCH).hash,
    }
    save_policy(tmp_path, random_weights([layout(MATCH).size, 8, MATCH.num_actions]), card)
    return tmp_path


def edit_card(folder: Path, **changes: object) -> None:
    card = json.loads((folder / CARD).read_text())
    (folder / CARD).write_text(json.dumps({**card, **changes}))


def played_states(rules: Rules, history: bool, steps: int = 9) -> Games:
    games, rng = Games(64, rules, history=history, seed=1), np.random.default_rng(2)
    for _ in range(steps):
        games.step(np.array([rng.choice(np.flatnonzero(mask)) for mask in games.action_mask]))
    return games


@pytest.mark.parametrize("name", ["random", "greedy", "heuristic", "ppo", "ppo,sample"])
def test_every_agent_by_name(name):
    """BUGS M04: in every seat, none plays an illegal action; play_out would raise."""
    policy = agents.make(name)
    assert isinstance(policy, Policy)
    games = Games(1000, reward="points", seed=3, auto_reset=False)
    seating = np.tile([[0, 1], [1, 0]], (500, 1))
    tally = play_out(games, [policy, agents.make("random")], seating, np.random.default_rng(0), "round")
    assert (tally.rounds == 1).all()
    assert tally.decisions[0] > 1000


@pytest.mark.parametrize(
    "name",
    ["", "greedier", "greedy:3", "random:", "ppo:/no/such", "ppo:,argmax", "random,", None, 3, b"ppo", "x" * 5000],
)
def test_names_that_there_are_not(name):
    with pytest.raises(ValueError, match="takes"):
        agents.make(name)


def test_a_run_folder_by_its_path(folder):
    assert isinstance(agents.make(str(folder)), LearnedPolicy)
    assert isinstance(agents.make(folder), LearnedPolicy)
    assert agents.make(f"ppo:{folder},sample").sample
    assert agents.make(f"{folder},sample").sample


def test_the_network_is_its_weights(folder):
    """The outputs are the written formula: a multilayer perceptron with rectified hidden units."""
    policy, rng = load_policy(folder), np.random.default_rng(0)
    weights = random_weights([layout(MATCH).size, 8, MATCH.num_actions])
    rows = rng.random((5, layout(MATCH).size), np.float32)
    for row, logits in zip(rows, policy.logits(rows), strict=True):
        hidden = [
            max(0.0, float(w @ row + b)) for w, b in zip(weights["layer0.weight"], weights["layer0.bias"], strict=True)
        ]
        expected = weights["layer1.weight"] @ np.array(hidden) + weights["layer1.bias"]
        np.testing.assert_allclose(logits, expected, rtol=1e-4, atol=1e-4)


def test_the_most_likely_action_or_one_drawn(folder):
    """With ``sample`` the odds are the softmax over legal actions."""
    games = played_states(MATCH, False, 6)
    row = int(np.argmax(games.action_mask.sum(axis=1)))
    observation, mask = games.observation[[row] * 20_000], games.action_mask[[row] * 20_000]
    policy = load_policy(folder)
    turned = orientation(MATCH, False).turned(observation[:1])
    logits = policy.logits(orientation(MATCH, False).observations(observation[:1], turned))[0]
    legal = orientation(MATCH, False).masks(mask[:1], turned)[0].astype(bool)
    odds = np.exp(np.where(legal, logits, -np.inf) - logits[legal].max())
    drawn = load_policy(folder, sample=True).act(observation, mask, np.random.default_rng(1))
    drawn = orientation(MATCH, False).actions(drawn, np.repeat(turned, len(drawn)))
    np.testing.assert_allclose(np.bincount(drawn, minlength=57) / 20_000, odds / odds.sum(), atol=0.02)
    chosen = policy.act(observation[:1], mask[:1], np.random.default_rng(0))
    assert orientation(MATCH, False).actions(chosen, turned)[0] == odds.argmax()


@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize("rules", [MATCH, Rules.preset("draw", 3), Rules.preset("partnership")], ids=lambda r: r.name)
def test_a_line_turned_round_is_the_same_line(rules, history):
    """Ends and the ends of moves change sides; nothing else does, and the smaller end is on the left."""
    games, lines = played_states(rules, history), orientation(rules, history)
    turned = lines.turned(games.observation)
    assert 0 < turned.sum() < len(turned)
    seen = lines.observations(games.observation, turned)
    for row in range(games.num_games):
        before, after = decode(rules, games.observation[row]), decode(rules, seen[row])
        if before.ends is None:
            assert not turned[row]
            continue
        assert turned[row] == (before.ends[0] > before.ends[1])
        assert after.ends == tuple(sorted(before.ends))
        if turned[row]:
            other = {"left": "right", "right": "left", None: None}
            moves = before.history and tuple(replace(turn, end=other[turn.end]) for turn in before.history)
            before = replace(before, ends=before.ends[::-1], history=moves)
        assert after == before
    masks = lines.masks(games.action_mask, turned)
    for action in range(rules.num_actions):
        there = lines.actions(np.full(len(turned), action), turned)
        np.testing.assert_array_equal(masks[np.arange(len(turned)), there], games.action_mask[:, action])
        assert (lines.actions(there, turned) == action).all()


def test_what_does_not_fit_is_refused_by_name(folder):
    """BUGS M09: rules, layout and shapes are checked before anything is played."""
    with pytest.raises(RunFolderError, match="num_players: trained with 2, played with 3"):
        load_policy(folder, Rules.preset("match", 3))
    edit_card(folder, layout_hash="0" * 16)
    with pytest.raises(RunFolderError, match="layout_hash"):
        load_policy(folder)
    edit_card(folder, layout_hash=layout(MATCH).hash, architecture={"kind": "mlp", "activation": "relu", "hidden": [9]})
    with pytest.raises(RunFolderError, match=r"layer0.bias: takes shape \(9,\), got \(8,\)"):
        load_policy(folder)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "null", '{"format": 2}', '{"format": 1}', '{"format": 1, "rules": 3}']
)
def test_a_broken_card_is_refused(folder, content):
    (folder / CARD).write_text(content)
    with pytest.raises(RunFolderError, match=CARD):
        load_policy(folder)


def test_broken_weights_are_refused_and_never_unpickled(folder, tmp_path):
    whole = (folder / WEIGHTS).read_bytes()
    bomb = pickle.dumps(Bomb())
    for content in (b"", whole[:-1], whole + b"x", b"x" * 100, bomb):
        (folder / WEIGHTS).write_bytes(content)
        with pytest.raises(RunFolderError, match=WEIGHTS):
            load_policy(folder)
    (folder / WEIGHTS).unlink()
    with pytest.raises(RunFolderError, match=WEIGHTS):
        load_policy(folder)


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("unpickled",))


def test_numbers_that_are_none_are_refused(folder):
    weights = random_weights([layout(MATCH).size, 8, MATCH.num_actions])
    weights["layer0.bias"][3] = np.nan
    save_policy(
        folder,
        weights,
        {key: value for key, value in json.loads((folder / CARD).read_text()).items() if key != "format"},
    )
    with pytest.raises(RunFolderError, match="finite"):
        load_policy(folder)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_file(path, b"old")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        write_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_observations_of_another_width_are_refused(folder):
    policy = load_policy(folder)
    with pytest.raises(ValueError, match="observation: "):
        policy.act(np.zeros((2, 5), np.float32), np.ones((2, 57), np.int8), np.random.default_rng(0))


def test_the_shipped_network_has_its_recipe():
    """BUGS E13, M09: versions, seed, steps and the command stand beside the weights."""
    card = json.loads((agents.SHIPPED / "match-2p" / CARD).read_text())
    assert card["command"].startswith("python train.py")
    assert {"seed", "steps", "versions", "architecture", "rules", "layout_hash"} <= card.keys()
    assert (agents.SHIPPED / "match-2p" / WEIGHTS).stat().st_size < 2_000_000


@pytest.mark.parametrize(
    "changes",
    [
        {"architecture": {"kind": "cnn", "activation": "relu", "hidden": [8]}},
        {"architecture": {"kind": "mlp", "activation": "tanh", "hidden": [8]}},
        {"architecture": {"kind": "mlp", "activation": "relu", "hidden": [8.0]}},
        {"architecture": {"kind": "mlp", "activation": "relu", "hidden": [-8]}},
        {"history": 0},
        {"rules": {"hand_size": 70}},
    ],
)
def test_a_card_that_says_what_cannot_be_is_refused(folder, changes):
    edit_card(folder, **changes)
    with pytest.raises(RunFolderError, match=CARD):
        load_policy(folder)
