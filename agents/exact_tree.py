"""The tree of one small round for two, in flat arrays (sequence form): what it holds, and how a set in it comes about.

The tree is one of *public* positions: what has been laid and passed, seen by everyone. At each of them either seat has
a list of the hands that it may still hold; a position and a hand of the seat to move are an *information set*.

A *sequence* is what one seat has done so far with the hand that it was dealt. Sequence 0 is seat 0's empty one, 1 is
seat 1's, and each information set with a choice has one more for each of its actions. A forced move makes none. So a
policy for both seats is one array, float64 [num_sequences]: the odds with which a sequence goes on from its parent.

Seat 0 opens. Observations count seats from the viewer, so odds in this tree are a policy's odds whoever opens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from block_env import rules as kernels
from block_env.state import new_states
from block_env.variants import Rules, rules_table


@dataclass(frozen=True)
class Ends:
    """The E public positions that end a round. Pairs are of seat 0 and of seat 1; "own" is that seat's.

    Attributes:
        places: int64 [E]: where an end's block in ``pay`` starts. Ends with the same hands share a block.
        starts: int64 [E + 1]: end e's own hands are from ``starts[e]`` on in ``sequences``.
        sequences: int32: the own last sequence of each hand that may be shown there.
        pay: float64, blocks [the other's hands, own hands]: points to the own seat; 0 where a tile is in both.
        met: float64, blocks likewise: 1 where the two hands go together, 0 where a tile is in both.
    """

    places: NDArray[np.int64]
    starts: tuple[NDArray[np.int64], ...]
    sequences: tuple[NDArray[np.int32], ...]
    pay: tuple[NDArray[np.float64], ...]
    met: tuple[NDArray[np.float64], ...]


@dataclass(frozen=True)
class Tree:
    """One round for two from every deal: n information sets with a choice, s sequences, m public positions.

    Attributes:
        rules: what is played.
        opener: the seat that opens; None: a fair lot, known to both.
        merged: whether laying a tile at the right end is left out where both ends show the same pip. The line is then
            the mirror image of the one that laying it at the left end gives: the game is the same, and half the size.
        num_deals: ways to deal the two hands, all equally likely.
        num_nodes: histories of all deals, the empty ones and the ends included.
        num_terminals: those that end the round.
        num_infosets: what a seat to move can tell apart, forced moves included.
        seat: uint8 [n], who moves. The sets are in the order of turns: none stands before one that leads to it.
        first: int32 [n + 1]: set i has the sequences ``first[i]`` to ``first[i + 1] - 1``, in the order of actions.
        parent: int32 [n]: the sequence with which its seat came there.
        action: uint8 [s]: the action id that a sequence ends with; 0 for the two empty ones.
        node: int32 [n]: its public position.
        deal: uint64 [n, 2]: the two hands, as dealt, of one deal in which the set occurs.
        node_parent: int32 [m]: the public position a turn before, -1 for the first.
        node_action: uint8 [m]: the action of that turn.
        ends: where rounds end, and what that pays.
    """

    rules: Rules
    opener: int | None
    merged: bool
    num_deals: int
    num_nodes: int
    num_terminals: int
    num_infosets: int
    seat: NDArray[np.uint8]
    first: NDArray[np.int32]
    parent: NDArray[np.int32]
    action: NDArray[np.uint8]
    node: NDArray[np.int32]
    deal: NDArray[np.uint64]
    node_parent: NDArray[np.int32]
    node_action: NDArray[np.uint8]
    ends: Ends

    @property
    def num_decisions(self) -> int:
        """Information sets with more than one action: n."""
        return len(self.seat)

    @property
    def num_sequences(self) -> int:
        """The two empty sequences and one for each action of a choice: s."""
        return len(self.action)

    @property
    def num_public(self) -> int:
        """Public positions, ends included: m."""
        return len(self.node_parent)

    @property
    def nbytes(self) -> int:
        """Memory that the arrays take."""
        own = [self.seat, self.first, self.parent, self.action, self.node, self.deal, self.node_parent]
        ends = [*self.ends.starts, *self.ends.sequences, self.ends.places, *self.ends.pay, *self.ends.met]
        return sum(array.nbytes for array in [*own, self.node_action, *ends])


# The core, asked about many positions at once -------------------------------------------------------------------------


def opened(deals: NDArray[np.uint64], rules: Rules) -> NDArray[Any]:
    """The record of each deal (uint64 [n, 2], a hand a seat) before the first turn, seat 0 opening."""
    count = len(deals)
    states = new_states(count)
    for seat in (0, 1):
        held = deals[:, seat, None] >> np.arange(rules.num_tiles, dtype=np.uint64) & np.uint64(1)
        tiles = np.nonzero(held)[1].reshape(count, rules.hand_size)
        states["order"][:, seat * rules.hand_size : (seat + 1) * rules.hand_size] = tiles
    kernels.open_games(states, rules_table(rules), np.arange(count), np.zeros(count, np.int64))
    return states


def play(
    states: NDArray[Any], rules: Rules, rows: NDArray[np.int64], actions: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Play one action in each of these rows; the points, float32 [n, 2], that it gave to either seat."""
    count = len(states)
    points, done = np.zeros((count, 2), np.float32), np.zeros(count, np.bool_)
    kernels.step_games(states, rules_table(rules), rows, actions, True, False, points, done, np.zeros(count, np.int8))
    return points[rows]


def legal_actions(
    hands: NDArray[np.uint64], states: NDArray[Any], rows: NDArray[np.int64], rules: Rules, merged: bool
) -> NDArray[np.uint64]:
    """What each hand may do, as bit sets over action ids: of what the core lets its row's mover lay, what it holds.

    ``merged``: where both ends show the same pip, the right one is left out.
    """
    left, right, count = states["legal_left"], states["legal_right"], np.uint64(rules.num_tiles)
    if merged:
        right = np.where(states["left"] == states["right"], np.uint64(0), right)
    left, right = hands & left[rows], hands & right[rows]
    passes = (left | right) == 0
    return left | right << count | passes.astype(np.uint64) << np.uint64(2) * count


def positions(tree: Tree, sets: NDArray[np.int64]) -> NDArray[Any]:
    """A record, played by the core, of a game in which each of these information sets is reached."""
    states = opened(tree.deal[sets], tree.rules)
    nodes, turns = tree.node[sets], []
    while (nodes > 0).any():
        turns.append(np.where(nodes > 0, tree.node_action[nodes].astype(np.int64), -1))
        nodes = np.where(nodes > 0, tree.node_parent[nodes], 0)
    for actions in reversed(turns):
        rows = np.flatnonzero(actions >= 0)
        play(states, tree.rules, rows, actions[rows])
    return states
