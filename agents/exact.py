"""Exact figures of small rounds for two: values, best responses, exploitability.

``build`` makes the tree, ``policy_table`` asks a policy for its odds at every information set, and all else follows
from such tables: float64 [num_sequences], the odds of each action where there is a choice, and 1 for the two empty
sequences. Figures are points a round, a mean over all deals; nothing is sampled but what a policy draws itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.exact_growth import grow
from agents.exact_size import Size, TreeTooLargeError, check_size, estimate
from agents.exact_tree import Tree, positions
from block_env._compile import Array, Int, kernel
from block_env.keywords import is_whole
from block_env.observation import observe
from block_env.policy import Policy, choose, has_probabilities, needs_history, probabilities
from block_env.variants import Rules

__all__ = [
    "Asked",
    "HeadToHead",
    "Size",
    "Table",
    "Tree",
    "TreeTooLargeError",
    "best_response",
    "bounds",
    "build",
    "estimate",
    "exploitability",
    "head_to_head",
    "policy_table",
    "positions",
    "reach",
    "seen",
    "uniform_table",
    "value",
]

Table = NDArray[np.float64]
"""A policy for both seats: float64 [num_sequences]."""

BATCH = 8192
"""Information sets that a policy is asked about at once."""


def build(rules: Rules, opener: int | None = 0, memory_gb: float = 6.0, merged: bool = False) -> Tree:
    """The tree of one round of Block for two, from every deal.

    Args:
        rules: two seats, no ``draw``, no target, ``max_pip`` up to 6.
        opener: the seat that opens, or None: a fair lot, which both see.
        memory_gb: the most that building and solving may take, in 10^9 bytes.
        merged: leave out the right end where both ends show the same pip. Values and solutions are the same, at half
            the size. A policy is then asked only where such tiles were laid at the left: exact for one that plays a
            line and its mirror image alike.

    Raises:
        ValueError: an argument is not of that kind.
        TreeTooLargeError: (a ValueError) more memory is needed; the message names the rules and how much. It comes
            before anything is built.
    """
    _check(rules, opener)
    check_size(rules, memory_gb, merged)
    return grow(rules, opener, merged)


def _check(rules: Rules, opener: int | None) -> None:
    if not isinstance(rules, Rules):
        raise ValueError(f"rules: takes a Rules, such as Rules(max_pip=2, hand_size=2), got {rules!r}")
    takes = {"num_players": 2, "draw": False, "target": None}
    for name, only in takes.items():
        if getattr(rules, name) != only:
            raise ValueError(f"{name}: an exact tree takes {only}, got {getattr(rules, name)!r}")
    if rules.max_pip > 6:
        raise ValueError(f"max_pip: an exact tree takes 1 to 6, got {rules.max_pip}")
    if opener is not None and (not is_whole(opener) or opener not in (0, 1)):
        raise ValueError(f"opener: takes 0, 1 or None, got {opener!r}")
    if opener is None and rules.first_opener != "lot":
        raise ValueError(f"opener: takes 0 or 1 where first_opener is {rules.first_opener!r}, got None")


# Asking a policy ------------------------------------------------------------------------------------------------------


class Asked(NamedTuple):
    """A policy's odds, and how they came about.

    ``source``: ``"probabilities"``, the policy gave them; ``"deterministic"``, it gave actions and drew no chance;
    ``"sampled"``, it drew: shares of a number of answers, so that all figures are only near those of the policy.
    """

    table: Table
    source: str


def policy_table(
    tree: Tree,
    policy: Policy,
    rng: np.random.Generator | None = None,
    *,
    use_probabilities: bool | None = None,
    samples: int = 16,
) -> Asked:
    """Ask a policy once at each information set with a choice, in batches, with observations as in the environments.

    Args:
        tree: of the rules that it is to play.
        policy: any agent.
        rng: the chance that it may draw; None: seeded with 0.
        use_probabilities: ask for its odds, or for its actions. None: for its odds if it gives any, but not where its
            attribute ``sample`` says that it takes the likeliest action.
        samples: how often a policy that draws is asked for its action.

    Raises:
        ValueError: the policy is made for other rules, or its answer is not legal; the message names its class.
    """
    if getattr(policy, "rules", tree.rules) != tree.rules:
        raise ValueError(f"policy: takes one made for {tree.rules}, this one was made for {policy.rules}")  # type: ignore[attr-defined]
    if not is_whole(samples) or samples < 1:
        raise ValueError(f"samples: takes a whole number from 1, got {samples!r}")
    if use_probabilities is None:
        use_probabilities = has_probabilities(policy) and getattr(policy, "sample", True)
    chance = np.random.default_rng(0 if rng is None else rng.integers(2**63))
    if use_probabilities:
        return Asked(_ask(tree, policy, chance, True), "probabilities")
    before = chance.bit_generator.state
    table = _ask(tree, policy, chance, False)
    if chance.bit_generator.state == before:
        return Asked(table, "deterministic")
    for _ in range(samples - 1):
        table += _ask(tree, policy, chance, False)
    return Asked(table / samples, "sampled")


def _ask(tree: Tree, policy: Policy, rng: np.random.Generator, odds: bool) -> Table:
    table = np.ones(tree.num_sequences)
    for sets in set_batches(tree):
        observation, mask = seen(tree, sets, needs_history(policy))
        if odds:
            answer = probabilities(policy, observation, mask, rng)
        else:
            answer = np.eye(mask.shape[1])[choose(policy, observation, mask, rng)]
        if (answer * (mask == 0)).any():
            raise ValueError(f"{type(policy).__name__}: chose an action that is not legal")
        write_odds(tree, sets, answer, table)
    return table


def set_batches(tree: Tree) -> Iterator[NDArray[np.int64]]:
    """The numbers of all information sets with a choice, some at a time."""
    for start in range(0, tree.num_decisions, BATCH):
        yield np.arange(start, min(start + BATCH, tree.num_decisions))


def seen(tree: Tree, sets: NDArray[np.int64], history: bool = False) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """The observation [n, D] and the mask [n, A] of the seat to move in these information sets."""
    count = len(sets)
    return observe(positions(tree, sets), tree.rules, np.arange(count), np.full(count, -1), history)


def sequences_of(tree: Tree, sets: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The sequences of successive information sets, and for each the place of its set among them."""
    sequences = np.arange(tree.first[sets[0]], tree.first[sets[-1] + 1], dtype=np.int64)
    return sequences, np.repeat(np.arange(len(sets)), np.diff(tree.first[sets[0] : sets[-1] + 2]))


def write_odds(tree: Tree, sets: NDArray[np.int64], odds: NDArray[np.float64], table: Table) -> None:
    """Write odds [n, A] of successive sets into a table; what a merged tree leaves out counts for the left end."""
    sequences, rows = sequences_of(tree, sets)
    actions, count = tree.action[sequences].astype(np.int64), tree.rules.num_tiles
    table[sequences] = odds[rows, actions]
    if tree.merged:
        in_tree = np.zeros(odds.shape, np.bool_)
        in_tree[rows, actions] = True
        other = np.where(actions < count, actions + count, actions)
        table[sequences] += np.where(in_tree[rows, other], 0.0, odds[rows, other])


def uniform_table(tree: Tree) -> Table:
    """Every action as likely as any other."""
    sizes = np.diff(tree.first)
    return np.concatenate([np.ones(2), np.repeat(1 / sizes, sizes)])


# Figures --------------------------------------------------------------------------------------------------------------


class HeadToHead(NamedTuple):
    """Points of a against b: a in seat 0, a in seat 1, and the mean."""

    first: float
    second: float
    mean: float


def value(tree: Tree, a: Table, b: Table) -> float:
    """Points that seat 0 gets a round, when it plays table ``a`` and seat 1 plays ``b``."""
    if tree.opener is None:
        return (_opener_gets(tree, a, b) - _opener_gets(tree, b, a)) / 2
    return _opener_gets(tree, a, b) if tree.opener == 0 else -_opener_gets(tree, b, a)


def _opener_gets(tree: Tree, opener: Table, other: Table) -> float:
    own, values = reach(tree, opener), values_against(tree, 0, reach(tree, other))
    return float(own @ values) / tree.num_deals


def head_to_head(tree: Tree, a: Table, b: Table) -> HeadToHead:
    """Points of ``a`` against ``b`` in either seat."""
    first, second = value(tree, a, b), -value(tree, b, a)
    return HeadToHead(first, second, (first + second) / 2)


def best_response(tree: Tree, table: Table, seat: int) -> tuple[float, Table]:
    """What a best response in this seat gets against a table, and the table with that response as the seat's odds.

    These are 1 for one best action (the lowest id), at every information set, also where it never comes.

    Raises:
        ValueError: an argument is out of range.
    """
    if not is_whole(seat) or seat not in (0, 1):
        raise ValueError(f"seat: takes 0 or 1, got {seat!r}")
    if tree.opener is None:
        (first, response), (second, other) = (_respond(tree, table, role) for role in (0, 1))
        return (first + second) / 2, np.where(sequence_seats(tree) == 0, response, other)
    return _respond(tree, table, int(seat != tree.opener))


def _respond(tree: Tree, table: Table, role: int) -> tuple[float, Table]:
    """As :func:`best_response`; role 0 opens."""
    values, response = values_against(tree, role, reach(tree, table)), table.copy()
    back_up_best(role, tree.seat, tree.first, tree.parent, response, values)
    return float(values[role]) / tree.num_deals, response


def exploitability(tree: Tree, table: Table) -> float:
    """What best responses get against a table, a mean over both seats: NashConv / 2, which is 0 in equilibrium."""
    low, high = bounds(tree, table)
    return (high - low) / 2


def bounds(tree: Tree, table: Table) -> tuple[float, float]:
    """Bounds of the value of the game for the seat that opens: what a table at least gets there, and at most allows."""
    return -_respond(tree, table, 1)[0], _respond(tree, table, 0)[0]


def reach(tree: Tree, table: Table) -> NDArray[np.float64]:
    """With what odds each sequence is played by its seat, if chance and the other lead there, float64 [s].

    Raises:
        ValueError: the table is not one of this tree.
    """
    if not isinstance(table, np.ndarray) or table.dtype != np.float64 or table.shape != (tree.num_sequences,):
        raise ValueError(f"table: takes float64 [{tree.num_sequences}], got {getattr(table, 'shape', table)!r}")
    odds = np.ones(tree.num_sequences)
    reach_into(tree.first, tree.parent, table, odds)
    return odds


def sequence_seats(tree: Tree) -> NDArray[np.uint8]:
    """The seat of each sequence (0 opens), uint8 [s]."""
    return np.concatenate([np.arange(2, dtype=np.uint8), np.repeat(tree.seat, np.diff(tree.first))])


def values_against(tree: Tree, seat: int, reach: NDArray[np.float64], count: bool = False) -> NDArray[np.float64]:
    """What each sequence of a seat is paid at the ends right after it: a sum over deals, by the other's reach.

    With ``count`` each deal pays one point: how often an end is reached. Two threads share the work, always alike.
    """
    ends, blocks = tree.ends, tree.ends.met if count else tree.ends.pay
    total = len(ends.places)
    sums = np.zeros((2, tree.num_sequences))

    def half(k: int) -> None:
        start, stop = k * total // 2, (k + 1) * total // 2
        lists = ends.starts[seat], ends.sequences[seat], ends.starts[1 - seat], ends.sequences[1 - seat]
        pay_into(start, stop, *lists, ends.places, blocks[seat], reach, sums[k])

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(half, (0, 1)))
    sums[0] += sums[1]
    return sums[0]


# Kernels --------------------------------------------------------------------------------------------------------------


@kernel
def reach_into(first: Array, parent: Array, odds: Array, reach: Array) -> None:
    """Multiply up the odds of each sequence into ``reach`` (float64 [s]), whose two first are there."""
    for i in range(len(parent)):
        weight = reach[parent[i]]
        for k in range(first[i], first[i + 1]):
            reach[k] = weight * odds[k]


@kernel
def pay_into(
    start: Int,
    stop: Int,
    own_starts: Array,
    own: Array,
    other_starts: Array,
    other: Array,
    places: Array,
    pay: Array,
    reach: Array,
    values: Array,
) -> None:
    """Add what the ends from ``start`` to ``stop`` pay to ``values`` (float64 [s]) of the own sequences.

    Indices are unsigned: a check for negative ones in each of them would double the time.
    """
    for end in range(start, stop):
        place, begin = np.uint64(places[end]), np.uint64(own_starts[end])
        size = np.uint64(own_starts[end + 1]) - begin
        first, last = np.uint64(other_starts[end]), np.uint64(other_starts[end + 1])
        for k in range(size):
            total, at = 0.0, place + k
            for row in range(first, last):
                total += reach[np.uint64(other[row])] * pay[at]
                at += size
            values[np.uint64(own[begin + k])] += total


@kernel
def back_up_best(seat: Int, seats: Array, first: Array, parent: Array, odds: Array, values: Array) -> None:
    """Carry ``values`` (float64 [s]) up from the last turns to the first by a seat's best actions, with ``odds`` 1."""
    for i in range(len(parent) - 1, -1, -1):
        if seats[i] == seat:
            best = first[i]
            for k in range(first[i], first[i + 1]):
                odds[k] = 0.0
                if values[k] > values[best]:
                    best = k
            odds[best] = 1.0
            values[parent[i]] += values[best]
