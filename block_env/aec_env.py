"""Block as a PettingZoo environment: turn by turn (AEC), and as a parallel game.

``raw_env`` raises on an illegal action and changes nothing. ``env`` does as PettingZoo's usual wrappers do: it checks
the order of calls and the action space, and an illegal action ends the game with -1 for the mover.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils.env_logger import EnvLogger

from block_env import rules as kernels
from block_env.actions import check_action
from block_env.game import Game, snapshot
from block_env.keywords import RENDER_MODES, check_max_cycles, check_render_mode, check_reward, check_seed
from block_env.observation import encode_games, layout, layout_table
from block_env.play import IllegalActionError, Setup, illegal_action, start_games, stream_keys
from block_env.spaces import action_space, observation_space
from block_env.state import new_states
from block_env.state_vector import state_space, state_vectors
from block_env.variants import Rules, resolve, rules_table

Observation = dict[str, NDArray[Any]] | NDArray[np.float32]
_ROW = np.zeros(1, np.int64)
_SET_BY_RESET = {"agents", "rewards", "terminations", "truncations", "infos", "agent_selection", "_cumulative_rewards"}


class BlockEnv(AECEnv[str, Any, Any]):
    """Block, turn by turn. Known as ``raw_env``.

    Args:
        rules: ``"match"``, ``"single_round"``, ``"partnership"``, ``"draw"``, or a :class:`block_env.Rules`.
        num_players: 2, 3 or 4; None takes the rules' own (2; partnership 4).
        reward: ``"outcome"``, at the end of the game +1 to each player of the winning side, the losing sides share -1;
            or ``"points"``, at the end of each round its points to the winning side, the others share the minus.
        mask_in: ``"observation"``: a dict of ``observation`` and ``action_mask``; ``"info"``: the plain vector, and the
            mask as the only key of ``infos[agent]``.
        history: whether the observation ends with the whole public round.
        max_cycles: the game is truncated after so many turns of all seats together; None: never.
        render_mode: None or ``"ansi"``.

    Raises:
        ValueError: a keyword's value, named in the message, is not one of these.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - PettingZoo's own way
        "name": "block_v0",
        "render_modes": list(RENDER_MODES),
        "is_parallelizable": False,
        "render_fps": 1,
    }

    def __init__(
        self,
        rules: str | Rules = "match",
        num_players: int | None = None,
        reward: str = "outcome",
        mask_in: str = "observation",
        history: bool = False,
        max_cycles: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        self.rules = resolve(rules, num_players)
        self.reward, self.mask_in, self.history = check_reward(reward), mask_in, history
        self.max_cycles = check_max_cycles(max_cycles)
        self.render_mode = check_render_mode(render_mode)
        self.possible_agents = [f"player_{seat}" for seat in range(self.rules.num_players)]
        self.observation_spaces = {
            agent: observation_space(self.rules, history, mask_in) for agent in self.possible_agents
        }
        self.action_spaces = {agent: action_space(self.rules) for agent in self.possible_agents}
        self.state_space = state_space(self.rules)
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._rules, self._places = rules_table(self.rules), layout_table(self.rules, history)
        self._size = layout(self.rules, history).size
        self._states = new_states(1)
        self._rewards = np.zeros(self.rules.num_players, np.float32)
        self._seeded = False

    def __getattr__(self, name: str) -> Any:
        if name in _SET_BY_RESET:
            raise AttributeError(f"{name} cannot be accessed before reset")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of this agent's observations: one object a name, the same values for all."""
        return self.observation_spaces[self._check_agent(agent)]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The space of this agent's actions: one object a name, the same values for all."""
        return self.action_spaces[self._check_agent(agent)]

    @property
    def game(self) -> Game:
        """The whole truth, readable: for people and logs, not for players (:class:`block_env.game.Game`)."""
        self._check_reset("game")
        return snapshot(self._states[0], self.rules)

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Start a new game.

        Args:
            seed: starts the stream of deals anew; None goes on with its next deal (the first time: with fresh entropy).
            options: ``hands`` (tile pairs for each seat), ``opener`` (a seat) and ``scores`` (one a side) set up a
                position; other keys are ignored.

        Raises:
            ValueError: the seed is no whole number from 0, or the position can't be. Nothing has changed then.
        """
        setup = Setup.parse(options, self.rules)
        if check_seed(seed) is not None or not self._seeded:
            self._states["stream"], self._states["deal"] = stream_keys(seed, 1), 0
            self._seeded = True
        start_games(self._states, self.rules, _ROW, setup)
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._skip_agent_selection = None
        self._after_turn()

    def step(self, action: Any) -> None:
        """Play one action of the agent to move, or take a finished agent out with ``None``.

        Raises:
            ValueError: the action is no whole number in the space; or not None for a finished agent.
            IllegalActionError: it is not legal now; the message names the mover and what is. Nothing has changed.
            ResetNeeded: before the first reset, or when all agents are gone.
        """
        self._check_reset("step")
        if not self.agents:
            raise ResetNeeded("step() after the end of the game: call reset() first")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        chosen = check_action(action, self.rules.max_pip)
        if kernels.step_game(self._states, self._rules, chosen, self.reward == "points", self._rewards) < 0:
            raise illegal_action(self._states[0], self.rules, chosen)
        self._cumulative_rewards[agent] = 0.0
        self.rewards = dict(zip(self.agents, self._rewards.tolist(), strict=True))
        self._accumulate_rewards()
        self._end_if_over()
        self._after_turn()

    def observe(self, agent: str) -> Observation:
        """What this agent sees, at any time, after the end too; its mask is all zero unless it is to move."""
        self._check_reset("observe")
        vector, mask = self._encode(agent)
        return {"observation": vector, "action_mask": mask} if self.mask_in == "observation" else vector

    def state(self) -> NDArray[np.float32]:
        """The whole truth, float32 [S], in ``state_space`` (:func:`block_env.state_vector.state_vectors`)."""
        self._check_reset("state")
        vector: NDArray[np.float32] = state_vectors(self._states, self.rules)[0]
        return vector

    def render(self) -> str | None:
        """``"ansi"``: the table as the agent to move sees it (after the end: as player_0 does). None: nothing."""
        self._check_reset("render")
        if self.render_mode is None:
            return None
        from block_env.render import text

        return text(self.game, viewer=max(int(self._states[0].to_play), 0))

    def close(self) -> None:
        """Nothing to release."""

    def _check_reset(self, call: str) -> None:
        if "agents" not in self.__dict__:
            raise ResetNeeded(f"reset() needs to be called before {call}.")

    def _check_agent(self, agent: str) -> str:
        if agent not in self._seats:
            raise ValueError(f"agent: takes one of {', '.join(self.possible_agents)}, got {agent!r}")
        return agent

    def _encode(self, agent: str) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        seat = np.array([self._seats[self._check_agent(agent)]])
        vector = np.zeros((1, self._size), np.float32)
        mask = np.zeros((1, self.rules.num_actions), np.int8)
        encode_games(self._states, self._rules, self._places, _ROW, seat, vector, mask)
        if self.terminations.get(agent, True) or self.truncations.get(agent, True):
            mask[:] = 0
        return vector[0], mask[0]

    def _end_if_over(self) -> None:
        state = self._states[0]
        if state.over:
            self.terminations = dict.fromkeys(self.agents, True)
        elif self.max_cycles is not None and state.turns >= self.max_cycles:
            self.truncations = dict.fromkeys(self.agents, True)

    def _after_turn(self) -> None:
        """Point at the agent to move (at the end: to the first to be taken out), and give out the masks."""
        self.agent_selection = self.possible_agents[max(int(self._states[0].to_play), 0)]
        if any(self.terminations.values()) or any(self.truncations.values()):
            self.agent_selection = self.agents[0]
        if self.mask_in == "info":
            self.infos = {agent: {"action_mask": self._encode(agent)[1]} for agent in self.agents}


class CheckedBlockEnv(BlockEnv):
    """Block with the checks of PettingZoo's three usual wrappers, and their messages. Known as ``env``.

    Calls out of order raise an AssertionError; so does an action outside the action space. An illegal action ends the
    game for all, the mover gets -1, and a warning says why. ``step`` with no agent left warns and does nothing.
    """

    _has_updated = False

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """As ``raw_env``."""
        super().reset(seed, options)
        self._has_updated = True

    def step(self, action: Any) -> None:
        """Play one action of the agent to move, or take a finished agent out with ``None``.

        Raises:
            AssertionError: before reset; or the action is not in the action space (nothing has changed then).
            ValueError: not None for a finished agent.
        """
        self._check_reset("step")
        self._has_updated = True
        if not self.agents:
            EnvLogger.warn_step_after_terminated_truncated()
            return
        try:
            super().step(action)
        except IllegalActionError:
            EnvLogger.warn_on_illegal_move()
            self._lose()
        except ValueError as error:
            if self.terminations[self.agent_selection] or self.truncations[self.agent_selection]:
                raise
            raise AssertionError(f"action is not in action space: {error}") from None

    def agent_iter(self, max_iter: int = 2**63) -> Any:
        """The agents to step, in turn; each asks for a ``step`` or ``reset`` before the next."""
        self._check_reset("agent_iter()")
        return self._iterate(max_iter)

    def _iterate(self, max_iter: int) -> Iterator[str]:
        for _ in range(max_iter):
            if not self.agents:
                return
            assert self._has_updated, "need to call step() or reset() in a loop over `agent_iter`"
            self._has_updated = False
            yield self.agent_selection

    def _lose(self) -> None:
        mover = self.agent_selection
        self._cumulative_rewards[mover] = 0.0
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self.rewards[mover] = -1.0
        self._accumulate_rewards()
        self.terminations = dict.fromkeys(self.agents, True)
        self._after_turn()

    def _check_reset(self, call: str) -> None:
        if "agents" not in self.__dict__:
            raise AssertionError(f"reset() needs to be called before {call}.")


class ParallelBlockEnv(ParallelEnv[str, Any, Any]):
    """Block with one action of every agent a step: the mover's counts, the others wait. Known as ``parallel_env``.

    Keywords, spaces and rewards are those of :class:`BlockEnv`. An agent not to move has one legal action, the pass id,
    so that no mask is empty; whatever action of the space it sends is ignored. An illegal action of the mover ends the
    game with -1 for it. Observations, rewards and infos name every agent that was live before the step.
    """

    metadata: dict[str, Any] = {**BlockEnv.metadata, "is_parallelizable": True}  # noqa: RUF012

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._env = CheckedBlockEnv(*args, **kwargs)
        self.rules, self.mask_in, self.render_mode = self._env.rules, self._env.mask_in, self._env.render_mode
        self.possible_agents = self._env.possible_agents
        self.observation_spaces, self.action_spaces = self._env.observation_spaces, self._env.action_spaces
        self.state_space = self._env.state_space
        self.agents: list[str] = []

    @property
    def max_cycles(self) -> int | None:
        """Turns after which the game is truncated; None: never."""
        return self._env.max_cycles

    @max_cycles.setter
    def max_cycles(self, value: int | None) -> None:
        self._env.max_cycles = check_max_cycles(value)

    @property
    def game(self) -> Game:
        """The whole truth, readable; not for players."""
        return self._env.game

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of this agent's observations: one object a name, the same values for all."""
        return self._env.observation_space(agent)

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The space of this agent's actions: one object a name, the same values for all."""
        return self._env.action_space(agent)

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Start a new game, as :meth:`BlockEnv.reset`; observations and infos of all agents."""
        self._env.reset(seed, options)
        self.agents = self._env.agents[:]
        return self._observations(self.agents), self._infos(self.agents)

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Play the mover's action.

        Raises:
            ValueError: the mover's action is missing, an agent is not in the game, or an action is not in the space.
                Nothing has changed then.
            ResetNeeded: before the first reset, or after the end.
        """
        if not self.agents:
            raise ResetNeeded("step() without a running game: call reset() first")
        live, mover = self.agents, self._env.agent_selection
        if mover not in actions:
            raise ValueError(f"actions: takes an action of {mover}, who is to move, got only {sorted(actions)}")
        for agent, action in actions.items():
            self._env._check_agent(agent)
            check_action(action, self.rules.max_pip)
        self._env.step(actions[mover])
        env = self._env
        ended = any(env.terminations.values()) or any(env.truncations.values())
        self.agents = [] if ended else live
        infos = self._infos(live)
        return self._observations(live), dict(env.rewards), dict(env.terminations), dict(env.truncations), infos

    def state(self) -> NDArray[np.float32]:
        """As :meth:`BlockEnv.state`."""
        return self._env.state()

    def render(self) -> str | None:
        """As :meth:`BlockEnv.render`."""
        return self._env.render()

    def close(self) -> None:
        """Nothing to release."""

    def _masked(self, agent: str, mask: NDArray[np.int8]) -> NDArray[np.int8]:
        if agent != self._env.agent_selection or not self.agents:
            mask[-1] = 1
        return mask

    def _observations(self, agents: list[str]) -> dict[str, Any]:
        seen = {agent: self._env.observe(agent) for agent in agents}
        for agent, observation in seen.items():
            if isinstance(observation, dict):
                self._masked(agent, observation["action_mask"])
        return seen

    def _infos(self, agents: list[str]) -> dict[str, dict[str, Any]]:
        infos = self._env.infos
        for agent, info in infos.items():
            if "action_mask" in info:
                self._masked(agent, info["action_mask"])
        return dict(infos)


raw_env = BlockEnv
env = CheckedBlockEnv
parallel_env = ParallelBlockEnv
