"""Block as a native Gymnasium vector environment: N learners' games in one batch, in every autoreset mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from block_env.deals import Setup
from block_env.game import Game, snapshot
from block_env.gym_env import METADATA
from block_env.keywords import BATCH_RENDER_MODES, check_mask_in, check_render_mode, check_seed, is_whole
from block_env.learner_games import LearnerGames, Observation, Opponent, pack, table_picture
from block_env.policy import all_below, as_array
from block_env.recording import PathLike
from block_env.spaces import action_space, observation_space
from block_env.variants import Rules

_NO_ROWS = np.zeros(0, np.int64)


class BlockVectorEnv(VectorEnv[Any, Any, Any]):
    """N environments in one batch. Known as ``gymnasium.make_vec("block_env/Block-v0", num_envs=N)``.

    Step for step equal to ``SyncVectorEnv`` over :class:`block_env.gym_env.BlockGymEnv` in the same autoreset mode,
    infos included, as long as no opponent draws random numbers. Those that do share one generator here, so that they
    choose with the same odds, but not the same actions, as in single environments. Of several illegal actions in a step
    one warning tells the first.

    Under ``NEXT_STEP`` the step after an end is the reset: its action is ignored, also an illegal one, its reward is 0,
    and its mask belongs to the new deal. ``SAME_STEP`` puts the last observation and info of an episode into
    ``infos["final_obs"]`` and ``infos["final_info"]``. ``DISABLED`` leaves it to ``reset(options={"reset_mask": …})``.

    Args:
        num_envs: N.
        opponent, seat, rules, num_players, reward, mask_in, history, max_cycles, render_mode, record: as in
            :class:`block_env.gym_env.BlockGymEnv`, the same in all N. A seat of None is drawn for each episode of each.
            ``"human"`` is no render mode here.
        autoreset_mode: a :class:`gymnasium.vector.AutoresetMode`, or its value.

    Raises:
        ValueError: a keyword's value, named in the message, is out of range.
        PygameNotInstalledError: the render mode needs pygame-ce, the extra ``block-env[render]``.
    """

    def __init__(
        self,
        num_envs: int = 1,
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
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        if not is_whole(num_envs) or num_envs < 1:
            raise ValueError(f"num_envs: takes a whole number from 1, got {num_envs!r}")
        self.num_envs = int(num_envs)
        self.autoreset_mode = check_autoreset_mode(autoreset_mode)
        modes = {"render_modes": list(BATCH_RENDER_MODES), "autoreset_mode": self.autoreset_mode}
        self.metadata = {**METADATA, **modes}
        self.mask_in, self.render_mode = check_mask_in(mask_in), check_render_mode(render_mode, BATCH_RENDER_MODES)
        games = (self.num_envs, opponent, seat, rules, num_players, reward, history, max_cycles, record)
        self._games = LearnerGames(*games)
        self.rules = self._games.rules
        self.single_observation_space = observation_space(self.rules, history, mask_in)
        self.single_action_space = action_space(self.rules)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._all = np.arange(self.num_envs)
        self._broken = False

    @property
    def opponent(self) -> Opponent | Sequence[Opponent]:
        """Who plays at the other seats, as given. Settable: takes over with the next turn."""
        return self._games.opponent

    @opponent.setter
    def opponent(self, opponent: Opponent | Sequence[Opponent]) -> None:
        self._games.opponent = opponent

    @property
    def learner_seats(self) -> NDArray[np.int64]:
        """The learner's seat in each environment, int64 [N]."""
        self._check_reset("learner_seats")
        return self._games.learner.copy()

    def snapshot(self, index: int) -> Game:
        """The whole truth about one environment's game, readable; not for players.

        Raises:
            ResetNeeded: there has been no reset.
        """
        if not is_whole(index) or not 0 <= index < self.num_envs:
            raise ValueError(f"index: takes a whole number from 0 to {self.num_envs - 1}, got {index!r}")
        self._check_reset("snapshot")
        return snapshot(self._games.states[index], self.rules)

    def action_masks(self) -> NDArray[np.int8]:
        """The masks of the latest observations, int8 [N, A]."""
        self._check_reset("action_masks")
        return self._games.action_mask.copy()

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start new episodes.

        Args:
            seed: environment i is seeded with ``seed + i``; or a list of N, one each; None goes on with the next deal
                (the first time: with fresh entropy), in a list for that environment.
            options: ``hands``, ``opener`` and ``scores`` set up the same position in all; ``reset_mask`` (bool [N])
                resets only where it is true, and is left in the dict; other keys are ignored.

        Raises:
            ValueError: a seed, the mask or the position can't be. Nothing has changed then.
        """
        setup, rows = Setup.parse(options, self.rules), self._rows_to_reset(options or {})
        seeds = self._seeds(seed)
        self._seed_chance(seed, seeds)
        self._reset_rows(rows, seeds, setup)
        return self._seen(rows)

    def reset_each(
        self, seeds: Sequence[int | None], options: Sequence[Mapping[str, Any] | None]
    ) -> tuple[Observation, dict[str, Any]]:
        """As :meth:`reset` of all environments, with a seed and options (but no ``reset_mask``) of its own for each."""
        setups = [Setup.parse(one, self.rules) for one in options]
        checked = self._seeds(seeds)
        self._seed_chance(seeds, checked)
        self._broken = False
        for setup in dict.fromkeys(setups):
            self._reset_rows(np.flatnonzero([one == setup for one in setups]), checked, setup)
        return self._seen(self._all)

    def step(
        self, actions: Any
    ) -> tuple[Observation, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Play one turn of every learner, and the others' up to its next; reset as the autoreset mode says.

        Args:
            actions: whole numbers, [N].

        Returns:
            Observations, rewards float64 [N], terminated bool [N], truncated bool [N], infos: all new arrays.

        Raises:
            ValueError: they are not whole numbers of that shape, or one is not in the space. Nothing has changed.
            ResetNeeded: before the first reset; with ``DISABLED``, also while some environment's episode is over.
            IllegalActionError: an opponent chose an action that is not legal. All episodes have broken off, and only
                ``reset`` goes on.
        """
        rows, over = self._rows_to_step()
        chosen = self._check_actions(actions, rows)
        rewards, terminated = np.zeros(self.num_envs), np.zeros(self.num_envs, np.bool_)
        truncated = terminated.copy()
        self._broken = True  # until all opponents have answered
        rewards[rows], terminated[rows], truncated[rows] = self._games.step(rows, chosen, self.np_random, over)
        infos: dict[str, Any] = {}
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            over = np.flatnonzero(~self._games.running)
            infos = self._final(over)
            if over.size:
                self._games.reset(over, self.np_random)
        self._broken = False
        observation, seen = self._seen(self._all)
        return observation, rewards, terminated, truncated, infos | seen

    def render(self) -> tuple[str | NDArray[np.uint8], ...] | None:
        """Each table as its learner sees it. ``"ansi"``: text. ``"rgb_array"``: uint8 [H, W, 3]. None: nothing."""
        self._check_reset("render")
        if self.render_mode is None:
            return None
        return tuple(table_picture(self._games, row, self.render_mode) for row in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """Close the record, if there is one."""
        self._games.close()

    def _reset_rows(self, rows: NDArray[np.int64], seeds: Sequence[int | None], setup: Setup) -> None:
        self._games.seed(rows, [seeds[row] for row in rows])
        broken, self._broken = self._broken, True  # until all opponents have answered
        self._games.reset(rows, self.np_random, setup)
        self._broken = broken and len(rows) < self.num_envs

    def _check_reset(self, call: str) -> None:
        if not self._games.dealt.all():
            raise ResetNeeded(f"reset() needs to be called before {call}")

    def _rows_to_reset(self, options: Mapping[str, Any]) -> NDArray[np.int64]:
        mask = options.get("reset_mask")
        if mask is None:
            return self._all
        if not isinstance(mask, np.ndarray) or mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            raise ValueError(f"options['reset_mask']: takes a NumPy array, bool [{self.num_envs}], got {mask!r}")
        if not mask.any():
            raise ValueError("options['reset_mask']: takes at least one true value, got none")
        if not self._games.dealt[~mask].all():
            raise ResetNeeded("options['reset_mask']: the first reset() takes all environments")
        return np.flatnonzero(mask)

    def _seeds(self, seed: Any) -> list[int | None]:
        listed = isinstance(seed, Sequence | np.ndarray) and not isinstance(seed, str | bytes)
        if not listed or getattr(seed, "ndim", 1) == 0:
            first = check_seed(seed)
            return [None if first is None else first + k for k in range(self.num_envs)]
        seeds = [check_seed(one) for one in seed]
        if len(seeds) != self.num_envs:
            raise ValueError(f"seed: takes one seed, or one for each of {self.num_envs} environments, got {len(seeds)}")
        return seeds

    def _seed_chance(self, seed: Any, seeds: list[int | None]) -> None:
        given = [one for one in seeds if one is not None]
        if is_whole(seed):
            super().reset(seed=int(seed))
        elif given:
            self.np_random = np.random.default_rng(given)

    def _rows_to_step(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows to play in; and under ``NEXT_STEP`` those to reset."""
        self._check_reset("step")
        if self._broken:
            raise ResetNeeded("an opponent's error broke all episodes off: call reset() first")
        running = self._games.running
        if self.autoreset_mode == AutoresetMode.NEXT_STEP:
            return np.flatnonzero(running), np.flatnonzero(~running)
        if not running.all():
            over = np.flatnonzero(~running).tolist()
            raise ResetNeeded(
                f"step() after the end in environments {over}: reset them first, by options['reset_mask']"
            )
        return self._all, _NO_ROWS

    def _check_actions(self, actions: Any, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        given = as_array(actions)
        if given.dtype.kind not in "iu" or given.shape != (self.num_envs,):
            takes = f"whole numbers, int [{self.num_envs}]"
            raise ValueError(f"actions: takes {takes}, got {given.dtype} {list(given.shape)}")
        chosen = given[rows].astype(np.int64, copy=False)
        if not all_below(chosen, self.rules.num_actions):
            wrong = rows[(chosen < 0) | (chosen >= self.rules.num_actions)][0]
            takes = f"whole numbers from 0 to {self.rules.num_actions - 1}"
            raise ValueError(f"actions: takes {takes}, got {given[wrong]} in environment {wrong}")
        return chosen

    def _seen(self, rows: NDArray[np.int64]) -> tuple[Observation, dict[str, Any]]:
        observation, info = pack(self._games.observation, self._games.action_mask.copy(), self.mask_in)
        return observation, self._only(rows, info)

    def _only(self, rows: NDArray[np.int64], info: dict[str, Any]) -> dict[str, Any]:
        """An info for these rows, as Gymnasium writes it: zeros elsewhere, and a flag for each row under ``_key``."""
        flags = self._flags(rows)
        for mask in info.values():
            mask[~flags] = 0
        return info | {f"_{key}": flags.copy() for key in info}

    def _flags(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        flags = np.zeros(self.num_envs, np.bool_)
        flags[rows] = True
        return flags

    def _final(self, rows: NDArray[np.int64]) -> dict[str, Any]:
        """The last observations and infos of the episodes that have ended in these rows."""
        if not rows.size:
            return {}
        final_obs = np.full(self.num_envs, None, dtype=object)
        for row in rows:
            mask = self._games.action_mask[row].copy()
            final_obs[row], _ = pack(self._games.observation[row].copy(), mask, self.mask_in)
        _, info = pack(self._games.observation, self._games.action_mask.copy(), self.mask_in)
        last = {"final_obs": final_obs, "final_info": self._only(rows, info)}
        return last | {f"_{key}": self._flags(rows) for key in last}


def check_autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    """The mode itself, or the one that has this value; a ValueError for anything else."""
    try:
        return AutoresetMode(mode)
    except ValueError:
        takes = " or ".join(repr(one.value) for one in AutoresetMode)
        raise ValueError(f"autoreset_mode: takes an AutoresetMode or {takes}, got {mode!r}") from None
