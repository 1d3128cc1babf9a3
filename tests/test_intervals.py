"""Intervals over deals: held against textbook formulas, and against the truth in thousands of simulated evaluations."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy import stats

from agents import intervals
from agents.intervals import Moments

RUNS = 1000


def mirrored_points(rng: np.random.Generator, runs: int, deals: int) -> tuple[np.ndarray, np.ndarray]:
    """Like a deal of dominoes in both seatings: luck that cancels in part, and a long tail of large wins; rounds 2."""
    luck = rng.normal(size=(runs, deals))
    won = rng.normal(size=(2, runs, deals)) + np.array([1, -1])[:, None, None] * luck + 0.2 > 0
    size = np.rint(rng.gamma(1.6, 9.0, size=(2, runs, deals)))
    return np.where(won, size, -size).sum(axis=0), np.full((runs, deals), 2)


def matches(rng: np.random.Generator, runs: int, deals: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and rounds: the more rounds the closer, so that the two hang together."""
    rounds = 4 + rng.poisson(6, size=(runs, deals))
    swing = np.rint(rng.gamma(1.6, 9.0, size=(runs, deals)) * 4)
    return np.where(rng.random((runs, deals)) < 0.6, swing, -swing) + rounds, rounds


def three_seats(rng: np.random.Generator, runs: int, deals: int) -> tuple[np.ndarray, np.ndarray]:
    """Skew: one wins what two lose. In halves of points, over three seatings."""
    games = np.where(rng.random((3, runs, deals)) < 1 / 3, 2, -1) * np.rint(rng.gamma(2.0, 8.0, size=(3, runs, deals)))
    return games.sum(axis=0), np.full((runs, deals), 6)


@cache
def truth_of(kind) -> float:
    values, weights = kind(np.random.default_rng(99), 1, 1_000_000)
    return values.sum() / weights.sum()


def held(estimates: list[intervals.Estimate], truth: float) -> float:
    return float(np.mean([estimate.low <= truth <= estimate.high for estimate in estimates]))


@pytest.mark.parametrize("kind", [mirrored_points, matches, three_seats])
@pytest.mark.parametrize("deals", [50, 200])
def test_the_interval_holds_the_truth_as_often_as_said(kind, deals):
    """BUGS E12."""
    values, weights = kind(np.random.default_rng(deals), RUNS, deals)
    estimates = [intervals.mean(Moments.of(*run)) for run in zip(values, weights, strict=True)]
    assert 0.93 <= held(estimates, truth_of(kind)) <= 0.97


@pytest.mark.parametrize("kind", [mirrored_points, matches])
def test_the_bootstrap_agrees(kind):
    values, weights = kind(np.random.default_rng(3), 1, 300)
    boot, normal = intervals.bootstrap(values[0], weights[0]), intervals.mean(Moments.of(values[0], weights[0]))
    assert boot.value == pytest.approx(normal.value)
    assert boot.half_width == pytest.approx(normal.half_width, rel=0.08)
    assert (
        boot == intervals.bootstrap(values[0], weights[0], seed=0) != intervals.bootstrap(values[0], weights[0], seed=1)
    )


def games_won(rng: np.random.Generator, chance: float, runs: int, deals: int) -> np.ndarray:
    """Halves won in two games of each deal, int [runs, deals] of 4: luck favours one seat, and some games are drawn."""
    luck = min(0.3, chance, 1 - chance) * rng.choice([-1, 1], size=(runs, deals))
    games = rng.random((2, runs, deals)) < chance + np.array([1, -1])[:, None, None] * luck
    drawn = rng.random((2, runs, deals)) < 0.1 * (chance == 0.5)
    return np.where(drawn, 1, 2 * games).sum(axis=0)


@pytest.mark.parametrize("deals", [50, 200])
@pytest.mark.parametrize("chance", [0.5, 0.66, 0.9])
def test_the_interval_of_a_share_holds_the_truth_as_often_as_said(chance, deals):
    wins = games_won(np.random.default_rng(deals), chance, RUNS, deals)
    assert 0.93 <= held([intervals.share(Moments.of(run, 4)) for run in wins], chance) <= 0.97


@pytest.mark.parametrize("chance", [0.98, 0.995, 0.999])
def test_near_all_won_it_holds_the_truth_at_least_as_often(chance):
    wins = games_won(np.random.default_rng(8), chance, RUNS, 60)
    assert held([intervals.share(Moments.of(run, 4)) for run in wins], chance) >= 0.93


def test_the_mean_is_that_of_the_textbook():
    """With equal weights, the one-sample t interval."""
    values = np.random.default_rng(1).integers(-40, 60, size=37)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    estimate = intervals.mean(Moments.of(values), level=0.9)
    assert (estimate.low, estimate.high) == pytest.approx((expected.low, expected.high), rel=1e-12)
    assert intervals.p_value(Moments.of(values), 3.0) == pytest.approx(stats.ttest_1samp(values, 3.0).pvalue)


def test_the_ratio_is_that_of_the_textbook():
    """Cochran (1977), equation 6.13, in plain floating point."""
    values, weights = (part[0] for part in matches(np.random.default_rng(2), 1, 80))
    ratio = values.sum() / weights.sum()
    error = np.sqrt(((values - ratio * weights) ** 2).sum() / 79 / 80) / weights.mean()
    estimate = intervals.mean(Moments.of(values, weights))
    assert estimate.value == pytest.approx(ratio)
    assert estimate.half_width == pytest.approx(stats.t.ppf(0.975, 79) * error)
    scaled = intervals.mean(Moments.of(6 * values, 6 * weights))
    assert (scaled.value, scaled.half_width) == pytest.approx((estimate.value, estimate.half_width), rel=1e-14)


def test_the_variance_is_exact():
    """Large equal numbers with a small spread, where sums of squares in floating point leave nothing."""
    values = 10**8 + np.array([0, 1, 2, 3])
    assert Moments.of(values).variance == float(Fraction(5, 3) / 4)


def test_moments_merge_exactly_however_they_are_cut():
    rng = np.random.default_rng(4)
    values, weights = rng.integers(-500, 500, size=1000), rng.integers(1, 30, size=1000)
    whole = Moments.of(values, weights)
    for _ in range(20):
        cuts = np.sort(rng.integers(0, 1000, size=rng.integers(1, 12)))
        order = rng.permutation(1000)
        parts = [Moments.of(values[some], weights[some]) for some in np.split(order, cuts)]
        assert sum(parts, Moments()) == whole
    assert whole.squares == sum(int(value) ** 2 for value in values)


def test_fractions_that_stand_for_whole_numbers_are_taken():
    assert Moments.of(np.array([1 / 3, 2 / 3, 1]) * 3, 3) == Moments.of([1, 2, 3], 3)


def test_all_won_is_no_point():
    for deals in (2, 10, 1000):
        won, lost = intervals.share(Moments.of([2] * deals, 2)), intervals.share(Moments.of([0] * deals, 2))
        assert won.value == won.high == 1.0
        assert (lost.low, lost.high) == pytest.approx((0.0, 1 - won.low))
        wilson = deals / (deals + stats.t.ppf(0.975, deals - 1) ** 2)
        assert max(0.0, wilson - 2 / deals) < won.low < wilson or won.low == 0.0


def test_single_games_have_the_interval_of_agresti_and_coull():
    """With z of 2 and 720 of 1000: two wins and two losses more."""
    centre, level = 722 / 1004, 2 * stats.t.cdf(2, 999) - 1
    estimate = intervals.share(Moments.of(np.repeat([1, 0], [720, 280]), 1), level)
    half = 2 * np.sqrt(centre * (1 - centre) / 1004)
    assert (estimate.low, estimate.high) == pytest.approx((centre - half, centre + half), abs=2e-5)


def test_deals_that_are_all_alike_are_no_point_for_a_share_but_become_one():
    """Each seat won once in all: of so many deals 1 - 0.05^(1/n) may be unlike them, by a half each."""
    for deals in (10, 100, 10_000):
        estimate = intervals.share(Moments.of([1] * deals, 2))
        room = (1 - 0.05 ** (1 / deals)) / 2
        assert estimate.value == 0.5
        assert room < estimate.half_width < 2 * room


def test_shares_from_either_side_mirror():
    wins = games_won(np.random.default_rng(5), 0.8, 1, 90)[0]
    forth, back = intervals.share(Moments.of(wins, 4)), intervals.share(Moments.of(4 - wins, 4))
    assert (forth.low, forth.high) == pytest.approx((1 - back.high, 1 - back.low))


def test_a_mirror_match_is_even_without_doubt():
    estimate = intervals.mean(Moments.of([0] * 30, 2))
    assert (estimate.value, estimate.low, estimate.high) == (0, 0, 0)


def test_looks_double():
    assert list(intervals.looks(1000)) == [128, 256, 512, 1000]
    assert list(intervals.looks(40, first=40)) == [40]


@pytest.mark.parametrize(
    ("half_width", "interval", "truth"), [(1.4, intervals.mean, None), (0.035, intervals.share, 0.66)]
)
def test_a_sequential_evaluation_holds_the_truth_nearly_as_often(half_width, interval, truth):
    """And is as narrow as asked, at a number of deals that hung on chance."""
    if truth is None:
        values, _ = mirrored_points(np.random.default_rng(6), RUNS, 1024)
        truth, weight = truth_of(mirrored_points), 2
    else:
        values, weight = games_won(np.random.default_rng(7), truth, RUNS, 1024), 4
    ends = [
        intervals.until_half_width(lambda i, j, run=run: Moments.of(run[i:j], weight), half_width, 1024, interval)
        for run in values
    ]
    estimates = [interval(moments) for moments, _ in ends]
    assert all(narrow for _, narrow in ends)
    assert all(estimate.half_width <= half_width for estimate in estimates)
    assert len({estimate.deals for estimate in estimates}) > 1
    assert 0.93 <= held(estimates, truth) <= 0.97


def test_it_stops_at_the_most():
    asked = []

    def play(start: int, stop: int) -> Moments:
        asked.append((start, stop))
        return Moments.of(np.arange(start, stop) % 7)

    moments, narrow = intervals.until_half_width(play, 1e-6, 500)
    assert asked == [(0, 128), (128, 256), (256, 500)]
    assert (moments, narrow) == (Moments.of(np.arange(500) % 7), False)


def test_simultaneous_intervals_hold_all_at_once():
    """Ten pairs that share their deals' luck."""
    rng = np.random.default_rng(9)
    noise = np.rint(rng.normal(size=(RUNS, 10, 60)) * 40 + rng.normal(size=(RUNS, 1, 60)) * 40)
    singly, together = [], []
    for run in noise:
        moments = [Moments.of(values) for values in run]
        singly.append(all(e.low <= 0 <= e.high for e in map(intervals.mean, moments)))
        together.append(all(e.low <= 0 <= e.high for e in intervals.simultaneous(moments)))
    assert np.mean(singly) < 0.8
    assert np.mean(together) >= 0.94


def test_the_level_of_each_and_the_sentence():
    assert intervals.simultaneous_level(10) == pytest.approx(0.995)
    assert "10 intervals" in intervals.multiplicity_note(10)
    assert "0.995 (Bonferroni)" in intervals.multiplicity_note(10)
    assert intervals.multiplicity_note(1) == "The interval holds the truth at 0.95."


def test_holm_by_hand():
    """Four tests, smallest first: times 4, 3, 2, 1, never falling."""
    assert intervals.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert intervals.holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
    assert intervals.holm([]).shape == (0,)


def test_as_dict_is_plain():
    estimate = intervals.mean(Moments.of([1, 2, 4], 2))
    assert estimate.as_dict() == {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "level": 0.95,
        "deals": 3,
    }


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: Moments.of([0.5, 1]), "values"),
        (lambda: Moments.of([np.nan, 1]), "values"),
        (lambda: Moments.of([2.0**40] * 9), "values"),
        (lambda: Moments.of([[1, 2]]), "values"),
        (lambda: Moments.of([1, 2], [1, 2, 3]), "weights"),
        (lambda: Moments.of([1, 2], [1, -1]), "weights"),
        (lambda: intervals.mean(Moments.of([1])), "deals"),
        (lambda: intervals.mean(Moments()), "deals"),
        (lambda: intervals.mean(Moments.of([1, 2], 0)), "moments"),
        (lambda: intervals.mean(Moments.of([1, 2]), level=1.0), "level"),
        (lambda: intervals.share(Moments.of([1, 2])), "share"),
        (lambda: intervals.bootstrap([1.0]), "values"),
        (lambda: intervals.bootstrap([1.0, 2.0], resamples=0), "resamples"),
        (lambda: list(intervals.looks(100)), "first"),
        (lambda: list(intervals.looks(100, first=1)), "first"),
        (lambda: intervals.until_half_width(lambda i, j: Moments(), 0, 200), "half_width"),
        (lambda: intervals.holm([1.5]), "p_values"),
        (lambda: intervals.simultaneous_level(0), "comparisons"),
        (lambda: intervals.simultaneous([]), "comparisons"),
    ],
)
def test_bad_input_is_named(call, name):
    with pytest.raises(ValueError, match=f"^{name}"):
        call()
