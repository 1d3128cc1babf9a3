"""PettingZoo's own cost: an environment that does nothing, driven by the loop that drives ours."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from pettingzoo import AECEnv
from pettingzoo.utils import AgentSelector, wrappers

import block_env
from benchmarks.measure import Pair, Size

SEED = 1
Game = tuple[int, list[int | None]]
"""A seed, and the actions of the game that it starts, None for each agent that is taken out."""


class EmptyEnv(AECEnv[str, Any, Any]):
    """The least that PettingZoo asks for: agents take turns, every observation is the same object, all is legal.

    Args:
        like: whose agents and spaces it has.
        turns: after so many the game is over for all.
    """

    metadata: dict[str, Any] = {"name": "empty_v0", "render_modes": [], "is_parallelizable": False}  # noqa: RUF012

    def __init__(self, like: AECEnv[str, Any, Any], turns: int) -> None:
        super().__init__()
        self.render_mode = None
        self.possible_agents = like.possible_agents[:]
        self._spaces = {
            agent: (like.observation_space(agent), like.action_space(agent)) for agent in like.possible_agents
        }
        space, _ = self._spaces[self.possible_agents[0]]
        self._observation = {name: np.ones(part.shape, part.dtype) for name, part in space.spaces.items()}
        self._turns = turns

    def observation_space(self, agent: str) -> Any:
        return self._spaces[agent][0]

    def action_space(self, agent: str) -> Any:
        return self._spaces[agent][1]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.agent_selection = self.agents[0]
        self._played = 0

    def observe(self, agent: str) -> Any:
        return self._observation

    def step(self, action: Any) -> None:
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        self._played += 1
        self._cumulative_rewards[agent] = 0.0
        self._accumulate_rewards()
        self.agent_selection = self.possible_agents[self._played % len(self.possible_agents)]
        if self._played == self._turns:
            self.terminations = dict.fromkeys(self.agents, True)


class GuideEnv(EmptyEnv):
    """The empty environment as PettingZoo's guide writes one: with its agent selector and its bookkeeping of rewards.

    Whoever asks gets an observation and a mask to keep.
    """

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        super().reset(seed, options)
        self._selector = AgentSelector(self.agents)
        self.agent_selection = self._selector.next()

    def observe(self, agent: str) -> Any:
        return {name: part.copy() for name, part in self._observation.items()}

    def step(self, action: Any) -> None:
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        self._played += 1
        if self._played == self._turns:
            self.terminations = dict.fromkeys(self.agents, True)
        self._clear_rewards()
        self.agent_selection = self._selector.next()
        self._accumulate_rewards()


def wrapped(env: AECEnv[str, Any, Any]) -> AECEnv[str, Any, Any]:
    """PettingZoo's three usual wrappers."""
    env = wrappers.TerminateIllegalWrapper(env, illegal_reward=-1)
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(env))


def random_games(env: AECEnv[str, Any, Any], count: int) -> list[Game]:
    """Games of random legal actions, to be played again: then nothing is chosen on the clock."""
    return [(SEED + k, _random_game(env, SEED + k)) for k in range(count)]


def _random_game(env: AECEnv[str, Any, Any], seed: int) -> list[int | None]:
    rng, actions = np.random.default_rng(seed), []
    env.reset(seed=seed)
    while env.agents:
        observation, _, terminated, truncated, _ = env.last()
        over = terminated or truncated
        actions.append(None if over else int(rng.choice(np.flatnonzero(observation["action_mask"]))))
        env.step(actions[-1])
    return actions


def rate(env: AECEnv[str, Any, Any], games: list[Game]) -> float:
    """Steps a second, each with its ``last()``; resets, a hundredth of it, are on the clock."""
    start, steps = time.perf_counter(), 0
    for seed, actions in games:
        env.reset(seed=seed)
        for action in actions:
            env.last()
            env.step(action)
        steps += len(actions)
    return steps / (time.perf_counter() - start)


def _row(make: Callable[[], Any], empty: Callable[[Any, int], Any], size: Size) -> Pair:
    env = make()
    games = random_games(env, size.aec_games)
    turns = sum(action is not None for _, actions in games for action in actions) // len(games)
    other = empty(env, turns)
    return Pair(partial(rate, env, games), partial(rate, other, random_games(other, size.aec_games)))


def raw_env_row(size: Size) -> Pair:
    """``raw_env()`` against the empty environment of PettingZoo's guide; matches of two."""
    return _row(block_env.raw_env, GuideEnv, size)


def bare_row(size: Size) -> Pair:
    """``raw_env()`` against an environment that hands out the same objects for ever."""
    return _row(block_env.raw_env, EmptyEnv, size)


def env_row(size: Size) -> Pair:
    """``env()`` against the bare environment under the wrappers whose checks it makes itself."""
    return _row(block_env.env, lambda env, turns: wrapped(EmptyEnv(env, turns)), size)
