"""Exact trees against the naive reference: counts, a best response and a linear program written over its histories;
against published values; and against games that are played."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference import Reference, count_tree, histories, information_sets, opened_games, tile_order
from safetensors.numpy import load_file, save_file

import agents
from agents import exact, solvers
from agents.evaluation import play_pair
from agents.exact_policy import ExactFileError, ExactPolicy
from block_env.observation import layout
from block_env.play import Games
from block_env.state import unpack_ply
from block_env.variants import Rules

TWO, THREE_TWO, THREE = (Rules(max_pip=pip, hand_size=size) for pip, size in ((2, 2), (3, 2), (3, 3)))
VARIED = [
    Rules(max_pip=1, hand_size=1),
    Rules(max_pip=2, hand_size=1),
    Rules(max_pip=2, hand_size=3),
    Rules(max_pip=2, hand_size=2, opener_plays_double=True),
    Rules(max_pip=2, hand_size=2, blocked_points="opponents"),
    THREE_TWO,
]


def options(rules: Rules) -> dict[str, Any]:
    """The rules as the reference's functions take them."""
    names = ("max_pip", "hand_size", "opener_plays_double", "blocked_points")
    return {name: getattr(rules, name) for name in names}


def games(rules: Rules) -> Iterator[Reference]:
    """A game of every deal, seat 0 opening."""
    given = options(rules)
    return opened_games(2, given.pop("max_pip"), given.pop("hand_size"), {**given, "reward": "points"})


@pytest.fixture(scope="module")
def three() -> exact.Tree:
    return exact.build(THREE)


@pytest.fixture(scope="module")
def solved() -> tuple[exact.Tree, solvers.Solution]:
    tree = exact.build(THREE, merged=True)
    return tree, solvers.solve(tree, until=1e-6)


# Counts ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [TWO, *VARIED], ids=str)
def test_counts(rules: Rules) -> None:
    tree, count = exact.build(rules), count_tree(**options(rules))
    assert (tree.num_deals, tree.num_nodes, tree.num_terminals) == (count.deals, count.nodes, count.terminals)
    assert tree.num_infosets == information_sets(**options(rules))


def test_counts_of_the_usual_small_sets(three: exact.Tree) -> None:
    """As test_counts.py has them, from the reference."""
    two = exact.build(TWO)
    assert (two.num_deals, two.num_nodes, two.num_terminals) == (90, 1014, 357)
    assert (three.num_deals, three.num_nodes, three.num_terminals) == (4200, 262746, 83100)


def test_information_sets_with_a_choice() -> None:
    """Each once, with all its actions, and no other."""
    tree, found = exact.build(TWO), {}
    for position in positions(TWO):
        if len(position.legal()) > 1:
            found[situation(position)] = sorted(position.legal())
    given = {}
    for number, state in enumerate(exact.positions(tree, np.arange(tree.num_decisions))):
        mover, turns = int(state.to_play), [unpack_ply(ply) for ply in state.history[: state.plies]]
        hand = frozenset(tile for k, tile in enumerate(tile_order(2)) if int(state.hands[mover]) >> k & 1)
        actions = tree.action[tree.first[number] : tree.first[number + 1]].tolist()
        given[mover, hand, tuple(turn[:3] for turn in turns)] = actions
    assert tree.num_decisions == len(given)
    assert given == found


def positions(rules: Rules) -> Iterator[Reference]:
    return (position for game in games(rules) for position in histories(game) if not position.over)


def situation(game: Reference) -> tuple[int, frozenset[Any], tuple[Any, ...]]:
    """What the seat to move can tell apart."""
    return game.to_play, frozenset(game.hands[game.to_play]), tuple(game.history)


@pytest.mark.parametrize("rules", [TWO, THREE], ids=["double-two", "double-three"])
@pytest.mark.parametrize("merged", [False, True])
def test_the_size_is_known_before(rules: Rules, merged: bool) -> None:
    tree, size = exact.build(rules, merged=merged), exact.estimate(rules, merged)
    assert size.deals == tree.num_deals
    expected = [tree.num_infosets, tree.num_decisions, tree.num_sequences, tree.num_public, len(tree.ends.places)]
    given = [size.infosets, size.decisions, size.sequences, size.public, size.ends]
    assert given == pytest.approx(expected, rel=0.05)
    assert size.shown == pytest.approx(sum(map(len, tree.ends.sequences)), rel=0.05)
    assert size.nbytes > tree.nbytes


# A policy that both sides can work out --------------------------------------------------------------------------------


def odds_of(hand: set[int], turns: int, legal: set[int]) -> dict[int, float]:
    """Odds that depend on hand, turn and action, and have nothing regular about them."""
    weights = {action: 1 + (7 * action + 5 * turns + 3 * sum(hand)) % 11 for action in legal}
    return {action: weight / sum(weights.values()) for action, weight in weights.items()}


class Odd:
    """:func:`odds_of` as a policy."""

    needs_history = True

    def probabilities(self, observation: Any, action_mask: Any) -> Any:
        parts, odds = layout(THREE if observation.shape[1] == layout(THREE, True).size else TWO, True), []
        for row, mask in zip(observation, action_mask, strict=True):
            turns = int(parts["history"].of(row)[:, :2].sum())
            hand, legal = (set(np.flatnonzero(part).tolist()) for part in (parts["hand"].of(row), mask))
            given = odds_of(hand, turns, legal)
            odds.append([given.get(action, 0.0) for action in range(len(mask))])
        return np.array(odds)

    def act(self, observation: Any, action_mask: Any, rng: np.random.Generator) -> Any:
        odds = self.probabilities(observation, action_mask)
        return (odds.cumsum(axis=1) > rng.random((len(odds), 1))).argmax(axis=1)


Odds = Callable[[Reference], dict[int, float]]


def odd(game: Reference) -> dict[int, float]:
    return odds_of({game.tiles.index(tile) for tile in game.hands[game.to_play]}, len(game.history), game.legal())


def uniform(game: Reference) -> dict[int, float]:
    return {action: 1 / len(game.legal()) for action in game.legal()}


def greedy(game: Reference) -> dict[int, float]:
    """The heaviest tile, ties to the lower action id."""
    weight = {action: sum((*game.tiles, *game.tiles, (0, 0))[action]) for action in game.legal()}
    return {min(action for action in weight if weight[action] == max(weight.values())): 1.0}


Alike = list[tuple[Reference, float, float]]
"""Games (game, weight, points of the last turn) that a seat cannot tell apart."""


def naive_best(alike: Alike, seat: int, odds: Odds) -> float:
    """What a best response gets from games that ``seat`` cannot tell apart, weighted and summed up."""
    first = alike[0][0]
    if first.over:
        return sum(weight * points for _, weight, points in alike)
    if first.to_play == seat:
        return max(naive_best(after(alike, seat, action), seat, odds) for action in first.legal())
    actions = {action for game, _, _ in alike for action in game.legal()}
    return sum(naive_best(after(alike, seat, action, odds), seat, odds) for action in actions)


def after(alike: Alike, seat: int, action: int, odds: Odds | None = None) -> Alike:
    """These games a turn on, where it is legal; with odds the weights are shared."""
    children = []
    for game, weight, _ in alike:
        if action in game.legal():
            child = game.copy()
            rewards = child.step(action)
            children.append((child, weight if odds is None else weight * odds(game).get(action, 0.0), rewards[seat]))
    return children


def naive_response(rules: Rules, seat: int, odds: Odds) -> float:
    """Points of a best response in this seat: from each of its hands, against all hands of the other."""
    by_hand = defaultdict(list)
    for game in games(rules):
        by_hand[frozenset(game.hands[seat])].append((game, 1.0, 0.0))
    total = sum(map(len, by_hand.values()))
    return sum(naive_best(alike, seat, odds) for alike in by_hand.values()) / total


def naive_value(game: Reference, odds: tuple[Odds, Odds]) -> float:
    """Points of seat 0 from here on."""
    total = 0.0
    for action, share in odds[game.to_play](game).items():
        child = game.copy()
        points = child.step(action)[0]
        total += share * (points if child.over else naive_value(child, odds))
    return total


POLICIES: dict[str, tuple[Odds, Any]] = {
    "odd": (odd, Odd()),
    "random": (uniform, agents.make("random", TWO)),
    "greedy": (greedy, agents.make("greedy", TWO)),
}


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("seat", [0, 1])
def test_best_response_is_the_naive_one(name: str, seat: int) -> None:
    tree, (odds, policy) = exact.build(TWO), POLICIES[name]
    table = exact.policy_table(tree, policy).table
    gets, response = exact.best_response(tree, table, seat)
    assert gets == pytest.approx(naive_response(TWO, seat, odds), abs=1e-12)
    played = exact.value(tree, response, table) if seat == 0 else -exact.value(tree, table, response)
    assert played == pytest.approx(gets, abs=1e-12)


@pytest.mark.parametrize("first", POLICIES)
@pytest.mark.parametrize("second", POLICIES)
def test_value_is_the_naive_one(first: str, second: str) -> None:
    tree = exact.build(TWO)
    a, b = (exact.policy_table(tree, POLICIES[name][1]).table for name in (first, second))
    odds = POLICIES[first][0], POLICIES[second][0]
    naive = [naive_value(game, odds) for game in games(TWO)]
    assert exact.value(tree, a, b) == pytest.approx(np.mean(naive), abs=1e-12)


@pytest.mark.parametrize("rules", [Rules(max_pip=2, hand_size=3), *VARIED[3:5]], ids=str)
def test_best_response_under_other_rules(rules: Rules) -> None:
    tree = exact.build(rules)
    for seat in (0, 1):
        gets, _ = exact.best_response(tree, exact.uniform_table(tree), seat)
        assert gets == pytest.approx(naive_response(rules, seat, uniform), abs=1e-12)


# Published values -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize(
    ("max_pip", "hand_size", "points"), [(2, 2, 0.561), (3, 2, 0.566), (3, 3, 1.402), (4, 3, 1.341)]
)
def test_exploitability_of_uniform_play(max_pip: int, hand_size: int, points: float, merged: bool) -> None:
    tree = exact.build(Rules(max_pip=max_pip, hand_size=hand_size), merged=merged)
    assert exact.exploitability(tree, exact.uniform_table(tree)) == pytest.approx(points, abs=6e-4)


@pytest.mark.parametrize(
    ("max_pip", "hand_size", "value", "until"),
    [(2, 2, 193 / 90, 1e-9), (3, 2, 239 / 90, 1e-7), (3, 3, 2.291881815, 1e-6), (4, 3, 2.937270, 1e-4)],
)
def test_values(max_pip: int, hand_size: int, value: float, until: float) -> None:
    tree = exact.build(Rules(max_pip=max_pip, hand_size=hand_size), merged=True)
    last = solvers.solve(tree, until=until).curve[-1]
    assert last.exploitability <= until
    assert last.low - 1e-6 <= value <= last.high + 1e-6


# A linear program over the reference's histories ----------------------------------------------------------------------


class Program:
    """The sequence form (Koller, Megiddo and von Stengel, 1996) of a game, written down deal by deal."""

    def __init__(self, rules: Rules) -> None:
        self.sequences: tuple[dict[Any, int], ...] = ({None: 0}, {None: 0})  # (set, action) -> number
        self.sets: tuple[dict[Any, int], ...] = ({}, {})  # set -> the sequence before
        self.pay: dict[tuple[int, int], float] = defaultdict(float)
        deals = list(games(rules))
        for game in deals:
            hands = [frozenset(hand) for hand in game.hands]
            self.walk(game, hands, (0, 0), 1 / len(deals))

    def walk(self, game: Reference, hands: list[frozenset[Any]], last: tuple[int, int], chance: float) -> None:
        seat = game.to_play
        here = hands[seat], tuple(game.history)
        self.sets[seat][here] = last[seat]
        for action in game.legal():
            child, numbers = game.copy(), self.sequences[seat]
            points = child.step(action)
            number = numbers.setdefault((here, action), len(numbers))
            now = (number, last[1]) if seat == 0 else (last[0], number)
            if child.over:
                self.pay[now] += chance * points[0]
            else:
                self.walk(child, hands, now, chance)

    def value(self) -> float:
        """What seat 0 can make sure of: over its sequences and values of the other's sets, the most at the start."""
        from scipy.optimize import linprog
        from scipy.sparse import coo_array, hstack

        own, pay = self.constraints(0), self.pay
        other = self.constraints(1)
        count = len(self.sequences[0]), len(self.sequences[1])
        rows, columns = np.array(list(pay)).T
        paid = coo_array((list(pay.values()), (columns, rows)), shape=(count[1], count[0]))
        free = other.shape[0]
        target = np.zeros(count[0] + free)
        target[count[0]] = -1
        start = np.zeros(own.shape[0])
        start[0] = 1
        found = linprog(
            target,
            A_ub=hstack([-paid, other.T]).tocsr(),
            b_ub=np.zeros(count[1]),
            A_eq=hstack([own, coo_array((own.shape[0], free))]).tocsr(),
            b_eq=start,
            bounds=[(0, None)] * count[0] + [(None, None)] * free,
            method="highs",
        )
        assert found.status == 0
        return float(-found.fun)

    def constraints(self, seat: int) -> Any:
        """The empty sequence is 1, and at each set its sequences add up to the one before: [1 + sets, sequences]."""
        from scipy.sparse import coo_array

        number = {here: row + 1 for row, here in enumerate(self.sets[seat])}
        entries = [(0, 0, 1.0)] + [(number[here], before, -1.0) for here, before in self.sets[seat].items()]
        entries += [(number[key[0]], column, 1.0) for key, column in self.sequences[seat].items() if key is not None]
        rows, columns, values = zip(*entries, strict=True)
        return coo_array((values, (rows, columns)), shape=(len(number) + 1, len(self.sequences[seat])))


@pytest.mark.parametrize("rules", [TWO, THREE_TWO, *VARIED[2:5]], ids=str)
def test_linear_program(rules: Rules) -> None:
    low, high = solvers.solve(exact.build(rules, merged=True), until=1e-8).curve[-1][-2:]
    value = Program(rules).value()
    assert low - 1e-7 <= value <= high + 1e-7
    if rules in (TWO, THREE_TWO):
        assert value == pytest.approx({TWO: 193 / 90, THREE_TWO: 239 / 90}[rules], abs=1e-9)


# Games that are played ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("opener", [0, 1])
def test_observations_are_those_of_games(three: exact.Tree, opener: int, rng: np.random.Generator) -> None:
    """Whichever seat opens."""
    for history in (False, True):
        sets = np.sort(rng.choice(three.num_decisions, 40, replace=False))
        observation, mask = exact.seen(three, sets, history)
        for row, number in enumerate(sets):
            played = play_to(three, int(number), opener, history)
            assert (played.observation[0] == observation[row]).all()
            assert (played.action_mask[0] == mask[row]).all()


def play_to(tree: exact.Tree, number: int, opener: int, history: bool) -> Games:
    """A game in which an information set is reached."""
    played = Games(1, tree.rules, history=history, seed=0)
    order = tile_order(tree.rules.max_pip)
    hands = [[tile for k, tile in enumerate(order) if int(bits) >> k & 1] for bits in tree.deal[number]]
    played.reset(options={"hands": hands if opener == 0 else hands[::-1], "opener": opener})
    actions, node = [], int(tree.node[number])
    while node > 0:
        actions.append(int(tree.node_action[node]))
        node = int(tree.node_parent[node])
    for action in reversed(actions):
        played.step(np.array([action]))
    return played


@pytest.mark.parametrize(("a", "b"), [("greedy", "random"), ("heuristic", "greedy")])
def test_head_to_head_is_what_play_gives(a: str, b: str) -> None:
    tree = exact.build(THREE, opener=None)
    first, second = (agents.make(name, THREE) for name in (a, b))
    result = play_pair(first, second, THREE, deals=20_000, seed=5)
    tables = [exact.policy_table(tree, policy).table for policy in (first, second)]
    width = (result.points_ci[1] - result.points_ci[0]) / (2 * 1.96)
    assert exact.head_to_head(tree, *tables).mean == pytest.approx(result.points, abs=4 * width)


def test_a_solution_plays_as_its_table_says(solved: tuple[exact.Tree, solvers.Solution]) -> None:
    tree, solution = solved
    policy, greedy_one = ExactPolicy.from_table(tree, solution.table), agents.make("greedy", THREE)
    result = play_pair(policy, greedy_one, THREE, deals=20_000, seed=6)
    lot = exact.build(THREE, opener=None)
    tables = [exact.policy_table(lot, one).table for one in (policy, greedy_one)]
    width = (result.points_ci[1] - result.points_ci[0]) / (2 * 1.96)
    assert exact.head_to_head(lot, *tables).mean == pytest.approx(result.points, abs=4 * width)
    assert result.points > 0


# Who opens ------------------------------------------------------------------------------------------------------------


def test_the_opener_is_a_seat_or_a_lot() -> None:
    trees = [exact.build(TWO, opener) for opener in (0, 1, None)]
    a, b = (exact.policy_table(trees[0], agents.make(name, TWO)).table for name in ("random", "greedy"))
    first, second, lot = (exact.value(tree, a, b) for tree in trees)
    assert second == pytest.approx(-exact.value(trees[0], b, a))
    assert lot == pytest.approx((first + second) / 2)
    assert first != pytest.approx(second)
    responses = [[exact.best_response(tree, a, seat)[0] for seat in (0, 1)] for tree in trees]
    assert responses[1] == responses[0][::-1]
    assert responses[2] == pytest.approx([np.mean(responses[0])] * 2)
    gets, table = exact.best_response(trees[2], a, 0)
    assert exact.value(trees[2], table, a) == pytest.approx(gets)
    assert len({exact.exploitability(tree, a) for tree in trees}) == 1


def test_a_merged_tree_is_the_same_game(three: exact.Tree, solved: tuple[exact.Tree, solvers.Solution]) -> None:
    """Its solution, played where lines may lie either way, is as hard to exploit."""
    tree, solution = solved
    assert tree.num_decisions < 0.6 * three.num_decisions
    table = exact.policy_table(three, ExactPolicy.from_table(tree, solution.table)).table
    assert exact.exploitability(three, table) == pytest.approx(exact.exploitability(tree, solution.table), abs=1e-5)
    assert exact.bounds(three, table) == pytest.approx(solution.curve[-1][-2:], abs=1e-5)


# Asking ---------------------------------------------------------------------------------------------------------------


def test_where_odds_come_from() -> None:
    tree = exact.build(TWO)
    sources = {name: exact.policy_table(tree, agents.make(name, TWO)).source for name in ("random", "greedy")}
    assert sources == {"random": "probabilities", "greedy": "deterministic"}
    drawn = exact.policy_table(tree, agents.make("random", TWO), use_probabilities=False, samples=4000)
    assert drawn.source == "sampled"
    assert drawn.table == pytest.approx(exact.uniform_table(tree), abs=0.05)


def test_a_policy_that_plays_its_likeliest_action_is_asked_for_that() -> None:
    class Likeliest(Odd):
        sample = False

        def act(self, observation: Any, action_mask: Any, rng: np.random.Generator) -> Any:
            return self.probabilities(observation, action_mask).argmax(axis=1)

    tree = exact.build(TWO)
    asked = exact.policy_table(tree, Likeliest())
    assert asked.source == "deterministic"
    assert set(asked.table.tolist()) == {0.0, 1.0}
    assert exact.policy_table(tree, Likeliest(), use_probabilities=True).source == "probabilities"


def test_each_set_is_asked_once(three: exact.Tree) -> None:
    class Counting(Odd):
        rows = 0

        def probabilities(self, observation: Any, action_mask: Any) -> Any:
            self.rows += len(observation)
            assert (action_mask.sum(axis=1) > 1).all()
            return super().probabilities(observation, action_mask)

    policy = Counting()
    exact.policy_table(three, policy)
    assert policy.rows == three.num_decisions


def test_a_merged_tree_adds_up_both_ends() -> None:
    tree = exact.build(TWO, merged=True)
    table = exact.policy_table(tree, Odd()).table
    sums = np.add.reduceat(table, tree.first[:-1])
    assert sums == pytest.approx(np.ones(tree.num_decisions))


def test_illegal_answers_are_refused() -> None:
    class Wrong:
        def act(self, observation: Any, action_mask: Any, rng: np.random.Generator) -> Any:
            return action_mask.argmin(axis=1)

    with pytest.raises(ValueError, match=r"^Wrong: chose an action that is not legal"):
        exact.policy_table(exact.build(TWO), Wrong())
    with pytest.raises(ValueError, match=r"^policy: takes one made for "):
        exact.policy_table(exact.build(TWO), agents.make("greedy", THREE))
    with pytest.raises(ValueError, match=r"^samples: takes a whole number from 1, got 0"):
        exact.policy_table(exact.build(TWO), Wrong(), samples=0)


@pytest.mark.parametrize(
    ("rules", "opener", "message"),
    [
        (Rules(3, max_pip=2, hand_size=1), 0, "num_players: an exact tree takes 2, got 3"),
        (Rules(max_pip=2, hand_size=2, draw=True), 0, "draw: an exact tree takes False, got True"),
        (Rules(max_pip=2, hand_size=2, target=20), 0, "target: an exact tree takes None, got 20"),
        (Rules(max_pip=7, hand_size=1), 0, "max_pip: an exact tree takes 1 to 6, got 7"),
        (TWO, 2, "opener: takes 0, 1 or None, got 2"),
        (Rules(max_pip=2, hand_size=2, first_opener="highest_double"), None, "opener: takes 0 or 1 where first_opener"),
        ("match", 0, "rules: takes a Rules, such as "),
    ],
)
def test_what_is_no_small_round_is_refused(rules: Any, opener: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        exact.build(rules, opener)


@pytest.mark.parametrize("memory_gb", [0, -1.0, float("nan"), "6", True])
def test_memory_is_a_number(memory_gb: Any) -> None:
    with pytest.raises(ValueError, match=r"^memory_gb: takes a number above 0, got "):
        exact.build(TWO, memory_gb=memory_gb)


def test_a_tree_that_does_not_fit_is_refused() -> None:
    with pytest.raises(
        exact.TreeTooLargeError, match=r"^memory_gb: max_pip 6 with 7 tiles each .*137,680,171,200 deals"
    ):
        exact.build(Rules())
    with pytest.raises(exact.TreeTooLargeError, match=r"takes about 0\.5\d* GB; got 0\.1$"):
        exact.build(THREE, memory_gb=0.1)


def test_wrong_tables_are_refused(three: exact.Tree) -> None:
    two = exact.build(TWO)
    with pytest.raises(ValueError, match=r"^table: takes float64 \[152\], got "):
        exact.exploitability(two, exact.uniform_table(three))
    with pytest.raises(ValueError, match=r"^seat: takes 0 or 1, got 2"):
        exact.best_response(two, exact.uniform_table(two), 2)


# Solvers --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", solvers.METHODS)
def test_every_method_comes_near(method: str) -> None:
    tree, until = exact.build(THREE_TWO), 1e-2 if method == "mmd" else 1e-5
    solution = solvers.solve(tree, method, until, max_iterations=2000)
    last = solution.curve[-1]
    assert last.exploitability <= until
    assert exact.exploitability(tree, solution.table) == last.exploitability
    assert last.low <= 239 / 90 <= last.high
    again = solvers.solve(tree, method, until, max_iterations=2000)
    assert (again.table == solution.table).all()


@pytest.mark.parametrize("method", solvers.METHODS)
def test_methods_are_as_fast_as_on_paper(method: str, solved: tuple[exact.Tree, solvers.Solution]) -> None:
    """Uniform play loses 1.4 points; each goes on falling."""
    curve = solvers.solve(solved[0], method, 0, max_iterations=100).curve
    assert curve[-1].exploitability < curve[3].exploitability / 3 < curve[0].exploitability / 9
    assert curve[-1].exploitability < {"cfr+": 3e-4, "mmd": 3e-2}.get(method, 1e-4)


def test_progress_can_stop() -> None:
    seen: list[solvers.Point] = []
    solution = solvers.solve(
        exact.build(THREE_TWO), until=0, progress=lambda point: seen.append(point) or len(seen) == 3
    )
    assert list(solution.curve) == seen
    assert [point.iteration for point in seen] == [10, 20, 30]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "cfr"}, r"method: takes cfr\+, dcfr, pcfr\+, pdcfr\+, mmd, got 'cfr'"),
        ({"until": -1}, "until: takes points from 0, got -1"),
        ({"until": float("nan")}, "until: takes points from 0, got nan"),
        ({"max_iterations": 0}, "max_iterations: takes a whole number from 1, got 0"),
    ],
)
def test_solver_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        solvers.solve(exact.build(TWO), **arguments)


# Files ----------------------------------------------------------------------------------------------------------------


def test_a_file_gives_the_policy_back(tmp_path: Path, solved: tuple[exact.Tree, solvers.Solution]) -> None:
    tree, solution = solved
    path = tmp_path / "three.safetensors"
    policy = ExactPolicy.from_table(tree, solution.table)
    policy.save(path)
    loaded = ExactPolicy.load(path, THREE)
    asked = exact.policy_table(tree, loaded)
    assert asked.source == "probabilities"
    assert exact.exploitability(tree, asked.table) == pytest.approx(loaded.exploitability, abs=1e-12)
    assert loaded.exploitability == policy.exploitability < 1e-5
    assert path.stat().st_size < 12 * tree.num_decisions
    reached = exact.reach(tree, solution.table)[tree.parent] > 1e-3
    kept = np.concatenate([[True, True], np.repeat(reached, np.diff(tree.first))])
    assert asked.table[kept] == pytest.approx(solution.table[kept], abs=3e-5)


def test_rounds_without_a_choice_have_a_file_too(tmp_path: Path) -> None:
    rules = Rules(max_pip=1, hand_size=1)
    tree = exact.build(rules, merged=True)
    solution = solvers.solve(tree)
    assert tree.num_decisions == 0
    assert solution.curve[-1].exploitability == 0
    ExactPolicy.from_table(tree, solution.table).save(tmp_path / "one")
    policy = ExactPolicy.load(tmp_path / "one")
    assert play_pair(policy, agents.make("random", rules), rules, deals=10).games == 20


def test_files_that_are_refused(tmp_path: Path) -> None:
    tree = exact.build(TWO, merged=True)
    path = tmp_path / "two.safetensors"
    ExactPolicy.from_table(tree, solvers.solve(tree).table).save(path)
    arrays = load_file(path)
    card = {"format": "1", "rules": json.dumps(TWO.as_dict()), "exploitability": "0.0"}
    cases: list[tuple[dict[str, Any], dict[str, str], str]] = [
        (arrays, {**card, "format": "2"}, "format: takes '1', got '2'"),
        (arrays, {**card, "rules": "{}x"}, "not a solved round"),
        ({**arrays, "odds": arrays["odds"][:-1]}, card, "takes keys uint64"),
        ({**arrays, "odds": arrays["odds"].astype(np.float32)}, card, "takes keys uint64"),
        ({**arrays, "odds": arrays["odds"] * np.uint16(0)}, card, "takes an action with odds above 0"),
        ({**arrays, "keys": arrays["keys"][::-1].copy()}, card, "takes sorted keys"),
        ({"keys": arrays["keys"]}, card, "not a safetensors file of a solved round"),
    ]
    for changed, meta, message in cases:
        save_file(changed, path, meta)
        with pytest.raises(ExactFileError, match=message):
            ExactPolicy.load(path)
    path.write_bytes(b"nothing")
    with pytest.raises(ExactFileError, match="not a safetensors file"):
        ExactPolicy.load(path)
    with pytest.raises(ExactFileError, match="there is no such file"):
        ExactPolicy.load(tmp_path / "none")
    save_file(arrays, path, card)
    with pytest.raises(ExactFileError, match="rules do not fit"):
        ExactPolicy.load(path, THREE)
    with pytest.raises(ValueError, match="takes one built with merged=True"):
        ExactPolicy.from_table(exact.build(TWO), exact.uniform_table(exact.build(TWO)))


def test_observations_of_other_rules_are_refused() -> None:
    tree = exact.build(TWO, merged=True)
    policy = ExactPolicy.from_table(tree, exact.uniform_table(tree))
    with pytest.raises(ValueError, match=r"^observation: this policy takes \[B, \d+\], got \[1, 5\]"):
        policy.probabilities(np.zeros((1, 5), np.float32), np.ones((1, 13), np.int8))
