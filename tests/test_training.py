"""Self-play training: estimates, inputs, that it learns, that a seed is a run, and that a stop loses nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from stable_baselines3.common.logger import Logger

import train
from agents.evaluation import play_pair
from agents.learned import LearnedPolicy, load_policy
from agents.ppo import make_learner
from agents.run_folder import Config
from agents.selfplay import POINTS_UNIT, _advantages, _decide, _inputs, collect, self_play
from agents.symmetry import orientation
from block_env import Rules, opponents
from block_env.observation import layout
from block_env.play import Games
from block_env.tiles import tiles

MATCH = Rules.preset("match")
SMALL = Rules(max_pip=3, hand_size=3)
TINY = ["--games", "64", "--hidden", "16", "--batch-size", "64", "--threads", "1", "--quiet", "--final-deals", "4"]
TINY += ["--anchor-every", "500", "--anchor-deals", "4"]


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def learner_for(rules: Rules, **options):
    options = {"learning_rate": 3e-3, "batch_size": 256, "epochs": 3, "seed": 1, **options}
    learner = make_learner(rules, False, "points", [64, 64], **options)
    learner.set_logger(Logger(None, []))
    return learner


def played(learner, rules: Rules, count: int, seed: int, gae_lambda: float = 0.9):
    games = Games(count, rules, reward="points", seed=seed, auto_reset=False)
    return collect(learner.policy, games, gae_lambda, torch.Generator().manual_seed(seed))


def test_advantages_are_the_written_sum():
    """Generalised advantage estimation along each chain (Schulman et al., 2016, equation 16, with gamma = 1)."""
    rng = np.random.default_rng(0)
    chains, values, rewards = np.array([0, 1, 0, 2, 1, 0]), rng.normal(size=6).astype(np.float32), rng.normal(size=3)
    steps = [(chains[[k]], values[[k]]) for k in range(6)]
    found = _advantages(steps, rewards.astype(np.float32), 0.7)
    for chain in range(3):
        mine = np.flatnonzero(chains == chain)
        follows = [*values[mine[1:]], rewards[chain]]
        deltas = [after - before for before, after in zip(values[mine], follows, strict=True)]
        expected = [sum(0.7**ahead * delta for ahead, delta in enumerate(deltas[k:])) for k in range(len(mine))]
        np.testing.assert_allclose(found[mine], expected, rtol=1e-5)


@pytest.mark.parametrize("rules", [MATCH, Rules.preset("match", 3), Rules.preset("partnership")], ids=lambda r: r.name)
def test_the_critic_sees_the_other_hands_and_the_actor_does_not(rules):
    games, parts = Games(32, rules, seed=5), layout(rules)
    rows = np.arange(32)
    inputs = _inputs(games, rows, games.observation)
    for row in rows:
        game = games.snapshot(row)
        hidden = inputs[row, parts.size :].reshape(rules.num_players - 1, -1)
        for ahead, flags in enumerate(hidden, start=1):
            held = {tile for tile, flag in zip(tiles(rules.max_pip), flags, strict=True) if flag}
            assert held == set(game.hands[(game.to_play + ahead) % rules.num_players])
    learner = learner_for(rules)
    changed = inputs.copy()
    changed[:, parts.size :] = 1 - changed[:, parts.size :]
    before, after = (
        learner.policy.get_distribution(torch.from_numpy(x)).distribution.logits for x in (inputs, changed)
    )
    assert torch.equal(before, after)
    values = [learner.policy.predict_values(torch.from_numpy(x)) for x in (inputs, changed)]
    assert not torch.equal(*values)


def test_every_decision_gets_its_own_seats_points():
    """With lambda = 1 every return is what the seat got; replayed from the recorded choices (BUGS M14, D28)."""
    learner, seats = learner_for(MATCH), 2
    decisions = played(learner, MATCH, 50, 2, 1.0)
    replay = Games(50, MATCH, reward="points", seed=2, auto_reset=False)
    lines, expected, totals, live, used = orientation(MATCH, False), [], np.zeros((50, seats)), np.arange(50), 0
    while live.size:
        actions = replay.action_mask[live].argmax(axis=1)
        free = replay.action_mask[live].sum(axis=1) > 1
        rows = live[free]
        turned = lines.turned(replay.observation[rows])
        actions[free] = lines.actions(decisions.actions[used : used + len(rows)], turned)
        used += len(rows)
        expected += list(zip(rows, replay.to_play[rows].tolist(), strict=True))
        rewards, _ = replay.step(actions, live)
        totals[live] += rewards[live]
        live = live[replay.reasons[live] == 0]
    assert used == len(decisions.values)
    np.testing.assert_allclose(decisions.returns * POINTS_UNIT, [totals[place] for place in expected], atol=1e-3)
    assert decisions.won == pytest.approx(totals.max(axis=1).sum())


def test_what_never_varies_in_training_adds_no_noise():
    """Rounds are trained with no scores on the board; in a match the same network must not mind them."""
    learner = learner_for(MATCH)
    learner.rollout_buffer.fill(played(learner, MATCH, 256, 1))
    learner.train()
    policy = LearnedPolicy(learner.policy.actor_weights(), MATCH)
    games = Games(64, MATCH, seed=3)
    before = policy.act(games.observation, games.action_mask, np.random.default_rng(0))
    scores = layout(MATCH)["scores"]
    games.observation[:, scores.start : scores.stop] = [0.9, 0.2]
    assert (policy.act(games.observation, games.action_mask, np.random.default_rng(0)) == before).all()


def test_the_saved_network_is_the_trained_one():
    learner, games = learner_for(MATCH), Games(64, MATCH, seed=4)
    policy = LearnedPolicy(learner.policy.actor_weights(), MATCH)
    inputs = _inputs(games, np.arange(64), games.observation)
    with torch.no_grad():
        latent = learner.policy.mlp_extractor.forward_actor(torch.from_numpy(inputs))
        expected = learner.policy.action_net(latent).numpy()
    np.testing.assert_allclose(policy.logits(games.observation), expected, rtol=1e-4, atol=1e-5)


def test_actions_are_drawn_by_their_odds():
    """100,000 draws at one position, chi-square; and never one that is not legal."""
    learner, games = learner_for(MATCH), Games(1, MATCH, seed=4)
    inputs = _inputs(games, np.zeros(1, np.int64), games.observation).repeat(100_000, axis=0)
    masks = games.action_mask.repeat(100_000, axis=0)
    actions, _, log_probs = _decide(learner.policy, inputs, masks, torch.Generator().manual_seed(1))
    legal = np.flatnonzero(games.action_mask[0])
    counts = np.array([(actions == action).sum() for action in legal])
    odds = np.array([np.exp(log_probs[actions == action][0]) for action in legal])
    assert counts.sum() == 100_000
    assert odds.sum() == pytest.approx(1, abs=1e-5)
    expected = 100_000 * odds
    assert ((counts - expected) ** 2 / expected).sum() < len(legal) - 1 + 5 * np.sqrt(2 * (len(legal) - 1))


def test_a_gradient_step_is_that_of_maskable_ppo():
    """The same weights come out of sb3-contrib's own ``train()``, but for the order in which numbers are added up."""
    ours, theirs = learner_for(MATCH), learner_for(MATCH)
    decisions = played(ours, MATCH, 100, 3)
    for learner, train_on in ((ours, ours.train), (theirs, super(type(theirs), theirs).train)):
        learner._current_progress_remaining, learner.ent_coef = 0.5, 0.05
        learner.rollout_buffer.fill(decisions)
        torch.manual_seed(7)
        train_on()
    moved = 0.0
    for one, other, start in zip(
        ours.policy.parameters(), theirs.policy.parameters(), learner_for(MATCH).policy.parameters(), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=2e-5)
        moved = max(moved, (one - start).detach().abs().max().item())
    assert moved > 1e-2
    for name in ("entropy_loss", "policy_gradient_loss", "value_loss", "approx_kl", "clip_fraction"):
        told = [learner.logger.name_to_value[f"train/{name}"] for learner in (ours, theirs)]
        if name != "approx_kl":  # MaskablePPO tells that of the last epoch
            assert told[0] == pytest.approx(told[1], rel=1e-3, abs=1e-4)


def test_the_number_of_threads_changes_nothing():
    policies = []
    for threads in (1, 2):
        config = Config(rules=SMALL.as_dict(), games=101, batch_size=64, threads=threads)
        learner = learner_for(SMALL, workers=threads)
        for iteration in range(3):
            torch.manual_seed(iteration)
            learner.rollout_buffer.fill(self_play(learner.policy, config, np.random.SeedSequence([5, iteration])))
            learner.train()
        policies.append([parameter.detach().numpy().tobytes() for parameter in learner.policy.parameters()])
    assert policies[0] == policies[1]


def test_one_game_is_enough():
    decisions = self_play(learner_for(SMALL).policy, Config(rules=SMALL.as_dict(), games=1), np.random.SeedSequence(1))
    assert decisions.games == decisions.rounds == 1


def test_it_learns():
    """A few seconds on a small set: better than random, beyond doubt, and than what it was before."""
    learner = learner_for(SMALL)
    for iteration in range(40):
        torch.manual_seed(iteration)
        learner.rollout_buffer.fill(played(learner, SMALL, 256, iteration))
        learner.train()
        if iteration == 0:
            first = LearnedPolicy(learner.policy.actor_weights(), SMALL)
    last = LearnedPolicy(learner.policy.actor_weights(), SMALL)
    for other in (opponents.make("random", SMALL), first):
        assert play_pair(last, other, SMALL, "round", 3000, 9).points_ci[0] > 0.2


def test_a_seed_is_a_run_and_a_stop_loses_nothing(tmp_path, monkeypatch, capsys):
    """BUGS E14: a run that is stopped and resumed writes the same bytes as one that is not."""
    options = [*TINY, "--steps", "3000", "--seed", "5"]
    assert train.main([*options, "--out", str(tmp_path / "whole")]) == 0
    iterations = []

    def stop_after_three(interrupt) -> bool:
        iterations.append(1)
        return len(iterations) > 3

    monkeypatch.setattr(train.Interrupt, "__bool__", stop_after_three)
    assert train.main([*options, "--out", str(tmp_path / "stopped")]) == 130
    assert "--resume" in capsys.readouterr().out
    assert load_policy(tmp_path / "stopped").act  # usable
    monkeypatch.undo()
    assert train.main(["--resume", str(tmp_path / "stopped"), "--quiet"]) == 0
    whole, stopped = (tmp_path / name / "policy.safetensors" for name in ("whole", "stopped"))
    assert whole.read_bytes() == stopped.read_bytes()
    table = capsys.readouterr().out
    assert all(name in table for name in ("random", "greedy", "heuristic"))
    assert not list(tmp_path.rglob(".*"))


@pytest.mark.parametrize("rules", [["match", 3], ["match", 4], ["partnership", 4], ["draw", 2], ["single_round", 2]])
def test_every_rule_set_trains(rules, tmp_path):
    name, seats = rules
    options = ["--rules", name, "--num-players", str(seats), "--steps", "400", "--out", str(tmp_path / "run")]
    assert train.main([*TINY, *options, "--reward", "outcome", "--history"]) == 0
    assert load_policy(tmp_path / "run", Rules.preset(name, seats)).needs_history


def test_ctrl_c_ends_with_a_usable_policy(tmp_path):
    out = tmp_path / "run"
    command = [sys.executable, "train.py", *TINY, "--steps", "100000000", "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    deadline = time.monotonic() + 120
    while not (out / "policy.safetensors").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    printed, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert f"python train.py --resume {out} goes on" in printed
    assert load_policy(Path(out)).act


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--steps", "0"], "--steps"),
        (["--seed", "-1"], "--seed"),
        (["--rules", "domino"], "--rules"),
        (["--rules", "partnership", "--num-players", "2"], "num_players"),
        (["--entropy", "much"], "--entropy"),
        (["--hidden", "0"], "--hidden"),
        (["--out", "pyproject.toml/run"], "--out"),
        (["--out", "tests"], "--out"),
        (["--out", ""], "--out"),
        (["--out", "x" * 300], "--out"),
        (["--resume", ""], "--resume"),
        (["--resume", "x" * 300], "--resume"),
        (["--games", "9999999999999"], "--games"),
        (["--resume", "no/such/run"], "--resume"),
        (["--resume", "tests", "--steps", "5"], "--resume"),
        (["--speed", "9"], "--speed"),
    ],
)
def test_bad_options_get_one_line_and_status_2(options, names, capsys):
    with pytest.raises(SystemExit) as stop:
        train.main(options)
    message = capsys.readouterr().err
    assert stop.value.code == 2
    assert message.count("\n") == 1
    assert names in message


def test_a_run_is_not_written_over(tmp_path, capsys):
    options = [*TINY, "--steps", "1", "--out", str(tmp_path)]
    assert train.main(options) == 0
    before = (tmp_path / "policy.safetensors").read_bytes()
    with pytest.raises(SystemExit):
        train.main(options)
    assert "is not empty" in capsys.readouterr().err
    assert (tmp_path / "policy.safetensors").read_bytes() == before


@pytest.mark.parametrize(
    "damage",
    [lambda b: b"", lambda b: b[:50], lambda b: b"x" * 99, lambda b: b.replace(b'\\"games\\"', b'\\"gamez\\"')],
)
def test_a_broken_checkpoint_is_refused(tmp_path, capsys, damage):
    assert train.main([*TINY, "--steps", "1", "--out", str(tmp_path)]) == 0
    path = tmp_path / "checkpoint.safetensors"
    path.write_bytes(damage(path.read_bytes()))
    capsys.readouterr()
    with pytest.raises(SystemExit):
        train.main(["--resume", str(tmp_path)])
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "not a checkpoint" in message


def test_a_checkpoint_that_does_not_fit_its_options_is_refused(tmp_path, capsys):
    assert train.main([*TINY, "--steps", "1", "--out", str(tmp_path / "run")]) == 0
    path = tmp_path / "run" / "checkpoint.safetensors"
    whole = path.read_bytes()
    for old, new in ((b'\\"hidden\\": [16]', b'\\"hidden\\": [15]'), (b'\\"steps\\": 1,', b'\\"steps\\": {},')):
        assert old in whole
        path.write_bytes(whole.replace(old, new + b" " * (len(old) - len(new))))
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            train.main(["--resume", str(path.parent), "--quiet"])
        message = capsys.readouterr().err
        assert (stop.value.code, message.count("\n")) == (2, 1)
        assert "--resume" in message


def test_a_disk_that_is_full_is_said_in_one_line(tmp_path, capsys, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(train, "save_run", full)
    with pytest.raises(SystemExit) as stop:
        train.main([*TINY, "--steps", "1", "--out", str(tmp_path / "run")])
    message = capsys.readouterr().err
    assert (stop.value.code, message.count("\n")) == (2, 1)
    assert "No space left" in message
