"""The native vector environment, against Gymnasium's SyncVectorEnv over single environments, in every mode."""

from __future__ import annotations

import inspect
import pickle
import warnings
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from helpers import ALL_RULES, COMPILED, rules_name, scaled
from numpy.typing import NDArray

from block_env import Rules
from block_env.gym_env import BlockGymEnv
from block_env.opponents import OPPONENTS, make
from block_env.play import Games, IllegalActionError
from block_env.vector_env import BlockVectorEnv

SINGLE = "single_round"
MODES = list(AutoresetMode)
N = 8


# Helpers --------------------------------------------------------------------------------------------------------------


def random_legal(masks: NDArray[np.int8], rng: np.random.Generator) -> NDArray[np.int64]:
    """A legal action each; where nothing is legal, 0."""
    return (masks * (1 + rng.random(masks.shape))).argmax(axis=1)


def mostly_legal(masks: NDArray[np.int8], rng: np.random.Generator) -> NDArray[np.int64]:
    """One in fifty is any action of the space."""
    actions = random_legal(masks, rng)
    wild = rng.random(len(masks)) < 0.02
    actions[wild] = rng.integers(masks.shape[1], size=wild.sum())
    return actions


def masks_of(observation: Any, infos: dict[str, Any]) -> NDArray[np.int8]:
    masks: NDArray[np.int8] = observation["action_mask"] if isinstance(observation, dict) else infos["action_mask"]
    return masks


def single_envs(count: int, mode: AutoresetMode, **keywords: Any) -> SyncVectorEnv:
    return SyncVectorEnv([partial(BlockGymEnv, **keywords) for _ in range(count)], autoreset_mode=mode)


class Runs:
    """Steps an environment with random, mostly legal actions; under DISABLED it resets what has ended."""

    def __init__(self, env: Any, mode: AutoresetMode, seed: int, choose: Any = mostly_legal) -> None:
        self.env, self.mode, self.choose, self.rng = env, mode, choose, np.random.default_rng(seed)
        self.returned: list[Any] = [env.reset(seed=seed)]
        self.masks = masks_of(*self.returned[0])
        self.ended = np.zeros(env.num_envs, np.bool_)

    def step(self) -> None:
        if self.mode == AutoresetMode.DISABLED and self.ended.any():
            self.returned.append(self.env.reset(options={"reset_mask": self.ended.copy()}))
            fresh = masks_of(*self.returned[-1])
            self.masks = np.where(self.ended[:, None], fresh, self.masks)
        result = self.env.step(self.choose(self.masks, self.rng))
        self.returned.append(result)
        self.masks, self.ended = masks_of(result[0], result[4]), result[2] | result[3]


@pytest.fixture
def quiet_illegal() -> Any:
    """Illegal actions are sent on purpose; their warnings have tests of their own."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r".*is not legal for seat")
        yield


# Equal to single environments -----------------------------------------------------------------------------------------

CASES: list[dict[str, Any]] = [
    {"rules": SINGLE},
    {"rules": SINGLE, "num_players": 3, "mask_in": "info", "reward": "points", "max_cycles": 11},
    {"rules": "match", "reward": "points", "history": True},
    {"rules": "partnership", "mask_in": "info", "max_cycles": 60, "seat": 3},
    {"rules": "draw", "num_players": 4, "mask_in": "info", "history": True, "seat": 1},
    {"rules": Rules(3, hand_size=1, first_opener="highest_double"), "mask_in": "info"},
    {"rules": Rules(4, max_pip=3, hand_size=2, draw=True, target=15), "reward": "points", "max_cycles": 3},
]


@pytest.mark.usefixtures("quiet_illegal")
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case.values()))[:40])
def test_step_for_step_equal_to_sync(case: dict[str, Any], mode: AutoresetMode) -> None:
    """V01, V06: 10,000 steps in each mode: observations, rewards, ends, infos, with illegal actions and truncations."""
    native = Runs(BlockVectorEnv(N, autoreset_mode=mode, **case), mode, seed=31)
    single = Runs(single_envs(N, mode, **case), mode, seed=31)
    ends = np.zeros(2, np.int64)
    for _ in range(scaled(10_000 // (N * len(CASES)) + 1, 15)):
        native.step()
        single.step()
        assert data_equivalence(native.returned, single.returned, exact=True)
        ends += [native.returned[-1][2].sum(), native.returned[-1][3].sum()]
        native.returned.clear()
        single.returned.clear()
    if COMPILED:
        assert ends[0]
        assert bool(ends[1]) == ("max_cycles" in case)


@pytest.mark.nojit
@pytest.mark.usefixtures("quiet_illegal")
@pytest.mark.parametrize("rules", ALL_RULES, ids=rules_name)
def test_equal_for_every_rule_set(rules: Rules) -> None:
    """V08: the same for all rules, with heuristics at all seats; what is returned is in the batched spaces."""
    keywords: dict[str, Any] = {"rules": rules, "opponent": OPPONENTS[-1] if OPPONENTS[-1] != "random" else "greedy"}
    env = BlockVectorEnv(4, autoreset_mode="SameStep", **keywords)
    native = Runs(env, env.autoreset_mode, seed=32)
    single = Runs(single_envs(4, env.autoreset_mode, **keywords), env.autoreset_mode, seed=32)
    assert (env.action_space, env.observation_space) == (single.env.action_space, single.env.observation_space)
    for _ in range(scaled(40, 5)):
        native.step()
        single.step()
        assert env.observation_space.contains(native.returned[-1][0])
    assert data_equivalence(native.returned, single.returned, exact=True)


@pytest.mark.skipif(not COMPILED, reason="worker processes")
def test_workers_and_every_kind_of_opponent() -> None:
    """S12, V08: spawned workers take each kind of opponent; 1,000 steps, equal to those made here."""
    greedy = make("greedy", SINGLE, 3)
    kinds: list[Any] = [*OPPONENTS, greedy, [OPPONENTS[0], greedy]]
    envs = [partial(BlockGymEnv, opponent=kind, rules=SINGLE, num_players=3, mask_in="info") for kind in kinds]
    workers = AsyncVectorEnv(envs, context="spawn")
    try:
        spawned = Runs(workers, AutoresetMode.NEXT_STEP, seed=33, choose=random_legal)
        here = Runs(SyncVectorEnv(envs), AutoresetMode.NEXT_STEP, seed=33, choose=random_legal)
        for _ in range(1_000 // len(kinds) + 1):
            spawned.step()
            here.step()
        assert data_equivalence(spawned.returned, here.returned, exact=True)
    finally:
        workers.close()


def test_deals_are_those_of_batched_play() -> None:
    """A list of seeds gives environment i the deals of Games(1, seed=[seeds[i]])."""
    seeds = [5, 0, 2**40, 7]
    env = BlockVectorEnv(4, rules="match", seat=0)
    env.reset(seed=seeds, options={"opener": 0})
    for index, seed in enumerate(seeds):
        assert env.snapshot(index).hands == Games(1, "match", seed=[seed]).snapshot(0).hands


def test_random_opponents_choose_with_the_same_odds() -> None:
    """Opponents that draw share one generator: not step for step equal, but random against random is even in both."""
    outcomes = []
    env = BlockVectorEnv(256, rules=SINGLE, opponent="random", autoreset_mode="SameStep")
    runs = Runs(env, env.autoreset_mode, seed=34, choose=random_legal)
    for _ in range(scaled(120, 12)):
        runs.step()
        outcomes.extend(runs.returned.pop()[1][runs.ended])
    results = np.array(outcomes)
    assert len(results) > scaled(2000, 100)
    assert abs(results.mean()) < 4 * results.std() / np.sqrt(len(results))


# Modes ----------------------------------------------------------------------------------------------------------------


def test_metadata_belongs_to_the_instance() -> None:
    """V01, V09: the mode stands in the metadata, and no instance or class sees another's."""
    envs = [BlockVectorEnv(2, autoreset_mode=mode) for mode in MODES]
    assert [env.metadata["autoreset_mode"] for env in envs] == MODES
    assert "autoreset_mode" not in BlockVectorEnv.metadata
    single_envs(2, AutoresetMode.SAME_STEP)
    assert "autoreset_mode" not in BlockGymEnv.metadata
    assert [BlockVectorEnv(2, autoreset_mode=mode.value).autoreset_mode for mode in MODES] == MODES


def test_make_vec() -> None:
    """gymnasium.make_vec finds the native environment, with all keywords, and warns of nothing."""
    env = gymnasium.make_vec("block_env/Block-v0", num_envs=3, vectorization_mode="vector_entry_point", rules="draw")
    assert isinstance(env.unwrapped, BlockVectorEnv)
    assert env.num_envs == 3
    default: Any = gymnasium.make_vec("block_env/Block-v0", num_envs=2, seat=1, autoreset_mode="Disabled").unwrapped
    assert isinstance(default, BlockVectorEnv)
    default.reset()
    assert default.learner_seats.tolist() == [1, 1]
    sync: Any = gymnasium.make_vec("block_env/Block-v0", num_envs=2, vectorization_mode="sync", seat=1)
    assert isinstance(sync.envs[0].unwrapped, BlockGymEnv)


def test_next_step_ignores_the_action_of_a_reset() -> None:
    """V11: whatever is sent on the reset step, in the space or not: reward 0, no end, no warning, the new mask."""
    env = BlockVectorEnv(4, rules=SINGLE, mask_in="info")
    runs = Runs(env, AutoresetMode.NEXT_STEP, seed=35, choose=random_legal)
    for junk in [0, 27, 56, -5, 999]:
        while not runs.ended.any():
            runs.step()
        ended = runs.ended
        actions = np.where(ended, junk, random_legal(runs.masks, runs.rng))
        _, rewards, terminated, truncated, infos = env.step(actions)
        assert not rewards[ended].any()
        assert not (terminated | truncated)[ended].any()
        for row in np.flatnonzero(ended):
            game = env.snapshot(int(row))
            assert all(ply.seat != env.learner_seats[row] for ply in game.history)
            assert infos["action_mask"][row].any()
        runs.masks, runs.ended = infos["action_mask"], terminated | truncated


def test_disabled_waits_for_a_reset() -> None:
    """Under DISABLED a step after an end is refused, and changes nothing, until reset_mask has reset what ended."""
    env = BlockVectorEnv(4, rules=SINGLE, autoreset_mode=AutoresetMode.DISABLED)
    runs = Runs(env, AutoresetMode.DISABLED, seed=36, choose=random_legal)
    while not runs.ended.any():
        runs.step()
    before = pickle.dumps(env)
    with pytest.raises(ResetNeeded, match=r"environments \[\d"):
        env.step(random_legal(runs.masks, runs.rng))
    assert pickle.dumps(env) == before
    options = {"reset_mask": runs.ended.copy()}
    kept = [env.snapshot(int(row)) for row in np.flatnonzero(~runs.ended)]
    env.reset(options=options)
    assert list(options) == ["reset_mask"]
    assert [env.snapshot(int(row)) for row in np.flatnonzero(~runs.ended)] == kept
    env.step(random_legal(env.action_masks(), runs.rng))


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_record_episode_statistics(mode: AutoresetMode) -> None:
    """V02, V03: the usual wrapper reports each episode's own total and length, in each mode."""
    if mode == AutoresetMode.SAME_STEP and "SAME_STEP" not in inspect.getsource(RecordEpisodeStatistics.step):
        pytest.skip("this Gymnasium's wrapper loses a step of each episode under SAME_STEP (its pull request 1624)")
    env = RecordEpisodeStatistics(BlockVectorEnv(N, autoreset_mode=mode, reward="points", rules=SINGLE))
    runs = Runs(env, mode, seed=37, choose=random_legal)
    totals, lengths, resetting, seen = np.zeros(N), np.zeros(N, np.int64), np.zeros(N, np.bool_), 0
    for _ in range(scaled(60, 15)):
        runs.step()
        _, rewards, _, _, infos = runs.returned.pop()
        totals, lengths = totals + rewards, lengths + ~resetting
        for row in np.flatnonzero(runs.ended):
            assert infos["episode"]["r"][row] == pytest.approx(totals[row])
            assert infos["episode"]["l"][row] == lengths[row]
            seen += 1
        totals[runs.ended], lengths[runs.ended] = 0.0, 0
        resetting = runs.ended if mode == AutoresetMode.NEXT_STEP else resetting
    assert seen > scaled(50, 5)


def test_truncation_starts_anew_with_a_reset() -> None:
    """V06: stopped half-way and reset, every environment is truncated after the full number of turns."""
    env = BlockVectorEnv(16, rules="match", max_cycles=40, autoreset_mode="Disabled")
    rng = np.random.default_rng(38)
    env.reset(seed=38)
    for _ in range(9):
        env.step(random_legal(env.action_masks(), rng))
    env.reset()
    for _ in range(40):
        _, _, terminated, truncated, _ = env.step(random_legal(env.action_masks(), rng))
        if truncated.any():
            assert not terminated.any()
            assert (env._games.states["turns"][truncated] == 40).all()
            env.reset(options={"reset_mask": truncated})


# Illegal actions and wrong calls --------------------------------------------------------------------------------------


def test_one_illegal_action_ends_one_environment() -> None:
    """P22: only that one is paid -1 and ended, as if the others were alone; every game still has one whole set."""
    rng = np.random.default_rng(39)
    env, twin = (BlockVectorEnv(6, rules=SINGLE, autoreset_mode="Disabled") for _ in range(2))
    env.reset(seed=39)
    twin.reset(seed=39)
    actions = random_legal(env.action_masks(), rng)
    wrong = actions.copy()
    wrong[4] = int(np.flatnonzero(env.action_masks()[4] == 0)[7])
    before = env.snapshot(4)
    with pytest.warns(UserWarning, match=rf"action {wrong[4]} \(.*\) in environment 4 is not legal for seat") as caught:
        observation, rewards, terminated, _, _ = env.step(wrong)
    assert len(caught) == 1
    expected = twin.step(actions)
    others = np.arange(6) != 4
    assert (observation["observation"][others] == expected[0]["observation"][others]).all()
    assert (rewards[others] == expected[1][others]).all()
    assert (rewards[4], terminated.tolist()) == (-1.0, [False] * 4 + [True, False])
    assert env.snapshot(4) == before
    for index in range(6):
        game = env.snapshot(index)
        tiles = [*game.stock, *(tuple(sorted(tile)) for tile in game.line), *(t for hand in game.hands for t in hand)]
        assert sorted(tiles) == [(low, high) for low in range(7) for high in range(low, 7)]


def test_one_warning_tells_of_many_illegal_actions() -> None:
    env = BlockVectorEnv(6, rules=SINGLE)
    env.reset(seed=40)
    with pytest.warns(UserWarning, match=r"in environment 0 .* and the end \(and 5 more in this step\)") as caught:
        _, rewards, terminated, _, _ = env.step(env.action_masks().argmin(axis=1))
    assert len(caught) == 1
    assert (rewards == -1).all()
    assert terminated.all()


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 0, 57, 0], r"whole numbers from 0 to 56, got 57 in environment 2"),
        ([0, -1, 0, 0], r"whole numbers from 0 to 56, got -1 in environment 1"),
        (np.full(4, 2**63, np.uint64), r"got 9223372036854775808 in environment 0"),
        ([0, 0, 0], r"whole numbers, int \[4\], got int64 \[3\]"),
        (0, r"whole numbers, int \[4\], got int64 \[\]"),
        (np.zeros((4, 1), int), r"got int64 \[4, 1\]"),
        ([0.0] * 4, r"got float64 \[4\]"),
        ([None] * 4, r"got object \[4\]"),
        ([True] * 4, r"got bool \[4\]"),
    ],
)
def test_actions_that_cannot_be(actions: Any, message: str) -> None:
    """P04: a ValueError that says what is taken; nothing has changed in any environment."""
    env = BlockVectorEnv(4, rules=SINGLE)
    env.reset(seed=41)
    before = pickle.dumps(env)
    with pytest.raises(ValueError, match=rf"^actions: takes .*{message}"):
        env.step(actions)
    assert pickle.dumps(env) == before


@pytest.mark.parametrize(
    ("keyword", "value"),
    [
        ("num_envs", 0),
        ("num_envs", 2.0),
        ("autoreset_mode", "never"),
        ("autoreset_mode", None),
        ("seat", 2),
        ("opponent", "nobody"),
        ("mask_in", "state"),
        ("render_mode", "rgb"),
        ("max_cycles", 0),
    ],
)
def test_keywords_that_cannot_be(keyword: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{keyword}: takes "):
        BlockVectorEnv(**{"num_envs": 2, keyword: value})


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"seed": "12"}, "seed"),
        ({"seed": [1]}, "seed"),
        ({"seed": [1, -2]}, "seed"),
        ({"options": {"opener": 2}}, r"options\['opener'\]"),
        ({"options": {"reset_mask": [True, False]}}, r"options\['reset_mask'\]"),
        ({"options": {"reset_mask": np.array([True])}}, r"options\['reset_mask'\]"),
        ({"options": {"reset_mask": np.array([1, 0])}}, r"options\['reset_mask'\]"),
        ({"options": {"reset_mask": np.zeros(2, np.bool_)}}, r"options\['reset_mask'\]"),
    ],
)
def test_reset_arguments_that_cannot_be(arguments: dict[str, Any], name: str) -> None:
    env = BlockVectorEnv(2, rules=SINGLE)
    env.reset(seed=42)
    before = pickle.dumps(env)
    with pytest.raises(ValueError, match=rf"^{name}: takes "):
        env.reset(**arguments)
    assert pickle.dumps(env) == before


def test_reset_comes_first() -> None:
    env = BlockVectorEnv(2)
    for call in (env.action_masks, env.render, partial(env.snapshot, 0), partial(env.step, [0, 0])):
        with pytest.raises(ResetNeeded, match="reset"):
            call()
    with pytest.raises(ResetNeeded, match="the first reset"):
        env.reset(options={"reset_mask": np.array([True, False])})


# Seeds, copies, views -------------------------------------------------------------------------------------------------


def test_seeds() -> None:
    """S03: an int seeds environment i with seed + i, a list one each; None in it goes on; without, fresh entropy."""
    env, other = BlockVectorEnv(3), BlockVectorEnv(3)
    (first, _), (second, _) = env.reset(seed=43), other.reset(seed=[43, 44, 45])
    assert data_equivalence(first, second, exact=True)
    (following, _), _ = env.reset(), other.reset()
    mixed, _ = other.reset(seed=[None, 44, None])
    assert (mixed["observation"][1] == first["observation"][1]).all()
    assert (mixed["observation"][0] == env.reset()[0]["observation"][0]).all()
    assert not (following["observation"] == first["observation"]).all()
    fresh = [BlockVectorEnv(3).reset()[0]["observation"] for _ in range(2)]
    assert not (fresh[0] == fresh[1]).all()
    assert len(np.unique(fresh[0], axis=0)) == 3


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_the_seat_is_a_fair_lot(seats: int) -> None:
    """None draws each episode's seat uniformly, and without regard to the opener: chi-square over the table of both."""
    env = BlockVectorEnv(scaled(4000, 300), num_players=seats)
    env.reset(seed=44)
    table = np.zeros((seats, seats))
    np.add.at(table, (env.learner_seats, env._games.states["opener"]), 1)
    expected, freedom = table.sum() / seats**2, seats**2 - 1
    assert ((table - expected) ** 2 / expected).sum() < freedom + 5 * np.sqrt(2 * freedom)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_copies_go_on_alike(mode: AutoresetMode) -> None:
    """S07: a pickled environment goes on as the original, random opponents and later deals included."""
    runs = Runs(BlockVectorEnv(4, opponent="random", autoreset_mode=mode), mode, seed=45, choose=random_legal)
    for _ in range(10):
        runs.step()
    twin = pickle.loads(pickle.dumps(runs))
    for _ in range(scaled(150, 60)):
        runs.step()
        twin.step()
    assert data_equivalence(runs.returned, twin.returned, exact=True)


@pytest.mark.parametrize("mask_in", ["observation", "info"])
def test_returned_arrays_are_the_callers(mask_in: str) -> None:
    """What was returned stays as it was when the environment steps on."""
    env = BlockVectorEnv(4, rules=SINGLE, mask_in=mask_in, autoreset_mode="SameStep")
    runs = Runs(env, env.autoreset_mode, seed=46, choose=random_legal)
    kept = []
    for _ in range(15):
        kept.append(pickle.loads(pickle.dumps(runs.returned[-1])))
        runs.step()
        assert (env.action_masks() == runs.masks).all()
    assert data_equivalence(kept, runs.returned[:-1], exact=True)
    masks = env.action_masks()
    masks[:] = 0
    assert env.action_masks().any()


def test_options_set_up_all_or_some() -> None:
    env = BlockVectorEnv(3, rules=SINGLE, seat=0)
    env.reset(seed=47)
    env.reset(options={"opener": 0, "reset_mask": np.array([False, True, True])})
    assert [env.snapshot(index).opener for index in (1, 2)] == [0, 0]
    assert not env.snapshot(1).history


def test_render_and_opponent() -> None:
    """Each table in words, as its learner sees it; a new opponent takes over."""
    keywords: dict[str, Any] = {"render_mode": "ansi", "rules": SINGLE}
    env, single = BlockVectorEnv(2, **keywords), BlockGymEnv(**keywords)
    env.reset(seed=48)
    single.reset(seed=48)
    texts = env.render()
    assert texts is not None
    assert (len(texts), texts[0]) == (2, single.render())
    env.opponent = "random"
    assert env.opponent == "random"
    blind = BlockVectorEnv(2)
    blind.reset()
    assert blind.render() is None


class OneWrong:
    """Legal everywhere but in the last row of a batch of several."""

    def act(self, observation, action_mask, rng):
        actions = action_mask.argmax(axis=1)
        if len(actions) > 1:
            actions[-1] = 56 if not action_mask[-1, -1] else 0
        return actions


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_an_opponents_error_is_told_and_only_a_reset_goes_on(mode) -> None:
    """No episode vanishes without an end: after the error every mode asks for a reset."""
    batch = BlockVectorEnv(6, seat=0, autoreset_mode=mode)
    batch.reset(seed=4)
    batch.opponent = OneWrong()
    with pytest.raises(IllegalActionError, match="of an opponent in environment 5 is not legal"):
        batch.step(batch.action_masks().argmax(axis=1))
    batch.opponent = "greedy"
    with pytest.raises(ResetNeeded, match="broke all episodes off"):
        batch.step(batch.action_masks().argmax(axis=1))
    batch.reset(seed=4)
    batch.step(batch.action_masks().argmax(axis=1))


@pytest.mark.parametrize("seed", [np.array(3), b"ab", "ab", 1.5, True, [1], [1, -2]])
def test_seeds_that_are_none(seed) -> None:
    batch = BlockVectorEnv(2)
    with pytest.raises(ValueError, match=r"^seed: takes"):
        batch.reset(seed=seed)


def test_ragged_actions_and_places_that_are_not_there() -> None:
    batch = BlockVectorEnv(2)
    batch.reset(seed=1)
    with pytest.raises(ValueError, match=r"^actions: takes"):
        batch.step([[1], [1, 2]])
    for index in (2, -1, "x", 0.0, slice(0, 1)):
        with pytest.raises(ValueError, match=r"^index: takes"):
            batch.snapshot(index)


def test_a_limit_larger_than_any_counter() -> None:
    batch = BlockVectorEnv(2, max_cycles=2**70)
    batch.reset(seed=1)
    assert not batch.step(batch.action_masks().argmax(axis=1))[3].any()


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_what_is_written_into_an_observation_comes_back_nowhere(mode: AutoresetMode) -> None:
    """Whoever got an observation may scale it in place: illegal actions and partial resets show true ones."""
    tables = [BlockVectorEnv(4, autoreset_mode=mode, mask_in="info", max_cycles=9) for _ in range(2)]
    seen = [table.reset(seed=1) for table in tables]
    for step in range(40):
        masks = tables[0].action_masks()
        actions = masks.argmax(axis=1)
        actions[step % 4] = masks[step % 4].argmin()  # often illegal
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seen[0][0][:] = -7
            seen = [table.step(actions) for table in tables]
        assert (seen[0][0] == seen[1][0]).all()
        for one, other in zip(*(got[-1].get("final_obs", []) for got in seen), strict=True):
            assert one is other is None or (one == other).all()
        over = seen[0][2] | seen[0][3]
        if mode == AutoresetMode.DISABLED and over.any():
            seen[0][0][:] = -7
            seen = [table.reset(options={"reset_mask": over.copy()}) for table in tables]
            assert (seen[0][0] == seen[1][0]).all()
