"""Paired evaluation: seatings, units, intervals, and that luck and seats cancel."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from agents import evaluation
from agents.evaluation import play_pair, seatings
from block_env import Rules, opponents
from block_env.play import Tally, play_out

MATCH = Rules.preset("match")


def test_each_side_is_taken_once():
    assert seatings(MATCH).tolist() == [[0, 1], [1, 0]]
    assert seatings(Rules.preset("match", 3)).tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert seatings(Rules.preset("partnership")).tolist() == [[0, 1, 0, 1], [1, 0, 1, 0]]


@pytest.mark.parametrize("name", ["greedy", "heuristic"])
@pytest.mark.parametrize(
    "rules", [MATCH, Rules.preset("match", 3), Rules.preset("partnership"), Rules.preset("draw")], ids=lambda r: r.name
)
def test_a_mirror_match_is_exactly_even(name, rules):
    """BUGS E17, E03: on duplicate deals a deterministic agent against itself has no luck left."""
    result = play_pair(opponents.make(name, rules), opponents.make(name, rules), rules, "round", 60, 3)
    assert result.share == pytest.approx(1 / rules.num_sides)
    assert result.points == pytest.approx(0.0)


def test_random_against_random_is_covered_as_often_as_said():
    """BUGS E12: the true 0 points and 50 % lie in 93 to 97 % of a thousand 95 % intervals."""
    policy, runs, deals = opponents.make("random"), 1000, 30
    chunk = evaluation.play_chunk(policy, policy, MATCH, "round", runs * deals, [5, 0])
    columns = [name for name in evaluation.Chunk.__slots__ if name not in ("decisions", "seconds")]
    parts = [{name: getattr(chunk, name)[k * deals : (k + 1) * deals] for name in columns} for k in range(runs)]
    results = [
        evaluation.result_of(evaluation.Chunk(**part, decisions=chunk.decisions, seconds=chunk.seconds), MATCH)
        for part in parts
    ]
    for intervals, truth in (([one.points_ci for one in results], 0.0), ([one.share_ci for one in results], 0.5)):
        covered = np.mean([low <= truth <= high for low, high in intervals])
        assert 0.93 <= covered <= 0.97


def test_an_agent_does_the_same_from_either_side():
    a, b = opponents.make("greedy"), opponents.make("heuristic")
    forth, back = play_pair(a, b, MATCH, "round", 200, 1), play_pair(b, a, MATCH, "round", 200, 1)
    assert forth.points == pytest.approx(-back.points)
    assert forth.share == pytest.approx(1 - back.share)
    assert (forth.wins, forth.draws, forth.losses) == (back.losses, back.draws, back.wins)


def test_the_same_arguments_give_the_same_result():
    """BUGS S05."""
    policy, other = opponents.make("random"), opponents.make("greedy")
    results = [play_pair(policy, other, MATCH, "round", 50, seed) for seed in (4, 4, 5)]
    figures = [(result.points, result.share, result.rounds) for result in results]
    assert figures[0] == figures[1] != figures[2]


def test_a_match_counts_once_and_its_rounds_apart():
    """BUGS E19."""
    result = play_pair(opponents.make("greedy"), opponents.make("random"), MATCH, "match", 20, 0)
    assert result.games == 40 == result.wins + result.draws + result.losses
    assert result.rounds > 5 * result.games
    single = play_pair(opponents.make("greedy"), opponents.make("random"), MATCH, "round", 20, 0)
    assert single.rounds == single.games == 40


def pretend(monkeypatch, tally: Tally) -> None:
    """Let the evaluation's four games come out so; the one that it starts with, to compile, is played."""
    monkeypatch.setattr(
        evaluation, "play_out", lambda games, *rest: tally if games.num_games == 4 else play_out(games, *rest)
    )


def test_the_figures_are_the_written_formulas(monkeypatch):
    """BUGS E10: a draw is half; points are per round; the interval is over deals, each a mean over its seatings."""
    points = np.array([[10.0, -10.0], [4.0, -4.0], [0.0, 0.0], [6.0, -6.0]])  # two deals, each in both seatings
    tally = Tally(
        points=points,
        winners=np.array([0, 1, -1, 0]),
        rounds=np.ones(4, np.int64),
        blocked=np.array([1, 0, 1, 0]),
        decisions=np.array([8, 4]),
        seconds=np.array([0.004, 0.001]),
    )
    pretend(monkeypatch, tally)
    result = play_pair(opponents.make("greedy"), opponents.make("random"), MATCH, "round", 2, 0)
    # Agent a sits at seat 0, then 1: it gets 10 and -4, then 0 and -6; it wins both of the first deal, then 1/2 and 0.
    assert result.points == 0.0
    assert result.points_ci[1] == pytest.approx(
        12.7062 * np.std([3.0, -3.0], ddof=1) / np.sqrt(2), rel=1e-4
    )  # t, 1 degree
    assert result.share == (1 + 1 + 0.5 + 0) / 4
    assert (result.wins, result.draws, result.losses) == (2, 1, 1)
    assert (result.blocked_share, result.ms_a, result.ms_b) == (0.5, 0.5, 0.25)


def test_all_draws_are_even(monkeypatch):
    """BUGS E10."""
    zeros = np.zeros(4, np.int64)
    tally = Tally(np.zeros((4, 2)), zeros - 1, zeros + 1, zeros + 1, np.ones(2, np.int64), np.zeros(2))
    pretend(monkeypatch, tally)
    result = play_pair(opponents.make("random"), opponents.make("random"), MATCH, "round", 2, 0)
    assert result.share == 0.5
    assert result.share_ci[0] < 0.5 < result.share_ci[1]  # two deals that are alike do not make all deals so


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"deals": 1}, "deals"),
        ({"deals": 2.5}, "deals"),
        ({"deals": True}, "deals"),
        ({"seed": -1}, "seed"),
        ({"seed": None}, "seed"),
        ({"rules": "match"}, "rules"),
        ({"unit": "hand"}, "unit"),
        ({"a": "greedy"}, "a"),
        ({"b": opponents.GreedyPolicy}, "b"),
        ({"b": opponents.make("random", "draw")}, "b"),
    ],
)
def test_bad_arguments_are_named(changes, names):
    arguments = {"a": opponents.make("greedy"), "b": opponents.make("random"), "rules": MATCH, "deals": 2, **changes}
    with pytest.raises(ValueError, match=f"^{names}: "):
        play_pair(**arguments)


class Answers:
    """A policy that answers as it is told."""

    def __init__(self, answer) -> None:
        self.answer = answer

    def act(self, observation, action_mask, rng):
        return self.answer(action_mask.argmax(axis=1))


@pytest.mark.parametrize(
    "answer",
    [
        lambda legal: legal + 0.7,
        lambda legal: legal + 0j,
        lambda legal: legal.astype(str),
        lambda legal: legal * np.nan,
        lambda legal: legal.astype(np.uint64) + np.uint64(2**63),
        lambda legal: legal == 0,
        lambda legal: legal[:, None],
        lambda legal: legal[:-1],
        lambda legal: int(legal[0]),
        lambda legal: -legal - 1,
        lambda legal: [[1], [1, 2]],
        lambda legal: None,
    ],
)
def test_a_policy_that_answers_with_what_is_no_action_is_named(answer):
    with pytest.raises(ValueError, match=r"Answers\.act: is to return whole numbers from 0 to 56"):
        play_pair(Answers(answer), opponents.make("random"), MATCH, deals=2)
    env = gymnasium.make("block_env/Block-v0", opponent=Answers(answer), seat=0, disable_env_checker=True)
    with pytest.raises(ValueError, match=r"Answers\.act: is to return"):
        env.reset(seed=0, options={"opener": 1})
