"""What it takes to begin, and to stay: seconds to the first game, and memory. Each in a fresh Python process."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import Pair, Size, SkippedError, run_python
from benchmarks.training import needs_training
from block_env.play import Games

STATUS = Path("/proc/self/status")

IMPORT = """
import sys, time
start = time.perf_counter()
import block_env
took = time.perf_counter() - start
assert "torch" not in sys.modules, "block_env imports torch"
print(took)
"""

FIRST_STEP = """
import block_env
env = block_env.env()
env.reset(seed=1)
observation, *_ = env.last()
env.step(int(observation["action_mask"].argmax()))
"""

GAME = f"""{FIRST_STEP}
while env.agents:
    observation, _, terminated, truncated, _ = env.last()
    env.step(None if terminated or truncated else int(observation["action_mask"].argmax()))
"""

RESIDENT = """
def resident(field):
    \"\"\"VmRSS, or VmHWM for the peak, in bytes.\"\"\"
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(field))
    return 1024 * int(line.split()[1])
"""

BATCH = f"""{RESIDENT}
import sys
from block_env.play import Games
def play(count):
    games = Games(count, seed=1)
    for _ in range(20):
        games.step(games.action_mask.argmax(axis=1))
    return games
kept = play(1)  # loads what is compiled
before = resident("VmRSS")
kept = play(int(sys.argv[1]))
print((resident("VmRSS") - before) / int(sys.argv[1]))
"""

TRAIN = f"""{RESIDENT}
import sys, train
train.main(sys.argv[1:])
print(resident("VmHWM") / 1e6)
"""


# Seconds --------------------------------------------------------------------------------------------------------------


def _process(code: str, cache: Path) -> float:
    """Seconds from the start of a process to its end."""
    start = time.perf_counter()
    run_python(["-c", code], cache)
    return time.perf_counter() - start


def _first_game() -> float:
    with TemporaryDirectory() as cache:
        return _process(GAME, Path(cache))


def cold_row(size: Size) -> Pair:
    """The first game of ``env()`` with nothing compiled."""
    return Pair(_first_game)


def start_row(size: Size) -> Pair:
    """To the first step of ``env()``, compiled before."""
    cache = Path(tempfile.mkdtemp(prefix="compiled-"))
    atexit.register(shutil.rmtree, cache, ignore_errors=True)
    _process(FIRST_STEP, cache)
    return Pair(partial(_process, FIRST_STEP, cache))


def _import() -> float:
    return float(run_python(["-c", IMPORT]))


def import_row(size: Size) -> Pair:
    """``import block_env``, Python's own start left out."""
    _import()  # writes what Python compiles
    return Pair(_import)


# Memory ---------------------------------------------------------------------------------------------------------------


def _needs_status() -> None:
    if not STATUS.exists():
        raise SkippedError(f"This system does not say in {STATUS} what memory a process takes.")


def _last_number(arguments: list[str]) -> float:
    return float(run_python(arguments).splitlines()[-1])


def record_row(size: Size) -> Pair:
    """Bytes of the record that a game is played on."""
    return Pair(lambda: float(Games(size.memory_games).states.nbytes / size.memory_games))


def memory_row(size: Size) -> Pair:
    """Bytes that a game in ``Games`` adds to the process, records, observations and masks together."""
    _needs_status()
    return Pair(partial(_last_number, ["-c", BATCH, str(size.memory_games)]))


def _train_memory(steps: int) -> float:
    with TemporaryDirectory() as folder:
        return _last_number(["-c", TRAIN, "--steps", str(steps), "--out", f"{folder}/run", "--quiet"])


def train_memory_row(size: Size) -> Pair:
    """The most that train.py takes, in MB, over two iterations and more and the table at the end."""
    needs_training()
    _needs_status()
    return Pair(partial(_train_memory, 20_000))
