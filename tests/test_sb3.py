"""Stable-Baselines3 and sb3-contrib as they are: the native VecEnv equals their DummyVecEnv, and MaskablePPO runs."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
from functools import partial
from typing import Any

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from helpers import COMPILED, PRESET_RULES, rules_name, scaled
from test_gym_env import ILLEGAL, only_warnings
from test_vector_env import mostly_legal, quiet_illegal, random_legal

from block_env import Rules
from block_env.gym_env import BlockGymEnv
from block_env.opponents import OPPONENTS, make
from block_env.play import Games

pytest.importorskip("stable_baselines3")
pytest.importorskip("sb3_contrib")
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv, VecMonitor

from block_env.sb3 import BlockVecEnv

SINGLE = "single_round"
__all__ = ["quiet_illegal"]


@pytest.mark.parametrize("mask_in", ["observation", "info"])
@pytest.mark.parametrize("rules", PRESET_RULES, ids=rules_name)
def test_sb3_checks_it(rules: Rules, mask_in: str) -> None:
    """Stable-Baselines3's own checker, which steps without a mask: only illegal actions may warn, as they must."""
    with only_warnings(ILLEGAL):
        check_env(BlockGymEnv(rules=rules, mask_in=mask_in))


# The native VecEnv ----------------------------------------------------------------------------------------------------

CASES: list[dict[str, Any]] = [
    {"rules": SINGLE, "reward": "points"},
    {"rules": SINGLE, "num_players": 3, "mask_in": "info", "max_cycles": 11},
    {"rules": "match", "mask_in": "info", "history": True, "seat": 0, "reward": "points"},
]


def plain(returned: Any) -> Any:
    """What reset or step returned, without the differences between containers and float widths."""
    if isinstance(returned, dict):
        return dict(returned)
    if not isinstance(returned, tuple):
        return returned
    observation, rewards, dones, infos = returned
    return plain(observation), rewards.astype(np.float32), dones, list(infos)


def pair(count: int, **keywords: Any) -> tuple[BlockVecEnv, DummyVecEnv]:
    return BlockVecEnv(count, **keywords), DummyVecEnv([partial(BlockGymEnv, **keywords)] * count)


@pytest.mark.usefixtures("quiet_illegal")
@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case.values())))
def test_step_for_step_equal_to_dummy(case: dict[str, Any]) -> None:
    """V01: observations, rewards, dones, infos with the terminal ones, reset infos and masks, illegal actions too."""
    envs: tuple[VecEnv, VecEnv] = pair(6, **case)
    rng, ends = np.random.default_rng(51), 0
    for env in envs:
        env.seed(51)
    assert data_equivalence(*[plain(env.reset()) for env in envs], exact=True)
    for _ in range(scaled(250, 25)):
        masks = [np.stack(env.env_method("action_masks")) for env in envs]
        assert data_equivalence(*masks, exact=True)
        actions = mostly_legal(masks[0], rng)
        results = [plain(env.step(actions)) for env in envs]
        assert data_equivalence(*results, exact=True)
        assert data_equivalence(*[env.reset_infos for env in envs], exact=True)
        ends += int(results[0][2].sum())
    assert ends > scaled(10, 1)


def test_seeds_and_options_of_a_reset() -> None:
    """Seeds and options are used once, as DummyVecEnv uses them: one for all, or one each."""
    envs: tuple[VecEnv, VecEnv] = pair(3, rules=SINGLE, seat=0)
    hands = [[(k, 6) for k in range(7)], [(k, 5) for k in range(6)] + [(0, 0)]]
    for options in ({"opener": 0}, [{}, {"hands": hands, "opener": 0}, {"opener": 0}], None):
        for env in envs:
            env.seed(52)
            env.set_options(options)
        for _ in range(2):
            assert data_equivalence(*[plain(env.reset()) for env in envs], exact=True)
    assert envs[0].seed(5) == [5, 6, 7]
    assert envs[0].seed() != envs[0].seed()


def test_masks_for_contrib() -> None:
    """M06, P16: sb3-contrib finds the masks, also through VecMonitor; they equal the observation's."""
    env = VecMonitor(BlockVecEnv(4, rules=SINGLE))
    assert is_masking_supported(env)
    observation: Any = env.reset()
    rng = np.random.default_rng(53)
    for _ in range(scaled(50, 5)):
        assert (get_action_masks(env) == observation["action_mask"]).all()
        observation, *_ = env.step(random_legal(observation["action_mask"], rng))


def test_attributes_of_the_environments() -> None:
    env = BlockVecEnv(3, rules=SINGLE, seat=1, render_mode="ansi")
    env.seed(54)
    env.reset()
    assert env.get_attr("learner_seat") == [1, 1, 1]
    for game, seed in zip(env.get_attr("game", [0, 2]), (54, 56), strict=True):
        assert game.hands[1] == Games(1, SINGLE, seed=[seed]).snapshot(0).hands[1]
    assert env.env_method("render", indices=1)[0].startswith("single round")
    assert not env.has_attr("no_such_thing")
    assert env.env_is_wrapped(Monitor) == [False] * 3
    env.set_attr("opponent", "random")
    assert env.get_attr("opponent", 0) == ["random"]
    for name, indices in (("seat", None), ("opponent", [0])):
        with pytest.raises(AttributeError, match="takes 'opponent', for all environments"):
            env.set_attr(name, 0, indices)
    with pytest.raises(ValueError, match=r"^num_envs: takes"):
        BlockVecEnv(0)
    env.close()


def test_monitor_totals() -> None:
    """V02: VecMonitor's totals are those of the rewards, and the lengths those of the episodes."""
    env = VecMonitor(BlockVecEnv(4, rules=SINGLE, reward="points"))
    observation: Any = env.reset()
    rng, totals, lengths, seen = np.random.default_rng(55), np.zeros(4), np.zeros(4, int), 0
    for _ in range(scaled(60, 15)):
        observation, rewards, dones, infos = env.step(random_legal(observation["action_mask"], rng))
        totals, lengths = totals + rewards, lengths + 1
        for row in np.flatnonzero(dones):
            assert (infos[row]["episode"]["r"], infos[row]["episode"]["l"]) == (totals[row], lengths[row])
            totals[row], lengths[row], seen = 0.0, 0, seen + 1
    assert seen > scaled(15, 2)


# Learning, for a moment -----------------------------------------------------------------------------------------------


@pytest.mark.skipif(not COMPILED, reason="learning is the same")
@pytest.mark.parametrize(
    ("env", "policy"),
    [
        (partial(BlockGymEnv, rules=SINGLE), "MultiInputPolicy"),
        (partial(pair, 4, rules=SINGLE, mask_in="info", opponent="random"), "MlpPolicy"),
        (partial(BlockVecEnv, 4, rules="match", max_cycles=50), "MultiInputPolicy"),
        (partial(BlockVecEnv, 4, rules="draw", mask_in="info"), "MlpPolicy"),
    ],
    ids=["single", "dummy", "native", "native-box"],
)
def test_maskable_ppo_runs(env: Any, policy: str) -> None:
    """M02, M06, P17: MaskablePPO as it is takes a thousand steps; an illegal action would warn, and so fail."""
    made = env()
    made = made[1] if isinstance(made, tuple) else made
    model = MaskablePPO(policy, made, n_steps=256, batch_size=256, n_epochs=2, seed=56, device="cpu")
    model.learn(1_024)
    vec = model.get_env()
    assert vec is not None
    observation: Any = vec.reset()
    for _ in range(100):
        masks = get_action_masks(vec)
        actions, _ = model.predict(observation, action_masks=masks)
        assert masks[np.arange(len(masks)), actions].all()
        observation, *_ = vec.step(actions)


@pytest.mark.skipif(not COMPILED, reason="worker processes")
def test_workers_take_every_kind_of_opponent() -> None:
    """S12, M06: SubprocVecEnv (spawn) with names and a policy: 1,000 steps as DummyVecEnv, and MaskablePPO runs."""
    kinds: list[Any] = [OPPONENTS[-1], ["random", make("greedy", SINGLE, 3)]]
    fns = [partial(BlockGymEnv, opponent=kind, rules=SINGLE, num_players=3) for kind in kinds]
    workers = SubprocVecEnv(fns, start_method="spawn")
    try:
        envs: tuple[VecEnv, VecEnv] = workers, DummyVecEnv(fns)
        rng = np.random.default_rng(57)
        for env in envs:
            env.seed(57)
        assert data_equivalence(*[plain(env.reset()) for env in envs], exact=True)
        for _ in range(500):
            masks = [get_action_masks(env) for env in envs]
            assert data_equivalence(*masks, exact=True)
            actions = random_legal(masks[0], rng)
            assert data_equivalence(*[plain(env.step(actions)) for env in envs], exact=True)
        MaskablePPO("MultiInputPolicy", workers, n_steps=64, batch_size=64, seed=57, device="cpu").learn(256)
    finally:
        workers.close()


def test_a_pickled_batch_goes_on() -> None:
    env = BlockVecEnv(3, rules=SINGLE, opponent="random")
    env.seed(58)
    env.reset()
    twin = pickle.loads(pickle.dumps(env))
    rng = np.random.default_rng(58)
    for _ in range(40):
        actions = random_legal(np.stack(env.env_method("action_masks")), rng)
        assert data_equivalence(env.step(actions), twin.step(actions), exact=True)


def test_without_stable_baselines_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra's absence is one clear sentence; nothing else in the package needs it."""
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    monkeypatch.setitem(sys.modules, "stable_baselines3.common.vec_env", None)
    monkeypatch.delitem(sys.modules, "block_env.sb3")
    with pytest.raises(
        ImportError, match=r"^block_env\.sb3 needs Stable-Baselines3: pip install 'block-env\[train\]'$"
    ):
        importlib.import_module("block_env.sb3")
    code = "import sys, block_env, block_env.gym_env, block_env.vector_env; print('stable_baselines3' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("name", ["game", "learner_seat"])
def test_nothing_is_shown_before_the_first_deal(name) -> None:
    batch = BlockVecEnv(2)
    with pytest.raises(ResetNeeded):
        batch.get_attr(name)
    for method in ("action_masks", "render"):
        with pytest.raises(ResetNeeded):
            batch.env_method(method)


@pytest.mark.parametrize("seed", [-1, True, 1.5, "a", [1]])
def test_a_bad_seed_is_refused_at_once(seed) -> None:
    batch = BlockVecEnv(2)
    with pytest.raises(ValueError, match=r"^seed: takes"):
        batch.seed(seed)
    batch.reset()


def test_actions_are_played_once() -> None:
    batch = BlockVecEnv(2)
    batch.reset()
    batch.step(np.array([mask.argmax() for mask in batch.env_method("action_masks")]))
    with pytest.raises(ValueError, match=r"^actions: takes"):
        batch.step_wait()
