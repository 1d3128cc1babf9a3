"""The hands that a seat may hold at public positions, as lists of bit sets, and what turns make of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from block_env._compile import Array, Int, Word, kernel

NO_TILES, ONE = np.uint64(0), np.uint64(1)
_ADD, _MULTIPLY, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93), np.uint64(29)


@dataclass(frozen=True)
class Hands:
    """A seat's possible hands at some public positions: those of position i are from ``starts[i]`` on.

    ``hands`` uint64, ``sequences`` int32: the last sequence with which the seat came there with that hand.
    """

    starts: NDArray[np.int64]
    hands: NDArray[np.uint64]
    sequences: NDArray[np.int32]

    @classmethod
    def empty(cls, counts: NDArray[np.int64]) -> Hands:
        """Room for so many hands at each position."""
        bounds = starts(counts)
        return cls(bounds, np.empty(bounds[-1], np.uint64), np.empty(bounds[-1], np.int32))

    @property
    def position(self) -> NDArray[np.int64]:
        """The position of each hand."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def at(self, position: Int) -> NDArray[np.uint64]:
        """The hands at one position."""
        return self.hands[self.starts[position] : self.starts[position + 1]]

    def take(self, positions: NDArray[np.bool_]) -> Hands:
        """Those at some of the positions alone."""
        counts = np.diff(self.starts)
        rows = np.repeat(positions, counts)
        return Hands(starts(counts[positions]), self.hands[rows], self.sequences[rows])


def starts(counts: NDArray[Any]) -> NDArray[np.int64]:
    """Where runs of these lengths start, and where the last one stops."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


@kernel
def count_into(words: Array, counts: Array) -> None:
    """How many bits are on in each word (uint64 [n]), into ``counts`` (int64 [n])."""
    for k in range(len(words)):
        word = words[k]
        while word != NO_TILES:
            word &= word - ONE
            counts[k] += 1


def count_ones(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """How many bits are on in each word, int64 [n]."""
    counts = np.zeros(len(words), np.int64)
    count_into(words, counts)
    return counts


@kernel
def list_into(words: Array, places: Array) -> None:
    """The places of the bits that are on, word by word (uint64 [n]), into ``places``."""
    at = 0
    for k in range(len(words)):
        for place in range(64):
            if words[k] >> np.uint64(place) & ONE != NO_TILES:
                places[at] = place
                at += 1


def ones(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The places of the bits that are on, word by word, upwards."""
    places = np.empty(int(count_ones(words).sum()), np.int64)
    list_into(words, places)
    return places


@kernel
def partner(hands: Array, legal: Array, start: Int, stop: Int, bit: Word, hand: Word) -> Int:
    """The first of the rows whose hand may take this action and shares no tile with ``hand``, or -1."""
    for row in range(start, stop):
        if legal[row] & bit != NO_TILES and hands[row] & hand == NO_TILES:
            return row
    return -1


@kernel
def count_hands(
    parents: Array,
    bits: Array,
    own_starts: Array,
    own_hands: Array,
    legal: Array,
    other_starts: Array,
    other_hands: Array,
    counts: Array,
) -> None:
    """How many hands either seat may hold after each turn, into ``counts`` (int64 [2, turns]): mover, other."""
    for turn in range(len(parents)):
        node, bit = parents[turn], bits[turn]
        start, stop = own_starts[node], own_starts[node + 1]
        for row in range(start, stop):
            counts[0, turn] += legal[row] & bit != NO_TILES
        for row in range(other_starts[node], other_starts[node + 1]):
            counts[1, turn] += partner(own_hands, legal, start, stop, bit, other_hands[row]) >= 0


@kernel
def fill_own(
    parents: Array,
    bits: Array,
    laid: Array,
    starts: Array,
    hands: Array,
    legal: Array,
    next_sequence: Array,
    choice: Array,
    after_hands: Array,
    after_sequences: Array,
) -> None:
    """The mover's hands and sequences after each turn; ``next_sequence`` is used up."""
    at = 0
    for turn in range(len(parents)):
        node = parents[turn]
        for row in range(starts[node], starts[node + 1]):
            if legal[row] & bits[turn] != NO_TILES:
                after_hands[at], after_sequences[at] = hands[row] & ~laid[turn], next_sequence[row]
                next_sequence[row] += choice[row]
                at += 1


@kernel
def fill_other(
    parents: Array,
    bits: Array,
    own_starts: Array,
    own_hands: Array,
    legal: Array,
    other_starts: Array,
    other_hands: Array,
    other_sequences: Array,
    after_hands: Array,
    after_sequences: Array,
    partners: Array,
) -> None:
    """The other seat's hands and sequences after each turn, those that go with a hand that may take it."""
    at = 0
    for turn in range(len(parents)):
        node, bit = parents[turn], bits[turn]
        for row in range(other_starts[node], other_starts[node + 1]):
            met = partner(own_hands, legal, own_starts[node], own_starts[node + 1], bit, other_hands[row])
            if met >= 0:
                after_hands[at], after_sequences[at] = other_hands[row], other_sequences[row]
                partners[at] = own_hands[met]
                at += 1


def hands_after(
    parents: NDArray[np.int64],
    bits: NDArray[np.uint64],
    laid: NDArray[np.uint64],
    own: Hands,
    other: Hands,
    legal: NDArray[np.uint64],
    firsts: NDArray[np.int32],
) -> tuple[Hands, Hands, NDArray[np.uint64]]:
    """The hands after turns.

    Args:
        parents: int64 [c], each turn's position, in order; of one position upwards by action.
        bits: uint64 [c], the action as a bit.
        laid: uint64 [c], the tile that it lays.
        own: hands at the positions, of the seat that moves.
        other: and of the other.
        legal: uint64, what each of the own hands may do, a bit set over actions.
        firsts: int32, the sequence of each own hand's first action, or of its last turn where it has no choice.

    Returns:
        Either seat's hands after each turn, and uint64, for each of the other's hands one of the mover's before the
        turn that may take it and shares no tile with it. Where there is none, the other's hand is left out.
    """
    counts = np.zeros((2, len(parents)), np.int64)
    held = own.starts, own.hands, legal
    count_hands(parents, bits, *held, other.starts, other.hands, counts)
    mine, others = (Hands.empty(count) for count in counts)
    partners, choice = np.empty_like(others.hands), count_ones(legal) > 1
    fill_own(parents, bits, laid, *held, firsts.copy(), choice, mine.hands, mine.sequences)
    lists = other.starts, other.hands, other.sequences
    fill_other(parents, bits, *held, *lists, others.hands, others.sequences, partners)
    return mine, others, partners


@kernel
def pairs_into(own_starts: Array, own_hands: Array, other_starts: Array, other_hands: Array, pairs: Array) -> None:
    """How many pairs of hands at each position share no tile, into ``pairs`` (int64 [n])."""
    for node in range(len(pairs)):
        for row in range(own_starts[node], own_starts[node + 1]):
            for column in range(other_starts[node], other_starts[node + 1]):
                pairs[node] += own_hands[row] & other_hands[column] == NO_TILES


def count_pairs(own: Hands, other: Hands) -> NDArray[np.int64]:
    """How many deals lead to each position, int64 [n]."""
    pairs = np.zeros(len(own.starts) - 1, np.int64)
    pairs_into(own.starts, own.hands, other.starts, other.hands, pairs)
    return pairs


@kernel
def mix_into(starts: Array, hands: Array, prints: Array) -> None:
    """Mix the hands at each position, in order, into its number in ``prints`` (uint64 [n])."""
    for node in range(len(prints)):
        for row in range(starts[node], starts[node + 1]):
            mixed = (prints[node] ^ hands[row] ^ _ADD) * _MULTIPLY
            prints[node] = mixed ^ mixed >> _SHIFT
        prints[node] += _MULTIPLY


def fingerprints(first: Hands, second: Hands) -> NDArray[np.uint64]:
    """Numbers of the hands that can be shown at each position, uint64 [n]: equal for equal ones, else (but for odds of
    one in 10^10 in a tree of millions) different."""
    prints = np.zeros(len(first.starts) - 1, np.uint64)
    with np.errstate(over="ignore"):  # wrapping round is meant; compiled code does not ask
        for held in (first, second):
            mix_into(held.starts, held.hands, prints)
    return prints
