"""Growing a tree (:mod:`agents.exact_tree`) turn by turn over public positions.

What a hand may do, whose turn follows, when the round is over and what that pays, the core says: here stands no rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.exact_hands import NO_TILES, ONE, Hands, count_ones, count_pairs, fingerprints, hands_after, ones, starts
from agents.exact_tree import Ends, Tree, legal_actions, opened, play
from block_env._compile import Int
from block_env.tiles import BIT
from block_env.variants import Rules

BATCH = 2048
"""Public positions whose turns are taken at once."""

DTYPES: dict[str, Any] = {
    "seat": np.uint8,
    "first": np.int32,
    "parent": np.int32,
    "action": np.uint8,
    "node": np.int32,
    "deal": np.uint64,
    "node_parent": np.int32,
    "node_action": np.uint8,
    "places": np.int64,
    "size0": np.int32,
    "size1": np.int32,
    "sequence0": np.int32,
    "sequence1": np.int32,
    "pay0": np.float64,
    "pay1": np.float64,
    "met0": np.float64,
    "met1": np.float64,
}
"""What is kept while growing."""


@dataclass(frozen=True)
class Level:
    """Public positions after equally many turns that do not end the round.

    Attributes:
        mover: the seat to move in all of them.
        nodes: int32 [n], their numbers.
        states: a record of each; whatever hands it has mean nothing.
        own, other: the hands of the seat to move and of the other one.
        legal: uint64, what each of the own hands may do, a bit set over actions.
        deals: uint64 [.., 2]: for each of the own hands a deal that leads there with it.
    """

    mover: int
    nodes: NDArray[np.int32]
    states: NDArray[Any]
    own: Hands
    other: Hands
    legal: NDArray[np.uint64]
    deals: NDArray[np.uint64]

    def take(self, positions: NDArray[np.bool_]) -> Level:
        """Some of the positions alone."""
        rows = np.repeat(positions, np.diff(self.own.starts))
        own, other = self.own.take(positions), self.other.take(positions)
        nodes, states = self.nodes[positions], self.states[positions]
        return Level(self.mover, nodes, states, own, other, self.legal[rows], self.deals[rows])

    def parts(self) -> Iterator[Level]:
        """The same positions, a few at a time."""
        part = np.arange(len(self.nodes)) // BATCH
        for number in range(-(-len(self.nodes) // BATCH)):
            yield self.take(part == number)


@dataclass(frozen=True)
class Turns:
    """Every turn that can be taken at a level, c of them, by position and then action.

    Attributes:
        parents: int64 [c], positions in the level.
        actions: int64 [c].
        laid: uint64 [c], the tile that the turn lays, as a bit set; a pass lays none.
        own, other: the hands after it, of the seat that moved and of the other.
        partners: uint64, for each of the other's hands one of the mover's, before the turn, that goes with it.
    """

    parents: NDArray[np.int64]
    actions: NDArray[np.int64]
    laid: NDArray[np.uint64]
    own: Hands
    other: Hands
    partners: NDArray[np.uint64]


@dataclass
class Growth:
    """What has been grown so far: counts, and arrays that are joined in the end."""

    rules: Rules
    merged: bool
    num_nodes: int = 0
    num_terminals: int = 0
    num_infosets: int = 0
    num_public: int = 1
    num_sequences: int = 2
    pay_size: int = 0
    blocks: dict[int, int] = field(default_factory=dict)
    parts: dict[str, list[NDArray[Any]]] = field(default_factory=dict)

    def add(self, **arrays: NDArray[Any]) -> None:
        for name, array in arrays.items():
            self.parts.setdefault(name, []).append(array.astype(DTYPES[name], copy=False))

    def joined(self, name: str) -> NDArray[Any]:
        return np.concatenate(self.parts.pop(name))

    def root(self) -> Level:
        """The empty table: every hand of either seat."""
        hands, rules = all_hands(self.rules), self.rules
        self.num_nodes = num_deals(rules)
        self.add(node_parent=np.array([-1]), node_action=np.array([0]))
        deals = np.stack([hands, disjoint(hands, rules)], axis=1)
        states, bounds = opened(deals, rules), np.array([0, len(hands)])
        own, other = (Hands(bounds, hands, np.full(len(hands), seat, np.int32)) for seat in (0, 1))
        legal = legal_actions(hands, states, np.arange(len(hands)), rules, self.merged)
        return Level(0, np.zeros(1, np.int32), states[:1].copy(), own, other, legal, deals)

    def next(self, level: Level) -> Level:
        """The positions a turn later that do not end the round; those that do are kept as ends."""
        turns = take_turns(level, self._add_sets(level), self.rules)
        nodes = np.arange(self.num_public, self.num_public + len(turns.actions), dtype=np.int32)
        self.num_public += len(nodes)
        self.add(node_parent=level.nodes[turns.parents], node_action=turns.actions)
        states = states_after(level, turns, self.rules)
        over = states["over"] == 1
        self._add_ends(level, turns, over)
        child = turns.other.position
        legal = legal_actions(turns.other.hands, states, child, self.rules, self.merged)
        laid = states["laid"][child]
        deals = np.empty((len(child), 2), np.uint64)
        deals[:, level.mover] = turns.partners | laid[:, level.mover]
        deals[:, 1 - level.mover] = turns.other.hands | laid[:, 1 - level.mover]
        return Level(1 - level.mover, nodes, states, turns.other, turns.own, legal, deals).take(~over)

    def _add_sets(self, level: Level) -> NDArray[np.int32]:
        """Keep the information sets with a choice; each own hand's first sequence, int32, or if forced its last."""
        counts = count_ones(level.legal)
        choice = counts > 1
        firsts = (self.num_sequences + starts(counts * choice)).astype(np.int32)
        self.num_infosets, self.num_sequences = self.num_infosets + len(counts), int(firsts[-1])
        of_hand = level.own.position[choice]
        self.add(
            seat=np.full(len(of_hand), level.mover),
            first=firsts[:-1][choice],
            parent=level.own.sequences[choice],
            action=ones(level.legal[choice]),
            node=level.nodes[of_hand],
            deal=level.deals[choice],
        )
        return np.where(choice, firsts[:-1], level.own.sequences)

    def _add_ends(self, level: Level, turns: Turns, over: NDArray[np.bool_]) -> None:
        pairs = count_pairs(turns.own, turns.other)
        self.num_nodes += int(pairs.sum())
        self.num_terminals += int(pairs[over].sum())
        hands = (turns.own.take(over), turns.other.take(over))[:: 1 - 2 * level.mover]
        shown = fingerprints(*hands)
        for block, end in zip(*map(np.ndarray.tolist, np.unique(shown, return_index=True)), strict=True):
            if block not in self.blocks:
                self.blocks[block] = self.pay_size
                self._add_pay(level, turns, np.flatnonzero(over)[end], hands[0].at(end), hands[1].at(end))
        self.add(places=np.array([self.blocks[block] for block in shown.tolist()], np.int64))
        for seat, held in enumerate(hands):
            self.add(**{f"size{seat}": np.diff(held.starts), f"sequence{seat}": held.sequences})

    def _add_pay(self, level: Level, turns: Turns, turn: Int, *shown: NDArray[np.uint64]) -> None:
        """Ask the core what this end pays for every pair of hands."""
        pairs = tuple(hands.ravel() for hands in np.meshgrid(*shown, indexing="ij"))
        met = (pairs[0] & pairs[1] == NO_TILES).reshape(len(shown[0]), -1)
        pay = points(level, turns, turn, pairs, self.rules).reshape(met.shape) * met
        self.add(pay0=pay.T.ravel(), pay1=-pay.ravel(), met0=met.T.ravel(), met1=met.ravel())
        self.pay_size += met.size

    def tree(self, opener: int | None) -> Tree:
        """All that has been grown."""
        sizes = [self.joined(f"size{seat}") for seat in (0, 1)]
        ends = Ends(
            places=self.joined("places"),
            starts=tuple(starts(size) for size in sizes),
            sequences=tuple(self.joined(f"sequence{seat}") for seat in (0, 1)),
            pay=tuple(self.joined(f"pay{seat}") for seat in (0, 1)),
            met=tuple(self.joined(f"met{seat}") for seat in (0, 1)),
        )
        return Tree(
            rules=self.rules,
            opener=opener,
            merged=self.merged,
            num_deals=num_deals(self.rules),
            num_nodes=self.num_nodes,
            num_terminals=self.num_terminals,
            num_infosets=self.num_infosets,
            seat=self.joined("seat"),
            first=np.append(self.joined("first"), np.int32(self.num_sequences)),
            parent=self.joined("parent"),
            action=np.concatenate([np.zeros(2, np.uint8), self.joined("action")]),
            node=self.joined("node"),
            deal=self.joined("deal"),
            node_parent=self.joined("node_parent"),
            node_action=self.joined("node_action"),
            ends=ends,
        )


def grow(rules: Rules, opener: int | None, merged: bool) -> Tree:
    """The whole tree; :func:`agents.exact.build` checks first whether it can be had.

    A few positions are grown to their ends before the next few, so that the records of all others need not be kept.
    """
    growth = Growth(rules, merged)
    todo = [growth.root()]
    while todo:
        todo.extend(growth.next(todo.pop()).parts())
    return growth.tree(opener)


# Deals ----------------------------------------------------------------------------------------------------------------


def num_deals(rules: Rules) -> int:
    """Ways to deal two hands."""
    assert rules.hand_size is not None
    return comb(rules.num_tiles, rules.hand_size) * comb(rules.num_tiles - rules.hand_size, rules.hand_size)


def all_hands(rules: Rules) -> NDArray[np.uint64]:
    """Every hand that can be dealt, as bit sets."""
    tiles = np.array(list(combinations(range(rules.num_tiles), rules.hand_size or 0)))
    return np.bitwise_or.reduce(BIT[tiles], axis=1)


def disjoint(hands: NDArray[np.uint64], rules: Rules) -> NDArray[np.uint64]:
    """For each hand another one that goes with it: the first tiles that are not in it."""
    others, sizes = np.zeros_like(hands), np.zeros(len(hands), np.int64)
    for tile in range(rules.num_tiles):
        free = (hands & BIT[tile] == NO_TILES) & (sizes < rules.hand_size)
        others[free] |= BIT[tile]
        sizes += free
    return others


# Turns ----------------------------------------------------------------------------------------------------------------


def take_turns(level: Level, firsts: NDArray[np.int32], rules: Rules) -> Turns:
    """Every turn at a level, and the hands after it; ``firsts`` as :meth:`Growth._add_sets` gives them."""
    choices = np.bitwise_or.reduceat(level.legal, level.own.starts[:-1])
    parents = np.repeat(np.arange(len(choices)), count_ones(choices))
    actions = ones(choices)
    laid = np.where(actions == 2 * rules.num_tiles, NO_TILES, BIT[actions % rules.num_tiles])
    bits = ONE << actions.astype(np.uint64)
    own, other, partners = hands_after(parents, bits, laid, level.own, level.other, level.legal, firsts)
    return Turns(parents, actions, laid, own, other, partners)


def states_after(level: Level, turns: Turns, rules: Rules) -> NDArray[Any]:
    """A record after each turn; for the seat that moves next, as if it held every tile."""
    states = level.states[turns.parents]
    states["hands"] = BIT[: rules.num_tiles].sum()
    note_legal(states, turns.actions, turns.laid, rules)
    play(states, rules, np.arange(len(states)), turns.actions)
    return states


def points(
    level: Level, turns: Turns, turn: Int, hands: tuple[NDArray[np.uint64], ...], rules: Rules
) -> NDArray[np.float32]:
    """What this turn, which ends the round, pays seat 0 if these hands are shown after it, float32 [n]."""
    count = len(hands[0])
    states, actions = np.repeat(level.states[turns.parents[turn]], count), np.full(count, turns.actions[turn])
    states["hands"][:, 0], states["hands"][:, 1] = hands
    states["hands"][:, level.mover] |= turns.laid[turn]
    note_legal(states, actions, np.full(count, turns.laid[turn]), rules)
    return play(states, rules, np.arange(count), actions)[:, 0]


def note_legal(states: NDArray[Any], actions: NDArray[np.int64], laid: NDArray[np.uint64], rules: Rules) -> None:
    """Let the seat to move take just this turn: the core has said that the hands meant may take it."""
    states["legal_left"] = np.where(actions < rules.num_tiles, laid, NO_TILES)
    states["legal_right"] = np.where(actions < rules.num_tiles, NO_TILES, laid)
