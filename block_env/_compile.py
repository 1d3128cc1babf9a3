"""How kernels are compiled: with Numba, cached on disk, and without holding the GIL.

Numba caches per file and does not see changes in the files that a kernel calls into. So kernels call only kernels of
their own file. ``NUMBA_DISABLE_JIT=1`` runs the same source as plain Python, for debugging and coverage.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import event
from numpy.typing import NDArray

Record = Any
"""One game's record, or the record of its rules: fields are read and written as attributes."""

Word = Any
"""A NumPy ``uint64``: a set of tiles, or random bits."""

Int = Any
"""A whole number or a truth value; compiled runs make 64-bit ones, plain runs Python's or NumPy's."""

Array = NDArray[Any]

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function on its first call; it must not raise, allocate per game, or touch Python objects.

    A call from Python looks at every argument: an array costs many times what a number does. What is called for one
    game at a time, or thousands of times a second, takes one address (:class:`block_env.batch.Batch`).
    """
    return cast(Function, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def inlined(function: Function) -> Function:
    """A kernel that becomes part of those that call it: constants that they give it are known to the compiler."""
    return cast(Function, numba.njit(cache=True, nogil=True, error_model="numpy", forceinline=True)(function))


class _Announcer(event.Listener):
    """Tells people at a terminal what they are waiting for: one line a file, where the cache has nothing yet."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def on_start(self, event: Any) -> None:
        package, _, module = event.data["dispatcher"].py_func.__module__.rpartition(".")
        told = module.startswith("_") or module in self._told
        if package == "block_env" and not told and sys.stderr.isatty():
            self._told.add(module)
            print(f"block_env: compiling {module}, once on this machine", file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Announcer())  # type: ignore[no-untyped-call]
