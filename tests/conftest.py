"""Fixtures for all tests."""

from __future__ import annotations

import zlib

import numpy as np
import pytest


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Chance that is the test's own and the same in every run."""
    return np.random.default_rng(zlib.crc32(request.node.name.encode()))
