"""The Gymnasium environment: one learner's seat, against an independent replay through batched play of all seats."""

from __future__ import annotations

import copy
import itertools
import pickle
import random
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env, data_equivalence
from helpers import ALL_RULES, COMPILED, PRESET_RULES, rules_name, scaled, seen, swapped
from numpy.typing import NDArray

import block_env
from block_env import Rules, opponents
from block_env.gym_env import BlockGymEnv
from block_env.learner_games import table_text
from block_env.observation import decode, layout
from block_env.play import Games, IllegalActionError
from block_env.vector_env import BlockVectorEnv

SINGLE = "single_round"
NO_CHANCE = np.random.default_rng(0)
"""For policies that draw nothing."""


# Helpers --------------------------------------------------------------------------------------------------------------


@contextmanager
def only_warnings(*explained: str) -> Iterator[None]:
    """Every warning within must match one of these patterns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    rest = [str(one.message) for one in caught if not any(re.search(text, str(one.message)) for text in explained)]
    assert not rest


ILLEGAL = r"is not legal for seat \d; legal: "


def choose(mask: NDArray[np.int8], rng: np.random.Generator) -> int:
    return int(rng.choice(np.flatnonzero(mask)))


def mask_of(observation: Any, info: dict[str, Any]) -> NDArray[np.int8]:
    mask: NDArray[np.int8] = info["action_mask"] if "action_mask" in info else observation["action_mask"]
    return mask


def episode(env: BlockGymEnv, rng: np.random.Generator, **reset: Any) -> list[tuple[int, Any]]:
    """Play one episode at random, from a seed drawn by ``rng``: (action, what the step returned) for each step."""
    mask = mask_of(*env.reset(**(reset or {"seed": int(rng.integers(2**32))})))
    steps = []
    while True:
        action = choose(mask, rng)
        steps.append((action, env.step(action)))
        observation, _, terminated, truncated, info = steps[-1][1]
        if terminated or truncated:
            return steps
        mask = mask_of(observation, info)


def advance(env: BlockGymEnv, steps: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """Reset and play some steps at random, over the ends of episodes; returns the mask. The episode then goes on."""
    mask = mask_of(*env.reset(seed=int(rng.integers(2**32))))
    for _ in range(steps):
        observation, _, terminated, truncated, info = env.step(choose(mask, rng))
        mask = mask_of(*env.reset()) if terminated or truncated else mask_of(observation, info)
    return mask


class Replay:
    """The same game, all seats played here through batched play: what the learner must be told."""

    def __init__(self, env: BlockGymEnv, seed: int, reward: str, opponent: str) -> None:
        self.learner = env.learner_seat
        self.games = Games(1, env.rules, reward=reward, seed=[seed], auto_reset=False)
        self.policy = opponents.make(opponent, env.rules)
        self.others()

    def others(self) -> float:
        paid = 0.0
        while self.games.to_play[0] not in (-1, self.learner):
            actions = self.policy.act(self.games.observation, self.games.action_mask, NO_CHANCE)
            paid += float(self.games.step(actions)[0][0, self.learner])
        return paid

    def step(self, action: int) -> tuple[float, bool]:
        own = float(self.games.step(np.array([action]))[0][0, self.learner])
        return own + self.others(), bool(self.games.to_play[0] == -1)

    def seen(self) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        observations, masks = self.games.observe(np.array([0]), np.array([self.learner]))
        return observations[0], masks[0]


class Noting:
    """A policy that plays at random and keeps what it was shown."""

    def __init__(self) -> None:
        self.shown: list[NDArray[np.float32]] = []

    def act(
        self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        self.shown.extend(observation)
        return np.array([choose(mask, rng) for mask in action_mask])


class Cheat:
    """A policy that lays what it may not."""

    def act(
        self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        return np.asarray(action_mask.argmin(axis=1))


# The interface --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mask_in", ["observation", "info"])
@pytest.mark.parametrize("rules", PRESET_RULES, ids=rules_name)
def test_gymnasium_checks_it(rules: Rules, mask_in: str) -> None:
    """Gymnasium's own checker, which steps without a mask: only illegal actions may warn, as they must."""
    env = gymnasium.make("block_env/Block-v0", rules=rules, mask_in=mask_in)
    with only_warnings(ILLEGAL):
        check_env(env.unwrapped)


@pytest.mark.parametrize("rules", ALL_RULES, ids=rules_name)
def test_everything_is_in_the_spaces(rules: Rules) -> None:
    """V10, P19: observations in their space, float rewards, bool flags, never both ends; stacking works."""
    for mask_in, history in itertools.product(("observation", "info"), (False, True)):
        env = BlockGymEnv(rules=rules, mask_in=mask_in, history=history, reward="points", max_cycles=40)
        rng = np.random.default_rng(1)
        for _ in range(scaled(6, 1)):
            steps = episode(env, rng)
            for _, (observation, reward, terminated, truncated, _) in steps:
                assert env.observation_space.contains(observation)
                assert [type(reward), type(terminated), type(truncated)] == [float, bool, bool]
                assert not (terminated and truncated)
            vectors = [np.concatenate([np.ravel(part) for part in leaves(one[1][0])]) for one in steps]
            assert np.stack(vectors).dtype == np.float32


def leaves(observation: Any) -> list[NDArray[Any]]:
    return list(observation.values()) if isinstance(observation, dict) else [observation]


def test_observation_and_mask_places() -> None:
    """DESIGN: exactly `observation` and `action_mask`, in that order; or the plain box and the mask in info."""
    env, plain = BlockGymEnv(), BlockGymEnv(mask_in="info")
    (observation, info), (vector, mask_info) = env.reset(seed=2), plain.reset(seed=2)
    assert list(observation) == list(env.observation_space.spaces) == ["observation", "action_mask"]
    assert info == {}
    assert list(mask_info) == ["action_mask"]
    assert (observation["observation"] == vector).all()
    assert (observation["action_mask"] == mask_info["action_mask"]).all()
    assert isinstance(plain.observation_space, gymnasium.spaces.Box)


@pytest.mark.parametrize("mask_in", ["observation", "info"])
def test_masks_agree_and_sample(mask_in: str) -> None:
    """P16, P17: every copy of the mask is equal, int8, and what the action space samples by."""
    env, rng = BlockGymEnv(mask_in=mask_in, rules="draw"), np.random.default_rng(3)
    mask = mask_of(*env.reset(seed=3))
    for _ in range(scaled(300, 30)):
        assert mask.dtype == np.int8
        assert mask.shape == (env.action_space.n,)
        assert (env.action_masks() == mask).all()
        assert mask[env.action_space.sample(mask)] == 1
        observation, _, terminated, _, info = env.step(choose(mask, rng))
        mask = mask_of(observation, info)
        assert (env.action_masks() == mask).all()
        if terminated:
            assert not mask.any()
            mask = mask_of(*env.reset())


def test_mask_is_what_step_accepts() -> None:
    """D12: for random states every action is tried in a copy; it is taken exactly where the mask says so."""
    env, rng = BlockGymEnv(rules="draw", opponent="random"), np.random.default_rng(4)
    for steps in range(scaled(12, 3)):
        mask = advance(env, 3 * steps, rng)
        for action in range(env.action_space.n):
            trial = copy.deepcopy(env)
            with only_warnings(ILLEGAL):
                _, _, terminated, _, _ = trial.step(action)
            changed = trial.game != env.game
            assert changed == bool(mask[action])
            assert terminated or changed


def test_infos_hold_no_secret() -> None:
    """O10: neither the deal nor a seed: nothing but the mask, at reset, in play and at the end."""
    for mask_in, keys in (("observation", set()), ("info", {"action_mask"})):
        env = BlockGymEnv(mask_in=mask_in, rules=SINGLE)
        assert set(env.reset(seed=5)[1]) == keys
        for _, (_, _, _, _, info) in episode(env, np.random.default_rng(5)):
            assert set(info) == keys


def test_returned_arrays_are_the_callers() -> None:
    """What was returned stays as it was, and writing into it changes nothing in the game."""
    for mask_in in ("observation", "info"):
        env, twin = BlockGymEnv(mask_in=mask_in), BlockGymEnv(mask_in=mask_in)
        returned = env.reset(seed=6)
        kept = copy.deepcopy(returned)
        action = choose(mask_of(*returned), np.random.default_rng(6))
        twin.reset(seed=6)
        env.step(action)
        assert data_equivalence(returned, kept, exact=True)
        mask_of(*returned)[:] = 0
        env.reset(seed=6)
        assert data_equivalence(env.step(action), twin.step(action), exact=True)


# Rewards, turns and ends ----------------------------------------------------------------------------------------------


@pytest.mark.nojit
@pytest.mark.parametrize("reward", ["outcome", "points"])
@pytest.mark.parametrize("rules", ALL_RULES, ids=rules_name)
def test_equal_to_an_independent_replay(rules: Rules, reward: str) -> None:
    """P18, M14: the learner gets its own reward, whoever makes the last move; views and ends are those of the game."""
    rng = np.random.default_rng(7)
    for seed in range(scaled(6, 2)):
        env = BlockGymEnv(rules=rules, reward=reward, seat=seed % rules.num_players if seed % 2 else None)
        mask = mask_of(*env.reset(seed=seed))
        replay, over = Replay(env, seed, reward, "greedy"), False
        early = replay.games.to_play[0] == -1
        while not early and not over:
            action = choose(mask, rng)
            observation, paid, terminated, truncated, _ = env.step(action)
            expected, over = replay.step(action)
            assert paid == pytest.approx(expected)
            assert (terminated, truncated) == (over, False)
            vector, mask = replay.seen()
            assert (observation["observation"] == vector).all()
            assert (observation["action_mask"] == mask).all()


def test_both_kinds_of_ends_are_paid() -> None:
    """The reward comes with the learner's last step, whether its own move or another's ended the game."""
    rng, ends = np.random.default_rng(8), Counter[tuple[bool, float]]()
    env = BlockGymEnv(rules=SINGLE)
    for _ in range(scaled(200, 60)):
        steps = episode(env, rng)
        own = env.game.history[-1].seat == env.learner_seat
        ends[own, np.sign(steps[-1][1][1])] += 1
        assert all(one[1] == 0.0 for _, one in steps[:-1])
    assert all(ends[own, sign] for own in (False, True) for sign in (-1, 1))


def test_forced_passes_are_steps() -> None:
    """D03: a learner that can only pass is asked, with a mask of exactly the pass."""
    env, rng, passes = BlockGymEnv(rules=SINGLE), np.random.default_rng(9), 0
    for _ in range(scaled(20, 5)):
        steps = episode(env, rng)
        learners = [ply.action for ply in env.game.history if ply.seat == env.learner_seat]
        assert [action for action, _ in steps] == learners
        passes += sum(action == 56 for action in learners)
    assert passes


@pytest.mark.parametrize("reward", ["outcome", "points"])
def test_the_same_numbers_in_all_flavours(reward: str) -> None:
    """D29: AEC, parallel, batched play, Gymnasium and its vector env pay the same total for the same game."""
    rules, totals = Rules.preset("match", 3), Counter[float]()
    for seed in range(scaled(12, 1)):
        env = BlockGymEnv(rules=rules, reward=reward, seat=0)
        own = episode(env, np.random.default_rng(10 + seed), seed=seed)
        paid = sum(one[1] for _, one in own)
        assert all_flavours(rules, reward, seed, [action for action, _ in own]) == pytest.approx([paid] * 4)
        totals[paid] += 1
    if reward == "outcome" and COMPILED:
        assert set(totals) == {1.0, -0.5}


def all_flavours(rules: Rules, reward: str, seed: int, own: list[int]) -> list[float]:
    """Seat 0's total by batched play, AEC, parallel and vector env; seat 0 plays ``own``, the others are greedy."""
    games = Games(1, rules, reward=reward, seed=[seed], auto_reset=False)
    aec, side_by_side = (make(rules=rules, reward=reward) for make in (block_env.env, block_env.parallel_env))
    vector = BlockVectorEnv(1, rules=rules, reward=reward, seat=0)
    for env in (aec, side_by_side, vector):
        env.reset(seed=seed)
    greedy, left, totals = opponents.make("greedy", rules), list(own), np.zeros(4)
    while games.to_play[0] >= 0:
        learns, mover = games.to_play[0] == 0, aec.agent_selection
        action = left.pop(0) if learns else greedy.act(games.observation, games.action_mask, NO_CHANCE)[0]
        totals[0] += games.step(np.array([action]))[0][0, 0]
        aec.step(action)
        totals[1] += aec.rewards["player_0"]
        everyone = {agent: action if agent == mover else 56 for agent in aec.possible_agents}
        totals[2] += side_by_side.step(everyone)[1]["player_0"]
        totals[3] += vector.step([action])[1][0] if learns else 0.0
    assert not left
    return list(totals)


@pytest.mark.nojit
def test_max_cycles_counts_all_seats_turns() -> None:
    """V06: truncated after so many turns of the whole game, again after a reset half-way; terminated wins over it."""
    rng = np.random.default_rng(11)
    for limit in range(1, 30):
        env = BlockGymEnv(rules=SINGLE, num_players=3, max_cycles=limit)
        advance(env, 2, rng)
        for _ in range(scaled(8, 2)):
            _, (_, reward, terminated, truncated, _) = episode(env, rng)[-1]
            turns, over = len(env.game.history), env.game.over
            assert (terminated, truncated) == (over, not over)
            assert turns == limit if truncated else turns <= limit
            assert reward == 0.0 or terminated
            assert not env.action_masks().any()


def test_episodes_over_before_the_first_turn() -> None:
    """Hands of one tile: the game may end before the learner moves. One step hands over the reward, none is played."""
    rules = Rules(2, hand_size=1, first_opener="highest_double")
    paid = Counter[float]()
    for seed in range(60):
        env = BlockGymEnv(rules=rules, seat=0, mask_in="info")
        _, info = env.reset(seed=seed)
        game = env.game
        action = int(info["action_mask"].argmax())
        _, reward, terminated, truncated, info = env.step(action)
        assert (terminated, truncated) == (True, False)
        assert not info["action_mask"].any()
        if game.over:
            assert (action, env.game, reward) == (56, game, -1.0)
        paid[reward] += 1
    assert paid[-1.0] > 10
    assert paid[1.0] > 10


def test_truncated_before_the_first_turn() -> None:
    """A max_cycles that the others use up: the one step hands over the end, without a warning, whatever the action."""
    env = BlockGymEnv(rules=SINGLE, num_players=3, seat=2, max_cycles=2)
    for action in (0, 28, 56):
        observation, _ = env.reset(seed=1, options={"opener": 0})
        assert np.flatnonzero(observation["action_mask"]).tolist() == [56]
        _, reward, terminated, truncated, _ = env.step(action)
        assert (reward, terminated, truncated) == (0.0, False, True)


# Illegal actions and wrong calls --------------------------------------------------------------------------------------


def test_illegal_actions_end_the_episode() -> None:
    """P04, P22: reward -1, terminated, a warning that names the action and what is legal; the game is unchanged."""
    rng = np.random.default_rng(12)
    for steps in range(scaled(30, 3)):
        env = BlockGymEnv(rules=SINGLE, reward="points", opponent="random")
        mask = advance(env, steps, rng)
        before, twin = env.game, copy.deepcopy(env)
        action = int(rng.choice(np.flatnonzero(mask == 0)))
        with pytest.warns(UserWarning, match=rf"action {action} \(.*\) {ILLEGAL}{mask.argmax()} ") as caught:
            observation, reward, terminated, truncated, info = env.step(action)
        assert len(caught) == 1
        assert (reward, terminated, truncated, info) == (-1.0, True, False, {})
        assert env.game == before
        assert not observation["action_mask"].any()
        with pytest.raises(ResetNeeded):
            env.step(int(mask.argmax()))
        assert data_equivalence(env.reset(), twin.reset(), exact=True)
        assert data_equivalence(
            env.step(int(env.action_masks().argmax()))[0], twin.step(int(twin.action_masks().argmax()))[0]
        )


@pytest.mark.parametrize(
    "action", [-1, 57, 10**9, 1.0, 2.5, None, True, np.True_, "3", [3], np.array([3]), np.float64(3)]
)
def test_actions_out_of_the_space_raise(action: Any) -> None:
    """P04: a ValueError that says what is taken, and nothing has changed."""
    env = BlockGymEnv(rules=SINGLE)
    env.reset(seed=13)
    before = pickle.dumps(env)
    with pytest.raises(ValueError, match="action: takes a whole number from 0 to 56, got"):
        env.step(action)
    assert pickle.dumps(env) == before


@pytest.mark.parametrize("kind", [int, np.int64, np.int8, np.uint8, np.array])
def test_whole_numbers_of_any_kind_are_actions(kind: Any) -> None:
    """P04: Python's and NumPy's whole numbers are the same action."""
    env = BlockGymEnv(rules=SINGLE)
    env.reset(seed=13)
    action = env.action_masks().argmax()
    assert env.step(kind(action))[2] is False


@pytest.mark.parametrize("call", ["step", "action_masks", "game", "learner_seat", "render"])
def test_reset_comes_first(call: str) -> None:
    env = BlockGymEnv()
    with pytest.raises(ResetNeeded, match="reset"):
        env.step(0) if call == "step" else getattr(env, call)()


def test_step_after_the_end_needs_a_reset() -> None:
    env = BlockGymEnv(rules=SINGLE)
    episode(env, np.random.default_rng(14))
    before = env.game
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step(0)
    assert env.game == before


@pytest.mark.parametrize(
    ("keyword", "value"),
    [
        ("opponent", "nobody"),
        ("opponent", 3),
        ("opponent", Noting),
        ("opponent", []),
        ("opponent", ["greedy", "greedy"]),
        ("opponent", [None]),
        ("seat", 2),
        ("seat", -1),
        ("seat", True),
        ("seat", 0.0),
        ("rules", "chess"),
        ("rules", 3),
        ("num_players", 5),
        ("reward", "win"),
        ("mask_in", "state"),
        ("history", "yes"),
        ("max_cycles", 0),
        ("max_cycles", 2.5),
        ("render_mode", "rgb"),
    ],
)
def test_keywords_that_cannot_be(keyword: str, value: Any) -> None:
    """D16, P13: a ValueError at construction that names the keyword and what it takes."""
    with pytest.raises(ValueError, match=rf"^{keyword}: takes "):
        BlockGymEnv(**{keyword: value})


def test_reset_arguments_that_cannot_be() -> None:
    """A wrong seed or position is a ValueError, and the running game and its deals stay."""
    env = BlockGymEnv(rules=SINGLE)
    env.reset(seed=15)
    before = pickle.dumps(env)
    for arguments, name in (
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"options": {"opener": 2}}, r"options\['opener'\]"),
        ({"options": {"hands": [[], []]}}, r"options\['hands'\]"),
        ({"options": {"scores": [1]}}, r"options\['scores'\]"),
        ({"seed": 3, "options": {"opener": 9}}, r"options\['opener'\]"),
    ):
        with pytest.raises(ValueError, match=rf"^{name}: takes "):
            env.reset(**arguments)
        assert pickle.dumps(env) == before


def test_options_set_up_a_position() -> None:
    """DESIGN: hands, opener and scores; unknown keys are ignored; later deals are as without."""
    hands = [[(0, 0), (1, 2)], [(3, 3), (0, 4)]]
    rules = Rules(2, hand_size=2, target=50)
    env, plain = BlockGymEnv(rules=rules, seat=1), BlockGymEnv(rules=rules, seat=1)
    env.reset(seed=16, options={"hands": hands, "opener": 1, "scores": (30, 20), "colour": "red"})
    plain.reset(seed=16)
    assert env.game.hands == (((0, 0), (1, 2)), ((0, 4), (3, 3)))
    assert (env.game.opener, env.game.scores) == (1, (30, 20))
    env.reset()
    plain.reset()
    assert env.game == plain.game


# Opponents ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rules", "others"), [(Rules.preset(SINGLE, seats), seats - 1) for seats in (2, 3, 4)])
def test_opponents_sit_clockwise(rules: Rules, others: int) -> None:
    """Each policy of a list sees exactly the hand of its own seat, counted clockwise from the learner."""
    rng, asked = np.random.default_rng(17), np.zeros(rules.num_players)
    for learner in range(rules.num_players):
        policies = [Noting() for _ in range(others)]
        env = BlockGymEnv(rules=rules, opponent=policies, seat=learner)
        for seed in range(5):
            for policy in policies:
                policy.shown.clear()
            env.reset(seed=seed, options={"opener": learner})
            dealt = env.game.hands
            episode_rest(env, rng)
            for place, policy in enumerate(policies, 1):
                own = set(dealt[(learner + place) % rules.num_players])
                for facts in (decode(rules, vector) for vector in policy.shown):
                    assert set(facts.hand) | set(facts.laid[0]) == own
                    assert facts.to_play == 0
                asked[learner] += bool(policy.shown)
    assert (asked > others).all()


def test_one_policy_can_sit_everywhere_and_be_changed() -> None:
    """A policy object is used as it is, also through gymnasium.make; a new one takes over with the next turn."""
    first, second = Noting(), Noting()
    env = gymnasium.make("block_env/Block-v0", opponent=first, rules=SINGLE, num_players=3, seat=0).unwrapped
    assert isinstance(env, BlockGymEnv)
    episode(env, np.random.default_rng(18))
    count = len(first.shown)
    env.opponent = second
    episode(env, np.random.default_rng(18))
    assert env.opponent is second
    assert len(first.shown) == count > 0
    assert second.shown
    with pytest.raises(ValueError, match=r"^opponent: takes "):
        env.opponent = "nobody"
    assert env.opponent is second


def test_an_opponent_that_needs_history_gets_it() -> None:
    """A policy that reads the history part is refused where there is none."""
    policy: Any = Noting()
    policy.needs_history = True
    env = BlockGymEnv(opponent=policy, rules=SINGLE, history=True)
    episode(env, np.random.default_rng(18))
    assert len(policy.shown[0]) == layout(env.rules, history=True).size
    with pytest.raises(ValueError, match=r"^history: takes True with an opponent that needs it"):
        BlockGymEnv(opponent=policy, rules=SINGLE)


def test_names_and_policies_mix() -> None:
    noting = Noting()
    env = BlockGymEnv(rules="partnership", opponent=["greedy", noting, "random"], seat=3, max_cycles=30)
    episode(env, np.random.default_rng(19))
    assert noting.shown


def test_an_opponent_that_cheats_is_found_out() -> None:
    """An illegal choice of an opponent is an error that says so; the broken episode cannot be played on."""
    env = BlockGymEnv(rules=SINGLE, opponent=Cheat(), seat=0)
    env.reset(options={"opener": 0})
    with pytest.raises(IllegalActionError, match=r"of an opponent is not legal for seat 1; legal: "):
        episode_rest(env, np.random.default_rng(19))
    with pytest.raises(ResetNeeded):
        env.step(0)


# Seats, seeds and copies ----------------------------------------------------------------------------------------------


def test_the_seat_does_not_depend_on_play() -> None:
    """The same seed, other actions: the same seats and deals, episode after episode."""
    runs = []
    for stream in (1, 2):
        env, rng = BlockGymEnv(rules=SINGLE, opponent="random"), np.random.default_rng(stream)
        env.reset(seed=21)
        run = []
        for _ in range(20):
            run.append((env.learner_seat, env.game.hands[env.learner_seat]))
            episode_rest(env, rng)
            env.reset()
        runs.append(run)
    assert runs[0] == runs[1]
    assert len({seat for seat, _ in runs[0]}) == 2


def episode_rest(env: BlockGymEnv, rng: np.random.Generator) -> None:
    ended = False
    while not ended:
        _, _, terminated, truncated, _ = env.step(choose(env.action_masks(), rng))
        ended = terminated or truncated


def test_deals_are_those_of_batched_play() -> None:
    """reset(seed=s) and the resets after it give the deals of Games(1, seed=[s])."""
    for rules in PRESET_RULES:
        env, games = BlockGymEnv(rules=rules, seat=0), Games(1, rules, seed=[22])
        env.reset(seed=22, options={"opener": 0})
        for _ in range(3):
            assert env.game.hands == games.snapshot(0).hands
            games.reset()
            env.reset(options={"opener": 0})


def test_seeds() -> None:
    """S03: a seed and the resets after it repeat, whatever others draw; seed 0 is a seed; without a seed, fresh."""
    runs = []
    for noise in range(2):
        env = BlockGymEnv(opponent="random", rules=SINGLE)
        run = []
        before = random.getstate(), np.random.get_state()  # noqa: NPY002 - the global state is what must not matter
        for seed in (3, None, None, 0, None):
            random.seed(noise)
            np.random.seed(noise)  # noqa: NPY002
            env.reset(seed=seed)
            run.append(env.game.hands)
            episode_rest(env, np.random.default_rng(23))
            run.append(env.game.history)
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002
        runs.append(run)
    assert runs[0] == runs[1]
    fresh = [BlockGymEnv(), BlockGymEnv()]
    for env in fresh:
        env.reset()
    assert fresh[0].game.hands != fresh[1].game.hands


def test_a_seeded_action_space_gives_a_repeatable_baseline() -> None:
    """S05: the environment's seed does not seed its action space; with both seeded the random baseline repeats."""
    runs = []
    for _ in range(2):
        env = BlockGymEnv(rules=SINGLE, opponent="random")
        env.action_space.seed(24)
        env.reset(seed=24)
        for _ in range(5):
            ended = False
            while not ended:
                _, _, ended, _, _ = env.step(env.action_space.sample(env.action_masks()))
            runs.append(env.game)
            env.reset()
    assert runs[:5] == runs[5:]


def test_two_environments_do_not_touch_each_other() -> None:
    """S06: interleaved steps of two environments with one seed: each as when alone."""
    alone = [one for _, one in episode(BlockGymEnv(opponent="random"), np.random.default_rng(25), seed=25)]
    envs, rngs = [BlockGymEnv(opponent="random") for _ in range(2)], [np.random.default_rng(25) for _ in range(2)]
    masks = [mask_of(*env.reset(seed=25)) for env in envs]
    for expected in alone:
        for k, env in enumerate(envs):
            result = env.step(choose(masks[k], rngs[k]))
            assert data_equivalence(result, expected, exact=True)
            masks[k] = mask_of(result[0], result[4])


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_keep_the_game_and_its_deals(duplicate: Any) -> None:
    """S07: a copy in mid-game goes on the same way, has the same next deals, and does not move the original on."""
    env = BlockGymEnv(opponent="random", reward="points")
    env.reset(seed=26)
    advance(env, 50, np.random.default_rng(26))
    twin, third = duplicate(env), duplicate(env)
    runs = []
    for one in (twin, env):
        rng, run = np.random.default_rng(27), [one.game]
        episode_rest(one, rng)
        for _ in range(5):
            one.reset()
            run.append((one.game, one.learner_seat))
        runs.append(run)
    assert runs[0] == runs[1]
    assert third.game == runs[0][0]


# What a player sees ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", PRESET_RULES, ids=rules_name)
def test_hidden_tiles_change_nothing_that_is_seen(rules: Rules) -> None:
    """O03, O10, O11: with hidden tiles, deals and lots exchanged, observation, mask, info and text are the same."""
    rng = np.random.default_rng(28)
    env = BlockGymEnv(rules=rules, history=True, render_mode="ansi", opponent="random", mask_in="info")
    for steps in range(scaled(15, 3)):
        mask = advance(env, steps, rng)
        seat, games = env.learner_seat, env._games
        other = swapped(games.states, rules, 0, seat, rng)
        vector, other_mask = seen(other, rules, 0, seat, history=True)
        assert (vector == games.observation[0]).all()
        assert (other_mask == mask).all()
        text = env.render()
        games.states[:] = other
        assert table_text(games, 0) == text


def test_ansi_shows_the_learners_view() -> None:
    """O11, P13, D05: the learner's hand, and until the round is over nobody else's; without a mode nothing."""
    for mode in ("ansi", None):
        env, rng = BlockGymEnv(rules=SINGLE, render_mode=mode), np.random.default_rng(29)
        for seed in range(scaled(10, 3)):
            env.reset(seed=seed)
            ended = False
            while not ended:
                check_picture(env, mode)
                _, _, ended, _, _ = env.step(choose(env.action_masks(), rng))
            check_picture(env, mode)
        env.close()


def check_picture(env: BlockGymEnv, mode: str | None) -> None:
    text = env.render()
    if mode is None:
        assert text is None
        return
    assert isinstance(text, str)
    shown = {tuple(map(int, pair)) for pair in re.findall(r"\[(\d)\|(\d)\]", text)}
    laid = {tile for played in env.game.line for tile in (played, played[::-1])}
    own = set(env.game.hands[env.learner_seat])
    assert shown - laid == own or (env.game.over and shown >= own)


@pytest.mark.skipif(not COMPILED, reason="wrappers are the same")
def test_usual_wrappers_work() -> None:
    """With mask_in="info" the observation is a plain box, and Gymnasium's wrappers for boxes work."""
    wrappers = gymnasium.wrappers
    env: Any = gymnasium.make("block_env/Block-v0", mask_in="info", rules=SINGLE, seat=1)
    env = wrappers.RecordEpisodeStatistics(wrappers.FrameStackObservation(wrappers.RescaleObservation(env, -1, 1), 2))
    rng = np.random.default_rng(30)
    _, info = env.reset(seed=30)
    total, ended = 0.0, False
    while not ended:
        observation, reward, ended, _, info = env.step(choose(info["action_mask"], rng))
        assert env.observation_space.contains(observation)
        total += reward
    assert info["episode"]["r"] == total
