"""What a user waits for at the first start: compiling, which says so at a terminal, and nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import COMPILED

ROOT = Path(__file__).resolve().parents[1]
FIRST = """
import numpy as np
from block_env.opponents import make
from block_env.play import Games
policy = make("greedy")
for _ in range(2):
    policy.act(np.zeros((1, 121), np.float32), np.ones((1, 57), np.int8), None)
"""


def told(folder: Path, terminal: bool) -> str:
    """What the program above writes on stderr, which is a terminal or not."""
    master, slave = pty.openpty()
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    stderr = slave if terminal else subprocess.PIPE
    run = subprocess.run([sys.executable, "-c", FIRST], cwd=ROOT, env=environment, stderr=stderr, check=True)
    os.write(slave, b"end\n")
    text = os.read(master, 10_000).decode().replace("\r", "").removesuffix("end\n")
    os.close(master)
    os.close(slave)
    return text if terminal else run.stderr.decode()


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_the_first_start_says_what_is_compiled_and_later_ones_nothing(tmp_path: Path) -> None:
    assert told(tmp_path / "cache", terminal=True) == "block_env: compiling opponents, once on this machine\n"
    assert told(tmp_path / "cache", terminal=True) == ""
    assert told(tmp_path / "other", terminal=False) == ""
