"""Where the buffers of a batch of games lie, in one record: kernels are then called with one address.

Numba looks at every argument of a kernel in each call, which for one game costs many times the step itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from block_env.observation import layout, layout_table
from block_env.state import BATCH, BUFFERS
from block_env.variants import Rules, rules_table

_NAMES = BATCH.names or ()
_COUNT = _NAMES.index("count")


class Batch:
    """A record of :data:`BATCH`, and the buffers whose addresses it holds; it keeps them alive.

    A copy or a pickle would hold addresses of what it does not have, so there it becomes None.

    Attributes:
        address: what kernels take.
        observation, action_mask, rewards, done, reasons: what they write.
        first_observation, first_mask: views of row 0 of these two.
        rows, seats, actions: what they read; int64 [N].

    Raises:
        TypeError: a buffer has not the dtype that kernels read at its address, or does not lie in one piece.
    """

    def __init__(self, buffers: dict[str, NDArray[Any]], **numbers: int) -> None:
        for name, dtype in BUFFERS.items():
            buffer = buffers[name]
            if (dtype is not None and buffer.dtype != dtype) or not buffer.flags.c_contiguous:
                raise TypeError(f"{name}: takes an array of {dtype} in one piece, got {buffer.dtype}")
        self._buffers = buffers
        addresses = {name: buffer.ctypes.data for name, buffer in buffers.items()}
        self._record = np.array([(addresses | numbers)[name] for name in _NAMES], np.int64)
        self.rows, self.seats, self.actions = (buffers[name] for name in ("rows", "seats", "actions"))
        self.observation, self.action_mask = buffers["observation"], buffers["action_mask"]
        self.first_observation, self.first_mask = self.observation[0], self.action_mask[0]
        self.rewards, self.done, self.reasons = (buffers[name] for name in ("rewards", "done", "reasons"))
        self.address = int(self._record.ctypes.data)

    @classmethod
    def of(cls, states: NDArray[Any], rules: Rules, history: bool, points: bool, redeal: bool, **buffers: Any) -> Batch:
        """All games of ``states``, with new buffers but for those given."""
        count, seats, width = len(states), rules.num_players, layout(rules, history).size
        fresh = {
            "states": states,
            "rules": rules_table(rules),
            "places": layout_table(rules, history),
            "rows": np.arange(count),
            "seats": np.full(count, -1, np.int64),
            "actions": np.zeros(count, np.int64),
            "observation": np.zeros((count, width), np.float32),
            "action_mask": np.zeros((count, rules.num_actions), np.int8),
            "rewards": np.zeros((count, seats), np.float32),
            "done": np.zeros(count, np.bool_),
            "reasons": np.zeros(count, np.int8),
        }
        numbers = {"num_games": count, "width": width, "num_actions": rules.num_actions, "num_players": seats}
        return cls(fresh | buffers, points=points, redeal=redeal, count=count, **numbers)

    def part(self, count: int) -> int:
        """The address, once the first ``count`` of ``rows`` are those that a call is about."""
        self._record[_COUNT] = count
        return self.address

    def __reduce__(self) -> tuple[Any, ...]:
        return _nothing, ()


def _nothing() -> None:
    return None
