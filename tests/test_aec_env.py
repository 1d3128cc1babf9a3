"""The AEC environments: PettingZoo's own tests, the same game as batched play and as the reference, checks, copies.

The ids in the docstrings (P04, O06, …) are those of the list of faults that users of such projects reported.
"""

from __future__ import annotations

import copy
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pettingzoo
import pytest
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from helpers import ALL_RULES, COMPILED, PRESET_RULES, rules_name, same_bytes, scaled, swapped
from numpy.typing import NDArray
from pettingzoo.test import api_test, performance_benchmark, seed_test, state_test
from pettingzoo.utils import aec_to_parallel, turn_based_aec_to_parallel
from pettingzoo.utils.env_logger import EnvLogger
from pettingzoo.utils.wrappers import AssertOutOfBoundsWrapper, OrderEnforcingWrapper, TerminateIllegalWrapper
from reference import Deal, Reference, tile_order

import block_env
from block_env import Rules, block_v0, env, parallel_env, raw_env
from block_env import rules as kernels
from block_env.observation import decode, layout
from block_env.play import Games, IllegalActionError
from block_env.render import text
from block_env.state_vector import state_vectors

Env = Any
FACES = pytest.mark.parametrize("make", [raw_env, env], ids=["raw_env", "env"])
EACH_RULES = pytest.mark.parametrize("rules", ALL_RULES, ids=rules_name)
EACH_PRESET = pytest.mark.parametrize("rules", PRESET_RULES, ids=rules_name)
MASKS_IN = pytest.mark.parametrize("mask_in", ["observation", "info"])
KNOWN_WARNINGS = pytest.mark.filterwarnings(
    # PettingZoo keeps a list of its own environments whose observations are dicts; all others get these two.
    "ignore:Observation space for each agent probably should be:UserWarning",
    "ignore:Observation is not a NumPy array:UserWarning",
    # Nothing is legal after the end: a finished agent has an all-zero mask, and is taken out with None.
    "ignore:Action mask numpy array is all zeros:UserWarning",
)


def wrapped(**keywords: Any) -> Env:
    """``raw_env`` in the three wrappers that PettingZoo puts around its own turn games."""
    return OrderEnforcingWrapper(AssertOutOfBoundsWrapper(TerminateIllegalWrapper(raw_env(**keywords), -1)))


def vector_of(env: Env, agent: str) -> NDArray[np.float32]:
    observation = env.observe(agent)
    return observation["observation"] if isinstance(observation, dict) else observation


def mask_of(env: Env, agent: str) -> NDArray[np.int8]:
    observation = env.observe(agent)
    return observation["action_mask"] if isinstance(observation, dict) else env.infos[agent]["action_mask"]


def legal(env: Env) -> list[int]:
    return np.flatnonzero(mask_of(env, env.agent_selection)).tolist()


def illegal(env: Env) -> list[int]:
    return np.flatnonzero(mask_of(env, env.agent_selection) == 0).tolist()


def seat_of(env: Env) -> int:
    return env.possible_agents.index(env.agent_selection)


def running(env: Env) -> bool:
    return bool(env.agents) and not (any(env.terminations.values()) or any(env.truncations.values()))


def play(env: Env, rng: np.random.Generator, turns: int = 100_000) -> Env:
    """Play random legal actions, to the end or for so many turns."""
    while turns and running(env):
        env.step(int(rng.choice(legal(env))))
        turns -= 1
    return env


def take_out(env: Env) -> list[tuple[str, float]]:
    """Take out the finished agents; each with the reward that it is handed."""
    out = []
    for agent in env.agent_iter():
        out.append((agent, env.last()[1]))
        env.step(None)
    return out


def deals_ahead(env: Env, count: int = 5) -> list[Any]:
    """The next deals, one a game."""
    deals = []
    for _ in range(count):
        env.reset()
        deals.append((env.unwrapped.game.hands, env.unwrapped.game.stock, env.unwrapped.game.opener))
    return deals


# PettingZoo's own tests -----------------------------------------------------------------------------------------------


@KNOWN_WARNINGS
@FACES
@EACH_RULES
@MASKS_IN
@pytest.mark.parametrize("history", [False, True])
def test_pettingzoo_api_test(make: Callable[..., Env], rules: Rules, mask_in: str, history: bool) -> None:
    """P08"""
    api_test(make(rules=rules, mask_in=mask_in, history=history), num_cycles=30)


@KNOWN_WARNINGS
def test_pettingzoo_api_test_of_the_usual_wrappers_around_raw_env() -> None:
    api_test(wrapped(), num_cycles=300)


@FACES
@EACH_RULES
@MASKS_IN
def test_pettingzoo_seed_test(make: Callable[..., Env], rules: Rules, mask_in: str) -> None:
    seed_test(lambda: make(rules=rules, mask_in=mask_in, history=True), num_cycles=60)


@EACH_RULES
def test_pettingzoo_state_test(rules: Rules) -> None:
    """It sends unmasked actions, so most games end with an illegal one; ``raw_env`` would raise."""
    state_test(env(rules=rules), parallel_env(rules=rules), num_cycles=60)


class Clock:
    """Stands for the ``time`` module: each look takes a second."""

    now = 0.0

    def time(self) -> float:
        self.now += 1.0
        return self.now


@pytest.mark.parametrize("make", [raw_env, env, lambda: env(mask_in="info")], ids=["raw_env", "env", "env, info"])
def test_pettingzoo_performance_benchmark(make: Callable[..., Env], monkeypatch: pytest.MonkeyPatch) -> None:
    """It plays for five seconds by the clock and draws from the global generators; neither is what is tested here."""
    monkeypatch.setitem(performance_benchmark.__globals__, "time", Clock())
    for _ in range(20):
        performance_benchmark(make())


@FACES
@pytest.mark.parametrize("rules", PRESET_RULES, ids=rules_name)
@pytest.mark.parametrize("limit", [1, 2, 7, 30])
def test_max_cycles(make: Callable[..., Env], rules: Rules, limit: int, rng: np.random.Generator) -> None:
    """After ``max_cycles`` turns of all seats together all agents are truncated, unless the game was over by then.

    PettingZoo's max_cycles_test does not fit: it sends unmasked actions, and counts turns of each agent.
    """
    truncated = 0
    limited, endless = make(rules=rules, max_cycles=limit), make(rules=rules)
    for seed in range(4):
        limited.reset(seed=seed)
        endless.reset(seed=seed)
        turns = 0
        while running(limited):
            action = int(rng.choice(legal(limited)))
            limited.step(action)
            endless.step(action)
            turns += 1
            assert limited.terminations == endless.terminations
            assert limited.rewards == endless.rewards
        if any(limited.truncations.values()):
            truncated += 1
            assert turns == limit
            assert all(limited.truncations.values())
            assert not any(limited.terminations.values())
            assert not any(mask_of(limited, agent).any() for agent in limited.agents)
        take_out(limited)
        limited.reset()
        assert running(limited)
    assert truncated == 4 or rules.target is None


# Names, spaces, ends --------------------------------------------------------------------------------------------------


@FACES
@EACH_RULES
def test_agents_and_spaces(make: Callable[..., Env], rules: Rules) -> None:
    """Agents are named in seat order, the same in every reset; their spaces are equal, but not one object."""
    table = make(rules=rules)
    names = [f"player_{seat}" for seat in range(rules.num_players)]
    assert table.possible_agents == names
    for seed in range(3):
        table.reset(seed=seed)
        assert table.agents == names
    for agent in names:
        assert table.action_space(agent) == spaces.Discrete(2 * rules.num_tiles + 1)
        assert table.observation_space(agent) == table.observation_space("player_0")
    assert len({id(table.action_space(agent)) for agent in names}) == len(names)


@FACES
def test_metadata(make: Callable[..., Env]) -> None:
    assert str(make()) == "block_v0"
    assert make.metadata["render_modes"] == ["ansi", "rgb_array", "human"]
    assert make.metadata["is_parallelizable"] is False


def test_public_names() -> None:
    assert (block_v0.env, block_v0.raw_env, block_v0.parallel_env) == (env, raw_env, parallel_env)
    assert set(block_env.__all__) >= {"Rules", "block_v0", "env", "parallel_env", "raw_env", "observation", "play"}


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo before 1.27 has no registry")
def test_pettingzoo_make() -> None:
    table = pettingzoo.make("aec", "block_env/block-v0", rules="partnership")
    assert isinstance(table.unwrapped, env)
    assert table.unwrapped.rules == Rules.preset("partnership")
    both = pettingzoo.make("parallel", "block_env/block-v0", num_players=3)
    assert isinstance(both.unwrapped, parallel_env)


@FACES
@EACH_RULES
def test_masks_fit_their_space(make: Callable[..., Env], rules: Rules, rng: np.random.Generator) -> None:
    """P17, P20, P24: an int8 mask as long as the action space, all zero for an agent that is not to move."""
    table = make(rules=rules)
    table.reset(seed=4)
    while running(table):
        for agent in table.agents:
            mask = table.observe(agent)["action_mask"]
            assert mask.dtype == np.int8
            assert mask.shape == (table.action_space(agent).n,)
            assert mask.any() == (agent == table.agent_selection)
        mover = table.agent_selection
        action = table.action_space(mover).sample(table.observe(mover)["action_mask"])
        assert action in legal(table)
        table.step(action)


@pytest.mark.parametrize(
    ("max_pip", "seats"),
    [(max_pip, seats) for max_pip in range(1, 10) for seats in (2, 3, 4) if (max_pip, seats) != (1, 4)],
)
def test_masks_of_every_set_size(max_pip: int, seats: int) -> None:
    """P24; with max_pip 1 there are three tiles, too few for four seats."""
    table = raw_env(rules=Rules(seats, max_pip=max_pip, hand_size=1))
    table.reset(seed=0)
    tiles = (max_pip + 1) * (max_pip + 2) // 2
    assert table.action_space("player_0").n == len(mask_of(table, "player_0")) == 2 * tiles + 1


@EACH_RULES
@pytest.mark.parametrize("history", [False, True])
def test_observations_stack(rules: Rules, history: bool, rng: np.random.Generator) -> None:
    """P19, V08: every part is a numeric array of a fixed shape, in its space, with the mask last."""
    table = raw_env(rules=rules, history=history)
    seen = []
    while len(seen) < 64:
        table.reset()
        while running(table) and len(seen) < 64:
            seen += [table.observe(agent) for agent in table.agents]
            play(table, rng, 1)
    space = table.observation_space("player_0")
    assert all(one in space and list(one) == ["observation", "action_mask"] for one in seen)
    stacked = {name: np.stack([one[name] for one in seen]) for name in seen[0]}
    assert stacked["observation"].dtype == np.float32
    assert stacked["observation"].shape == (len(seen), layout(rules, history).size)
    assert stacked["action_mask"].dtype == np.int8


@EACH_PRESET
def test_what_is_handed_out_is_fresh(rules: Rules, rng: np.random.Generator) -> None:
    """Later steps leave earlier observations alone, and nothing handed out leads back to the state."""
    for mask_in in ("observation", "info"):
        table = raw_env(rules=rules, mask_in=mask_in)
        table.reset(seed=1)
        agent = table.agent_selection
        kept, infos = (vector_of(table, agent), mask_of(table, agent)), table.infos
        before = [one.copy() for one in kept]
        assert all(one.base is None for one in kept)
        play(table, rng, 1)
        assert all(map(np.array_equal, kept, before))
        assert table.infos is not infos or mask_in == "observation"


@MASKS_IN
def test_infos_hold_the_mask_or_nothing(mask_in: str, rng: np.random.Generator) -> None:
    """O10: no deal and no seed; the same keys at every moment, the end included."""
    table = env(mask_in=mask_in)
    keys = {"action_mask"} if mask_in == "info" else set()
    for seed in range(3):
        table.reset(seed=seed)
        while running(table):
            assert all(set(table.infos[agent]) == keys for agent in table.agents)
            play(table, rng, 1)
        assert all(set(table.infos[agent]) == keys for agent in table.agents)
        take_out(table)
        assert table.infos == {}


@EACH_RULES
def test_both_places_of_the_mask_agree(rules: Rules, rng: np.random.Generator) -> None:
    """P16: of every seat, at every step, after reset and after the end."""
    one, other = raw_env(rules=rules), raw_env(rules=rules, mask_in="info")
    one.reset(seed=5)
    other.reset(seed=5)
    while True:
        for agent in one.agents:
            assert same_bytes(mask_of(one, agent), mask_of(other, agent))
            assert same_bytes(vector_of(one, agent), vector_of(other, agent))
        if not running(one):
            return
        action = int(rng.choice(legal(one)))
        one.step(action)
        other.step(action)


@EACH_RULES
def test_reset_always_leaves_a_game_to_play(rules: Rules) -> None:
    """D10: never over, never blocked, and "no ends yet" is not pip 0."""
    table = raw_env(rules=rules)
    for seed in range(100):
        table.reset(seed=seed)
        assert running(table)
        assert legal(table)
        assert rules.num_actions - 1 not in legal(table)
        vector = vector_of(table, table.agent_selection)
        assert decode(rules, vector).ends is None
        assert not layout(rules)["left_end"].of(vector).any()
        assert not layout(rules)["right_end"].of(vector).any()


@FACES
@pytest.mark.parametrize("render_mode", [None, "ansi"])
@pytest.mark.parametrize(
    "rules", [Rules.preset("match"), Rules.preset("draw", 3), Rules.preset("partnership")], ids=rules_name
)
def test_going_out(make: Callable[..., Env], render_mode: str | None, rules: Rules, rng: np.random.Generator) -> None:
    """D05: nothing breaks on an empty hand, in any mode, with the history on; nor after a blocked round."""
    table = make(rules=rules, render_mode=render_mode, history=True)
    wanted = {"domino": 2, "blocked": 2}
    for seed in range(200):
        table.reset(seed=seed)
        reason = play(table, rng).game.last_round.reason
        wanted[reason] -= 1
        if wanted[reason] >= 0:
            assert (reason == "domino") == (() in table.game.hands)
            look_after_the_end(table)
        if max(wanted.values()) <= 0:
            return
    pytest.fail(f"not seen often enough: {wanted}")


def look_after_the_end(table: Env) -> None:
    """Everything can be looked at with the finished agents in, and once they are out."""
    for _ in range(2):
        for agent in table.possible_agents:
            assert table.observe(agent) in table.observation_space(agent)
            assert not mask_of(table, agent).any()
        assert isinstance(table.render(), type(table.render_mode))
        assert table.state() in table.state_space
        take_out(table)
    table.close()


@EACH_PRESET
def test_openers_and_order_from_public_data(rules: Rules, rng: np.random.Generator) -> None:
    """D27: the opening moves one seat clockwise a round, and so does the turn, but for a draw that helped."""
    table = raw_env(rules=rules, history=True)
    for seed in range(2):
        table.reset(seed=seed)
        opener, mover = None, None
        while running(table):
            seat = seat_of(table)
            facts = decode(rules, vector_of(table, table.agent_selection))
            assert facts.to_play == 0
            if not facts.history:
                assert facts.opener == 0
                assert opener is None or seat == (opener + 1) % rules.num_players
                opener = seat
            elif facts.history[-1].tile is None and not facts.history[-1].passed:
                assert seat == mover
            else:
                assert seat == (mover + 1) % rules.num_players
            assert (seat + facts.opener) % rules.num_players == opener
            mover = seat
            play(table, rng, 1)


# The same game everywhere ---------------------------------------------------------------------------------------------


@EACH_RULES
@MASKS_IN
@pytest.mark.parametrize(("reward", "history"), [("outcome", True), ("points", False)])
def test_the_env_is_a_batch_of_one(
    rules: Rules, mask_in: str, reward: str, history: bool, rng: np.random.Generator
) -> None:
    """Move for move, over two games: deals, observations and masks of every seat, rewards, ends."""
    table = env(rules=rules, mask_in=mask_in, reward=reward, history=history)
    games = Games(1, rules, reward=reward, history=history, seed=[11])
    table.reset(seed=11)
    ends = 0
    while ends < 2:
        assert same_bytes(table._states, games.states)
        for seat, agent in enumerate(table.possible_agents):
            vectors, masks = games.observe(np.array([0]), np.array([seat]))
            assert same_bytes(vector_of(table, agent), vectors[0])
            assert same_bytes(mask_of(table, agent), masks[0])
        assert seat_of(table) == games.to_play[0]
        action = int(rng.choice(legal(table)))
        rewards, done = games.step(np.array([action]))
        table.step(action)
        assert list(table.rewards.values()) == rewards[0].tolist()
        assert set(table.terminations.values()) == {bool(done[0])}
        if done[0]:
            ends += 1
            table.reset()


def reference_of(table: Env, rules: Rules, reward: str) -> Reference:
    """The naive second reading at the start of the same game; it takes later deals from the env, just dealt there."""

    def deal() -> Deal:
        game = table.game
        return Deal([list(hand) for hand in game.hands], list(game.stock))

    return Reference(deal, opener=table.game.opener, reward=reward, **rules.as_dict())


def highest_reward(rules: Rules, reward: str) -> int:
    """RULES.md: a tile counts both halves, and a round pays at most the pips of the whole set."""
    return 1 if reward == "outcome" else sum(low + high for low, high in tile_order(rules.max_pip))


def play_beside_reference(table: Env, rng: np.random.Generator) -> set[tuple[str, int | None]]:
    """Play a running game to its end, the reference beside it; how its rounds ended, and who won them."""
    reference = reference_of(table, table.rules, table.reward)
    highest, ends = highest_reward(table.rules, table.reward), set()
    while running(table):
        assert set(legal(table)) == reference.legal()
        action, rounds = int(rng.choice(legal(table))), reference.round_number
        table.step(action)
        paid = reference.step(action)
        assert list(table.rewards.values()) == pytest.approx(paid)
        assert all(type(one) is float and abs(one) <= highest for one in table.rewards.values())
        assert set(table.terminations.values()) == {reference.over}
        if reference.over or reference.round_number > rounds:
            assert table.game.scores == tuple(reference.scores)
            ends.add((reference.last_round.reason, reference.last_round.winner))
    assert table.game.winner == reference.winner
    return ends


@EACH_RULES
@pytest.mark.parametrize("reward", ["outcome", "points"])
def test_rewards_and_ends_are_the_references(rules: Rules, reward: str, rng: np.random.Generator) -> None:
    """D28, D29: each seat gets what RULES.md says, within the documented range."""
    table = env(rules=rules, reward=reward)
    for seed in range(1 if rules.target else 4):
        table.reset(seed=seed)
        play_beside_reference(table, rng)


@pytest.mark.parametrize("reward", ["outcome", "points"])
@pytest.mark.parametrize("rules", [Rules(seats, hand_size=3) for seats in (2, 3, 4)], ids=rules_name)
def test_every_way_to_end_pays_its_winner(rules: Rules, reward: str, rng: np.random.Generator) -> None:
    """D28: domino, blocked, and a tie, for each seat that can win; truncated, nobody is paid."""
    table = env(rules=rules, reward=reward)
    ways = {(reason, seat) for reason in ("domino", "blocked") for seat in range(rules.num_players)} | {
        ("blocked", None)
    }
    seen: set[tuple[str, int | None]] = set()
    for seed in range(900):
        table.reset(seed=seed)
        seen |= play_beside_reference(table, rng)
        if seen == ways:
            break
    assert seen == ways
    table = env(rules=rules, reward=reward, max_cycles=1)
    table.reset(seed=0)
    play(table, rng)
    assert not any(table.rewards.values())


@FACES
@pytest.mark.parametrize("reward", ["outcome", "points"])
def test_every_agent_is_handed_all_its_rewards(make: Callable[..., Env], reward: str, rng: np.random.Generator) -> None:
    """P08: what ``last()`` gives an agent over a game adds up to its ``rewards``, of turns not its own too."""
    for rules in PRESET_RULES:
        table = make(rules=rules, reward=reward)
        table.reset(seed=9)
        handed, paid = dict.fromkeys(table.agents, 0.0), dict.fromkeys(table.agents, 0.0)
        for agent in table.agent_iter():
            _, reward_now, terminated, _, _ = table.last()
            handed[agent] += reward_now
            table.step(None if terminated else int(rng.choice(legal(table))))
            for other, one in table.rewards.items():
                paid[other] += one
        assert handed == pytest.approx(paid)
        assert sum(handed.values()) == pytest.approx(0, abs=1e-4)
        assert any(handed.values()) or table.game.winner is None


@EACH_PRESET
def test_all_agents_end_on_one_step_and_leave_in_seat_order(rules: Rules, rng: np.random.Generator) -> None:
    """P09, P21"""
    table = env(rules=rules)
    table.reset(seed=2)
    while running(table):
        play(table, rng, 1)
        assert len(set(table.terminations.values())) == 1
    assert all(table.terminations.values())
    assert not any(table.truncations.values())
    assert [agent for agent, _ in take_out(table)] == table.possible_agents
    assert table.agents == []
    assert table.rewards == table.terminations == table.truncations == table.infos == {}


@EACH_PRESET
def test_seats_are_seen_from_the_own_one(rules: Rules, rng: np.random.Generator) -> None:
    """O06: turned by one seat, a round is the same for the seat one further, bit for bit; rewards turn with it."""
    seats, sides = rules.num_players, rules.num_sides
    one = raw_env(rules=rules, reward="points", history=True)
    other = raw_env(rules=rules, reward="points", history=True)
    one.reset(seed=3)
    hands, opener = one.game.hands, int(rng.integers(seats))
    scores = (rng.integers(0, rules.target, sides) if rules.target else np.zeros(sides, int)).tolist()
    one.reset(seed=3, options={"hands": hands, "opener": opener, "scores": scores})
    turned = {"hands": hands[-1:] + hands[:-1], "opener": (opener + 1) % seats, "scores": scores[-1:] + scores[:-1]}
    other.reset(seed=3, options=turned)
    while running(one) and one.game.round_number == 0:
        for seat in range(seats):
            near, far = one.observe(f"player_{seat}"), other.observe(f"player_{(seat + 1) % seats}")
            assert same_bytes(near["observation"], far["observation"])
            assert same_bytes(near["action_mask"], far["action_mask"])
        action = int(rng.choice(legal(one)))
        one.step(action)
        other.step(action)
        paid = list(one.rewards.values())
        assert list(other.rewards.values()) == paid[-1:] + paid[:-1]


@EACH_RULES
def test_every_seat_sees_its_own_hand(rules: Rules, rng: np.random.Generator) -> None:
    """P06: whoever is to move."""
    table = raw_env(rules=rules)
    table.reset(seed=6)
    for _ in range(60):
        for seat, agent in enumerate(table.possible_agents):
            assert decode(rules, table.observe(agent)).hand == table.game.hands[seat]
        if not running(table):
            break
        play(table, rng, 1)


# Hidden information ---------------------------------------------------------------------------------------------------


def fork(table: Env) -> Env:
    """A copy of the game; the spaces, which cost far more to copy, are shared."""
    forked = copy.copy(table)
    for name in (
        "_states",
        "_bound",
        "agents",
        "rewards",
        "_cumulative_rewards",
        "terminations",
        "truncations",
        "infos",
    ):
        setattr(forked, name, copy.deepcopy(getattr(table, name)))
    return forked


def twin_of(table: Env, viewer: int, rng: np.random.Generator) -> Env:
    """The same game for one seat, with all that is hidden from it drawn anew; masks given out again."""
    twin = fork(table)
    twin._states = swapped(table._states, table.rules, 0, viewer, rng)
    twin._tell()
    return twin


def everything_seen(table: Env, viewer: int, picture: bool) -> tuple[Any, ...]:
    """All that the environment hands to one seat, as bytes and plain values; after the end pictures show all hands."""
    agent = table.possible_agents[viewer]
    return (
        vector_of(table, agent).tobytes(),
        mask_of(table, agent).tobytes(),
        sorted(table.infos[agent]),
        (table.agent_selection, table.agents, table.rewards, table.terminations, table.truncations),
        None if table.game.over else text(table.game, viewer),
        table.render() if picture else None,
    )


@EACH_RULES
@MASKS_IN
def test_hidden_tiles_reach_nobody(rules: Rules, mask_in: str, rng: np.random.Generator) -> None:
    """O03, O10, O11, P20: swap all that a seat cannot know, and nothing that it is handed changes by a bit.

    Not the observation with the history, the mask, the info, the rewards, the turn, the picture; in first and later
    rounds, before the seat's move and after it.
    """
    table = raw_env(rules=rules, mask_in=mask_in, history=True, render_mode="ansi")
    seen, differ = set(), 0
    for seed in range(10):
        table.reset(seed=seed)
        play(table, rng, int(rng.integers(25)) if rules.target is None else 8 * seed)
        for viewer in range(rules.num_players):
            twin, mine = twin_of(table, viewer, rng), running(table) and viewer == seat_of(table)
            assert everything_seen(table, viewer, mine) == everything_seen(twin, viewer, mine)
            differ += table.game.hands != twin.game.hands
        seen.add(table.game.round_number > 0)
        if running(table):
            look_after_a_move(table, rng)
    assert seen == ({False} if rules.target is None else {False, True})
    assert differ > 2 or rules.num_tiles == 3


def look_after_a_move(table: Env, rng: np.random.Generator) -> None:
    """Where the mover's action reveals nothing, the twins look the same to it after it, too."""
    viewer, action = seat_of(table), int(rng.choice(legal(table)))
    one, other = fork(table), twin_of(table, viewer, rng)
    one.step(action)
    other.step(action)
    round_goes_on = running(one) and one.game.round_number == table.game.round_number
    draws = table.rules.draw and action == table.rules.num_actions - 1
    if round_goes_on and not draws:
        assert everything_seen(one, viewer, False) == everything_seen(other, viewer, False)


def test_the_picture_shows_the_movers_hand_alone(rng: np.random.Generator) -> None:
    """O11"""
    table = env(rules="match", num_players=4, render_mode="ansi")
    table.reset(seed=0)
    for _ in range(300):
        if not running(table):
            table.reset()
        game, shown = table.game, table.render().split("seat 0:")[1]
        for seat, hand in enumerate(game.hands):
            for low, high in hand:
                assert (f"[{low}|{high}]" in shown) == (seat == game.to_play)
        play(table, rng, 1)


@pytest.mark.parametrize("make", [raw_env, env, wrapped], ids=["raw_env", "env", "wrapped"])
def test_render_modes(make: Callable[..., Env], monkeypatch: pytest.MonkeyPatch) -> None:
    """P13: text for "ansi", pixels for "rgb_array", nothing for "human" and None."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    kinds = {"ansi": str, "rgb_array": np.ndarray, "human": type(None)}
    assert list(kinds) == make().metadata["render_modes"]
    for mode, kind in kinds.items():
        table = make(render_mode=mode)
        table.reset(seed=0)
        assert isinstance(table.render(), kind)
        table.close()
    table = make()
    table.reset(seed=0)
    assert table.render() is None


# As PettingZoo's wrappers ---------------------------------------------------------------------------------------------


@pytest.fixture
def warned() -> Iterator[list[str]]:
    """What PettingZoo's logger has warned of."""
    EnvLogger.suppress_output()
    EnvLogger.flush()
    yield EnvLogger.mqueue
    EnvLogger.flush()
    EnvLogger.unsuppress_output()


def same_last(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether ``last()`` gave the same, the truncation aside."""
    (seen, *rest), (seen_too, *rest_too) = one, other
    same = all(same_bytes(seen[name], seen_too[name]) for name in seen)
    return same and [rest[0], rest[1], rest[3]] == [rest_too[0], rest_too[1], rest_too[3]]


@EACH_PRESET
@pytest.mark.parametrize("reward", ["outcome", "points"])
def test_env_is_raw_env_in_the_usual_wrappers(rules: Rules, reward: str, rng: np.random.Generator) -> None:
    """Legal play: the same agents in the same order, observations, rewards and ends, up to the last one taken out."""
    one, other = env(rules=rules, reward=reward), wrapped(rules=rules, reward=reward)
    one.reset(seed=8)
    other.reset(seed=8)
    for agent, agent_too in zip(one.agent_iter(), other.agent_iter(), strict=True):
        assert agent == agent_too
        assert same_last(one.last(), other.last())
        assert one.truncations == other.truncations
        action = int(rng.choice(legal(one))) if running(one) else None
        one.step(action)
        other.step(action)
        assert one.rewards == other.rewards
        assert one.terminations == other.terminations


@EACH_PRESET
def test_an_illegal_action_ends_the_game_as_in_the_wrapper(
    rules: Rules, rng: np.random.Generator, warned: list[str]
) -> None:
    """P04: from each seat, at any time: -1 for the mover, 0 for the others, all end, a warning, a clean next reset.

    The wrapper also calls the end a truncation; here it is a termination alone.
    """
    one, other = env(rules=rules), wrapped(rules=rules)
    seats = set()
    for seed in range(24):
        one.reset(seed=seed)
        other.reset(seed=seed)
        for _ in range(seed % 7):
            action = int(rng.choice(legal(one)))
            one.step(action)
            other.step(action)
        if not running(one):
            continue
        mover, action = one.agent_selection, int(rng.choice(illegal(one)))
        seats.add(mover)
        board = one.game
        EnvLogger.flush()
        one.step(action)
        ours = list(warned)
        EnvLogger.flush()
        other.step(action)
        assert ours == warned
        assert len(ours) == 1
        assert one.game == board
        assert one.rewards == other.rewards == {agent: -1.0 if agent == mover else 0.0 for agent in one.agents}
        assert one.terminations == other.terminations == dict.fromkeys(one.agents, True)
        assert one.truncations == dict.fromkeys(one.agents, False)
        assert not any(mask_of(one, agent).any() for agent in one.agents)
        for agent, agent_too in zip(one.agent_iter(), other.agent_iter(), strict=True):
            assert agent == agent_too
            assert same_last(one.last(), other.last())
            one.step(None)
            other.step(None)
        one.reset()
        other.reset()
        assert one.game == other.unwrapped.game
        assert running(one)
        assert not any(one.rewards.values())
    assert seats == set(one.possible_agents)


CALLS: dict[str, Callable[[Env], Any]] = {
    "step": lambda table: table.step(0),
    "observe": lambda table: table.observe("player_0"),
    "state": lambda table: table.state(),
    "render": lambda table: table.render(),
    "agent_iter": lambda table: table.agent_iter(),
    "last": lambda table: table.last(),
} | {
    name: lambda table, name=name: getattr(table, name)
    for name in ("agents", "num_agents", "agent_selection", "rewards", "terminations", "truncations", "infos")
}


@pytest.mark.parametrize("call", CALLS)
def test_calls_before_reset_fail_as_in_the_wrapper(call: str) -> None:
    with pytest.raises((AssertionError, AttributeError)) as theirs:
        CALLS[call](wrapped(render_mode="ansi"))
    with pytest.raises(theirs.type) as ours:
        CALLS[call](env(render_mode="ansi"))
    assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize("call", ["step", "observe", "state", "render"])
def test_raw_env_before_reset(call: str) -> None:
    with pytest.raises(ResetNeeded, match=rf"reset\(\) needs to be called before {call}"):
        CALLS[call](raw_env(render_mode="ansi"))
    with pytest.raises(ResetNeeded, match=r"reset\(\) needs to be called before game"):
        _ = raw_env().game


@FACES
def test_unknown_attributes(make: Callable[..., Env]) -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = make().nonsense


def test_agent_iter_asks_for_a_step_as_in_the_wrapper() -> None:
    messages = []
    for table in (env(), wrapped()):
        table.reset(seed=0)
        agents = iter(table.agent_iter())
        assert next(agents) == table.agent_selection
        with pytest.raises(AssertionError) as error:
            next(agents)
        messages.append(str(error.value))
        table.reset(seed=0)
        assert len(list(zip(table.agent_iter(0), range(5), strict=False))) == 0
        for _ in table.agent_iter(3):
            table.step(legal(table)[0])
        assert table.unwrapped.game.history
    assert messages[0] == messages[1]


@pytest.mark.parametrize("make", [env, wrapped], ids=["env", "wrapped"])
def test_a_step_with_no_agent_left_warns(make: Callable[..., Env], rng: np.random.Generator, warned: list[str]) -> None:
    table = make()
    table.reset(seed=0)
    play(table, rng)
    take_out(table)
    before = pickle.dumps(table.unwrapped)
    EnvLogger.flush()
    table.step(0)
    assert warned == ["[WARNING]: step() called after all agents are terminated or truncated. Should reset() first."]
    assert pickle.dumps(table.unwrapped) == before


def test_raw_env_with_no_agent_left(rng: np.random.Generator) -> None:
    table = raw_env()
    table.reset(seed=0)
    play(table, rng)
    take_out(table)
    for action in (0, None):
        with pytest.raises(ResetNeeded, match="call reset"):
            table.step(action)
    table.reset()
    assert running(table)


@pytest.mark.parametrize("make", [raw_env, env, wrapped], ids=["raw_env", "env", "wrapped"])
def test_a_finished_agent_takes_none_alone(make: Callable[..., Env], rng: np.random.Generator) -> None:
    """P09: and nothing has changed after the error."""
    table = make()
    table.reset(seed=0)
    play(table, rng)
    for left in range(len(table.agents), 0, -1):
        before = pickle.dumps(table.unwrapped)
        with pytest.raises(ValueError, match="when an agent is dead, the only valid action is None"):
            table.step(0)
        assert pickle.dumps(table.unwrapped) == before
        assert len(table.agents) == left
        table.step(None)
    assert table.agents == []


# Bad input ------------------------------------------------------------------------------------------------------------

NO_ACTIONS = [-1, 57, 10**30, 1.0, np.float32(2), None, True, np.bool_(True), "3", [3], np.array([3]), np.array([1, 2])]


@pytest.mark.parametrize("action", NO_ACTIONS, ids=repr)
def test_what_is_no_action(action: Any, rng: np.random.Generator) -> None:
    """P04, P09: out of range, negative, float, None, …, from each seat: one clear error, nothing changed.

    ``env`` raises the wrapper's error; the wrapper itself lets True through, as Gymnasium's space does.
    """
    for make, error, says in (
        (raw_env, ValueError, "action: takes a whole number from 0 to 56, got "),
        (env, AssertionError, "action is not in action space: action: takes a whole number from 0 to 56, got "),
    ):
        table = make()
        table.reset(seed=0)
        for _ in table.agents:
            before = pickle.dumps(table)
            with pytest.raises(error, match=says):
                table.step(action)
            assert pickle.dumps(table) == before
            play(table, rng, 1)


@FACES
@pytest.mark.parametrize("kind", [int, np.int8, np.uint8, np.int32, np.int64, np.uint64, np.array])
def test_whole_numbers_are_actions(make: Callable[..., Env], kind: Callable[[int], Any]) -> None:
    table, plain = make(), make()
    table.reset(seed=0)
    plain.reset(seed=0)
    while running(table) and len(table.game.history) < 12 and table.game.round_number == 0:
        action = legal(table)[-1]
        table.step(kind(action))
        plain.step(action)
        assert table.game == plain.game


@EACH_RULES
def test_raw_env_says_what_is_illegal(rules: Rules, rng: np.random.Generator) -> None:
    """P04, P22: an id outside the mask raises an error that names it, the mover and what is legal; nothing changes."""
    table = raw_env(rules=rules)
    table.reset(seed=0)
    for _ in range(12):
        before = pickle.dumps(table)
        for action in rng.choice(illegal(table), 5):
            with pytest.raises(IllegalActionError) as error:
                table.step(action)
            assert f"action {action} (" in str(error.value)
            assert f"not legal for seat {seat_of(table)}; legal: " in str(error.value)
            listed = str(error.value).split("legal: ")[1].split(", ")
            assert [int(one.split()[0]) for one in listed] == legal(table)
        assert pickle.dumps(table) == before
        play(table, rng, 1)
        if not running(table):
            return


KEYWORDS: list[tuple[dict[str, Any], str]] = [
    ({"rules": "chess"}, "rules: takes 'match' or 'single_round' or 'partnership' or 'draw', got 'chess'"),
    ({"rules": None}, "rules: takes one of .*, got None"),
    ({"rules": Rules}, "rules: takes one of .*, got "),
    ({"num_players": 1}, "num_players: takes a whole number from 2 to 4, got 1"),
    ({"num_players": 5}, "num_players: takes a whole number from 2 to 4, got 5"),
    ({"num_players": 2.0}, "num_players: takes .*, got 2.0"),
    ({"num_players": True}, "num_players: takes .*, got True"),
    ({"rules": "partnership", "num_players": 2}, "num_players: partnership takes 4, got 2"),
    ({"rules": Rules(3), "num_players": 2}, "num_players: the given Rules take 3, got 2"),
    ({"reward": "money"}, "reward: takes 'outcome' or 'points', got 'money'"),
    ({"reward": None}, "reward: takes 'outcome' or 'points', got None"),
    ({"mask_in": "both"}, "mask_in: takes 'observation' or 'info', got 'both'"),
    ({"mask_in": None}, "mask_in: takes 'observation' or 'info', got None"),
    ({"history": "no"}, "history: takes True or False, got 'no'"),
    ({"history": None}, "history: takes True or False, got None"),
    ({"max_cycles": 0}, "max_cycles: takes None or a whole number from 1, got 0"),
    ({"max_cycles": 2.5}, "max_cycles: takes None or a whole number from 1, got 2.5"),
    ({"max_cycles": True}, "max_cycles: takes None or a whole number from 1, got True"),
    ({"max_cycles": "9"}, "max_cycles: takes None or a whole number from 1, got '9'"),
    ({"render_mode": "rgb"}, "render_mode: takes None or 'ansi' or 'rgb_array' or 'human', got 'rgb'"),
    ({"render_mode": ""}, "render_mode: takes None or 'ansi' or 'rgb_array' or 'human', got ''"),
]


@pytest.mark.parametrize("make", [raw_env, env, parallel_env], ids=["raw_env", "env", "parallel_env"])
@pytest.mark.parametrize(("keywords", "says"), KEYWORDS, ids=repr)
def test_bad_keywords(make: Callable[..., Env], keywords: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=f"^{says}"):
        make(**keywords)


@pytest.mark.parametrize("make", [raw_env, env, parallel_env], ids=["raw_env", "env", "parallel_env"])
def test_unknown_keywords(make: Callable[..., Env]) -> None:
    with pytest.raises(TypeError, match="players"):
        make(players=2)


DEALT = [[(0, 0), (0, 1)], [(0, 2), (1, 2)]]
RESETS: list[tuple[dict[str, Any], str]] = [
    ({"seed": -1}, "seed: takes None or a whole number from 0, got -1"),
    ({"seed": 1.5}, "seed: takes None or a whole number from 0, got 1.5"),
    ({"seed": "3"}, "seed: takes None or a whole number from 0, got '3'"),
    ({"seed": True}, "seed: takes None or a whole number from 0, got True"),
    ({"seed": [1]}, "seed: takes None or a whole number from 0, got .1."),
    ({"options": [1]}, "options: takes a dict with any of hands, opener, scores, got .1."),
    ({"options": {"hands": [[(0, 0), (0, 1)], [(0, 2), (1, 0)]]}}, r"options\['hands'\]: .* once, got \[1\|0\] twice"),
    (
        {"options": {"hands": [[(0, 0), (0, 1)], [(0, 2), (0, 4)]]}},
        r"options\['hands'\]: .*pips from 0 to 3, got \(0, 4\)",
    ),
    ({"options": {"hands": [[(0, 0), (0, 1)], [(0, 2), (0, 1, 2)]]}}, r"options\['hands'\]: .*got \(0, 1, 2\)"),
    ({"options": {"hands": [[(0, 0), (0, 1)], [(0, 2), "01"]]}}, r"options\['hands'\]: .*got '01'"),
    ({"options": {"hands": [[(0, 0), (0, 1)], [(0, 2)]]}}, r"options\['hands'\]: takes 2 hands of 2 tiles; got .*2, 1"),
    ({"options": {"hands": [*DEALT, [(3, 3), (2, 3)]]}}, r"options\['hands'\]: takes 2 hands of 2 tiles; got "),
    ({"options": {"hands": 5}}, r"options\['hands'\]: takes 2 hands of 2 tiles, .*got 5"),
    ({"options": {"opener": 2}}, r"options\['opener'\]: takes a seat from 0 to 1, got 2"),
    ({"options": {"opener": -1}}, r"options\['opener'\]: takes a seat from 0 to 1, got -1"),
    ({"options": {"opener": True}}, r"options\['opener'\]: takes a seat from 0 to 1, got True"),
    ({"options": {"opener": "0"}}, r"options\['opener'\]: takes a seat from 0 to 1, got '0'"),
    ({"options": {"scores": [-1, 0]}}, r"options\['scores'\]: takes 2 whole numbers from 0 to 40, .*got .-1, 0"),
    ({"options": {"scores": [41, 0]}}, r"options\['scores'\]: takes 2 whole numbers from 0 to 40, .*got .41, 0"),
    ({"options": {"scores": [1.0, 0]}}, r"options\['scores'\]: takes 2 whole numbers from 0 to 40, .*got .1.0, 0"),
    ({"options": {"scores": [1, 2, 3]}}, r"options\['scores'\]: takes 2 whole numbers .*got .1, 2, 3"),
    ({"options": {"scores": 7}}, r"options\['scores'\]: takes 2 whole numbers .*got 7"),
]


@pytest.mark.parametrize("make", [raw_env, env, parallel_env], ids=["raw_env", "env", "parallel_env"])
@pytest.mark.parametrize(("arguments", "says"), RESETS, ids=repr)
def test_bad_resets(make: Callable[..., Env], arguments: dict[str, Any], says: str) -> None:
    """The running game and the deals to come are what they were."""
    table = make(rules=Rules(2, max_pip=3, hand_size=2, target=20))
    table.reset(seed=1)
    before = pickle.dumps(table)
    for seed in ({}, {"seed": 7}):
        with pytest.raises(ValueError, match=f"^{says}"):
            table.reset(**(seed | arguments))
        assert pickle.dumps(table) == before


@FACES
def test_a_bad_first_reset_is_none(make: Callable[..., Env]) -> None:
    table = make()
    with pytest.raises(ValueError, match="options"):
        table.reset(seed=1, options={"opener": 9})
    with pytest.raises(AttributeError, match="before reset"):
        _ = table.agents


@FACES
def test_good_resets(make: Callable[..., Env]) -> None:
    """Positions are set up as asked, from lists, tuples and NumPy's numbers; other keys are ignored."""
    table = make(rules=Rules(2, max_pip=3, hand_size=2, target=20))
    options = {"hands": DEALT, "opener": np.int64(1), "scores": np.array([19, 40]), "nonsense": object()}
    table.reset(seed=np.int64(3), options=options)
    assert [list(hand) for hand in table.game.hands] == DEALT
    assert (table.game.opener, table.game.scores, table.agent_selection) == (1, (19, 40), "player_1")
    table.reset(options={"hands": [[(1, 0), (0, 0)], [(2, 1), (2, 0)]]})
    assert [list(hand) for hand in table.game.hands] == DEALT
    assert table.game.scores == (0, 0)


@FACES
def test_unknown_agents(make: Callable[..., Env]) -> None:
    table = make()
    table.reset(seed=0)
    for call in (table.observe, table.observation_space, table.action_space):
        with pytest.raises(ValueError, match="agent: takes one of player_0, player_1, got 'player_2'"):
            call("player_2")


# The whole state ------------------------------------------------------------------------------------------------------


@pytest.mark.nojit
@EACH_RULES
def test_state_holds_the_whole_truth(rules: Rules, rng: np.random.Generator) -> None:
    """It is in its space, and read back it gives the snapshot's hands, stock, table and scores."""
    table = raw_env(rules=rules)
    seen, count = layout(rules).size, rules.num_tiles
    order = tile_order(rules.max_pip)
    for seed in range(2):
        table.reset(seed=seed)
        for _ in range(scaled(40, 5)):
            state, game = table.state(), table.game
            assert state in table.state_space
            assert state.base is None or not np.shares_memory(state, table._states)
            facts = decode(rules, state[:seen])
            parts = state[seen:].reshape(rules.num_players, count)
            hands = [facts.hand] + [tuple(order[tile] for tile in np.flatnonzero(part)) for part in parts[:-1]]
            assert tuple(hands) == game.hands
            stock = [order[tile] for tile in np.argsort(parts[-1], kind="stable") if parts[-1][tile]]
            assert stock == list(game.stock) if rules.draw else set(stock) == set(game.stock)
            assert (facts.ends, facts.to_play, facts.passes) == (game.ends, game.to_play, game.passes)
            assert facts.opener == game.opener
            assert facts.scores == tuple(game.scores[seat % rules.num_sides] for seat in range(rules.num_players))
            if not running(table):
                break
            play(table, rng, 1)


@EACH_RULES
def test_state_goes_to_no_player(rules: Rules, rng: np.random.Generator) -> None:
    """It tells apart what no player can tell apart, and no observation or info holds it."""
    table = raw_env(rules=rules, mask_in="info")
    told = 0
    for seed in range(10):
        table.reset(seed=seed)
        play(table, rng, 2)
        if not running(table):
            continue
        twin = twin_of(table, 0, rng)
        assert same_bytes(table.observe("player_0"), twin.observe("player_0"))
        told += not same_bytes(table.state(), twin.state())
        for agent in table.agents:
            assert table.state().shape not in {table.observe(agent).shape, table.infos[agent]["action_mask"].shape}
    assert told or rules.hand_size == 1


@pytest.mark.nojit
def test_states_of_a_batch_are_the_single_ones(rng: np.random.Generator) -> None:
    for rules in ALL_RULES:
        games = Games(3, rules, seed=[1, 2, 3])
        for row, seed in enumerate((1, 2, 3)):
            table = raw_env(rules=rules)
            table.reset(seed=seed)
            assert same_bytes(state_vectors(games.states, rules)[row], table.state())


# Chance, copies -------------------------------------------------------------------------------------------------------


@FACES
def test_the_same_seed_gives_the_same_deals(make: Callable[..., Env], rng: np.random.Generator) -> None:
    """S03: seed 0 is a seed; later deals follow from it, whatever was played, and whatever else draws numbers."""
    for seed in (0, 3, 2**40):
        table, other = make(rules="single_round"), make(rules="single_round")
        table.reset(seed=seed)
        other.reset(seed=seed)
        assert table.game == other.game
        play(table, rng)
        random.random()
        np.random.random()  # noqa: NPY002 - the point of the test
        assert deals_ahead(table) == deals_ahead(other)
        table.reset(seed=seed)
        first = table.game
        other.reset(seed=seed)
        assert other.game == first
        table.reset(seed=seed + 1)
        assert table.game != first


@EACH_PRESET
def test_rounds_to_come_do_not_hang_on_play(rules: Rules, rng: np.random.Generator) -> None:
    """S03: round n of a seed has the same deal in every playing of it."""
    table, deals = raw_env(rules=rules), []
    for _ in range(4):
        table.reset(seed=12)
        dealt = [table.game.hands]
        while running(table) and len(dealt) < 4:
            rounds = table.game.round_number
            play(table, rng, 1)
            if table.game.round_number > rounds:
                dealt.append(table.game.hands)
        deals.append(dealt)
    for dealt in deals[1:]:
        shorter = min(len(dealt), len(deals[0]))
        assert dealt[:shorter] == deals[0][:shorter]
    assert rules.target is None or len(deals[0]) == 4


def test_unseeded_envs_differ() -> None:
    tables = [raw_env() for _ in range(4)]
    for table in tables:
        table.reset()
    assert len({table.game.hands for table in tables}) == 4


@FACES
def test_the_global_generators_are_left_alone(make: Callable[..., Env], rng: np.random.Generator) -> None:
    """S03"""
    before = random.getstate(), np.random.get_state()[1].tobytes()  # noqa: NPY002
    table = make(render_mode="ansi")
    table.reset()
    play(table, rng)
    table.render()
    table.reset(seed=3)
    assert (random.getstate(), np.random.get_state()[1].tobytes()) == before  # noqa: NPY002


@FACES
def test_two_envs_at_once(make: Callable[..., Env]) -> None:
    """S06: interleaved, each plays as it does alone."""

    def turns(seed: int) -> Iterator[Any]:
        table, rng = make(rules="draw", num_players=3, history=True), np.random.default_rng(seed)
        for _ in range(3):
            table.reset(seed=None if _ else seed)
            while running(table):
                play(table, rng, 1)
                yield table.state().tobytes(), vector_of(table, "player_1").tobytes(), dict(table.rewards)

    alone = [list(turns(1)), list(turns(2))]
    first, second = turns(1), turns(2)
    together: list[list[Any]] = [[], []]
    for one, other in zip(first, second, strict=False):
        together[0].append(one)
        together[1].append(other)
    assert len(together[0]) > 20
    assert [alone[k][: len(together[k])] for k in (0, 1)] == together


COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda table: pickle.loads(pickle.dumps(table)),
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("make", [raw_env, env, wrapped], ids=["raw_env", "env", "wrapped"])
@pytest.mark.parametrize("way", COPIES)
@MASKS_IN
def test_copies(make: Callable[..., Env], way: str, mask_in: str, rng: np.random.Generator) -> None:
    """S07: a copy goes on with the running game, has the same deals to come, and draws nothing from the original."""
    for rules in (Rules.preset("match", 3), Rules.preset("draw"), Rules.preset("partnership")):
        table = make(rules=rules, mask_in=mask_in)
        table.reset(seed=1)
        play(table, rng)
        table.reset()
        play(table, rng, 5)
        copied = COPIES[way](table)
        kept = copied.unwrapped.game
        ahead = copied.unwrapped._states.tobytes()
        actions = []
        while running(table):
            actions.append(int(rng.choice(legal(table))))
            table.step(actions[-1])
        end, future = table.unwrapped.game, deals_ahead(table)
        assert copied.unwrapped.game == kept
        assert copied.unwrapped._states.tobytes() == ahead
        for action in actions:
            assert action in legal(copied)
            copied.step(action)
        assert copied.unwrapped.game == end
        assert deals_ahead(copied) == future


def test_a_copy_before_the_first_reset() -> None:
    for way in COPIES.values():
        table = way(env())
        table.reset(seed=1)
        assert running(table)


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_copies_run_the_same_compiled_code(rng: np.random.Generator) -> None:
    table = raw_env()
    table.reset(seed=1)
    play(table, rng, 3)
    before = signatures()
    copied = pickle.loads(pickle.dumps(table))
    play(copied, rng, 3)
    copied.reset()
    assert signatures() == before


def signatures() -> dict[str, int]:
    """For how many types of arguments each kernel has been compiled."""
    return {name: len(one.signatures) for name, one in vars(kernels).items() if hasattr(one, "signatures")}


GAME = """
import hashlib
from block_env import env
table, digest = env(rules="match", num_players=3, render_mode="ansi", history=True), hashlib.sha256()
table.reset(seed=7)
for agent in table.agent_iter():
    seen, reward, ended, _, _ = table.last()
    digest.update(f"{agent} {reward} {table.rewards} {table.render()}".encode() + seen["observation"].tobytes())
    table.step(None if ended else int(seen["action_mask"].argmax()))
print(digest.hexdigest())
"""


def test_games_do_not_hang_on_the_process(capsys: pytest.CaptureFixture[str]) -> None:
    """P15: the same seed gives the same game in a fresh process with another hash seed."""
    exec(GAME, {})
    fresh = os.environ | {"PYTHONHASHSEED": "12345"}
    run = subprocess.run(
        [sys.executable, "-c", GAME], env=fresh, capture_output=True, text=True, timeout=300, check=True
    )
    assert run.stdout == capsys.readouterr().out
    assert len(run.stdout.strip()) == 64


# Conversions ----------------------------------------------------------------------------------------------------------


@FACES
def test_a_turn_game_is_not_taken_for_a_simultaneous_one(make: Callable[..., Env]) -> None:
    """P12"""
    with pytest.raises(AssertionError, match="not generally safe"):
        aec_to_parallel(make())


@EACH_PRESET
def test_pettingzoos_turn_based_conversion(rules: Rules, rng: np.random.Generator) -> None:
    """P12: it plays the mover's action, and everybody's next observation includes it."""
    both, plain = turn_based_aec_to_parallel(env(rules=rules)), raw_env(rules=rules)
    observations, _ = both.reset(seed=5)
    plain.reset(seed=5)
    while True:
        for agent, seen in observations.items():
            assert same_bytes(seen["observation"], vector_of(plain, agent))
        if not both.agents:
            return
        mover, action = plain.agent_selection, int(rng.choice(legal(plain)))
        chosen = {agent: action if agent == mover else None for agent in both.agents}
        observations, rewards, *_ = both.step(chosen)
        plain.step(action)
        assert rewards == plain.rewards


def test_after_a_truncation_player_0_is_the_viewer() -> None:
    for seed in range(20):
        table = raw_env(max_cycles=3, render_mode="ansi")
        table.reset(seed=seed)
        for _ in range(3):
            table.step(legal(table)[0])
        hands = [" ".join(f"[{low}|{high}]" for low, high in hand) for hand in table.game.hands]
        assert hands[0] in table.render()
        assert hands[1] not in table.render()
