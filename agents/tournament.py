"""All pairs of some agents on the same deals, by as many processes as there are cores, and their ratings.

The work is cut into chunks of deals (:func:`agents.evaluation.chunks`). What comes out of one follows from the seed,
its number and its two agents, and chunks are put together in their order: the number of processes changes nothing.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations, islice
from multiprocessing import get_context
from threading import Event, current_thread, main_thread

import agents
from agents.evaluation import Chunk, Log, PairResult, check_pair, chunks, play_chunk, result_of
from agents.ratings import PairScores, Ratings, bradley_terry
from block_env.policy import Player
from block_env.recording import RecordFile
from block_env.variants import Rules

SMALL = 100_000
"""Games up to which one process is faster than the start of several."""

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""What tells the libraries behind NumPy and torch that a process has one core to itself."""


@dataclass(frozen=True)
class Task:
    """What is to be played.

    Attributes:
        names: the agents, as :func:`agents.make` takes them.
        rules, unit, deals, seed: as :func:`agents.evaluation.play_pair` takes them.
    """

    names: tuple[str, ...]
    rules: Rules
    unit: str
    deals: int
    seed: int

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """All pairs, by the agents' places in ``names``."""
        return list(combinations(range(len(self.names)), 2))

    @property
    def games(self) -> int:
        """How many in all."""
        return len(self.pairs) * self.deals * self.rules.num_sides

    @property
    def jobs(self) -> list[tuple[int, int, int]]:
        """Pair, chunk and deals of each piece of the work."""
        sizes = list(chunks(self.deals))
        return [(pair, chunk, size) for pair in range(len(self.pairs)) for chunk, size in enumerate(sizes)]


@dataclass(frozen=True)
class Pairing:
    """How agent a did against agent b.

    Attributes:
        a, b: their names.
        result: the figures.
        scores: a's share of the games of each deal.
    """

    a: str
    b: str
    result: PairResult
    scores: Sequence[float]


def play(
    task: Task,
    workers: int | None = None,
    records: RecordFile | None = None,
    progress: Callable[[int], None] = lambda games: None,
) -> list[Pairing]:
    """Play all pairs.

    Args:
        task: what.
        workers: processes; None: one a core, or for few games this one alone, as always with ``records``.
        records: where every game is written.
        progress: told after each chunk how many games it had.

    Raises:
        ValueError: an agent cannot be made, an argument is out of range, or an agent chose no legal action.
    """
    policies = [agents.make(name, task.rules) for name in task.names]
    for a, b in task.pairs:
        check_pair(policies[a], policies[b], task.rules, task.deals, task.seed)
    count = workers or (1 if task.games <= SMALL else os.cpu_count() or 1)
    if records is not None or count == 1:
        played = _alone(task, policies, records, progress)
    else:
        played = _together(task, count, progress)
    joined = [Chunk.joined([played[job] for job in task.jobs if job[0] == pair]) for pair in range(len(task.pairs))]
    return [
        Pairing(task.names[a], task.names[b], result_of(chunk, task.rules), chunk.shares.mean(axis=1).tolist())
        for (a, b), chunk in zip(task.pairs, joined, strict=True)
    ]


def rate(pairings: Sequence[Pairing], rules: Rules) -> Ratings | None:
    """Bradley-Terry ratings of three or more agents; None for fewer, and where more than two sides play.

    The deals are the same for all pairs. ``random`` has 0, or where it does not play the first agent by name.
    """
    names = sorted({name for pairing in pairings for name in (pairing.a, pairing.b)})
    if len(names) < 3 or rules.num_sides != 2:
        return None
    deals = range(len(pairings[0].scores))
    scores = [PairScores(one.a, one.b, one.scores, list(deals)) for one in pairings if one.a != one.b]
    return bradley_terry(scores, anchor="random" if "random" in names else names[0])


# Processes ------------------------------------------------------------------------------------------------------------

Job = tuple[int, int, int]


def _play(task: Task, policies: Sequence[Player], job: Job, log: Log | None = None) -> Chunk:
    pair, chunk, size = job
    a, b = (policies[place] for place in task.pairs[pair])
    return play_chunk(a, b, task.rules, task.unit, size, [task.seed, chunk], log)


def _alone(
    task: Task, policies: Sequence[Player], records: RecordFile | None, progress: Callable[[int], None]
) -> dict[Job, Chunk]:
    for a, b in task.pairs:  # compiles what is not, so that no decision is charged for it
        play_chunk(policies[a], policies[b], task.rules, "round", 1, [task.seed])
    played = {}
    for job in task.jobs:
        a, b = task.pairs[job[0]]
        log = None if records is None else Log(records, (task.names[a], task.names[b]))
        played[job] = _play(task, policies, job, log)
        progress(played[job].won.size)
    return played


def _together(task: Task, count: int, progress: Callable[[int], None]) -> dict[Job, Chunk]:
    played: dict[Job, Chunk] = {}
    jobs, running = iter(task.jobs), dict[Future[Chunk], Job]()
    with _pool(task, min(count, len(task.jobs))) as pool, _ctrl_c_noted() as pressed:
        while len(played) < len(task.jobs):
            for job in islice(jobs, 4 * count - len(running)):
                running[pool.submit(_work, job)] = job
            done, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
            for future in done:
                played[running.pop(future)] = chunk = future.result()
                progress(chunk.won.size)
            if pressed.is_set():
                raise KeyboardInterrupt
    return played


@contextmanager
def _ctrl_c_noted() -> Iterator[Event]:
    """An event in place of the exception, which would come in the middle of anything, such as a lock that is held."""
    pressed = Event()
    if current_thread() is not main_thread():
        yield pressed
        return
    before = signal.signal(signal.SIGINT, lambda *_: pressed.set())
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _pool(task: Task, count: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that have made the agents, one thread each; after an error, or Ctrl-C, nothing more is begun."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    pool = ProcessPoolExecutor(count, get_context("spawn"), _begin, (task,))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


_task: Task
_policies: list[Player]


def _begin(task: Task) -> None:
    """A process starts; Ctrl-C is its parent's business."""
    global _task, _policies
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _task, _policies = task, [agents.make(name, task.rules) for name in task.names]
    for a, b in task.pairs:
        play_chunk(_policies[a], _policies[b], task.rules, "round", 1, [task.seed])


def _work(job: Job) -> Chunk:
    return _play(_task, _policies, job)


# What is shown --------------------------------------------------------------------------------------------------------


def rating_table(ratings: Ratings) -> str:
    """The ladder as text, best first, and how well it tells each pair's results."""
    width = max(map(len, ratings.names))
    lines = [
        f"{name:{width}}  {elo:+5.0f}  ({low:+.0f} to {high:+.0f})"
        for name, elo, low, high in zip(ratings.names, ratings.elo, ratings.low, ratings.high, strict=True)
    ]
    worst = max(ratings.pairs, key=lambda pair: abs(pair.z))
    return "\n".join(
        [
            f"{ratings.model} ratings on the Elo scale, {ratings.anchor} at 0; 95 % intervals over deals.",
            f"Farthest from them: {worst.a} v {worst.b}, {worst.observed:.1%} where they say {worst.expected:.1%}.",
            "",
            *lines,
        ]
    )
