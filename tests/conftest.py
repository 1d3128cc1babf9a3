"""Fixtures for all tests."""

from __future__ import annotations

import signal
import zlib

import numpy as np
import pytest


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Chance that is the test's own and the same in every run."""
    return np.random.default_rng(zlib.crc32(request.node.name.encode()))


def pytest_configure() -> None:
    """Heed Ctrl-C, for the programs that tests start: a shell's background job would have them ignore it for ever."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
