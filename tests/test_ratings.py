"""Ratings: against published fits, closed forms and brute force; planted strengths are found as often as said."""

from __future__ import annotations

import json
from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

from agents.ratings import ELO, PairScores, Standings, bradley_terry, nash_mixture, plackett_luce

TINY = 1e-6
"""A prior that leaves the maximum of the likelihood where it is, to a thousandth of an Elo point."""


def wins(a: str, b: str, won: float, lost: float, drawn: int = 0, deals=None) -> PairScores:
    return PairScores(a, b, np.repeat([1.0, 0.0, 0.5], [int(won), int(lost), drawn]), deals)


def chance(difference):
    """Of one that is so many natural units stronger."""
    return 1 / (1 + np.exp(-difference))


# Published fits and closed forms


def test_the_baseball_league_of_agresti():
    """Agresti, Categorical Data Analysis (2002), tables 10.10 and 10.11: American League, East, in 1987."""
    teams = ["Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore"]
    won = [
        [0, 7, 9, 7, 7, 9, 11],
        [6, 0, 7, 5, 11, 9, 9],
        [4, 6, 0, 7, 7, 8, 12],
        [6, 8, 6, 0, 6, 7, 10],
        [6, 2, 6, 7, 0, 7, 12],
        [4, 4, 5, 6, 6, 0, 6],
        [2, 4, 1, 3, 1, 7, 0],
    ]
    league = [wins(teams[i], teams[j], won[i][j], won[j][i]) for i in range(7) for j in range(i)]
    fit = bradley_terry(league, anchor="Baltimore", prior=TINY)
    published = {
        "Milwaukee": 1.58,
        "Detroit": 1.44,
        "Toronto": 1.29,
        "New York": 1.25,
        "Boston": 1.11,
        "Cleveland": 0.68,
    }
    assert fit.names == tuple(teams)
    for team, ability in published.items():
        assert round(fit.rating(team) / ELO, 2) == ability
    errors = fit.samples[:, :-1].std(axis=0) / ELO
    assert (np.abs(errors - 0.3) < 0.06).all()  # "standard errors are about 0.3"


def test_the_citations_of_stigler():
    """Stigler (1994) as fitted in Turner and Firth, Journal of Statistical Software 48(9), 2012, section 2.1."""
    cited = [
        wins("Biometrika", "Comm Statist", 730, 33),
        wins("Biometrika", "JASA", 498, 320),
        wins("Biometrika", "JRSS-B", 221, 284),
        wins("Comm Statist", "JASA", 68, 813),
        wins("Comm Statist", "JRSS-B", 17, 276),
        wins("JASA", "JRSS-B", 142, 325),
    ]
    fit = bradley_terry(cited, anchor="Biometrika", prior=TINY)
    published = {"Comm Statist": -2.9491, "JASA": -0.4796, "JRSS-B": 0.2690}
    for journal, ability in published.items():
        assert fit.rating(journal) / ELO == pytest.approx(ability, abs=6e-5)


@pytest.mark.parametrize(("won", "lost", "drawn"), [(3, 1, 0), (10, 40, 7), (900, 100, 0)])
def test_two_agents_have_the_log_of_their_odds(won, lost, drawn):
    fit = bradley_terry([wins("a", "random", won, lost, drawn)], prior=TINY)
    odds = (won + drawn / 2) / (lost + drawn / 2)
    assert fit.rating("a") == pytest.approx(400 * np.log10(odds), abs=1e-3)
    with_prior = bradley_terry([wins("a", "random", won, lost, drawn)])
    odds = (won + drawn / 2 + 0.5) / (lost + drawn / 2 + 0.5)
    assert with_prior.rating("a") == pytest.approx(400 * np.log10(odds), abs=1e-6)
    assert with_prior.expected("a", "random") == pytest.approx(odds / (1 + odds))


def test_a_chain_adds_up():
    """a met b and b met c alone: the differences are those of the two pairs."""
    fit = bradley_terry([wins("a", "b", 30, 10), wins("b", "c", 20, 15)], anchor="c", prior=TINY)
    assert fit.rating("b") == pytest.approx(400 * np.log10(20 / 15), abs=1e-3)
    assert fit.difference("a", "b")[0] == pytest.approx(400 * np.log10(3), abs=1e-3)
    assert [pair.z for pair in fit.pairs] == [0, 0]


def random_league(rng: np.random.Generator, agents: int, deals: int = 40) -> list[PairScores]:
    names = ["random", *(f"agent {index}" for index in range(1, agents))]
    return [
        PairScores(names[i], names[j], rng.integers(0, 5, size=deals) / 4, np.arange(deals))
        for i in range(agents)
        for j in range(i)
    ]


def test_it_is_the_maximum_that_a_general_optimiser_finds():
    league, names = random_league(np.random.default_rng(1), 6), ["random", *(f"agent {i}" for i in range(1, 6))]

    def minus_log_likelihood(free: np.ndarray) -> float:
        strength = dict(zip(names, [0.0, *free], strict=True))
        total = 0.0
        for pair in league:
            expected, virtual = chance(strength[pair.a] - strength[pair.b]), 2 * 0.5 / 5  # each shares among five
            score = pair.scores.sum() + virtual / 2
            total -= score * np.log(expected) + (len(pair.scores) + virtual - score) * np.log(1 - expected)
        return total

    found = minimize(minus_log_likelihood, np.zeros(5), method="BFGS", options={"gtol": 1e-9})
    fit = bradley_terry(league)
    assert [fit.rating(name) / ELO for name in names[1:]] == pytest.approx(found.x, abs=1e-5)


# Order, names, anchors


def test_nothing_hangs_on_order_sides_or_names():
    """To the bit, intervals included. BUGS E06."""
    rng = np.random.default_rng(2)
    league = random_league(rng, 7)
    fit = bradley_terry(league)
    for _ in range(5):
        shuffled = [league[index] for index in rng.permutation(len(league))]
        turned = [
            PairScores(pair.b, pair.a, 1 - pair.scores, pair.deals) if rng.random() < 0.5 else pair for pair in shuffled
        ]
        deals = rng.permutation(40)
        reordered = [PairScores(pair.a, pair.b, pair.scores[deals], pair.deals[deals]) for pair in turned]
        again = bradley_terry(reordered)
        assert again.as_dict() == fit.as_dict()
        assert np.array_equal(again.samples, fit.samples)


def test_other_names_have_the_same_ratings():
    league = random_league(np.random.default_rng(3), 6, deals=41)
    other = {
        name: f"{chr(90 - index)} {name}" for index, name in enumerate(sorted({pair.a for pair in league} | {"random"}))
    }
    fit = bradley_terry(league)
    renamed = bradley_terry(
        [PairScores(other[p.a], other[p.b], p.scores, p.deals) for p in league], anchor=other["random"]
    )
    assert renamed.names == tuple(other[name] for name in fit.names)
    for mine, others in ((fit.elo, renamed.elo), (fit.low, renamed.low), (fit.samples, renamed.samples)):
        assert np.array_equal(mine, others)


def test_the_anchor_has_0_and_moves_the_rest_together():
    league = random_league(np.random.default_rng(4), 5)
    one, two = bradley_terry(league), bradley_terry(league, anchor="agent 3")
    assert one.rating("random") == two.rating("agent 3") == 0
    anchored = one.names.index("random")
    assert one.low[anchored] == one.high[anchored] == 0
    shift = {name: one.rating(name) - two.rating(name) for name in one.names}
    assert list(shift.values()) == pytest.approx([one.rating("agent 3")] * 5, abs=1e-5)
    assert one.difference("agent 1", "agent 2") == pytest.approx(two.difference("agent 1", "agent 2"), abs=1e-4)


def test_one_win_each_is_even():
    """BUGS E06, E10: and all draws are."""
    for scores in ([1.0, 0.0], [0.5, 0.5]):
        assert bradley_terry([PairScores("a", "random", scores)]).rating("a") == 0


# Few games, all won, groups


@pytest.mark.parametrize("deals", [1, 10, 1000])
def test_all_won_is_finite_and_no_point(deals):
    fit = bradley_terry([PairScores("a", "random", np.ones(deals))])
    assert np.isfinite(fit.samples).all()
    assert fit.low[0] < fit.elo[0] < fit.high[0]


def test_two_agents_have_jeffreys_interval():
    """At the default prior, for games won or lost: percentiles of a beta distribution."""
    fit = bradley_terry([wins("a", "random", 390, 10)], resamples=8000)
    share = stats.beta.ppf([0.025, 0.975], 390.5, 10.5)
    assert [fit.low[0], fit.high[0]] == pytest.approx(400 * np.log10(share / (1 - share)), abs=6)


def test_everybody_beats_the_next():
    names = [f"agent {index}" for index in range(12)]
    league = [PairScores(names[i], names[j], np.ones(500)) for i in range(12) for j in range(i + 1, 12)]
    fit = bradley_terry(league, anchor=names[-1], resamples=50)
    assert fit.names == tuple(names)
    assert np.isfinite(fit.samples).all()
    assert all(better > worse for better, worse in pairwise(fit.elo))


def test_groups_that_never_met_are_named():
    league = [wins("a", "random", 3, 1), wins("b", "c", 1, 1), wins("d", "c", 1, 2)]
    with pytest.raises(ValueError, match=r"^results: .*\{a, random\} \{b, c, d\}"):
        bradley_terry(league)


# Planted strengths


def play_league(rng: np.random.Generator, strength: np.ndarray, names: list[str], deals: int) -> list[PairScores]:
    """Every pair on the same deals, each in both seatings: luck favours one seat in all pairs."""
    league, luck = [], 0.25 * rng.choice([-1, 1], size=deals)
    for i in range(len(names)):
        for j in range(i):
            expected = chance(strength[i] - strength[j])
            swing = np.clip(luck, -min(expected, 1 - expected), min(expected, 1 - expected))
            games = rng.random((2, deals)) < expected + np.array([1, -1])[:, None] * swing
            league.append(PairScores(names[i], names[j], games.mean(axis=0), np.arange(deals)))
    return league


def test_planted_strengths_are_found_as_often_as_said():
    """And the standardised residuals of a ladder that is transitive have a spread of one."""
    rng, strength = np.random.default_rng(5), np.array([0.0, 0.3, 0.8, 1.5])
    names, runs, held, scores = ["random", "a", "b", "c"], 150, [], []
    for _ in range(runs):
        fit = bradley_terry(play_league(rng, strength, names, 80), resamples=200)
        places = [fit.names.index(name) for name in names[1:]]
        truth = ELO * strength[1:]
        held.append((fit.low[places] <= truth) & (truth <= fit.high[places]))
        scores.extend(pair.z for pair in fit.pairs)
    assert 0.92 <= np.mean(held) <= 0.98
    assert 0.9 <= np.std(scores) <= 1.1


def test_shared_deals_are_drawn_together():
    """Luck that a deal gives to both a and b cancels in their difference, if the deals are the same."""
    luck = np.random.default_rng(6).permutation(np.repeat([0.2, 0.8], 100))
    a, b = PairScores("a", "random", luck, np.arange(200)), PairScores("b", "random", luck, np.arange(200))
    _, low, high = bradley_terry([a, b]).difference("a", "b")
    _, alone_low, alone_high = bradley_terry(
        [PairScores("a", "random", luck), PairScores("b", "random", luck)]
    ).difference("a", "b")
    assert high - low < 0.3 * (alone_high - alone_low)


# Ladders that are no ladders


def test_rock_paper_scissors():
    """Equal ratings, large residuals, and a third of each."""
    league = [wins("rock", "scissors", 90, 10), wins("scissors", "paper", 90, 10), wins("paper", "rock", 90, 10)]
    fit = bradley_terry(league, anchor="rock")
    assert fit.elo.tolist() == [0, 0, 0]
    assert {(p.a, p.b): round(p.observed, 3) for p in fit.pairs} == {
        ("paper", "rock"): 0.9,
        ("paper", "scissors"): 0.1,
        ("rock", "scissors"): 0.9,
    }
    for pair in fit.pairs:
        assert pair.expected == 0.5
        assert pair.residual == pytest.approx(pair.observed - pair.expected, abs=0.01)
        assert abs(pair.z) > 8
        assert np.sign(pair.z) == np.sign(pair.residual)
    nash = nash_mixture(["rock", "paper", "scissors"], [[0, -8, 8], [8, 0, -8], [-8, 8, 0]])
    assert nash.names == ("paper", "rock", "scissors")
    assert nash.mixture == pytest.approx([1 / 3] * 3, abs=1e-6)
    assert nash.against == pytest.approx([0] * 3, abs=1e-6)


def test_a_dominated_agent_has_no_part_in_the_mixture():
    nash = nash_mixture(["best", "good", "bad"], [[0, 1, 2], [-1, 0, 1], [-2, -1, 0]])
    assert dict(zip(nash.names, nash.mixture, strict=True)) == {"best": 1, "good": 0, "bad": 0}
    assert dict(zip(nash.names, nash.against, strict=True)) == {"best": 0, "good": -1, "bad": -2}


def test_of_many_equilibria_it_is_the_one_of_most_entropy():
    assert nash_mixture(["a", "b", "c", "d"], np.zeros((4, 4))).mixture == pytest.approx([0.25] * 4)
    twice = [[0, -1, 1, 1], [1, 0, -1, -1], [-1, 1, 0, 0], [-1, 1, 0, 0]]  # of three the last is entered twice
    assert nash_mixture(["a", "b", "c", "d"], twice).mixture == pytest.approx([1 / 3, 1 / 3, 1 / 6, 1 / 6], abs=1e-6)


def test_the_most_entropy_by_brute_force():
    """Rank two: equilibria are a polytope of several dimensions."""
    rng = np.random.default_rng(7)
    for _ in range(5):
        u, v = rng.normal(size=(2, 5))
        game = np.outer(u, v) - np.outer(v, u)
        nash = nash_mixture(list("abcde"), game)
        assert nash.mixture.sum() == pytest.approx(1, abs=1e-5)
        assert nash.against.max() <= 1e-5
        bounds, sums = [(0, 1)] * 5, {"type": "eq", "fun": lambda p: p.sum() - 1}
        unbeaten = {"type": "ineq", "fun": lambda p, game=game: p @ game}
        found = minimize(
            lambda p: (p * np.log(p + 1e-300)).sum(),
            nash.mixture,
            bounds=bounds,
            constraints=[sums, unbeaten],
            method="SLSQP",
            options={"ftol": 1e-12},
        )
        entropy = -(nash.mixture * np.log(nash.mixture + 1e-300)).sum()
        assert entropy >= -found.fun - 1e-4


def test_the_mixture_does_not_hang_on_order_or_scale():
    rng = np.random.default_rng(8)
    game = rng.normal(size=(9, 9))
    game, names = game - game.T, np.array(list("abcdefghi"))
    nash = nash_mixture(list(names), game)
    for _ in range(5):
        order = rng.permutation(9)
        again = nash_mixture(list(names[order]), 7 * game[np.ix_(order, order)])
        assert np.array_equal(again.mixture, nash.mixture)


# Three and more seats


def simulate(rng: np.random.Generator, strengths: np.ndarray, games: int) -> np.ndarray:
    """Ranks [games, seats] as Plackett and Luce have them: first to finish by exponential clocks."""
    times = rng.exponential(size=(games, len(strengths))) / np.exp(strengths)
    return times.argsort(axis=1).argsort(axis=1)


def test_two_seats_are_bradley_terry():
    """With draws: the two models are one."""
    rng = np.random.default_rng(9)
    league, standings = [], []
    for a, b in (("a", "random"), ("b", "random"), ("a", "b")):
        results = rng.integers(0, 3, size=60)  # 0 lost, 1 drawn, 2 won
        league.append(PairScores(a, b, results / 2))
        standings.append(Standings([a, b], np.stack([-results, results - 2], axis=1)))
    pairs, seats = bradley_terry(league), plackett_luce(standings)
    assert seats.names == pairs.names
    assert seats.elo == pytest.approx(pairs.elo, abs=1e-5)


def test_ties_count_by_the_mean_over_the_orders():
    """Against a plain search over the log-likelihood, summed order by order."""
    games = [(("a", "b", "c", "random"), places) for places in ([0, 1, 1, 3], [0, 0, 0, 3], [2, 0, 2, 0], [3, 1, 0, 2])]
    games += [(("a", "a", "random"), [0, 1, 2]), (("random", "b", "b"), [0, 1, 1])]
    names = ["a", "b", "c", "random"]

    def log_likelihood(strength: dict[str, float], agents, places) -> float:
        orders = [
            order
            for order in permutations(range(len(agents)))
            if all(places[i] <= places[j] for i, j in pairwise(order))
        ]
        terms = []
        for order in orders:
            values = np.array([strength[agents[seat]] for seat in order])
            terms.append(sum(values[k] - np.log(np.exp(values[k:]).sum()) for k in range(len(order))))
        return float(np.mean(terms))

    def minus(free: np.ndarray) -> float:
        strength = dict(zip(names, [*free, 0.0], strict=True))
        total = sum(log_likelihood(strength, *game) for game in games)
        for i, a in enumerate(names):
            for b in names[:i]:  # a virtual draw of 0.5 / 3 from either side
                total += (0.5 / 3) * (
                    np.log(chance(strength[a] - strength[b])) + np.log(chance(strength[b] - strength[a]))
                )
        return -total

    found = minimize(minus, np.zeros(3), method="BFGS", options={"gtol": 1e-8})
    fit = plackett_luce([Standings(agents, [places]) for agents, places in games], resamples=20)
    assert [fit.rating(name) / ELO for name in names[:3]] == pytest.approx(found.x, abs=1e-5)


def test_planted_strengths_of_three_seats_are_found_as_often_as_said():
    rng, names = np.random.default_rng(10), ["random", "a", "b", "c"]
    strength, held = np.array([0.0, 0.4, 0.7, 1.2]), []
    for _ in range(100):
        tables = [[i for i in range(4) if i != left] for left in range(4)]
        standings = [Standings([names[i] for i in table], simulate(rng, strength[table], 100)) for table in tables]
        fit = plackett_luce(standings, resamples=200)
        places = [fit.names.index(name) for name in names[1:]]
        truth = ELO * strength[1:]
        held.append((fit.low[places] <= truth) & (truth <= fit.high[places]))
    assert 0.91 <= np.mean(held) <= 0.99


def test_standings_do_not_hang_on_order_seats_or_how_ranks_are_numbered():
    rng = np.random.default_rng(11)
    tables = [("random", "a", "b"), ("a", "b", "c"), ("random", "c", "c")]
    standings = [Standings(table, rng.integers(0, 3, size=(30, 3)), np.arange(30)) for table in tables]
    fit = plackett_luce(standings)
    turned = []
    for games in standings:
        seats, order = rng.permutation(3), rng.permutation(30)
        ranks = np.asarray(games.ranks)[order][:, seats]
        turned.insert(0, Standings([games.agents[seat] for seat in seats], ranks * 7.5 - 3, order))
    again = plackett_luce(turned)
    assert again.as_dict() == fit.as_dict()
    assert np.array_equal(again.samples, fit.samples)


def test_all_first_is_finite():
    fit = plackett_luce([Standings(("a", "random", "b"), [[0, 1, 2]] * 200)])
    assert fit.names == ("a", "random", "b")
    assert np.isfinite(fit.samples).all()
    assert fit.low[0] < fit.elo[0] < fit.high[0]


def test_results_are_json():
    fit = bradley_terry(random_league(np.random.default_rng(12), 3))
    told = json.loads(json.dumps(fit.as_dict()))
    assert [agent["name"] for agent in told["agents"]] == list(fit.names)
    assert told["pairs"][0]["games"] == 40
    assert json.loads(json.dumps(nash_mixture(["a", "b"], [[0, 1], [-1, 0]]).as_dict()))["agents"][0] == {
        "name": "a",
        "chance": 1.0,
        "points": 0.0,
    }


GOOD = [PairScores("a", "random", [1.0, 0.5])]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: bradley_terry([PairScores("a", "a", [1.0])]), "results"),
        (lambda: bradley_terry([PairScores("a", "random", [1.5])]), "scores"),
        (lambda: bradley_terry([PairScores("a", "random", [np.nan])]), "scores"),
        (lambda: bradley_terry([PairScores("a", "random", [])]), "scores"),
        (lambda: bradley_terry([PairScores("a", "random", [1.0], [0, 1])]), "deals"),
        (lambda: bradley_terry([PairScores("a", "random", [1.0], [0.5])]), "deals"),
        (lambda: bradley_terry(GOOD, anchor="greedy"), "anchor"),
        (lambda: bradley_terry([]), "anchor"),
        (lambda: bradley_terry(GOOD, prior=0), "prior"),
        (lambda: bradley_terry(GOOD, level=95), "level"),
        (lambda: bradley_terry(GOOD, resamples=1), "resamples"),
        (lambda: bradley_terry(GOOD).rating("b"), "name"),
        (lambda: plackett_luce([Standings(["a", "a"], [[0, 1]])]), "agents"),
        (lambda: plackett_luce([Standings(["a", "random"], [[0, 1, 2]])]), "ranks"),
        (lambda: plackett_luce([Standings(["a", "random"], [[0, np.nan]])]), "ranks"),
        (lambda: nash_mixture(["a", "a"], np.zeros((2, 2))), "names"),
        (lambda: nash_mixture(["a", "b"], np.zeros((3, 3))), "points"),
        (lambda: nash_mixture(["a", "b"], [[0, 1], [1, 0]]), "points"),
        (lambda: nash_mixture(["a", "b"], [[0, np.nan], [np.nan, 0]]), "points"),
    ],
)
def test_bad_input_is_named(call, name):
    with pytest.raises(ValueError, match=f"^{name}"):
        call()
