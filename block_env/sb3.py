"""Block for Stable-Baselines3: the batch of :mod:`block_env.vector_env` as a ``VecEnv``, for ``MaskablePPO`` as it is.

This is the only module that imports Stable-Baselines3, which the extra ``block-env[train]`` installs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from block_env.game import Game, snapshot
from block_env.keywords import check_seed
from block_env.learner_games import Observation, table_picture
from block_env.vector_env import BlockVectorEnv

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError:
    raise ImportError("block_env.sb3 needs Stable-Baselines3: pip install 'block-env[train]'") from None


class BlockVecEnv(VecEnv):
    """N environments in one batch, as Stable-Baselines3 takes them: step for step equal to its ``DummyVecEnv``.

    A finished environment starts its next deal within the step; ``infos[i]["terminal_observation"]`` is the last
    observation. ``env_method("action_masks")`` gives the masks, as sb3-contrib asks for them. Policies:
    ``"MultiInputPolicy"``, or with ``mask_in="info"`` ``"MlpPolicy"``.

    Args:
        num_envs: N.
        keywords: as :class:`block_env.vector_env.BlockVectorEnv`, without ``autoreset_mode``.

    Raises:
        ValueError: a keyword's value, named in the message, is out of range.
    """

    def __init__(self, num_envs: int = 1, **keywords: Any) -> None:
        self._batch = BlockVectorEnv(num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **keywords)
        self._actions: Any = None
        super().__init__(num_envs, self._batch.single_observation_space, self._batch.single_action_space)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Environment i gets ``seed + i`` at the next reset; None draws one from fresh entropy. Returns the seeds.

        Raises:
            ValueError: the seed is no whole number from 0.
        """
        seed = check_seed(seed)
        fresh = int(np.random.SeedSequence().generate_state(1)[0])
        return super().seed(fresh if seed is None else seed)

    def reset(self) -> Observation:
        """Start new episodes, with the seeds and options that were set for it; they are then used up.

        Raises:
            ValueError: an option describes a position that can't be. Nothing has changed then.
        """
        observation, info = self._batch.reset_each(self._seeds, self._options)
        self.reset_infos = self._one_by_one(info)
        self._reset_seeds()
        self._reset_options()
        return observation

    def step_async(self, actions: NDArray[Any]) -> None:
        """Take the actions (int [N]) that :meth:`step_wait` will play."""
        self._actions = actions

    def step_wait(self) -> tuple[Observation, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Play: observations, rewards float32 [N], dones bool [N], infos.

        Raises:
            ValueError: an action is not in the space. Nothing has changed then.
        """
        observation, rewards, terminated, truncated, batched = self._batch.step(self._actions)
        self._actions = None  # each is played once
        infos, dones = self._one_by_one(batched), terminated | truncated
        last = self._one_by_one(batched.get("final_info", {}))
        for row in np.flatnonzero(dones):
            self.reset_infos[row] = infos[row]
            infos[row] = last[row] | {"terminal_observation": batched["final_obs"][row]}
        for info, cut in zip(infos, truncated.tolist(), strict=True):
            info["TimeLimit.truncated"] = cut
        return observation, rewards.astype(np.float32), dones, infos

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """With ``"rgb_array"`` a frame (uint8 [H, W, 3]) of each environment, or else None for each."""
        if self.render_mode != "rgb_array":
            return [None] * self.num_envs
        return self.env_method("render")

    def close(self) -> None:
        """Close the record, if there is one."""
        self._batch.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of each environment (:class:`OneOfBatch`); AttributeError if there is none of that name."""
        return [getattr(OneOfBatch(self._batch, index), attr_name) for index in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set ``opponent``, for all environments at once; AttributeError for anything else: all have the same."""
        if attr_name != "opponent" or indices is not None:
            raise AttributeError(f"attr_name: takes 'opponent', for all environments, got {attr_name!r}, {indices}")
        self._batch.opponent = value

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **keywords: Any) -> list[Any]:
        """Call a method of each environment (:class:`OneOfBatch`): ``action_masks`` or ``render``."""
        if (method_name, args, keywords) == ("action_masks", (), {}):  # asked for in every step
            return list(self._batch.action_masks()[list(self._get_indices(indices))])
        return [method(*args, **keywords) for method in self.get_attr(method_name, indices)]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """No environment of the batch is wrapped; ``VecMonitor`` and its like wrap the batch."""
        return [False for _ in self._get_indices(indices)]

    def _one_by_one(self, info: dict[str, Any]) -> list[dict[str, Any]]:
        if "action_mask" not in info:
            return [{} for _ in range(self.num_envs)]
        return [{"action_mask": mask} for mask in info["action_mask"]]


class OneOfBatch:
    """One environment of the batch, as ``get_attr`` and ``env_method`` meet it."""

    def __init__(self, batch: BlockVectorEnv, index: int) -> None:
        self.rules, self.opponent, self.mask_in = batch.rules, batch.opponent, batch.mask_in
        self.render_mode = batch.render_mode
        self.observation_space, self.action_space = batch.single_observation_space, batch.single_action_space
        self._batch, self._games, self._index = batch, batch._games, index

    @property
    def game(self) -> Game:
        """The whole truth, readable; not for players."""
        self._batch._check_reset("game")
        return snapshot(self._games.states[self._index], self.rules)

    @property
    def learner_seat(self) -> int:
        """The learner's seat in this episode."""
        self._batch._check_reset("learner_seat")
        return int(self._games.learner[self._index])

    def action_masks(self) -> NDArray[np.int8]:
        """The mask of the latest observation, int8 [A]."""
        self._batch._check_reset("action_masks")
        mask: NDArray[np.int8] = self._games.action_mask[self._index].copy()
        return mask

    def render(self) -> str | NDArray[np.uint8] | None:
        """The table as the learner sees it. ``"ansi"``: text. ``"rgb_array"``: uint8 [H, W, 3]. None: nothing."""
        self._batch._check_reset("render")
        return None if self.render_mode is None else table_picture(self._games, self._index, self.render_mode)
