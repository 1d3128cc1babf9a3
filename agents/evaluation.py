"""Paired evaluation: two agents on the same deals, in every rotation over the seats, with intervals over deals.

The unit of chance is the deal. Each is played once for every seating of the two agents, so that the luck of the hands
and of the opening cancels; a result is a mean over deals, with its interval (:mod:`agents.intervals`). Deals are played
in chunks, each of which follows from the seed, its number and the two agents alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agents.intervals import Moments, mean, multiplicity_note, share
from block_env.keywords import check_seed, is_whole
from block_env.play import Games, play_out
from block_env.policy import Player, Policy, Seer, needs_history
from block_env.recording import Recorder, RecordFile
from block_env.variants import Rules

CHUNK = 2048
"""Deals played side by side. Part of the result: agents that draw random numbers draw them chunk by chunk."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class PairResult:
    """How agent a did against agent b, from a's side.

    Attributes:
        deals, rounds, games: how many were played; ``games`` is ``deals`` times the seatings.
        points, points_ci: points a round and their 95 % interval.
        share, share_ci: share of games (rounds, for the unit "round") won, a draw counting one part of as many as there
            are sides, so that equal agents have ``fair_share``; and its 95 % interval.
        fair_share: 1 over the number of sides.
        wins, draws, losses: games by their end.
        blocked_share: share of rounds that ended blocked.
        ms_a, ms_b: milliseconds a decision; forced moves are none.
    """

    deals: int
    rounds: int
    games: int
    points: float
    points_ci: Interval
    share: float
    share_ci: Interval
    fair_share: float
    wins: int
    draws: int
    losses: int
    blocked_share: float
    ms_a: float
    ms_b: float


def seatings(rules: Rules) -> NDArray[np.int64]:
    """Who sits where, int [seatings, seats]: 0 is agent a, 1 is agent b.

    Agent a takes each side in turn: one seat against b in all others, or in partnership both seats of a side.
    """
    sides = np.arange(rules.num_players) % rules.num_sides
    return np.array([(sides != side).astype(np.int64) for side in range(rules.num_sides)])


@dataclass(frozen=True)
class Log:
    """Where the games of a pair are recorded, and what its agents are called there."""

    file: RecordFile
    names: tuple[str, str]

    def recorder(self, rules: Rules) -> Recorder:
        """For a chunk of games, whose rows go through the seatings again and again."""
        table = seatings(rules)
        return Recorder(self.file, rules, lambda row: [self.names[agent] for agent in table[row % len(table)]])


def play_pair(
    a: Player, b: Player, rules: Rules, unit: str = "round", deals: int = 1000, seed: int = 0, log: Log | None = None
) -> PairResult:
    """Play ``deals`` deals (matches, for the unit "match") in every seating of a and b.

    The same arguments give the same result (but for the time taken), and the first deals of a longer evaluation are
    those of a shorter one.

    Args:
        a: the agent whose results they are.
        b: its opponent, in all other seats.
        rules: what is played; the unit "round" takes the first round of its game.
        unit: ``"round"`` or ``"match"``.
        deals: how many, from 2.
        seed: starts deals and agents' chance, a whole number from 0.
        log: where every game is recorded, for the unit "round" as an unfinished one; None: nowhere.

    Raises:
        ValueError: an argument, named in the message, is out of range, an agent was made for other rules, or one
            chose an action that is not legal.
    """
    check_pair(a, b, rules, deals, seed)
    play_chunk(a, b, rules, "round", 1, [seed])  # compiles what is not, so that no decision is charged for it
    parts = [play_chunk(a, b, rules, unit, size, [seed, index], log) for index, size in enumerate(chunks(deals))]
    return result_of(Chunk.joined(parts), rules)


def result_of(chunk: Chunk, rules: Rules) -> PairResult:
    """What the deals of a chunk, or of several, say of the two agents."""
    sides, seatings = rules.num_sides, chunk.won.shape[1]
    decisions, seconds = chunk.decisions.sum(axis=0), chunk.seconds.sum(axis=0)
    # Shared losses (float32) are parts of one less than the sides, drawn games of the sides: sums of whole numbers.
    scale = sides - 1
    points = mean(Moments.of(np.rint(scale * chunk.points).sum(axis=1), scale * chunk.rounds.sum(axis=1)))
    won = share(Moments.of(sides * chunk.shares.sum(axis=1), sides * seatings))
    draws, wins = int((chunk.winners < 0).sum()), int(chunk.won.sum())
    rounds, games = int(chunk.rounds.sum()), chunk.won.size
    return PairResult(
        deals=len(chunk.won),
        rounds=rounds,
        games=games,
        points=points.value,
        points_ci=(points.low, points.high),
        share=won.value,
        share_ci=(won.low, won.high),
        fair_share=1 / sides,
        wins=wins,
        draws=draws,
        losses=games - wins - draws,
        blocked_share=float(chunk.blocked.sum()) / rounds,
        ms_a=1000 * float(seconds[0]) / max(int(decisions[0]), 1),
        ms_b=1000 * float(seconds[1]) / max(int(decisions[1]), 1),
    )


def check_pair(a: Player, b: Player, rules: Rules, deals: int, seed: int) -> None:
    """ValueError for arguments of :func:`play_pair` that are out of range; the message names them."""
    if not isinstance(rules, Rules):
        raise ValueError(f"rules: takes a Rules, such as Rules.preset('match'), got {rules!r}")
    for name, policy in (("a", a), ("b", b)):
        if not isinstance(policy, Policy | Seer) or isinstance(policy, type):
            raise ValueError(f"{name}: takes a Policy, such as agents.make('greedy'), got {policy!r}")
        made_for = getattr(policy, "rules", rules)
        if made_for != rules:
            raise ValueError(f"{name}: takes an agent made for {rules}, this one was made for {made_for}")
    if not is_whole(deals) or deals < 2:
        raise ValueError(f"deals: takes a whole number from 2, got {deals!r}")
    if check_seed(seed) is None:
        raise ValueError("seed: takes a whole number from 0, got None")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Deals of a pair, from a's side: arrays [deals, seatings]; and [1, 2], decisions and seconds of a and b."""

    points: NDArray[np.float64]
    shares: NDArray[np.float64]
    won: NDArray[np.bool_]
    winners: NDArray[np.int64]
    rounds: NDArray[np.int64]
    blocked: NDArray[np.int64]
    decisions: NDArray[np.int64]
    seconds: NDArray[np.float64]

    @classmethod
    def joined(cls, parts: Sequence[Chunk]) -> Chunk:
        """All of these, in this order."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__slots__))


def chunks(deals: int) -> Iterator[int]:
    """The sizes of the chunks that so many deals are played in."""
    for start in range(0, deals, CHUNK):
        yield min(CHUNK, deals - start)


def play_chunk(
    a: Player, b: Player, rules: Rules, unit: str, deals: int, entropy: list[int], log: Log | None = None
) -> Chunk:
    """Play so many deals in every seating; what they are follows from ``entropy``."""
    table = seatings(rules)
    count = len(table)
    deal_seed, play_seed = np.random.SeedSequence(entropy).generate_state(2, np.uint64)
    history = needs_history(a) or needs_history(b)
    recorder = None if log is None else log.recorder(rules)
    games = Games(
        deals * count,
        rules,
        reward="points",
        history=history,
        seed=int(deal_seed),
        auto_reset=False,
        copies=count,
        record=recorder,
    )
    tally = play_out(games, [a, b], np.tile(table, (deals, 1)), np.random.default_rng(play_seed), unit)
    if recorder is not None:
        recorder.leave(range(games.num_games))
    shape = (deals, count)
    side = np.tile(np.arange(count), deals)  # in seating k agent a has side k, and with it seat k
    won = tally.winners == side
    return Chunk(
        points=tally.points[np.arange(len(side)), side].reshape(shape),
        shares=np.where(tally.winners < 0, 1 / rules.num_sides, won).reshape(shape),
        won=won.reshape(shape),
        winners=tally.winners.reshape(shape),
        rounds=tally.rounds.reshape(shape),
        blocked=tally.blocked.reshape(shape),
        decisions=tally.decisions[None],
        seconds=tally.seconds[None],
    )


def score_table(pairs: list[tuple[str, str, PairResult]], rules: Rules, unit: str, deals: int, seed: int) -> str:
    """The results as text, a line a pair, with everything that a figure needs to be understood."""
    head = (
        "a",
        "b",
        "points a round",
        "",
        f"share of {'rounds' if unit == 'round' else 'matches'}",
        "",
        "ms a",
        "ms b",
    )
    rows = [head] + [
        (
            a,
            b,
            f"{result.points:+.2f}",
            f"({result.points_ci[0]:+.2f} to {result.points_ci[1]:+.2f})",
            f"{result.share:.1%}",
            f"({result.share_ci[0]:.1%} to {result.share_ci[1]:.1%})",
            f"{result.ms_a:.3f}",
            f"{result.ms_b:.3f}",
        )
        for a, b, result in pairs
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    games = len(seatings(rules))
    note = (
        f"Block, {rules.name}, {rules.num_players} players; {deals} {'deals' if unit == 'round' else 'matches'} "
        f"a pair, each in all {games} seatings; seed {seed}.\n"
        f"From a's side, 95 % intervals over deals; even is {1 / rules.num_sides:.1%}. ms: milliseconds a decision."
    )
    return "\n".join([note, *([multiplicity_note(len(pairs))] if len(pairs) > 1 else []), "", *lines])
