"""Block as a Gymnasium environment: a learner at one seat, policies at the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from block_env.actions import check_action
from block_env.deals import Setup
from block_env.game import Game, snapshot
from block_env.keywords import RENDER_MODES, check_mask_in, check_render_mode, check_seed
from block_env.learner_games import LearnerGames, Observation, Opponent, pack, table_picture
from block_env.recording import PathLike
from block_env.spaces import action_space, observation_space
from block_env.variants import Rules

METADATA: dict[str, Any] = {"name": "block_v0", "render_modes": list(RENDER_MODES), "render_fps": 1}
_ROW = np.zeros(1, np.int64)


class BlockGymEnv(gymnasium.Env[Any, Any]):
    """Block for one learner; policies play the other seats. Known as ``gymnasium.make("block_env/Block-v0")``.

    A step is one turn of the learner, forced passes included, and all turns of the others up to its next. The reward is
    all that the learner's seat was paid in them, so also when the game ends on another's move. An action that is in the
    space but not legal ends the episode with reward -1 and a warning that says why; the game is unchanged. After the
    end the mask is all 0. An episode that is over before the learner's first turn (hands of one tile; a tiny
    ``max_cycles``) has one step, whose action is ignored.

    Args:
        opponent: a name of :data:`block_env.opponents.OPPONENTS`, a :class:`block_env.policy.Policy`, or a list of
            either, one for each other seat, clockwise from the learner. Settable: takes over with the next turn.
        seat: the learner's seat; None: drawn for each episode from the game's own random stream.
        rules: ``"match"``, ``"single_round"``, ``"partnership"``, ``"draw"``, or a :class:`block_env.Rules`.
        num_players: 2, 3 or 4; None takes the rules' own (2; partnership 4).
        reward: ``"outcome"``, at the end of the game +1 to each player of the winning side, the losing sides share -1;
            or ``"points"``, at the end of each round its points to the winning side, the others share the minus.
        mask_in: ``"observation"``: a dict of ``observation`` (float32 [D]) and ``action_mask`` (int8 [A]); ``"info"``:
            the plain vector, and the mask as the only key of ``info``.
        history: whether the observation ends with the whole public round.
        max_cycles: the episode is truncated after so many turns of all seats together; None: never.
        render_mode: None, ``"ansi"``, ``"rgb_array"``, or ``"human"``: a window that follows reset and step by itself.
        record: a file that every game is written into as it ends (:mod:`block_env.notation`), all hands open. A game
            that is left by ``reset`` or ``close`` is written as unfinished. None: nothing is written.

    Raises:
        ValueError: a keyword's value, named in the message, is not one of these.
        PygameNotInstalledError: the render mode needs pygame-ce, the extra ``block-env[render]``.
    """

    metadata: dict[str, Any] = METADATA

    def __init__(
        self,
        opponent: Opponent | Sequence[Opponent] = "greedy",
        seat: int | None = None,
        rules: str | Rules = "match",
        num_players: int | None = None,
        reward: str = "outcome",
        mask_in: str = "observation",
        history: bool = False,
        max_cycles: int | None = None,
        render_mode: str | None = None,
        record: PathLike | None = None,
    ) -> None:
        self.metadata = {**METADATA}  # its own: older Gymnasium's vector environments write into it
        self.mask_in, self.render_mode = check_mask_in(mask_in), check_render_mode(render_mode)
        self._window: Any = None
        self._games = LearnerGames(1, opponent, seat, rules, num_players, reward, history, max_cycles, record)
        self.rules = self._games.rules
        self.observation_space = observation_space(self.rules, history, mask_in)
        self.action_space = action_space(self.rules)

    @property
    def opponent(self) -> Opponent | Sequence[Opponent]:
        """Who plays at the other seats, as given."""
        return self._games.opponent

    @opponent.setter
    def opponent(self, opponent: Opponent | Sequence[Opponent]) -> None:
        self._games.opponent = opponent

    @property
    def game(self) -> Game:
        """The whole truth, readable: for people and logs, not for players (:class:`block_env.game.Game`)."""
        self._check_reset("game")
        return snapshot(self._games.states[0], self.rules)

    @property
    def learner_seat(self) -> int:
        """The learner's seat in this episode."""
        self._check_reset("learner_seat")
        return int(self._games.learner[0])

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start a new episode.

        Args:
            seed: starts the deals and the opponents' chance anew; None goes on with the next deal (the first time: with
                fresh entropy).
            options: ``hands`` (tile pairs for each seat), ``opener`` (a seat) and ``scores`` (one a side) set up a
                position; other keys are ignored.

        Raises:
            ValueError: the seed is no whole number from 0, or the position can't be. Nothing has changed then.
        """
        setup, seed = Setup.parse(options, self.rules), check_seed(seed)
        super().reset(seed=seed)
        self._games.seed(_ROW, [seed])
        self._games.reset(_ROW, self.np_random, setup)
        self._show()
        return self._seen()

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Play one turn of the learner, and the others' up to its next.

        Raises:
            ValueError: the action is no whole number in the space. Nothing has changed then.
            ResetNeeded: before the first reset, or after the end.
            IllegalActionError: an opponent chose an action that is not legal; the episode has broken off.
        """
        if not self._games.running[0]:
            raise ResetNeeded("step() without a running game: call reset() first")
        actions = np.array([check_action(action, self.rules.max_pip)])
        rewards, terminated, truncated = self._games.step(_ROW, actions, self.np_random)
        self._show()
        observation, info = self._seen()
        return observation, float(rewards[0]), bool(terminated[0]), bool(truncated[0]), info

    def action_masks(self) -> NDArray[np.int8]:
        """The mask of the latest observation, int8 [A]; sb3-contrib asks for it by this name."""
        self._check_reset("action_masks")
        mask: NDArray[np.int8] = self._games.action_mask[0].copy()
        return mask

    def render(self) -> str | NDArray[np.uint8] | None:
        """The table as the learner sees it.

        ``"ansi"``: text. ``"rgb_array"``: uint8 [H, W, 3]. ``"human"``: shown in the window, nothing is returned. None:
        nothing.
        """
        self._check_reset("render")
        if self.render_mode != "human":
            return None if self.render_mode is None else table_picture(self._games, 0, self.render_mode)
        from block_env.render import Window

        self._window = self._window or Window()
        self._window.show_game(self.game, self.learner_seat, self.metadata["render_fps"])
        return None

    def close(self) -> None:
        """Close the window and the record, if there are any."""
        self._games.close()
        if self._window is not None:
            self._window.close()
            self._window = None

    def _show(self) -> None:
        if self.render_mode == "human":
            self.render()

    def _check_reset(self, call: str) -> None:
        if not self._games.dealt[0]:
            raise ResetNeeded(f"reset() needs to be called before {call}")

    def _seen(self) -> tuple[Observation, dict[str, Any]]:
        return pack(self._games.observation[0].copy(), self._games.action_mask[0].copy(), self.mask_in)
