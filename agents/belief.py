"""Belief: the deals that a player's observation with history leaves possible, counted, sampled and enumerated.

Everything public counts: the own hand, who laid what, how many tiles each seat holds, what passes and draws showed at
the ends of that time, and by the rules' options what the opener and the opening tile tell. Every deal that fits is
equally likely; how players choose among legal actions is left out.

Each tile of the set lies in a *bin*: what a seat was dealt, what it drew at one turn, or the stock. From what has been
seen follow each bin's size and the bins that each tile may lie in. The ways to fill the bins are counted tile by tile
(``ways``: from this tile on, with so many places left), and the n-th way can be written down without the others: a
uniform number gives a uniform world, and all numbers give all worlds. Counts are float64: exact up to 2**53, beyond
that to 16 digits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from block_env._bits import lowest_one
from block_env._compile import Array, Int, kernel
from block_env.observation import Facts, decode
from block_env.tiles import BIT, Tile, format_tile, tiles
from block_env.variants import MAX_SEATS, Rules

MOST_COUNTS = 2**24
"""The most numbers of ``ways`` (128 MiB) that one belief may take; only long Draw games of big sets come near."""

WORLD = np.dtype([("hands", "<u8", (MAX_SEATS,)), ("stock", "<u8"), ("order", "u1", (56,))])
"""Where the unseen tiles are: hands by relative seat (the own one too) and the stock, as sets of tiles. In Draw
``order`` has the stock at its places of :data:`block_env.state.STATE`, as it will be drawn; otherwise it is all 0."""

_EXACT = 2.0**53
_NO_TILES, _ONE = np.uint64(0), np.uint64(1)


class Belief:
    """The worlds that fit an observation, all equally likely.

    Args:
        rules: what is played.
        observation: float32 [D] with history, or the dict that holds it.
        dealt_openers: whether the opener of a single round holds the highest double, as the rules say. False: it was
            chosen otherwise, as positions that are set up may do, and tells nothing. In a match only the first round
            could tell, and an observation does not say which round it is: there it tells nothing.

    Attributes:
        count: how many worlds there are; in Draw one for each way in which the tiles can have been dealt and drawn, but
            for their order.

    Raises:
        ValueError: the observation has no history, or contradicts itself or the rules; the message says in what.
    """

    def __init__(
        self, rules: Rules, observation: NDArray[Any] | dict[str, NDArray[Any]], dealt_openers: bool = True
    ) -> None:
        facts = decode(rules, observation)
        told = dealt_openers and rules.first_opener == "highest_double" and rules.target is None
        story = _Story.read(rules, facts, told or rules.opener_plays_double)
        self.rules, self._stock_next = rules, sum(facts.tiles_left) + sum(map(len, facts.laid))
        self._held = np.uint64(sum(1 << tile for tile in range(rules.num_tiles) if tile not in story.laid))
        self._cases = [case for allowed in _openings(rules, story, told) if (case := _Case.of(story, allowed))]
        if not self._cases:
            what = "opener, passes, draws and hands" if told else "passes, draws and hands"
            raise ValueError(f"observation: no deal goes with all of its {what}")
        self._ends = np.cumsum([case.count for case in self._cases])
        self.count = float(self._ends[-1])

    def sample(self, count: int, rng: np.random.Generator) -> NDArray[Any]:
        """So many worlds, each drawn anew and uniformly: dtype :data:`WORLD` [count]."""
        if self.count < _EXACT:
            ranks = rng.integers(int(self.count), size=count).astype(np.float64)
        else:
            ranks = rng.random(count) * self.count
        worlds = self._worlds(ranks, rng.random(count))
        if self.rules.draw:
            self._shuffle(worlds, rng)
        return worlds

    def worlds(self, most: int = 100_000) -> NDArray[Any]:
        """Every world, dtype :data:`WORLD` [count], in Draw with the stock in the order of tile ids.

        Raises:
            ValueError: there are more than ``most``.
        """
        if self.count > most:
            raise ValueError(f"most: takes at least the number of worlds, {self.count:.0f}, got {most!r}")
        return self._worlds(np.arange(self.count), np.zeros(int(self.count)))

    def _worlds(self, ranks: NDArray[np.float64], spare: NDArray[np.float64]) -> NDArray[Any]:
        worlds = np.zeros(len(ranks), WORLD)
        bins = np.zeros((len(ranks), MAX_SEATS + 1), np.uint64)
        which = np.minimum(np.searchsorted(self._ends, ranks, side="right"), len(self._cases) - 1)
        for number in np.unique(which):
            mine = np.flatnonzero(which == number)
            case = self._cases[number]
            ranks_in = ranks[mine] - (self._ends[number] - case.count)
            unrank(
                case.ways,
                case.bins,
                case.tiles,
                case.allowed,
                case.sizes,
                case.strides,
                case.owners,
                ranks_in,
                spare[mine],
                mine,
                bins,
            )
            for seat, fixed in enumerate(case.fixed):
                bins[mine, seat] |= fixed
        bins &= self._held
        worlds["hands"], worlds["stock"] = bins[:, :MAX_SEATS], bins[:, MAX_SEATS]
        if self.rules.draw:
            list_tiles(bins[:, MAX_SEATS], worlds["order"], self._stock_next)
        return worlds

    def _shuffle(self, worlds: NDArray[Any], rng: np.random.Generator) -> None:
        stock = worlds["order"][:, self._stock_next : self.rules.num_tiles]
        stock[:] = rng.permuted(stock, axis=1)


# What has been seen ---------------------------------------------------------------------------------------------------


@dataclass
class _Seat:
    """What has been seen of a seat: its turns without laying, and what it laid.

    Attributes:
        ends: the pips of the two ends at each turn without laying.
        drawn: tiles that it drew then.
        fitted: whether the last of them fitted; it is laid at once, as nothing else can be.
        laid: tile ids, with how many such turns went before.
        forced: of those laid, the ones that had just been drawn.
    """

    ends: list[set[int]] = field(default_factory=list)
    drawn: list[int] = field(default_factory=list)
    fitted: list[bool] = field(default_factory=list)
    laid: dict[int, int] = field(default_factory=dict)
    forced: set[int] = field(default_factory=set)

    @property
    def waits(self) -> bool:
        """Whether it has drawn a tile that fits and is yet to lay it."""
        return sum(self.fitted) > len(self.forced)

    def batches(self, tile: int, halves: set[int]) -> range:
        """What a tile that it held until it laid it, or holds now, can have come with: 0 the deal, k the k-th draw.

        The last tile of a draw that fitted aside, it fitted at none of the turns without laying from then on.
        """
        until = self.laid.get(tile, len(self.ends))
        misfits = [turn for turn in range(until) if halves & self.ends[turn]]
        return range(misfits[-1] + 2 if misfits else 0, until + 1)


@dataclass
class _Story:
    """The bins, and what each tile may lie in.

    Attributes:
        sizes: places in each bin, the stock last.
        owners: the relative seat of each bin, MAX_SEATS for the stock.
        dealt: each seat's bin of tiles that it was dealt.
        allowed: for each tile the bins that it may lie in, as bits; 0 where that tells nothing more.
        laid: tiles on the table.
        opener, opened: the relative seat, and the tile that it opened with (None: not yet).
    """

    sizes: list[int]
    owners: list[int]
    dealt: list[int]
    allowed: list[int]
    laid: set[int]
    opener: int
    opened: int | None

    @classmethod
    def read(cls, rules: Rules, facts: Facts, dealt_matters: bool) -> _Story:
        """From the facts of an observation; ``dealt_matters``: whether it tells who was dealt what."""
        _check_facts(rules, facts)
        seats, opened = _replay(rules, facts)
        laid = {tile for seat in seats for tile in seat.laid}
        own = {_ids(rules)[tile] for tile in facts.hand}
        unseen = set(range(rules.num_tiles)) - laid - own
        story = cls([], [], [], [0] * rules.num_tiles, laid, facts.opener, opened)
        for seat, seen in enumerate(seats):
            story._add_seat(rules, seat, seen, unseen if seat else own, bool(seat) or (dealt_matters and rules.draw))
        story._add_bin(MAX_SEATS, len(unseen) - sum(facts.tiles_left[1:]), unseen)
        return story

    def _add_bin(self, owner: int, size: int, holds: set[int]) -> None:
        for tile in holds:
            self.allowed[tile] |= 1 << len(self.sizes)
        self.sizes.append(size)
        self.owners.append(owner)

    def _add_seat(self, rules: Rules, seat: int, seen: _Seat, held: set[int], apart: bool) -> None:
        """The bins of a seat that may hold these tiles; without ``apart`` all its tiles share one."""
        assert rules.hand_size is not None
        known = set(seen.laid) - seen.forced
        batches = {tile: seen.batches(tile, set(tiles(rules.max_pip)[tile])) for tile in held | known}
        waiting = {t for t in held if seen.waits and seen.ends[-1] & set(tiles(rules.max_pip)[t])}
        _check_shown(rules, seat, seen, held - waiting if seat == 0 else set(), batches)
        self.dealt.append(len(self.sizes))
        if not apart:
            self._add_bin(seat, len(held | known), held | known)
            return
        sizes = [rules.hand_size, *(k - fitted for k, fitted in zip(seen.drawn, seen.fitted, strict=True))]
        for batch, size in enumerate(sizes):
            self._add_bin(seat, size, {tile for tile in batches if batch in batches[tile]})
        if seen.waits:
            self._add_bin(seat, 1, waiting)


@cache
def _ids(rules: Rules) -> dict[Tile, int]:
    return {tile: index for index, tile in enumerate(tiles(rules.max_pip))}


def _refuse(what: str) -> ValueError:
    return ValueError(f"observation: contradicts itself: {what}")


def _check_facts(rules: Rules, facts: Facts) -> None:
    """What must hold of counts and tiles, whatever was played."""
    if facts.history is None:
        raise ValueError("observation: takes one with history, got one without")
    seen: dict[Tile, str] = dict.fromkeys(facts.hand, "held")
    for seat, laid in enumerate(facts.laid):
        for tile in laid:
            if tile in seen:
                raise _refuse(f"{format_tile(tile)} is {seen[tile]} and laid by relative seat {seat}")
            seen[tile] = f"laid by relative seat {seat}"
    for seat, left in enumerate(facts.tiles_left):
        drawn = sum(turn.drawn for turn in facts.history if turn.seat == seat)
        assert rules.hand_size is not None
        had = rules.hand_size + drawn - len(facts.laid[seat])
        if left != had or (seat == 0 and left != len(facts.hand)):
            told = f"{len(facts.hand)} seen" if seat == 0 and left == had else f"{had} by what it drew and laid"
            raise _refuse(f"relative seat {seat} has {left} tiles left, but {told}")


def _check_shown(rules: Rules, seat: int, seen: _Seat, own: set[int], batches: dict[int, range]) -> None:
    """That a seat laid, and the viewer holds, nothing that passes or draws have shown it not to hold."""
    for tile in [*seen.laid, *own]:
        if tile in batches and not batches[tile]:
            does = "laid" if tile in seen.laid else "holds"
            name = format_tile(tiles(rules.max_pip)[tile])
            raise _refuse(f"relative seat {seat} {does} {name}, which it has shown not to hold")


def _replay(rules: Rules, facts: Facts) -> tuple[list[_Seat], int | None]:
    """What the turns show of each seat, and the tile that was laid first."""
    seats, ends, opened = [_Seat() for _ in facts.tiles_left], [], None
    assert facts.history is not None
    for number, turn in enumerate(facts.history):
        seat = seats[turn.seat]
        if turn.tile is None:
            if not ends or (not turn.passed and not turn.drawn):
                raise _refuse(f"turn {number} neither lays, nor draws, nor can be a pass")
            seat.ends.append(set(ends))
            seat.drawn.append(turn.drawn)
            seat.fitted.append(not turn.passed)
            continue
        tile = _ids(rules)[turn.tile]
        if seat.waits:
            seat.forced.add(tile)
        seat.laid[tile] = len(seat.ends)
        opened = tile if opened is None else opened
        ends = _joined(number, ends, turn.tile, turn.end)
    for number, (seat, laid) in enumerate(zip(seats, facts.laid, strict=True)):
        if set(seat.laid) != {_ids(rules)[tile] for tile in laid}:
            raise _refuse(f"what relative seat {number} has laid is not what its turns say")
    return seats, opened


def _joined(number: int, ends: list[int], tile: Tile, end: str | None) -> list[int]:
    """Both ends after a tile has been laid."""
    if not ends:
        return list(tile)
    at = 0 if end == "left" else 1
    if ends[at] not in tile:
        raise _refuse(f"turn {number} lays {format_tile(tile)} at an end that shows {ends[at]}")
    return [sum(tile) - ends[at], ends[1]] if at == 0 else [ends[0], sum(tile) - ends[at]]


# What opening tells ---------------------------------------------------------------------------------------------------


def _rank(rules: Rules, tile: int) -> tuple[bool, int, int]:
    """Which of two tiles opens: doubles first, then pips, then the larger half."""
    low, high = tiles(rules.max_pip)[tile]
    return low == high, low + high, high


def _openings(rules: Rules, story: _Story, told: bool) -> Iterator[list[int]]:
    """The bins that each tile may lie in, for each highest tile that can have been dealt; one if that tells nothing."""
    allowed, own = list(story.allowed), 1 << story.dealt[story.opener]
    if rules.opener_plays_double and story.opened is not None:
        allowed = _without(rules, allowed, story.opened, own)
    if not told:
        yield allowed
        return
    dealt = sum(1 << place for place in story.dealt)
    for top in sorted(range(rules.num_tiles), key=lambda tile: _rank(rules, tile), reverse=True):
        case = _without(rules, allowed, top, dealt)
        case[top] &= own
        yield case
        if not allowed[top] & ~dealt:
            return  # it was dealt, so that no lower tile is the highest


def _without(rules: Rules, allowed: Sequence[int], top: int, bins: int) -> list[int]:
    """No tile that opens before ``top`` lies in these bins."""
    limit = _rank(rules, top)
    return [mask & ~bins if _rank(rules, tile) > limit else mask for tile, mask in enumerate(allowed)]


# Ways to fill the bins ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Case:
    """One set of bins for each tile, and the ways to fill them.

    Attributes:
        ways: float64 [tiles + 1, states]; a state is the places left in each bin but the stock, as digits.
        bins: int64, how many bins there are but for the stock.
        tiles, allowed: uint64 [tiles], those that may lie in several bins, and in which.
        sizes, strides, owners: int64 [bins + 1], of each bin; the stock last.
        fixed: uint64 [seats + 1], the tiles whose owner is known.
    """

    ways: NDArray[np.float64]
    bins: int
    tiles: NDArray[np.uint64]
    allowed: NDArray[np.uint64]
    sizes: NDArray[np.int64]
    strides: NDArray[np.int64]
    owners: NDArray[np.int64]
    fixed: NDArray[np.uint64]

    @property
    def count(self) -> float:
        return float(self.ways[0, -1])

    @classmethod
    def of(cls, story: _Story, allowed: Sequence[int]) -> _Case | None:
        """The ways to fill the story's bins when each tile may lie in these; None if there is none."""
        if any(mask == 0 and given != 0 for mask, given in zip(allowed, story.allowed, strict=True)):
            return None
        found = _fixed(story, allowed)
        if found is None:
            return None
        masks, sizes, fixed = found
        strides = np.cumprod([1, *(size + 1 for size in sizes[:-1])])
        if strides[-1] * (len(masks) + 1) > MOST_COUNTS:
            raise ValueError(f"observation: takes one with at most {MOST_COUNTS} counts to make, the draws leave more")
        case = cls(
            np.zeros((len(masks) + 1, strides[-1])),
            len(sizes) - 1,
            np.array(list(masks), np.uint64),
            np.array(list(masks.values()), np.uint64),
            np.array(sizes),
            strides,
            np.array(story.owners),
            fixed,
        )
        count_ways(case.ways, case.bins, case.allowed, case.sizes, case.strides)
        return case if case.count else None


def _fixed(story: _Story, allowed: Sequence[int]) -> tuple[dict[int, int], list[int], NDArray[np.uint64]] | None:
    """Put tiles that can lie in one bin alone there: what is left to place, in how many places, what is fixed."""
    masks, sizes = {tile: mask for tile, mask in enumerate(allowed) if mask}, list(story.sizes)
    fixed = np.zeros(MAX_SEATS + 1, np.uint64)
    while single := [tile for tile, mask in masks.items() if mask & (mask - 1) == 0]:
        for tile in single:
            place = masks.pop(tile).bit_length() - 1
            sizes[place] -= 1
            fixed[story.owners[place]] |= BIT[tile]
        full = sum(1 << place for place, size in enumerate(sizes) if size <= 0)
        masks = {tile: mask & ~full for tile, mask in masks.items()}
        if min(sizes) < 0 or not all(masks.values()):
            return None
    return masks, sizes, fixed


@kernel
def count_ways(ways: Array, bins: Int, allowed: Array, sizes: Array, strides: Array) -> None:
    """Fill ``ways`` from the last tile to the first."""
    count, states = len(allowed), ways.shape[1]
    ways[count, 0] = 1.0
    for item in range(count - 1, -1, -1):
        for state in range(states):
            total = ways[item + 1, state] if allowed[item] >> np.uint64(bins) & _ONE != _NO_TILES else 0.0
            for place in range(bins):
                room = state // strides[place] % (sizes[place] + 1)
                if room and allowed[item] >> np.uint64(place) & _ONE != _NO_TILES:
                    total += ways[item + 1, state - strides[place]]
            ways[item, state] = total


@kernel
def unrank(
    ways: Array,
    bins: Int,
    tiles: Array,
    allowed: Array,
    sizes: Array,
    strides: Array,
    owners: Array,
    ranks: Array,
    spare: Array,
    rows: Array,
    out: Array,
) -> None:
    """The ways of these ranks (float64 [n]) into ``out`` (uint64 [N, seats + 1], sets of tiles by owner) at ``rows``.

    Where there are more ways than a rank can tell apart, it is drawn anew from ``spare`` (float64 [n], below 1) as soon
    as few enough are left.
    """
    room = np.empty(bins + 1, np.int64)
    for k in range(len(ranks)):
        room[:] = sizes
        state, rank, exact = ways.shape[1] - 1, ranks[k], ways[0, -1] < _EXACT
        for item in range(len(allowed)):
            if not exact and ways[item, state] < _EXACT:
                rank, exact = np.floor(spare[k] * ways[item, state]), True
            places, chosen = allowed[item], bins
            while places != _NO_TILES:
                place = lowest_one(places)
                places &= places - _ONE
                if place < bins and room[place] == 0:
                    continue
                here = ways[item + 1, state - strides[place] if place < bins else state]
                if here > 0.0:
                    chosen = place
                    if rank < here:
                        break
                    rank -= here
            if chosen < bins:
                state -= strides[chosen]
            room[chosen] -= 1
            out[rows[k], owners[chosen]] |= BIT[tiles[item]]


@kernel
def list_tiles(stocks: Array, orders: Array, first: Int) -> None:
    """The tiles of each set (uint64 [n]) into ``orders`` (uint8 [n, 56]) from ``first`` on."""
    for row in range(len(stocks)):
        bits, place = stocks[row], first
        while bits != _NO_TILES:
            orders[row, place] = lowest_one(bits)
            bits &= bits - _ONE
            place += 1
