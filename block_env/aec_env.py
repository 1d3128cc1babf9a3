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
from block_env.batch import Batch
from block_env.deals import Setup, illegal_action, start_games, stream_keys
from block_env.game import Game, snapshot
from block_env.keywords import (
    RENDER_MODES,
    check_history,
    check_max_cycles,
    check_render_mode,
    check_reward,
    check_seed,
)
from block_env.observation import encode_one
from block_env.recording import PathLike, Recorder
from block_env.spaces import action_space, observation_space
from block_env.state import NO_REASON, new_states
from block_env.state_vector import state_space, state_vectors
from block_env.variants import Rules, resolve

Observation = dict[str, NDArray[Any]] | NDArray[np.float32]
_ROW = np.zeros(1, np.int64)
_SET_BY_RESET = {
    "agents",
    "num_agents",
    "agent_selection",
    "rewards",
    "_cumulative_rewards",
    "terminations",
    "truncations",
    "infos",
}


class BlockEnv(AECEnv[str, Any, Any]):
    """Block, turn by turn. Known as ``raw_env``.

    Agents are ``player_0``, ``player_1``, … in seat order, the same in every reset; all end on the same step. The mask
    of an agent that is not to move is all zero. A forced pass is a step of its own.

    Args:
        rules: ``"match"``, ``"single_round"``, ``"partnership"``, ``"draw"``, or a :class:`block_env.Rules`.
        num_players: 2, 3 or 4; None takes the rules' own (2; partnership 4).
        reward: ``"outcome"``, at the end of the game +1 to each player of the winning side, the losing sides share -1;
            or ``"points"``, at the end of each round its points (raw, at most the pips of the set, 168 in double-six)
            to each player of the winning side, the others share the minus. A draw pays nobody.
        mask_in: ``"observation"``: a dict of ``observation`` (float32 [D]) and ``action_mask`` (int8 [A]); ``"info"``:
            the plain vector, and the mask as the only key of ``infos[agent]``.
        history: whether the observation ends with the whole public round.
        max_cycles: the game is truncated after so many turns of all seats together; None: never.
        render_mode: None, ``"ansi"``, ``"rgb_array"``, or ``"human"``: a window that follows reset and step by itself.
        record: a file that every game is written into as it ends (:mod:`block_env.notation`), all hands open. A game
            that is left by ``reset`` or ``close`` is written as unfinished. None: nothing is written.

    Raises:
        ValueError: a keyword's value, named in the message, is not one of these.
        PygameNotInstalledError: the render mode needs pygame-ce, the extra ``block-env[render]``.
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
        record: PathLike | None = None,
    ) -> None:
        super().__init__()
        self.rules = resolve(rules, num_players)
        self._reward, self.mask_in, self._history = check_reward(reward), mask_in, check_history(history)
        self.max_cycles = check_max_cycles(max_cycles)
        self.render_mode = check_render_mode(render_mode)
        self._window: Any = None
        self._recorder = None if record is None else Recorder(record, self.rules)
        self.possible_agents = [f"player_{seat}" for seat in range(self.rules.num_players)]
        self.observation_spaces = {
            agent: observation_space(self.rules, history, mask_in) for agent in self.possible_agents
        }
        self.action_spaces = {agent: action_space(self.rules) for agent in self.possible_agents}
        self.state_space = state_space(self.rules)
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._num_actions = self.rules.num_actions
        self._states = new_states(1)
        self._bound: Batch | None = None
        self._tells = mask_in == "info" or render_mode == "human"
        self._started = False

    def __getattr__(self, name: str) -> Any:
        if name in _SET_BY_RESET:
            raise AttributeError(f"{name} cannot be accessed before reset")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of this agent's observations: one object a name, the same values for all."""
        self._seat(agent)
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The space of this agent's actions: one object a name, the same values for all."""
        self._seat(agent)
        return self.action_spaces[agent]

    @property
    def reward(self) -> str:
        """``"outcome"`` or ``"points"``."""
        return self._reward

    @property
    def history(self) -> bool:
        """Whether observations end with the whole public round."""
        return self._history

    @property
    def game(self) -> Game:
        """The whole truth, readable: for people and logs, not for players (:class:`block_env.game.Game`)."""
        if not self._started:
            raise self._too_early("game")
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
        if check_seed(seed) is not None or not self._started:
            self._states["stream"], self._states["deal"] = stream_keys(seed, 1), 0
            self._started = True
        start_games(self._states, self.rules, _ROW, setup)
        if self._recorder is not None:
            self._recorder.begin(self._states, _ROW, [seed], setup != Setup())
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._paid, self._bound = False, self._bound or self._bind()
        self._give_turn(self._states["to_play"].item())

    def step(self, action: Any) -> None:
        """Play one action of the agent to move, or take a finished agent out with ``None``.

        Raises:
            ValueError: the action is no whole number in the space; or not None for a finished agent.
            IllegalActionError: it is not legal now; the message names the mover and what is. Nothing has changed.
            ResetNeeded: before the first reset, or when all agents are gone.
        """
        if not self._started:
            raise self._too_early("step")
        if not self.agents:
            raise ResetNeeded("step() after the end of the game: call reset() first")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        if type(action) is not int or not 0 <= action < self._num_actions:
            action = check_action(action, self.rules.max_pip)
        outcome = kernels.step_one((self._bound or self._bind()).address, action)
        if outcome < 0:
            self._refuse(action)
            return
        mover, reason = (outcome >> 2) - 1, outcome & 3
        if self._recorder is not None:
            self._recorder.turn(self._states, _ROW, (action,), (reason,))
        self._cumulative_rewards[agent] = 0.0
        if reason or self._paid:
            self._pay(reason)
        self._give_turn(mover)

    def observe(self, agent: str) -> Observation:
        """What this agent sees, at any time, after the end too; its mask is all zero unless it is to move."""
        if not self._started:
            raise self._too_early("observe")
        vector, mask = self._encode(agent)
        return {"observation": vector, "action_mask": mask} if self.mask_in == "observation" else vector

    def state(self) -> NDArray[np.float32]:
        """The whole truth, float32 [S], in ``state_space`` (:func:`block_env.state_vector.state_vectors`)."""
        if not self._started:
            raise self._too_early("state")
        vector: NDArray[np.float32] = state_vectors(self._states, self.rules)[0]
        return vector

    def render(self) -> str | NDArray[np.uint8] | None:
        """The table as the agent to move sees it (after the end: as player_0 does).

        ``"ansi"``: text. ``"rgb_array"``: uint8 [H, W, 3]. ``"human"``: shown in the window, nothing is returned. None:
        nothing.
        """
        if not self._started:
            raise self._too_early("render")
        if self.render_mode is None:
            return None
        from block_env.render import Window, render_rgb, text

        viewer = self._seats[self.agent_selection] if self.agents else 0
        if self.render_mode == "human":
            self._window = self._window or Window()
            self._window.show_game(self.game, viewer, self.metadata["render_fps"])
            return None
        return text(self.game, viewer) if self.render_mode == "ansi" else render_rgb(self.game, viewer)

    def close(self) -> None:
        """Close the window and the record, if there are any."""
        if self._recorder is not None:
            self._recorder.close()
            self._recorder = None
        if self._window is not None:
            self._window.close()
            self._window = None

    def _too_early(self, call: str) -> Exception:
        return ResetNeeded(f"reset() needs to be called before {call}.")

    def _seat(self, agent: str) -> int:
        try:
            return self._seats[agent]
        except (KeyError, TypeError):
            raise ValueError(f"agent: takes one of {', '.join(self.possible_agents)}, got {agent!r}") from None

    def _encode(self, agent: str) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        batch = self._bound or self._bind()
        encode_one(batch.address, self._seat(agent))
        vector, mask = batch.first_observation.copy(), batch.first_mask.copy()
        if self.terminations.get(agent, True) or self.truncations.get(agent, True):
            mask[:] = 0
        return vector, mask

    def _bind(self) -> Batch:
        self._bound = Batch.of(self._states, self.rules, self.history, self.reward == "points", redeal=False)
        return self._bound

    def _refuse(self, action: int) -> None:
        raise illegal_action(self._states[0], self.rules, action)

    def _pay(self, reason: int) -> None:
        """Give out the step's rewards; only the end of a round pays any."""
        self._paid = reason != NO_REASON
        paid = (self._bound or self._bind()).rewards[0].tolist() if self._paid else [0.0] * len(self.agents)
        self.rewards = dict(zip(self.agents, paid, strict=True))
        self._accumulate_rewards()

    def _give_turn(self, mover: int) -> None:
        """It is this seat's turn; or (-1, or when the time is over) the end for all."""
        if mover < 0:
            self._end(self.terminations)
        elif self.max_cycles is not None and self._states["turns"].item() >= self.max_cycles:
            if self._recorder is not None:
                self._recorder.leave(_ROW)
            self._end(self.truncations)
        else:
            self.agent_selection = self.possible_agents[mover]
            if self._tells:
                self._tell()

    def _end(self, ends: dict[str, bool]) -> None:
        ends.update(dict.fromkeys(self.agents, True))
        self.agent_selection = self.agents[0]  # the first to be taken out
        self._tell()

    def _tell(self) -> None:
        """What follows each turn by itself: the masks in the infos, the window."""
        if self.mask_in == "info":
            self._give_masks()
        if self.render_mode == "human":
            self.render()

    def _give_masks(self) -> None:
        self.infos = {agent: {"action_mask": np.zeros(self._num_actions, np.int8)} for agent in self.agents}
        mover = self.agent_selection
        self.infos[mover]["action_mask"] = self._encode(mover)[1]


class LosingBlockEnv(BlockEnv):
    """Block where an illegal action ends the game for all: the mover gets -1, the others 0, and a warning says why."""

    def _refuse(self, action: int) -> None:
        EnvLogger.warn_on_illegal_move()
        if self._recorder is not None:
            self._recorder.illegal(0, action)
        mover = self.agent_selection
        self._cumulative_rewards[mover] = 0.0
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self.rewards[mover] = -1.0
        self._accumulate_rewards()
        self._end(self.terminations)


class CheckedBlockEnv(LosingBlockEnv):
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
        if not self._started:
            raise self._too_early("step")
        self._has_updated = True
        if not self.agents:
            EnvLogger.warn_step_after_terminated_truncated()
            return
        try:
            super().step(action)
        except ValueError as error:
            if self.terminations[self.agent_selection] or self.truncations[self.agent_selection]:
                raise
            raise AssertionError(f"action is not in action space: {error}") from None

    def agent_iter(self, max_iter: int = 2**63) -> Any:
        """The agents to step, in turn; each asks for a ``step`` or ``reset`` before the next."""
        if not self._started:
            raise self._too_early("agent_iter()")
        return self._iterate(max_iter)

    def _iterate(self, max_iter: int) -> Iterator[str]:
        for _ in range(max_iter):
            if not self.agents:
                return
            assert self._has_updated, "need to call step() or reset() in a loop over `agent_iter`"
            self._has_updated = False
            yield self.agent_selection

    def _too_early(self, call: str) -> Exception:
        return AssertionError(f"reset() needs to be called before {call}.")


class ParallelBlockEnv(ParallelEnv[str, Any, Any]):
    """Block with one action of every agent a step: the mover's counts, the others wait. Known as ``parallel_env``.

    Keywords, spaces and rewards are those of :class:`BlockEnv`. An agent not to move has one legal action, the pass id,
    so that no mask is empty, after the end neither; whatever action of the space it sends is ignored. An illegal action
    of the mover ends the game with -1 for it, and a warning says why. Observations, rewards and infos name every agent
    that was live before the step; all agents end on the same step.
    """

    metadata: dict[str, Any] = {**BlockEnv.metadata, "is_parallelizable": True}  # noqa: RUF012

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        env = self._env = LosingBlockEnv(*args, **kwargs)
        self.rules, self.reward, self.mask_in, self.history = env.rules, env.reward, env.mask_in, env.history
        self.render_mode = env.render_mode
        self.possible_agents = env.possible_agents
        self.observation_spaces, self.action_spaces = env.observation_spaces, env.action_spaces
        self.state_space = env.state_space
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
        return self._seen(self.agents)

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Play the mover's action; those of waiting agents may be left out.

        Raises:
            ValueError: the mover's action is missing, an agent is not in the game, or an action is not in the space.
                Nothing has changed then.
            ResetNeeded: before the first reset, or after the end.
        """
        if not self.agents:
            raise ResetNeeded("step() without a running game: call reset() first")
        env, live = self._env, self.agents
        self._check(actions)
        env.step(actions[env.agent_selection])
        if env.terminations[live[0]] or env.truncations[live[0]]:
            self.agents = []
        observations, infos = self._seen(live)
        return observations, dict(env.rewards), dict(env.terminations), dict(env.truncations), infos

    def state(self) -> NDArray[np.float32]:
        """As :meth:`BlockEnv.state`."""
        return self._env.state()

    def render(self) -> str | NDArray[np.uint8] | None:
        """As :meth:`BlockEnv.render`."""
        return self._env.render()

    def close(self) -> None:
        """As :meth:`BlockEnv.close`."""
        self._env.close()

    def _check(self, actions: Mapping[str, Any]) -> None:
        mover = self._env.agent_selection
        if not isinstance(actions, Mapping):
            raise ValueError(f"actions: takes a dict of actions by agent, got {actions!r}")
        if mover not in actions:
            raise ValueError(f"actions: takes an action of {mover}, who is to move, got {list(actions)}")
        for agent, action in actions.items():
            self._env._seat(agent)
            check_action(action, self.rules.max_pip)

    def _seen(self, agents: list[str]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        observations: dict[str, Any] = {agent: self._env.observe(agent) for agent in agents}
        infos = {agent: dict(info) for agent, info in self._env.infos.items()}
        masked = infos if self.mask_in == "info" else observations
        for agent in agents:
            if not self.agents or agent != self._env.agent_selection:
                masked[agent]["action_mask"][-1] = 1
        return observations, infos


raw_env = BlockEnv
env = CheckedBlockEnv
parallel_env = ParallelBlockEnv
