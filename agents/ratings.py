"""Ratings from all results at once: Bradley-Terry, Plackett-Luce, how badly they fit, and the Nash mixture.

Nothing here is updated game by game, so that no order matters, and the agents' names do not either, to the bit: deals
are known by their numbers. (Deals without numbers get their random weights by their place, and intervals by chance.)
Ratings are on the Elo scale: 400 points are odds of ten to one, and the anchor has 0.

A record is what was won and among whom. In both models the chance that agent i comes first of a set S is
exp(r_i) / sum of exp(r_j) over S, and the log-likelihood is a sum of r_i over what was won less the sum of
log(sum of exp(r_j) over S) over the sets it was won in: pairs for Bradley-Terry (1952); for Plackett-Luce (Luce, 1959;
Plackett, 1975) those who had not yet finished, place by place. A draw is half a win for each; agents that tie in
a finish count by the mean over the orders they may have come in, which for two is the same.

Weak prior: to its games each agent adds ``prior`` virtual draws, shared evenly over the agents it has met (as in
R. Coulom's Bayeselo, 2005). It keeps all ratings finite: an agent that has won everything has lost a part of a game.
For two agents at the default, half a draw each, this is the Jeffreys prior.

Intervals are percentiles of the Bayesian bootstrap over deals (Rubin, Annals of Statistics 9, 1981): each deal gets a
random weight, the same in all pairs that played it, and so do the two halves of each virtual draw; without these an
agent that has won everything would have an interval without width. Percentiles lie further out than the level says by
what a t interval is wider than a normal one ("expanded", Hesterberg, The American Statistician 69, 2015).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog, minimize
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtr, stdtrit

from agents.intervals import LEVEL, check_level
from block_env.keywords import is_whole

ELO = 400 / np.log(10)
"""Elo points a unit of log odds."""

PRIOR = 0.5
"""Virtual draws an agent."""

DIGITS = 6
"""Decimals of ratings: below them lies the rounding of sums, which depends on their order."""

CHUNK = 50
"""Resamples that are solved side by side."""

SUPPORT = 1e-6
"""Chance in a mixture from which an agent counts as needed; the solver's own tolerance is 1e-7."""

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


@dataclass(frozen=True)
class PairScores:
    """What agent a scored against agent b.

    Attributes:
        a, b: names, which differ.
        scores: float [deals] in 0 to 1: a's mean share of the games of each deal, draws as half.
        deals: int [deals], which deals they were; pairs with the same numbers have played the same deals. None: this
            pair alone has played its deals.
    """

    a: str
    b: str
    scores: ArrayLike
    deals: ArrayLike | None = None


@dataclass(frozen=True)
class Standings:
    """How games of the same agents ended.

    Attributes:
        agents: names, one a seat; an agent may have several seats.
        ranks: numbers [games, seats], the lowest is the first to finish; equal ones tie. Points with a minus will do.
        deals: int [games], as in :class:`PairScores`; None: each game had its own deal.
    """

    agents: Sequence[str]
    ranks: ArrayLike
    deals: ArrayLike | None = None


@dataclass(frozen=True)
class PairFit:
    """How well two ratings tell what happened between the two.

    Attributes:
        a, b: names; a is rated higher.
        games: deals for Bradley-Terry, games for Plackett-Luce.
        observed: a's share: of the score, or of the games it finished before b; draws and ties as half.
        expected: the share that the ratings say.
        residual: observed, with the virtual draws, less expected.
        z: residual over its standard error; beyond 3 the ladder is not transitive here. 0 where it is 0 by necessity,
            as for two agents that met no others.
    """

    a: str
    b: str
    games: int
    observed: float
    expected: float
    residual: float
    z: float


@dataclass(frozen=True)
class Ratings:
    """A ladder, best first.

    Attributes:
        names: the agents, by rating and then by name.
        elo, low, high: float [agents], ratings and the ends of their intervals; all 0 for the anchor.
        model: ``"Bradley-Terry"`` or ``"Plackett-Luce"``.
        anchor: the agent that has 0.
        level: of the intervals.
        prior: virtual draws an agent.
        deals: how many different ones were played.
        pairs: all that met.
        samples: float [resamples, agents], ratings in each resample.
    """

    names: tuple[str, ...]
    elo: Floats
    low: Floats
    high: Floats
    model: str
    anchor: str
    level: float
    prior: float
    deals: int
    pairs: tuple[PairFit, ...]
    samples: Floats

    def rating(self, name: str) -> float:
        """One agent's; ValueError for one that is not rated."""
        return float(self.elo[self._index(name)])

    def difference(self, a: str, b: str) -> tuple[float, float, float]:
        """Rating of a less that of b, and the ends of its interval, which is often narrower than those of the two.

        Raises:
            ValueError: one is not rated.
        """
        first, second = self._index(a), self._index(b)
        low, high = _percentiles(self.samples[:, first] - self.samples[:, second], self.level, self.deals)
        return float(self.elo[first] - self.elo[second]), float(low), float(high)

    def expected(self, a: str, b: str) -> float:
        """Share of a against b that the ratings say; ValueError where one is not rated."""
        return float(expected_share(self.rating(a) - self.rating(b)))

    def as_dict(self) -> dict[str, object]:
        """For JSON, without the samples."""
        return {
            "model": self.model,
            "anchor": self.anchor,
            "level": self.level,
            "prior": self.prior,
            "deals": self.deals,
            "agents": [
                {"name": name, "elo": float(elo), "low": float(low), "high": float(high)}
                for name, elo, low, high in zip(self.names, self.elo, self.low, self.high, strict=True)
            ],
            "pairs": [vars(pair).copy() for pair in self.pairs],
        }

    def _index(self, name: str) -> int:
        if name not in self.names:
            raise ValueError(f"name: takes one of {', '.join(self.names)}, got {name!r}")
        return self.names.index(name)


def expected_share(difference: ArrayLike) -> Floats:
    """Of one rated so many Elo points higher, elementwise."""
    return np.asarray(1 / (1 + 10 ** (-np.asarray(difference, dtype=np.float64) / 400)))


def bradley_terry(
    results: Iterable[PairScores],
    anchor: str = "random",
    prior: float = PRIOR,
    level: float = LEVEL,
    resamples: int = 1000,
    seed: int = 0,
) -> Ratings:
    """Rate agents by their scores in pairs, a deal counting as one game.

    Args:
        results: those of each pair; the order and which of two is a do not matter.
        anchor: name of the agent that gets 0.
        prior: virtual draws an agent, above 0.
        level: how often an interval is to hold the truth.
        resamples: of the bootstrap.
        seed: starts the bootstrap.

    Raises:
        ValueError: an argument or a result is out of range, the anchor has not played, or agents fall into groups that
            did not meet, which the message names.
    """
    return _rate(_pair_outcomes(results), "Bradley-Terry", anchor, prior, level, resamples, seed)


def plackett_luce(
    results: Iterable[Standings],
    anchor: str = "random",
    prior: float = PRIOR,
    level: float = LEVEL,
    resamples: int = 1000,
    seed: int = 0,
) -> Ratings:
    """Rate agents by the order they finished in, for three and more seats; arguments and errors as `bradley_terry`."""
    return _rate(_finish_outcomes(results), "Plackett-Luce", anchor, prior, level, resamples, seed)


@dataclass(frozen=True)
class _Outcome:
    """One way for games of the same agents to end, and how often it came.

    Attributes:
        agents: names, one a seat.
        places: for each seat, before how many seats another has finished; 0 is the first.
        counts: float [n], how often in each of the deals.
        deals: int [n], their numbers; None: they are the entry's own.
        entry: number of the results that it is of.
    """

    agents: tuple[str, ...]
    places: tuple[int, ...]
    counts: Floats
    deals: Ids | None
    entry: int


def _pair_outcomes(results: Iterable[PairScores]) -> list[_Outcome]:
    """A score is so much of a win, and the rest of it a loss."""
    outcomes = []
    for entry, pair in enumerate(results):
        if pair.a == pair.b:
            raise ValueError(f"results: takes pairs of different agents, got {pair.a!r} against itself")
        scores = np.asarray(pair.scores, dtype=np.float64)
        if scores.ndim != 1 or not scores.size or not ((scores >= 0) & (scores <= 1)).all():
            raise ValueError(
                f"scores: takes numbers in 0 to 1, one for each of some deals, for {pair.a} against {pair.b}"
            )
        deals = _deal_numbers(pair.deals, len(scores))
        outcomes.append(_Outcome((pair.a, pair.b), (0, 1), scores, deals, entry))
        outcomes.append(_Outcome((pair.a, pair.b), (1, 0), 1 - scores, deals, entry))
    return outcomes


def _finish_outcomes(results: Iterable[Standings]) -> list[_Outcome]:
    outcomes = []
    for entry, games in enumerate(results):
        agents, ranks = tuple(games.agents), np.asarray(games.ranks, dtype=np.float64)
        if len(set(agents)) < 2:
            raise ValueError(f"agents: takes two different ones at least, got {agents}")
        if ranks.ndim != 2 or ranks.shape[1] != len(agents) or not len(ranks) or np.isnan(ranks).any():
            raise ValueError(f"ranks: takes numbers [games, {len(agents)}] for {agents}, got shape {ranks.shape}")
        deals = _deal_numbers(games.deals, len(ranks))
        orders, kind = np.unique((ranks[:, :, None] > ranks[:, None, :]).sum(axis=2), axis=0, return_inverse=True)
        for index, order in enumerate(orders):
            counts = (kind.reshape(-1) == index).astype(np.float64)
            outcomes.append(_Outcome(agents, tuple(map(int, order)), counts, deals, entry))
    return outcomes


def _deal_numbers(deals: ArrayLike | None, count: int) -> Ids | None:
    if deals is None:
        return None
    numbers = np.asarray(deals)
    if numbers.shape != (count,) or not np.issubdtype(numbers.dtype, np.integer):
        raise ValueError(
            f"deals: takes a whole number for each of {count} results, got {numbers.dtype} {numbers.shape}"
        )
    return numbers.astype(np.int64)


Kind = tuple[tuple[int, int], ...]
"""Agent and place of each seat, sorted: how a game ended, whoever sat where."""


@dataclass(frozen=True)
class _Record:
    """All outcomes, counted.

    Attributes:
        counts: [deals, kinds], how often which kind of outcome came in which deal.
        sets: float [sets, agents], seats of each agent in each set; the pairs that met come first, in their order.
        pairs: int [pairs, 2], the two agents.
        wins, in_sets: float [kinds, agents] and [kinds, sets], what a kind of outcome adds.
        ahead, met: float [kinds, pairs]: share of the first before the second, and whether both were there.
    """

    counts: csr_array
    sets: Floats
    pairs: Ids
    wins: Floats
    in_sets: Floats
    ahead: Floats
    met: Floats


def _record(outcomes: Sequence[_Outcome], names: Sequence[str]) -> _Record:
    """The outcomes with agents numbered as in ``names``; the same whatever their order."""
    number = {name: index for index, name in enumerate(names)}
    kind_of = [_kind(outcome, number) for outcome in outcomes]
    kinds = sorted(set(kind_of))
    stages = [_stages(kind) for kind in kinds]
    leads = [_leads(kind) for kind in kinds]
    pairs = sorted({pair for lead in leads for pair in lead})
    sets = [*pairs, *sorted({among for _, told in stages for among in told} - set(pairs))]
    return _Record(
        counts=_counted(outcomes, kind_of, kinds),
        sets=np.array([np.bincount(among, minlength=len(names)) for among in sets], dtype=np.float64),
        pairs=np.array(pairs, dtype=np.int64),
        wins=_table([wins for wins, _ in stages], list(range(len(names)))),
        in_sets=_table([told for _, told in stages], sets),
        ahead=_table(leads, pairs),
        met=_table([dict.fromkeys(lead, 1.0) for lead in leads], pairs),
    )


def _kind(outcome: _Outcome, number: Mapping[str, int]) -> Kind:
    return tuple(sorted(zip((number[name] for name in outcome.agents), outcome.places, strict=True)))


def _table(rows: Sequence[Mapping[Any, float]], columns: Sequence[Any]) -> Floats:
    return np.array([[row.get(column, 0.0) for column in columns] for row in rows])


def _stages(kind: Kind) -> tuple[dict[int, float], dict[tuple[int, ...], float]]:
    """What each agent won, and among whom it was won: place by place, who comes first of those not yet finished.

    Of agents that tie any may have come in first: each set of so many left counts equally.
    """
    wins, sets = dict.fromkeys((agent for agent, _ in kind), 0.0), dict[tuple[int, ...], float]()
    for place in {place for _, place in kind}:
        tied = [agent for agent, its in kind if its == place]
        behind = [agent for agent, its in kind if its > place]
        for size in range(1, len(tied) + 1):
            choices = list(combinations(tied, size))
            for left in choices:
                among = tuple(sorted([*left, *behind]))
                if len(among) > 1:
                    sets[among] = sets.get(among, 0.0) + 1 / len(choices)
                    for agent in left:
                        wins[agent] += 1 / len(choices) / size
    return wins, sets


def _leads(kind: Kind) -> dict[tuple[int, int], float]:
    """Pairs of agents, the lower number first, to the share of their seats in which the first finished before."""
    shares: dict[tuple[int, int], list[float]] = {}
    for (a, its), (b, others) in combinations(kind, 2):
        if a != b:
            shares.setdefault((a, b), []).append((its < others) + (its == others) / 2)
    return {pair: float(np.mean(share)) for pair, share in shares.items()}


def _counted(outcomes: Sequence[_Outcome], kind_of: Sequence[Kind], kinds: Sequence[Kind]) -> csr_array:
    """How often each kind came in each deal, [deals, kinds]: shared deals by their numbers, then those of one entry."""
    shared = np.unique(np.concatenate([np.zeros(0, np.int64), *(o.deals for o in outcomes if o.deals is not None)]))
    starts, count = _own_deals(outcomes, kind_of, len(shared))
    column = {kind: index for index, kind in enumerate(kinds)}
    values = np.concatenate([outcome.counts for outcome in outcomes])
    rows = np.concatenate([_deal_rows(outcome, shared, starts) for outcome in outcomes])
    columns = np.concatenate([np.full(len(o.counts), column[kind]) for o, kind in zip(outcomes, kind_of, strict=True)])
    return csr_array(coo_array((values, (rows, columns)), shape=(count, len(kinds))))


def _own_deals(outcomes: Sequence[_Outcome], kind_of: Sequence[Kind], count: int) -> tuple[dict[int, int], int]:
    """The first row of each entry that alone has its deals, after ``count`` rows, and how many rows there are then."""
    starts = dict[int, int]()
    for index in sorted(range(len(kind_of)), key=lambda index: (kind_of[index], outcomes[index].counts.tobytes())):
        outcome = outcomes[index]
        if outcome.deals is None and outcome.entry not in starts:
            starts[outcome.entry] = count
            count += len(outcome.counts)
    return starts, count


def _deal_rows(outcome: _Outcome, shared: Ids, starts: Mapping[int, int]) -> Ids:
    if outcome.deals is None:
        return starts[outcome.entry] + np.arange(len(outcome.counts))
    return np.asarray(np.searchsorted(shared, outcome.deals))


def _rate(
    outcomes: list[_Outcome], model: str, anchor: str, prior: float, level: float, resamples: int, seed: int
) -> Ratings:
    names = sorted({name for outcome in outcomes for name in outcome.agents})
    _check(names, anchor, prior, level, resamples)
    record = _record(outcomes, names)
    _check_connected(record.pairs, names)
    elo = _Fit(record, prior).rated(names.index(anchor))
    names = [names[index] for index in sorted(range(len(names)), key=lambda index: (-elo[index], names[index]))]
    fit = _Fit(_record(outcomes, names), prior)  # numbered by strength, so that names do not matter
    at = names.index(anchor)
    elo = fit.rated(at)
    samples, residuals = fit.resampled(at, resamples, seed)
    deals, pairs = fit.record.counts.shape[0], fit.pair_fits(names, residuals)
    low, high = _percentiles(samples, level, deals)
    return Ratings(tuple(names), elo, low, high, model, anchor, level, prior, deals, pairs, samples)


def _check(names: Sequence[str], anchor: str, prior: float, level: float, resamples: int) -> None:
    if anchor not in names:
        raise ValueError(f"anchor: takes an agent that has played ({', '.join(names)}), got {anchor!r}")
    if not 0 < prior < np.inf:
        raise ValueError(f"prior: takes a number of draws above 0, got {prior!r}")
    if not is_whole(resamples) or resamples < 2:
        raise ValueError(f"resamples: takes a whole number from 2, got {resamples!r}")
    check_level(level)


def _check_connected(pairs: Ids, names: Sequence[str]) -> None:
    met = coo_array((np.ones(len(pairs)), pairs.T), shape=(len(names), len(names)))
    count, group = connected_components(met, directed=False)
    if count > 1:
        groups = ["{" + ", ".join(np.array(names)[group == index]) + "}" for index in range(count)]
        raise ValueError(
            f"results: takes agents that hang together by games, these groups never met: {' '.join(groups)}"
        )


class _Fit:
    """The ratings of a record, and of its resamples."""

    def __init__(self, record: _Record, prior: float) -> None:
        self.record = record
        degree = np.bincount(record.pairs.reshape(-1), minlength=record.sets.shape[1])
        self._half = prior / 2 * (1 / degree)[record.pairs].sum(axis=1)
        """Virtual wins, and virtual losses, of the first of each pair."""
        self._total = record.counts.sum(axis=0)[None]
        halves = np.repeat(self._half[None, :, None], 2, axis=2)
        self._theta = self._solve(self._total, halves, np.zeros((1, record.sets.shape[1])))
        self._shares = self._observed(self._total, halves), self._expected(self._theta)

    def rated(self, anchor: int) -> Floats:
        """Elo points [agents]."""
        return np.asarray(_elo(self._theta, anchor)[0])

    def resampled(self, anchor: int, resamples: int, seed: int) -> tuple[Floats, Floats]:
        """Elo points [resamples, agents] and residuals [resamples, pairs] of the Bayesian bootstrap."""
        weigh, draw = (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2))
        deals = self.record.counts.shape[0]
        rated, residuals = [], []
        for start in range(0, resamples, CHUNK):
            size = min(CHUNK, resamples - start)
            totals = np.array([weigh.standard_exponential(deals) @ self.record.counts for _ in range(size)])
            shape = (size, len(self._half), 2)
            halves = draw.standard_gamma(np.broadcast_to(self._half[:, None], shape))
            halves = np.maximum(halves, self._half[:, None] / 1000)  # an odd of 0 would be an infinite rating
            theta = self._solve(totals, halves, np.broadcast_to(self._theta, (size, self._theta.shape[1])))
            rated.append(_elo(theta, anchor))
            residuals.append(self._observed(totals, halves) - self._expected(theta))
        return np.concatenate(rated), np.concatenate(residuals)

    def pair_fits(self, names: Sequence[str], residuals: Floats) -> tuple[PairFit, ...]:
        """Every pair's, with the spread of its residual over resamples."""
        met, ahead = (self._total @ self.record.met)[0], (self._total @ self.record.ahead)[0]
        observed, expected = self._shares
        fits = []
        for index, (a, b) in enumerate(self.record.pairs):
            residual, error = float(observed[0, index] - expected[0, index]), float(residuals[:, index].std())
            fits.append(
                PairFit(
                    a=names[a],
                    b=names[b],
                    games=round(met[index]),
                    observed=float(ahead[index] / met[index]),
                    expected=float(expected[0, index]),
                    residual=round(residual, 9),
                    z=round(residual / error, DIGITS) if error > 1e-9 else 0.0,
                )
            )
        return tuple(fits)

    def _solve(self, totals: Floats, halves: Floats, start: Floats) -> Floats:
        """Log strengths [B, agents] for kinds counted [B, kinds] and virtual wins and losses [B, pairs, 2]."""
        record = self.record
        wins, counts = totals @ record.wins, totals @ record.in_sets
        for side in (0, 1):
            to_agent = np.eye(wins.shape[1])[record.pairs[:, side]]
            wins = wins + halves[:, :, side] @ to_agent
        counts[:, : len(record.pairs)] += halves.sum(axis=2)
        return _newton(wins, counts, record.sets, start)

    def _observed(self, totals: Floats, halves: Floats) -> Floats:
        """Share [B, pairs] of the first, with the virtual draws."""
        ahead, met = totals @ self.record.ahead, totals @ self.record.met
        observed: Floats = (ahead + halves[:, :, 0]) / (met + halves.sum(axis=2))
        return observed

    def _expected(self, theta: Floats) -> Floats:
        first, second = self.record.pairs.T
        return expected_share(ELO * (theta[:, first] - theta[:, second]))


def _newton(wins: Floats, counts: Floats, sets: Floats, start: Floats) -> Floats:
    """Where wins . theta - counts . log(sets . exp(theta)) is largest, theta [B, agents], by damped Newton steps.

    Args:
        wins: float [B, agents].
        counts: float [B, sets].
        sets: float [sets, agents].
        start: float [B, agents].
    """
    theta: Floats = start - start.mean(axis=1, keepdims=True)
    flat = np.ones((theta.shape[1], theta.shape[1]))  # adding one to all strengths changes nothing: keep their mean
    for _ in range(200):
        weight = sets * np.exp(theta)[:, None]
        chance = weight / weight.sum(axis=2, keepdims=True)
        expected = counts[:, :, None] * chance
        gradient = wins - expected.sum(axis=1)
        curvature = -expected.swapaxes(1, 2) @ chance
        np.einsum("bii->bi", curvature)[...] += expected.sum(axis=1)
        step = np.linalg.solve(curvature + flat, gradient[:, :, None])[:, :, 0]
        theta += np.clip(step, -1, 1)
        if np.abs(step).max() < 1e-7:  # the step after this one would be its square
            return theta
    raise ArithmeticError("ratings: the fit did not converge")


def _elo(theta: Floats, anchor: int) -> Floats:
    elo: Floats = np.round(ELO * (theta - theta[:, anchor : anchor + 1]), DIGITS) + 0.0  # no -0
    return elo


def _percentiles(samples: Floats, level: float, deals: int) -> Floats:
    """Ends of the interval over samples [resamples, ...], float [2, ...]."""
    degrees = max(deals - 1, 1)
    tail = ndtr(np.sqrt((degrees + 1) / degrees) * stdtrit(degrees, (1 - level) / 2))
    ends: Floats = np.quantile(samples, [tail, 1 - tail], axis=0)
    return ends


@dataclass(frozen=True)
class NashMixture:
    """The mixture over agents that no agent beats, where choosing an agent is itself a game.

    Attributes:
        names: the agents, by name.
        mixture: float [agents], chances; 0 for those that no best mixture needs.
        against: float [agents], points of each agent against the mixture: 0 for those in it, none above.
    """

    names: tuple[str, ...]
    mixture: Floats
    against: Floats

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            "agents": [
                {"name": name, "chance": float(chance), "points": float(points)}
                for name, chance, points in zip(self.names, self.mixture, self.against, strict=True)
            ]
        }


def nash_mixture(names: Sequence[str], points: ArrayLike) -> NashMixture:
    """The maximum-entropy Nash equilibrium of the zero-sum game in which both sides choose an agent.

    There may be many equilibria; the one of most entropy is unique, and treats equal agents equally (Balduzzi, Tuyls,
    Perolat and Graepel, "Re-evaluating Evaluation", 2018). If there is but one, an agent that is entered twice shares
    its chance between the two, and nothing else changes; ratings may change.

    Args:
        names: the agents, which differ.
        points: float [agents, agents], of the row's agent against the column's; minus its transpose.

    Raises:
        ValueError: the matrix has another shape, is not antisymmetric or not finite, or a name comes twice.
    """
    names, matrix = list(names), np.asarray(points, dtype=np.float64)
    if len(set(names)) != len(names) or not names:
        raise ValueError(f"names: takes different names, got {names}")
    if matrix.shape != (len(names), len(names)) or not np.isfinite(matrix).all():
        raise ValueError(f"points: takes a number for each of {len(names)} x {len(names)} pairs, got {matrix.shape}")
    if not np.allclose(matrix, -matrix.T, rtol=1e-9, atol=1e-9):
        raise ValueError("points: takes a matrix that is minus its transpose: what one wins the other loses")
    order = sorted(range(len(names)), key=names.__getitem__)
    matrix = matrix[np.ix_(order, order)]
    mixture = _most_entropy((matrix - matrix.T) / 2 / (np.abs(matrix).max() or 1.0))
    rounded = (np.round(numbers, DIGITS) + 0.0 for numbers in (mixture, matrix @ mixture))
    return NashMixture(tuple(names[index] for index in order), *rounded)


def _most_entropy(game: Floats) -> Floats:
    """Chances [n] for an antisymmetric game [n, n] whose largest entry is 1."""
    corners = np.array([_favouring(game, agent) for agent in range(len(game))])
    needed = np.flatnonzero(corners.max(axis=0) > SUPPORT)
    binding = np.isin(np.arange(len(game)), needed)  # no equilibrium gains against those: equalities (Goldman, Tucker)
    chances = np.zeros(len(game))
    chances[needed] = _tilted(game[needed], binding)
    return chances


def _favouring(game: Floats, agent: int) -> Floats:
    """The equilibrium that gives one agent the most, chances [n], by linear programming."""
    size = len(game)
    found = linprog(
        -np.eye(size)[agent], A_ub=-game.T, b_ub=np.zeros(size), A_eq=np.ones((1, size)), b_eq=[1.0], method="highs-ds"
    )
    if found.status != 0:
        raise ArithmeticError(f"ratings: no equilibrium found: {found.message}")
    return np.asarray(found.x)


def _tilted(game: Floats, binding: NDArray[np.bool_]) -> Floats:
    """Of the chances over rows [m] of a game [m, n] that lose to no column, those of most entropy.

    They are exp(game . y) up to scale; y, one a column, is a free number where the constraint is an equality, else not
    negative, and minimises the log of the sum (the dual problem, which is smooth and convex).
    """

    def tilted(prices: Floats) -> tuple[float, Floats]:
        heights = game @ prices
        weights = np.exp(heights - heights.max())
        return float(heights.max() + np.log(weights.sum())), game.T @ weights / weights.sum()

    bounds = [(None, None) if equal else (0, None) for equal in binding]
    options = {"maxiter": 100_000, "maxfun": 1_000_000, "ftol": 0, "gtol": 1e-10, "maxcor": 50}
    found = minimize(tilted, np.zeros(len(binding)), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    heights = game @ found.x
    weights = np.exp(heights - heights.max())
    return np.asarray(weights / weights.sum())
