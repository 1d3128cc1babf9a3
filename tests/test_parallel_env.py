"""The parallel environment: PettingZoo's own tests, the turn game's equal, waiting agents, bad input, copies.

The ids in the docstrings (P16, P20, …) are those of the list of faults that users of such projects reported. Keywords
and reset arguments are those of the AEC environments and are tested with them.
"""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from helpers import ALL_RULES, PRESET_RULES, rules_name, same_bytes
from numpy.typing import NDArray
from pettingzoo.test import parallel_api_test, parallel_seed_test
from pettingzoo.utils import parallel_to_aec
from pettingzoo.utils.env_logger import EnvLogger

from block_env import Rules, parallel_env, raw_env

Env = Any
Seen = dict[str, Any]
Masks = dict[str, NDArray[np.int8]]
EACH_RULES = pytest.mark.parametrize("rules", ALL_RULES, ids=rules_name)
EACH_PRESET = pytest.mark.parametrize("rules", PRESET_RULES, ids=rules_name)
MASKS_IN = pytest.mark.parametrize("mask_in", ["observation", "info"])


def masks_of(observations: Seen, infos: Seen) -> Masks:
    return {
        agent: seen["action_mask"] if isinstance(seen, dict) else infos[agent]["action_mask"]
        for agent, seen in observations.items()
    }


def vectors_of(observations: Seen) -> dict[str, NDArray[np.float32]]:
    return {agent: seen["observation"] if isinstance(seen, dict) else seen for agent, seen in observations.items()}


def mover_of(table: Env) -> str:
    return table.possible_agents[table.game.to_play]


def choose(masks: Masks, rng: np.random.Generator) -> dict[str, int]:
    """A random legal action of every agent."""
    return {agent: int(rng.choice(np.flatnonzero(mask))) for agent, mask in masks.items()}


def play(table: Env, masks: Masks, rng: np.random.Generator, turns: int) -> Masks:
    """Play random legal actions, to the end or for so many turns; the masks after that."""
    while turns and table.agents:
        observations, _, _, _, infos = table.step(choose(masks, rng))
        masks = masks_of(observations, infos)
        turns -= 1
    return masks


# PettingZoo's own tests -----------------------------------------------------------------------------------------------


@EACH_RULES
@MASKS_IN
@pytest.mark.parametrize("history", [False, True])
def test_pettingzoo_parallel_api_test(rules: Rules, mask_in: str, history: bool) -> None:
    """P08: it reads masks in observations alone; with ``mask_in="info"`` most games end with an illegal action."""
    parallel_api_test(parallel_env(rules=rules, mask_in=mask_in, history=history), num_cycles=100)


@EACH_RULES
@MASKS_IN
def test_pettingzoo_parallel_seed_test(rules: Rules, mask_in: str) -> None:
    """It sends unmasked actions and stops after the first step."""
    parallel_seed_test(lambda: parallel_env(rules=rules, mask_in=mask_in, history=True), num_cycles=20)


# The turn game's equal ------------------------------------------------------------------------------------------------


@EACH_RULES
@MASKS_IN
@pytest.mark.parametrize(("reward", "history"), [("outcome", False), ("points", True)])
def test_it_is_the_turn_game(rules: Rules, mask_in: str, reward: str, history: bool, rng: np.random.Generator) -> None:
    """P16, P20, P21: game, observations, rewards, ends of every agent; masks but for the no-op of those that wait."""
    keywords = {"rules": rules, "mask_in": mask_in, "reward": reward, "history": history, "max_cycles": 150}
    both, turns = parallel_env(**keywords), raw_env(**keywords)
    observations, infos = both.reset(seed=21)
    turns.reset(seed=21)
    names = turns.possible_agents
    while True:
        masks, vectors = masks_of(observations, infos), vectors_of(observations)
        assert list(observations) == list(infos) == names
        for agent in names:
            seen = turns.observe(agent)
            assert same_bytes(vectors[agent], seen if mask_in == "info" else seen["observation"])
            assert observations[agent] in both.observation_space(agent)
            mask = turns.infos[agent]["action_mask"] if mask_in == "info" else seen["action_mask"]
            waits = not both.agents or agent != turns.agent_selection
            assert np.flatnonzero(masks[agent]).tolist() == (
                [rules.num_actions - 1] if waits else np.flatnonzero(mask).tolist()
            )
            assert set(infos[agent]) == ({"action_mask"} if mask_in == "info" else set())
        assert same_bytes(both.state(), turns.state())
        if not both.agents:
            break
        assert both.agents == names
        actions = choose(masks, rng)
        turns.step(actions[turns.agent_selection])
        observations, rewards, terminations, truncations, infos = both.step(actions)
        assert rewards == turns.rewards
        assert terminations == turns.terminations
        assert truncations == turns.truncations
        assert both.game == turns.game
    assert all(terminations.values()) or all(truncations.values())
    assert both.possible_agents == names


def test_what_waiting_agents_send_is_ignored(rng: np.random.Generator) -> None:
    """Any action of the space, or none."""
    full, bare = parallel_env(num_players=3), parallel_env(num_players=3)
    observations, infos = full.reset(seed=4)
    bare.reset(seed=4)
    while full.agents:
        mover = mover_of(full)
        action = choose(masks_of(observations, infos), rng)[mover]
        anything = {agent: int(rng.integers(57)) for agent in full.agents}
        observations, rewards, *_, infos = full.step(anything | {mover: action})
        assert bare.step({mover: action})[1] == rewards
        assert full.game == bare.game


@EACH_PRESET
def test_an_illegal_action_ends_the_game(rules: Rules, rng: np.random.Generator) -> None:
    """P04: -1 for the mover, 0 for the others, all end, a warning, an unchanged table, a clean next reset."""
    EnvLogger.suppress_output()
    for seed in range(8):
        table = parallel_env(rules=rules)
        observations, infos = table.reset(seed=seed)
        play(table, masks_of(observations, infos), rng, seed)
        if not table.agents:
            continue
        board, mover, names = table.game, mover_of(table), table.agents
        wrong = np.flatnonzero(table._env.observe(mover)["action_mask"] == 0)
        EnvLogger.flush()
        observations, rewards, terminations, truncations, infos = table.step({mover: rng.choice(wrong)})
        assert len(EnvLogger.mqueue) == 1
        assert rewards == {agent: -1.0 if agent == mover else 0.0 for agent in names}
        assert terminations == dict.fromkeys(names, True)
        assert truncations == dict.fromkeys(names, False)
        assert list(observations) == list(infos) == names
        assert table.agents == []
        assert table.game == board
        table.reset()
        assert table.agents == names
        assert not table.game.history
    EnvLogger.flush()
    EnvLogger.unsuppress_output()


@pytest.mark.parametrize("limit", [1, 5])
def test_max_cycles(limit: int, rng: np.random.Generator) -> None:
    """Turns of all seats together; settable, as PettingZoo's tests do."""
    table = parallel_env(max_cycles=99)
    table.max_cycles = limit
    for _ in range(3):
        observations, infos = table.reset()
        for turn in range(limit):
            observations, _, terminations, truncations, infos = table.step(choose(masks_of(observations, infos), rng))
            assert set(truncations.values()) == {turn == limit - 1}
            assert not any(terminations.values())
        assert table.agents == []
    with pytest.raises(ValueError, match="max_cycles: takes None or a whole number from 1, got 0"):
        table.max_cycles = 0
    assert table.max_cycles == limit


def test_pettingzoos_conversion_back_to_turns(rng: np.random.Generator) -> None:
    """P12: PettingZoo's parallel_to_aec asks each agent in turn; the waiting ones take their no-op."""
    table, plain = parallel_to_aec(parallel_env()), raw_env()
    table.reset(seed=3)
    plain.reset(seed=3)
    for agent in table.agent_iter():
        seen, _, ended, _, _ = table.last()
        action = None if ended else int(rng.choice(np.flatnonzero(seen["action_mask"])))
        if agent == plain.agent_selection and not ended:
            turn = action
        table.step(action)
        if agent == table.possible_agents[-1] and not ended:
            plain.step(turn)
            assert table.unwrapped.game == plain.game
    assert plain.game.over


# Bad input ------------------------------------------------------------------------------------------------------------


def wrong_actions(mover: str, waiting: str) -> list[tuple[Any, str]]:
    return [
        ({}, f"actions: takes an action of {mover}, who is to move"),
        ({waiting: 56}, f"actions: takes an action of {mover}, who is to move"),
        ({mover: 0, "player_7": 0}, "agent: takes one of player_0, player_1, got 'player_7'"),
        ({mover: 0, 1: 0}, "agent: takes one of player_0, player_1, got 1"),
        *(
            ({mover: 0, waiting: 0} | {agent: action}, "action: takes a whole number from 0 to 56, got ")
            for agent in (mover, waiting)
            for action in (-1, 57, 2.0, None, True, "3", [0])
        ),
    ]


@MASKS_IN
def test_bad_actions(mask_in: str, rng: np.random.Generator) -> None:
    """P04: one clear error, and nothing has changed; the waiting agents' actions are checked too."""
    table = parallel_env(mask_in=mask_in)
    observations, infos = table.reset(seed=0)
    for _ in range(2):
        mover, before = mover_of(table), pickle.dumps(table)
        waiting = next(agent for agent in table.agents if agent != mover)
        for actions, says in wrong_actions(mover, waiting):
            with pytest.raises(ValueError, match=f"^{says}"):
                table.step(actions)
            assert pickle.dumps(table) == before
        observations, *_, infos = table.step(choose(masks_of(observations, infos), rng))


def test_calls_out_of_order(rng: np.random.Generator) -> None:
    table = parallel_env(render_mode="ansi")
    assert table.agents == []
    calls: list[Callable[[], Any]] = [
        lambda: table.step({"player_0": 0}),
        table.state,
        table.render,
        lambda: table.game,
    ]
    for call in calls:
        with pytest.raises(ResetNeeded, match="reset"):
            call()
    observations, infos = table.reset(seed=0)
    play(table, masks_of(observations, infos), rng, 10_000)
    with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
        table.step({"player_0": 0})
    assert isinstance(table.render(), str)
    assert table.state() in table.state_space


def test_keywords_and_spaces() -> None:
    table = parallel_env("draw", 3, "points", "info", True, 12, "ansi")
    turns = raw_env("draw", 3, "points", "info", True, 12, "ansi")
    for name in (
        "rules",
        "reward",
        "mask_in",
        "history",
        "max_cycles",
        "render_mode",
        "possible_agents",
        "state_space",
    ):
        assert getattr(table, name) == getattr(turns, name)
    assert table.metadata["is_parallelizable"] is True
    assert raw_env.metadata["is_parallelizable"] is False
    assert str(table) == "block_v0"
    for agent in table.possible_agents:
        assert table.action_space(agent) is table.action_space(agent)
        assert table.action_space(agent) == turns.action_space(agent)
        assert table.observation_space(agent) is table.observation_space(agent)
        assert table.observation_space(agent) == turns.observation_space(agent)


# Chance, copies -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "way", [copy.deepcopy, lambda table: pickle.loads(pickle.dumps(table))], ids=["deepcopy", "pickle"]
)
@MASKS_IN
def test_copies(way: Callable[[Any], Any], mask_in: str, rng: np.random.Generator) -> None:
    """S07: a copy goes on with the running game, has the same deals to come, and draws nothing from the original."""
    table = parallel_env(num_players=3, mask_in=mask_in)
    table.reset(seed=1)
    observations, infos = table.reset()
    masks = play(table, masks_of(observations, infos), rng, 5)
    copied = way(table)
    games = []
    for _ in range(40):
        actions = choose(masks, rng)
        observations, *_, infos = table.step(actions)
        masks = masks_of(observations, infos)
        games.append((actions, table.game))
        if not table.agents:
            break
    ahead = [table.reset() and table.game for _ in range(5)]
    for actions, game in games:
        copied.step(actions)
        assert copied.game == game
    assert [copied.reset() and copied.game for _ in range(5)] == ahead


def test_chance_is_its_own(rng: np.random.Generator) -> None:
    """S03: the same seed, the same game; the global generators are neither read nor changed."""
    before = random.getstate(), np.random.get_state()[1].tobytes()  # noqa: NPY002
    one, other = parallel_env(), parallel_env()
    for seed in (0, None, None):
        observations, infos = one.reset(seed=seed)
        other.reset(seed=seed)
        assert one.game == other.game
        for table in (one, other):
            play(table, masks_of(observations, infos), np.random.default_rng(7), 60)
    assert one.game == other.game
    assert (random.getstate(), np.random.get_state()[1].tobytes()) == before  # noqa: NPY002


@pytest.mark.parametrize("actions", [None, 5, "player_0", ["player_0"]])
def test_actions_that_are_no_dict(actions: Any) -> None:
    table = parallel_env()
    table.reset(seed=1)
    with pytest.raises(ValueError, match=r"^actions: takes a dict"):
        table.step(actions)


@pytest.mark.parametrize("agent", [[], {}, None, "player_2"])
def test_agents_that_are_none(agent: Any) -> None:
    for table in (raw_env(), parallel_env()):
        with pytest.raises(ValueError, match=r"^agent: takes one of player_0, player_1"):
            table.action_space(agent)


@pytest.mark.parametrize("keyword", ["num_players", "reward", "mask_in", "render_mode"])
def test_an_array_is_no_keyword(keyword: str) -> None:
    with pytest.raises(ValueError, match=f"^{keyword}: takes"):
        raw_env(**{keyword: np.array([1, 2])})
