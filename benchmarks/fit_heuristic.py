"""Fit the weights of the ``heuristic`` opponent (block_env/opponents.py), or measure those it has.

The cross-entropy method: draw weights around a mean, play each candidate, move the mean and the spread to the best
ones, and again. A candidate's worth is its points per round against ``greedy`` and against the current mean, on the
same deals for all candidates of an iteration, added up over two rule sets in units of each one's spread. Every deal is
played once for each side the candidate can sit on. The mean starts at greedy's play: pips count one, all else nothing.

    python benchmarks/fit_heuristic.py              # fits (five minutes of one core), measures on fresh deals
    python benchmarks/fit_heuristic.py --measure    # measures the weights in opponents.py
"""

from __future__ import annotations

import argparse
import dataclasses

import numpy as np
from numpy.typing import NDArray

from block_env.opponents import HeuristicPolicy, Weights, make
from block_env.play import Games, play_out
from block_env.policy import Policy
from block_env.variants import Rules

RULE_SETS = {
    "two": Rules(),
    "three": Rules(3),
    "four": Rules(4),
    "partnership": Rules(4, partnership=True),
    "draw": Rules(draw=True),
}
"""Single rounds, opened by lot."""

FITTED_ON = ("two", "partnership")
"""The others measure what these weights are worth elsewhere."""

GREEDY = Weights(**{field.name: float(field.name == "pips") for field in dataclasses.fields(Weights)})
SPREAD = Weights(
    0, double=2, weaker_end=2, stuck=2, sure_ends=2, unseen_fits=2, opponents_pass=4, partner_passes=4, block=0.5
)
"""Standard deviation of the first candidates; pips stay one, the unit."""


def duel(one: Policy, rest: Policy, rules: Rules, deals: int, seed: int) -> tuple[NDArray[np.float64], ...]:
    """Points and wins of ``one``'s side a round, each float64 [deals]: every deal played once for each of its sides.

    ``one`` sits on one side (in partnership in both its seats) and ``rest`` everywhere else. A drawn round is an equal
    share of a win for every side.
    """
    sides = rules.num_sides
    games = Games(deals * sides, rules, reward="points", seed=seed, auto_reset=False, copies=sides)
    side = np.arange(games.num_games) % sides
    seating = (np.arange(rules.num_players) % sides != side[:, None]).astype(int)
    tally = play_out(games, [one, rest], seating, np.random.default_rng(seed))
    points = tally.points[np.arange(len(side)), side]
    wins = np.where(tally.winners < 0, 1 / sides, tally.winners == side)
    return points.reshape(deals, sides).mean(axis=1), wins.reshape(deals, sides).mean(axis=1)


def heuristic(values: NDArray[np.float64], rules: Rules) -> Policy:
    return HeuristicPolicy(rules, Weights(*values))


def spreads(deals: int, seed: int) -> dict[str, float]:
    """The unit of points of each rule set fitted on: the spread over deals of greedy's points against random."""
    units = {}
    for name in FITTED_ON:
        rules = RULE_SETS[name]
        units[name] = float(duel(make("greedy", rules), make("random", rules), rules, deals, seed)[0].std())
    return units


def worth(
    values: NDArray[np.float64], mean: NDArray[np.float64], units: dict[str, float], deals: int, seed: int
) -> float:
    """What a candidate is worth against greedy and against the current mean, on the deals of this seed."""
    total = 0.0
    for name, unit in units.items():
        rules = RULE_SETS[name]
        for rest in (make("greedy", rules), heuristic(mean, rules)):
            total += duel(heuristic(values, rules), rest, rules, deals, seed)[0].mean() / unit
    return total


def fit(iterations: int, population: int, deals: int, seed: int) -> NDArray[np.float64]:
    """The average of the last third of so many iterations' means; a population's best quarter gives the next mean."""
    rng = np.random.default_rng(seed)
    units = spreads(deals, seed)
    mean, spread = (np.array(dataclasses.astuple(weights), float) for weights in (GREEDY, SPREAD))
    means = []
    for iteration in range(iterations):
        candidates = mean + spread * rng.standard_normal((population, len(mean)))
        deal_seed = int(rng.integers(2**32))
        worths = np.array([worth(values, mean, units, deals, deal_seed) for values in candidates])
        best = candidates[np.argsort(-worths)[: population // 4]]
        mean, spread = best.mean(axis=0), (spread + best.std(axis=0)) / 2
        means.append(mean)
        print(f"iteration {iteration + 1}: {worths.mean():+.3f}  {describe(mean)}", flush=True)
    return np.mean(means[-(iterations // 3) :], axis=0)


def describe(values: NDArray[np.float64]) -> str:
    names = [field.name for field in dataclasses.fields(Weights)]
    return ", ".join(f"{name}={value:.2f}" for name, value in zip(names, values, strict=True))


def measure(values: NDArray[np.float64], deals: int, seed: int) -> None:
    """Print points and share of wins a round, with 95 % intervals over deals."""
    print(f"one side v the rest, single rounds opened by lot, {deals} deals each, seed {seed}")
    for name, rules in RULE_SETS.items():
        policies = {"heuristic": heuristic(values, rules), "greedy": make("greedy", rules)}
        for one, rest in (("heuristic", "greedy"), ("heuristic", "random"), ("greedy", "random")):
            opponent = policies.get(rest) or make(rest, rules)
            points, wins = duel(policies[one], opponent, rules, deals, seed)
            print(f"{name:12}{one:>10} v {rest:8}{interval(points)} points, {interval(100 * wins)} %", flush=True)


def interval(values: NDArray[np.float64]) -> str:
    return f"{values.mean():+7.2f} ± {1.96 * values.std(ddof=1) / len(values) ** 0.5:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="do not fit: measure the weights in opponents.py")
    parser.add_argument("--iterations", type=int, default=30, help="of the fit (default: %(default)s)")
    parser.add_argument("--population", type=int, default=32, help="candidates an iteration (default: %(default)s)")
    parser.add_argument("--deals", type=int, default=1000, help="a rule set and opponent in the fit (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the fit (default: %(default)s)")
    parser.add_argument("--check-deals", type=int, default=20_000, help="to measure on (default: %(default)s)")
    parser.add_argument("--check-seed", type=int, default=777, help="of the deals to measure on (%(default)s)")
    args = parser.parse_args()
    values = np.array(dataclasses.astuple(Weights()))
    if not args.measure:
        values = fit(args.iterations, args.population, args.deals, args.seed).round(2)
    print("weights:", describe(values))
    measure(values, args.check_deals, args.check_seed)


if __name__ == "__main__":
    main()
