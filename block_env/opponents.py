"""The scripted policies, by name: ``random``, ``greedy`` and ``heuristic``.

None knows more than its observation and mask, none keeps anything between calls, and all take observations with or
without the history part, which they do not read. Where two actions are equally good, ``greedy`` and ``heuristic`` take
the lower action id: the left end before the right, and at one end the lower tile id.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from block_env._bits import count_ones, lowest_one, read_bits
from block_env._compile import Array, Int, Record, Word, inlined, kernel
from block_env.observation import layout, layout_table
from block_env.policy import Policy
from block_env.tiles import BIT, pips, tiles
from block_env.variants import MAX_SEATS, Rules, resolve, rules_table


@dataclass(frozen=True)
class Weights:
    """What ``heuristic`` adds up for each legal action: the weight of each feature. A pip laid counts one.

    The weights are those that ``python benchmarks/fit_heuristic.py`` prints: fitted once, on rounds for two and in
    partnership, and used for all rule sets.

    Attributes:
        pips: pips of the tile that is laid.
        double: 1 if it is a double, which fits one pip only.
        weaker_end: own tiles left that fit the end where the player has fewer of them.
        stuck: 1 if no own tile left fits either end.
        sure_ends: ends that an own tile left fits and that no opponent can cover, for all that is known.
        unseen_fits: tiles that fit an end and are neither in the own hand nor laid.
        opponents_pass: chance that an opponent can lay nothing, added up over the opponents. Each one's hand is taken
            to be equally likely any of the unseen tiles without the pips that it has shown to lack.
        partner_passes: the same chance for the partner, in partnership.
        block: chance that nobody can lay any more, times the pips by which the own side is then expected to hold less
            than the other sides do on average.
    """

    pips: float = 1.0
    double: float = 3.78
    weaker_end: float = 1.45
    stuck: float = -3.14
    sure_ends: float = 7.55
    unseen_fits: float = -2.79
    opponents_pass: float = 1.96
    partner_passes: float = -6.67
    block: float = 0.48


# Policies -------------------------------------------------------------------------------------------------------------


class Scripted(ABC):
    """What the scripted policies share: they are made for one set of rules and check what they are shown."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._widths = (layout(rules).size, layout(rules, history=True).size)

    def act(
        self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Choose one legal action a row.

        Args:
            observation: float32 [B, D], with or without the history part.
            action_mask: int8 [B, A], 1 where the action is legal.
            rng: the only source of chance; ``greedy`` and ``heuristic`` draw nothing from it.

        Returns:
            Actions, int64 [B].

        Raises:
            ValueError: a shape does not go with the rules that the policy was made for, or a row has no legal action.
        """
        rows, masks = self._check(observation, action_mask)
        chosen = np.empty(len(rows), np.int64)
        self._choose(rows, masks, rng, chosen)
        if chosen.size and chosen.min() < 0:
            raise ValueError(f"action_mask: takes at least one legal action a row, row {chosen.argmin()} has none")
        return chosen

    @abstractmethod
    def _choose(self, rows: Array, masks: Array, rng: np.random.Generator, chosen: Array) -> None:
        """Write one action a row into ``chosen``, -1 where none is legal."""

    def _check(self, observation: Any, action_mask: Any) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        rows = np.ascontiguousarray(observation, np.float32)
        masks = np.ascontiguousarray(action_mask, np.int8)
        base, full = self._widths
        if rows.ndim != 2 or rows.shape[1] not in self._widths:
            raise self._misfit("observation", f"float32 [B, {base}], or [B, {full}] with history", rows)
        if masks.shape != (len(rows), self.rules.num_actions):
            raise self._misfit("action_mask", f"int8 [{len(rows)}, {self.rules.num_actions}]", masks)
        return rows, masks

    def _misfit(self, name: str, takes: str, given: Array) -> ValueError:
        shape = list(given.shape)
        return ValueError(f"{name}: takes {takes}, got {shape}; this {type(self).__name__} was made for {self.rules}")


class RandomPolicy(Scripted):
    """Every legal action is equally likely."""

    def _choose(self, rows: Array, masks: Array, rng: np.random.Generator, chosen: Array) -> None:
        nth_legal(masks, rng.random(len(masks)), chosen)

    def probabilities(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        """The same for each legal action, float64 [B, A]; arguments and errors as in ``act``."""
        _, masks = self._check(observation, action_mask)
        legal = masks != 0
        count = legal.sum(axis=1, keepdims=True)
        if not count.all():
            raise ValueError(f"action_mask: takes at least one legal action a row, row {count.argmin()} has none")
        odds: NDArray[np.float64] = legal / count
        return odds


class GreedyPolicy(Scripted):
    """Lays the legal tile with the most pips; ties go to the lower action id."""

    def _choose(self, rows: Array, masks: Array, rng: np.random.Generator, chosen: Array) -> None:
        heaviest(masks, _action_pips(self.rules), chosen)


class HeuristicPolicy(Scripted):
    """Takes the legal action with the highest score, a weighted sum of what it leaves; ties: the lower action id.

    Args:
        rules: what is played.
        weights: of the score's features.
    """

    def __init__(self, rules: Rules, weights: Weights | None = None) -> None:
        super().__init__(rules)
        self.weights = Weights() if weights is None else weights
        self._tables = rules_table(rules), layout_table(rules), np.array([dataclasses.astuple(self.weights)], WEIGHTS)

    def scores(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        """The score of each action, float64 [B, A], -inf where it is not legal; arguments and errors as in ``act``."""
        rows, masks = self._check(observation, action_mask)
        scores = np.empty(masks.shape)
        score_actions(rows, masks, *self._tables, np.zeros(1, VIEW), scores)
        return scores

    def _choose(self, rows: Array, masks: Array, rng: np.random.Generator, chosen: Array) -> None:
        best_actions(rows, masks, *self._tables, np.zeros(1, VIEW), chosen)


_POLICIES: dict[str, type[Scripted]] = {"random": RandomPolicy, "greedy": GreedyPolicy, "heuristic": HeuristicPolicy}

OPPONENTS: tuple[str, ...] = tuple(_POLICIES)
"""The names that :func:`make` takes."""


def make(name: str, rules: str | Rules = "match", num_players: int | None = None) -> Policy:
    """The scripted policy of that name, for these rules (as :func:`block_env.variants.resolve` takes them).

    Raises:
        ValueError: no such policy, or ``rules`` and ``num_players`` do not go together.
    """
    if name not in OPPONENTS:
        raise ValueError(f"opponent: takes one of {', '.join(map(repr, OPPONENTS))}, got {name!r}")
    return _POLICIES[name](resolve(rules, num_players))


@cache
def _action_pips(rules: Rules) -> NDArray[np.int64]:
    """The pips that each action lays, int64 [A]; a pass lays none."""
    laid = [pips(tile) for tile in tiles(rules.max_pip)]
    return np.array([*laid, *laid, 0])


# Random and greedy ----------------------------------------------------------------------------------------------------

_NO_TILES, _ONE = np.uint64(0), np.uint64(1)


@inlined
def legal_tiles(masks: Array, row: Int) -> tuple[Word, Word]:
    """The tiles that the row's mask lets be laid at the left and at the right end, as sets."""
    flat, width = masks.reshape(-1), masks.shape[1]
    start, half = row * width, width // 2
    return read_bits(flat, start, half), read_bits(flat, start + half, half)


@inlined
def only_pass(masks: Array, row: Int) -> Int:
    """The pass, where it is legal; -1 for none. Nothing else is legal then."""
    last = masks.shape[1] - 1
    return last if masks[row, last] else -1


@kernel
def nth_legal(masks: Array, uniforms: Array, chosen: Array) -> None:
    """Into ``chosen`` (int64 [B]) the legal action that ``uniforms`` (float64 [B], below 1) falls on, -1 for none."""
    half = masks.shape[1] // 2
    for row in range(len(masks)):
        left, right = legal_tiles(masks, row)
        lefts = count_ones(left)
        skip = np.int64(uniforms[row] * (lefts + count_ones(right)))
        bits, first = left, 0
        if skip >= lefts:
            bits, first, skip = right, half, skip - lefts
        for _ in range(skip):
            bits &= bits - _ONE
        chosen[row] = only_pass(masks, row) if bits == _NO_TILES else first + lowest_one(bits)


@kernel
def heaviest(masks: Array, action_pips: Array, chosen: Array) -> None:
    """Into ``chosen`` (int64 [B]) the legal action that lays the most pips, the lowest of equals; -1 for none."""
    half = masks.shape[1] // 2
    for row in range(len(masks)):
        chosen[row] = only_pass(masks, row)
        most: Int = -1
        for end, bits in enumerate(legal_tiles(masks, row)):
            while bits != _NO_TILES:
                tile = lowest_one(bits)
                bits &= bits - _ONE
                if action_pips[tile] > most:
                    most = action_pips[tile]
                    chosen[row] = end * half + tile


# Heuristic: what a row says -------------------------------------------------------------------------------------------

WEIGHTS = np.dtype((np.record, [(field.name, "<f8") for field in dataclasses.fields(Weights)]))
"""A :class:`Weights` as the kernels take it."""

VIEW = np.dtype(
    (
        np.record,
        [
            ("hand", "<u8"),  # the own tiles
            ("unseen", "<u8"),  # tiles neither in the own hand nor laid
            ("may_hold", "<u8", (MAX_SEATS,)),  # unseen tiles without the pips that the seat lacks
            ("tiles_left", "<i4", (MAX_SEATS,)),  # how many tiles each seat holds
            ("left", "<i4"),  # pip of the left end, -1 before the opening tile
            ("right", "<i4"),
        ],
    )
)
"""One observation as sets of tiles (:mod:`block_env.tiles`); seats are relative."""


@inlined
def count_pips(bits: Word, rules: Record) -> Int:
    total = np.int64(0)
    for place in range(len(rules.pip_bits)):
        total += count_ones(bits & rules.pip_bits[place]) << place
    return total


@inlined
def read_pip(row: Array, start: Int, count: Int) -> Int:
    bits = read_bits(row, start, count)
    return np.int64(-1) if bits == _NO_TILES else lowest_one(bits)


@inlined
def read_row(row: Array, rules: Record, places: Record, view: Record) -> None:
    """Write what an observation (float32 [D]) says into ``view``."""
    count, num_pips = rules.num_tiles, places.num_pips
    view.hand = read_bits(row, places.hand, count)
    view.left = read_pip(row, places.left_end, num_pips)
    view.right = read_pip(row, places.right_end, num_pips)
    unseen = _NO_TILES
    for pip in range(num_pips):
        unseen |= rules.suit[pip]
    unseen &= ~view.hand
    for seat in range(rules.num_players):
        unseen &= ~read_bits(row, places.laid + seat * count, count)
    view.unseen = unseen
    for seat in range(1, rules.num_players):
        read_other(row, rules, places, seat, view)


@inlined
def read_other(row: Array, rules: Record, places: Record, seat: Int, view: Record) -> None:
    """How many tiles another seat holds, and which it may hold."""
    view.tiles_left[seat] = int(row[places.tiles_left + seat] * places.tiles_unit + 0.5)
    may_hold = view.unseen
    for pip in range(places.num_pips):
        if row[places.lacks + seat * places.num_pips + pip] > 0:
            may_hold &= ~rules.suit[pip]
    view.may_hold[seat] = may_hold


# Heuristic: the score of an action ------------------------------------------------------------------------------------


@inlined
def chance_of_none(candidates: Int, fitting: Int, held: Int) -> Any:
    """The chance that ``held`` tiles, any of ``candidates`` equally likely, are none of the ``fitting`` ones."""
    misses, hands = 1.0, 1.0
    for drawn in range(held):
        misses *= max(candidates - fitting - drawn, 0)
        hands *= max(candidates - drawn, 1)
    return misses / hands


@inlined
def pass_chance(view: Record, seat: Int, fitting: Word) -> Any:
    """The chance that another seat holds none of the fitting tiles."""
    may_hold = view.may_hold[seat]
    return chance_of_none(count_ones(may_hold), count_ones(may_hold & fitting), view.tiles_left[seat])


@inlined
def expected_pips(view: Record, rules: Record, seat: Int) -> Any:
    """The pips that another seat holds, on average."""
    may_hold = view.may_hold[seat]
    return view.tiles_left[seat] * count_pips(may_hold, rules) / max(count_ones(may_hold), 1)


@inlined
def pips_less(view: Record, rules: Record, rest: Word) -> Any:
    """How many pips the own side, its hand being ``rest``, is expected to hold less than the others' average side."""
    own, others = float(count_pips(rest, rules)), 0.0
    for seat in range(1, rules.num_players):
        if seat % rules.num_sides == 0:
            own += expected_pips(view, rules, seat)
        else:
            others += expected_pips(view, rules, seat)
    return others / (rules.num_sides - 1) - own


@inlined
def is_sure(view: Record, rules: Record, rest: Word, suit: Word) -> Int:
    """Whether the own hand, being ``rest``, has a tile of this suit and no opponent can have one."""
    if rest & suit == _NO_TILES:
        return False
    for seat in range(1, rules.num_players):
        if seat % rules.num_sides != 0 and view.may_hold[seat] & suit != _NO_TILES:
            return False
    return True


@inlined
def own_score(view: Record, rules: Record, weights: Record, rest: Word, left: Word, right: Word) -> Any:
    """The features of the own hand, being ``rest``, when ``left`` and ``right`` are the suits of the two ends."""
    score = weights.weaker_end * min(count_ones(rest & left), count_ones(rest & right))
    if rest & (left | right) == _NO_TILES:
        score += weights.stuck
    if is_sure(view, rules, rest, left):
        score += weights.sure_ends
    if is_sure(view, rules, rest, right):
        score += weights.sure_ends
    return score


@inlined
def others_score(view: Record, rules: Record, weights: Record, rest: Word, fitting: Word) -> Any:
    """The features of the unseen tiles, when the own hand is ``rest`` and ``fitting`` tiles can be laid."""
    opponents_pass, partner_passes, all_pass = 0.0, 0.0, 1.0
    for seat in range(1, rules.num_players):
        chance = pass_chance(view, seat, fitting)
        all_pass *= chance
        if seat % rules.num_sides == 0:
            partner_passes += chance
        else:
            opponents_pass += chance
    score = weights.opponents_pass * opponents_pass + weights.partner_passes * partner_passes
    score += weights.unseen_fits * count_ones(view.unseen & fitting)
    if all_pass > 0.0 and rest & fitting == _NO_TILES:
        score += weights.block * all_pass * pips_less(view, rules, rest)
    return score


@inlined
def score_tile(view: Record, rules: Record, weights: Record, tile: Int, at_left: Int) -> Any:
    """What laying a tile at an end is worth: :class:`Weights`, feature by feature."""
    low, high = np.int64(rules.low[tile]), np.int64(rules.high[tile])
    left, right = low, high
    if view.left >= 0:
        left = low + high - view.left if at_left else np.int64(view.left)
        right = np.int64(view.right) if at_left else low + high - view.right
    rest = view.hand & ~BIT[tile]
    score = weights.pips * (low + high) + own_score(view, rules, weights, rest, rules.suit[left], rules.suit[right])
    if low == high:
        score += weights.double
    return score + others_score(view, rules, weights, rest, rules.suit[left] | rules.suit[right])


@inlined
def score_action(view: Record, rules: Record, weights: Record, action: Int) -> Any:
    if action == 2 * rules.num_tiles:
        return 0.0  # a pass is never one of several
    at_left = action < rules.num_tiles
    return score_tile(view, rules, weights, action if at_left else action - rules.num_tiles, at_left)


@kernel
def score_actions(
    rows: Array, masks: Array, rules: Array, places: Array, weights: Array, views: Array, scores: Array
) -> None:
    """The score of each legal action into ``scores`` (float64 [B, A]), -inf for the others.

    ``views``, of length 1 and dtype :data:`VIEW`, is written over, here and in :func:`best_actions`.
    """
    for row in range(len(rows)):
        read_row(rows[row], rules[0], places[0], views[0])
        for action in range(masks.shape[1]):
            scores[row, action] = -np.inf
            if masks[row, action]:
                scores[row, action] = score_action(views[0], rules[0], weights[0], action)


@kernel
def best_actions(
    rows: Array, masks: Array, rules: Array, places: Array, weights: Array, views: Array, chosen: Array
) -> None:
    """Into ``chosen`` (int64 [B]) the legal action with the highest score, the lowest of equals; -1 for none."""
    half = masks.shape[1] // 2
    for row in range(len(rows)):
        read_row(rows[row], rules[0], places[0], views[0])
        best = -np.inf
        chosen[row] = only_pass(masks, row)
        for end, bits in enumerate(legal_tiles(masks, row)):
            while bits != _NO_TILES:
                tile = lowest_one(bits)
                bits &= bits - _ONE
                score = score_tile(views[0], rules[0], weights[0], tile, end == 0)
                if score > best:
                    best = score
                    chosen[row] = end * half + tile
