"""What a player sees: the only door from a state to a player. Encoder (compiled), named layout, decoder.

An observation is a float32 vector seen from the own seat: "relative seat" 0 is oneself, 1 the next clockwise, and so
on. :func:`layout` names each slice with its meaning; :func:`decode` gives the facts back. The encoder reads a state's
public fields and the one hand; the random stream, the stock and the other hands never reach it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numba.np.numpy_support import carray
from numpy.typing import NDArray

from block_env._bits import pointer, write_flags
from block_env._compile import Array, Int, Record, Word, inlined, kernel
from block_env.actions import decode_action
from block_env.state import BATCH, STATE
from block_env.tiles import Tile, tiles
from block_env.variants import RULES_RECORD, SINGLE_ROUND_SCALE, Rules, rules_table

_NO_TILES, _ONE = np.uint64(0), np.uint64(1)


@dataclass(frozen=True)
class Slice:
    """One named part of the vector.

    Attributes:
        name: what :meth:`Layout.__getitem__` takes.
        start: index of its first number.
        shape: its numbers in C order; the first axis is what ``meaning`` says first.
        high: the largest value a number of it can take; the lowest is 0.
        unit: the value of one: a number ``x`` stands for ``round(x * unit)``.
        meaning: what it says, in words.
    """

    name: str
    start: int
    shape: tuple[int, ...]
    high: float
    unit: int
    meaning: str

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def stop(self) -> int:
        return self.start + self.size

    def of(self, observation: NDArray[Any]) -> NDArray[Any]:
        """This part of observations [..., D], shaped [..., *shape]; a view where NumPy can."""
        part = observation[..., self.start : self.stop]
        return part.reshape(*observation.shape[:-1], *self.shape)


@dataclass(frozen=True)
class Layout:
    """The slices of an observation, in order and without gaps."""

    slices: tuple[Slice, ...]

    @property
    def size(self) -> int:
        """D, the length of the vector."""
        return self.slices[-1].stop

    @property
    def high(self) -> NDArray[np.float32]:
        """The largest value of each number, float32 [D]; the lowest is 0."""
        return np.concatenate([np.full(part.size, part.high, np.float32) for part in self.slices])

    @property
    def hash(self) -> str:
        """Tells layouts apart: 16 hex digits over names, shapes and units."""
        text = repr([(part.name, part.shape, part.unit) for part in self.slices])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def __getitem__(self, name: str) -> Slice:
        for part in self.slices:
            if part.name == name:
                return part
        raise KeyError(f"no slice {name!r}; there are {', '.join(part.name for part in self.slices)}")

    def __contains__(self, name: str) -> bool:
        return any(part.name == name for part in self.slices)


@cache
def layout(rules: Rules, history: bool = False) -> Layout:
    """The layout of an observation under these rules.

    Seats count as relative seats, tiles as ids, pips from 0. With ``history`` the whole public round follows at the
    end, so that the vector without it is a prefix.
    """
    seats, count, pips = rules.num_players, rules.num_tiles, rules.max_pip + 1
    assert rules.hand_size is not None
    score_unit = rules.target or SINGLE_ROUND_SCALE
    drawable = rules.stock_size - rules.stock_reserve if rules.draw else 0
    most_tiles = (rules.hand_size + drawable) / rules.hand_size
    top_score = (rules.max_start_score + (rules.target or 0) + rules.total_pips) / score_unit
    parts: list[tuple[str, tuple[int, ...], float, int, str]] = [
        ("hand", (count,), 1, 1, "tile: 1 if it is in the own hand"),
        ("laid", (seats, count), 1, 1, "seat, tile: 1 if that seat has laid it in this round"),
        ("left_end", (pips,), 1, 1, "pip: 1 if the left end shows it; all 0 before the opening tile"),
        ("right_end", (pips,), 1, 1, "pip: 1 if the right end shows it; all 0 before the opening tile"),
        ("tiles_left", (seats,), most_tiles, rules.hand_size, "seat: tiles held, as a share of a dealt hand"),
        ("lacks", (seats, pips), 1, 1, "seat, pip: 1 if its passes have shown that it holds no such half"),
        ("opener", (seats,), 1, 1, "seat: 1 for the one that opened the round"),
        ("to_play", (seats,), 1, 1, "seat: 1 for the one to move; all 0 once the game is over"),
        ("passes", (1,), 1, seats, "passes in a row, as a share of the seats"),
        ("scores", (seats,), top_score, score_unit, f"seat: its side's score, as a share of {score_unit} points"),
    ]
    if history:
        parts.append(("history", (rules.max_plies, seats + count + 4), 1, max(rules.stock_size, 1), _HISTORY))
    slices: list[Slice] = []
    for name, shape, high, unit, meaning in parts:
        slices.append(Slice(name, slices[-1].stop if slices else 0, shape, float(high), unit, meaning))
    return Layout(tuple(slices))


_HISTORY = (
    "turn of this round, in order (unused ones all 0): seat (one-hot), tile laid (one-hot), 1 if at the left end, "
    "1 if at the right end, 1 if passed, tiles drawn as a share of the stock"
)

LAYOUT_RECORD = np.dtype(
    (
        np.record,
        [(name, "<i4") for name in ("width", "hand", "laid", "left_end", "right_end", "tiles_left", "lacks", "opener")]
        + [(name, "<i4") for name in ("to_play", "passes", "scores", "history", "turn_size", "num_pips")]
        + [("tiles_unit", "<f4"), ("score_unit", "<f4"), ("drawn_unit", "<f4")],
    )
)


@cache
def layout_table(rules: Rules, history: bool = False) -> NDArray[Any]:
    """The layout as the encoder takes it: where each slice starts, in an array of length 1."""
    parts = layout(rules, history)
    table = np.zeros(1, LAYOUT_RECORD)
    row = table[0]
    for part in parts.slices:
        row[part.name] = part.start
    row.width = parts.size
    row.history = parts["history"].start if history else -1
    row.turn_size = parts["history"].shape[1] if history else 0
    row.num_pips = rules.max_pip + 1
    row.tiles_unit, row.score_unit = parts["tiles_left"].unit, parts["scores"].unit
    row.drawn_unit = parts["history"].unit if history else 1
    return table


# Encoder --------------------------------------------------------------------------------------------------------------


@inlined
def write_bits(bits: Word, count: Int, out: Array, at: Int) -> Int:
    """Write the lowest ``count`` bits as numbers from ``at`` on; the place after them.

    Eight at a time: up to 7 places more get a 0, and whoever calls writes afterwards what stands in them.
    """
    for byte in range((count + 7) // 8):
        write_flags(out, np.uint64(at + 8 * byte), bits >> np.uint64(8 * byte))
    return at + count


@inlined
def clockwise(seat: Int, steps: Int, players: Int) -> Int:
    """The seat ``steps`` seats on (fewer than there are); a division would cost more than all else here."""
    other = seat + steps
    return other - players if other >= players else other


@kernel
def encode_history(state: Record, rules: Record, places: Record, seat: Int, out: Array, at: Int) -> None:
    """One row a turn: seat, tile, left, right, passed, drawn; the packing is :func:`block_env.state.unpack_ply`'s."""
    players, count = rules.num_players, rules.num_tiles
    for place in range(at + places.history, at + places.width):
        out[np.uint64(place)] = 0.0
    for ply in range(state.plies):
        turn = np.int64(state.history[ply])
        action, drawn, mover, passed = turn & 127, turn >> 7 & 63, turn >> 13 & 3, turn >> 15
        row = at + places.history + ply * places.turn_size
        out[row + (mover - seat) % players] = 1.0
        if action < 2 * count:
            out[row + players + action % count] = 1.0
            out[row + players + count + action // count] = 1.0
        out[row + players + count + 2] = passed
        out[row + players + count + 3] = drawn / places.drawn_unit


@inlined
def encode(
    state: Record, rules: Record, places: Record, seat: Int, out: Array, at: Int, players: Int, count: Int, pips: Int
) -> None:
    """Write what ``seat`` sees into ``out`` (float32 [n]) from ``at`` on, in the order of the layout."""
    start, sides, opened = at, np.int64(rules.num_sides), state.left >= 0
    at = write_bits(state.hands[np.uint64(seat)], count, out, at)
    for relative in range(players):
        at = write_bits(state.laid[np.uint64(clockwise(seat, relative, players))], count, out, at)
    at = write_bits(_ONE << np.uint64(state.left) if opened else _NO_TILES, pips, out, at)
    at = write_bits(_ONE << np.uint64(state.right) if opened else _NO_TILES, pips, out, at)
    for relative in range(players):
        other = np.uint64(clockwise(seat, relative, players))
        out[np.uint64(at + relative)] = state.tiles_left[other] / places.tiles_unit
    at += players
    for relative in range(players):
        at = write_bits(np.uint64(state.lacks[np.uint64(clockwise(seat, relative, players))]), pips, out, at)
    for relative in range(players):
        other = clockwise(seat, relative, players)
        side = np.uint64(other - sides if other >= sides else other)
        out[np.uint64(at + relative)] = other == state.opener
        out[np.uint64(at + players + relative)] = other == state.to_play
        out[np.uint64(at + 2 * players + 1 + relative)] = state.scores[side] / places.score_unit
    out[np.uint64(at + 2 * players)] = state.passes / players
    if places.history >= 0:
        encode_history(state, rules, places, seat, out, start)


@inlined
def encode_mask(state: Record, seat: Int, mask: Array, at: Int, count: Int) -> None:
    """Write the legal actions into ``mask`` (int8 [n]) from ``at`` on: all zero for a seat that is not to move."""
    mine = seat == state.to_play
    left, right = (state.legal_left, state.legal_right) if mine else (_NO_TILES, _NO_TILES)
    whole = 8 * (count // 8)  # no place beyond the mask may be touched
    write_bits(left, whole, mask, at)
    write_bits(right, whole, mask, at + count)
    for tile in range(whole, count):
        mask[np.uint64(at + tile)] = (left >> np.uint64(tile)) & _ONE
        mask[np.uint64(at + count + tile)] = (right >> np.uint64(tile)) & _ONE
    mask[np.uint64(at + 2 * count)] = mine and (left | right) == _NO_TILES


@inlined
def encode_rows(
    states: Array,
    rules: Array,
    places: Array,
    rows: Array,
    seats: Array,
    into: Array,
    observations: Array,
    masks: Array,
    players: Int,
    count: Int,
    pips: Int,
) -> None:
    width, actions = observations.shape[1], masks.shape[1]
    observation, mask = observations.reshape(-1), masks.reshape(-1)
    for k in range(len(rows)):
        state, seat, row = states[np.uint64(rows[k])], seats[k], into[k]
        if seat < 0:
            seat = max(np.int64(state.to_play), 0)
        encode(state, rules[0], places[0], seat, observation, row * width, players, count, pips)
        encode_mask(state, seat, mask, row * actions, count)


@kernel
def encode_games(
    states: Array,
    rules: Array,
    places: Array,
    rows: Array,
    seats: Array,
    into: Array,
    observations: Array,
    masks: Array,
) -> None:
    """What ``seats[k]`` sees of the game in row ``rows[k]``, into row ``into[k]`` of both buffers.

    A seat of -1 stands for the one to move, or where the game is over seat 0. The sizes that are played most are
    written out, so that the compiler knows them: that halves the time.
    """
    players, count, pips = np.int64(rules[0].num_players), np.int64(rules[0].num_tiles), np.int64(places[0].num_pips)
    if players == 2 and count == 28:
        encode_rows(states, rules, places, rows, seats, into, observations, masks, 2, 28, 7)
    elif players == 4 and count == 28:
        encode_rows(states, rules, places, rows, seats, into, observations, masks, 4, 28, 7)
    else:
        encode_rows(states, rules, places, rows, seats, into, observations, masks, players, count, pips)


@kernel
def encode_batch(address: Int) -> None:
    """What is seen in the games of a batch (:mod:`block_env.batch`), as :func:`encode_games`."""
    batch = carray(pointer(np.uint64(address)), (1,), BATCH)[0]
    states = carray(pointer(np.uint64(batch.states)), (batch.num_games,), STATE)
    rules = carray(pointer(np.uint64(batch.rules)), (1,), RULES_RECORD)
    places = carray(pointer(np.uint64(batch.places)), (1,), LAYOUT_RECORD)
    rows = carray(pointer(np.uint64(batch.rows)), (batch.count,), np.int64)
    seats = carray(pointer(np.uint64(batch.seats)), (batch.count,), np.int64)
    observations = carray(pointer(np.uint64(batch.observation)), (batch.num_games, batch.width), np.float32)
    masks = carray(pointer(np.uint64(batch.action_mask)), (batch.num_games, batch.num_actions), np.int8)
    encode_games(states, rules, places, rows, seats, rows, observations, masks)


@kernel
def encode_one(address: Int, seat: Int) -> None:
    """What a seat sees of the game in row 0 of a batch, into row 0 of its buffers."""
    batch = carray(pointer(np.uint64(address)), (1,), BATCH)[0]
    state = carray(pointer(np.uint64(batch.states)), (1,), STATE)[0]
    rules = carray(pointer(np.uint64(batch.rules)), (1,), RULES_RECORD)[0]
    places = carray(pointer(np.uint64(batch.places)), (1,), LAYOUT_RECORD)[0]
    observation = carray(pointer(np.uint64(batch.observation)), (batch.width,), np.float32)
    mask = carray(pointer(np.uint64(batch.action_mask)), (batch.num_actions,), np.int8)
    players, count, pips = np.int64(rules.num_players), np.int64(rules.num_tiles), np.int64(places.num_pips)
    encode(state, rules, places, seat, observation, 0, players, count, pips)
    encode_mask(state, seat, mask, 0, count)


def observe(
    states: NDArray[Any], rules: Rules, rows: NDArray[np.int64], seats: NDArray[np.int64], history: bool = False
) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """What ``seats[k]`` sees of the game in row ``rows[k]`` of ``states``; -1 stands for the seat to move.

    Returns:
        New arrays: observations, float32 [n, D], and masks, int8 [n, A].
    """
    count = len(rows)
    observations = np.empty((count, layout(rules, history).size), np.float32)
    masks = np.empty((count, rules.num_actions), np.int8)
    tables = rules_table(rules), layout_table(rules, history)
    encode_games(states, *tables, rows, seats, np.arange(count), observations, masks)
    return observations, masks


# Decoder --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Turn:
    """One turn: the relative seat, the tile laid and its end (None: none laid), whether it passed, tiles drawn."""

    seat: int
    tile: Tile | None
    end: str | None
    passed: bool
    drawn: int


@dataclass(frozen=True)
class Facts:
    """What an observation says. Seats are relative: 0 is the viewer, 1 the next clockwise, …

    Attributes:
        hand: the own tiles, as (low, high).
        laid: for each seat the tiles that it has laid in this round.
        ends: pips of the left and the right end, None before the opening tile.
        tiles_left: how many tiles each seat holds.
        lacks: for each seat the pips it has shown by passing not to hold (in Draw: until it draws again).
        opener: the seat that opened the round.
        to_play: the seat to move, None once the game is over.
        passes: passes in a row.
        scores: the score of each seat's side.
        history: the round's turns in order; None if the observation holds none.
    """

    hand: tuple[Tile, ...]
    laid: tuple[tuple[Tile, ...], ...]
    ends: tuple[int, int] | None
    tiles_left: tuple[int, ...]
    lacks: tuple[frozenset[int], ...]
    opener: int
    to_play: int | None
    passes: int
    scores: tuple[int, ...]
    history: tuple[Turn, ...] | None


def decode(rules: Rules, observation: NDArray[Any] | dict[str, NDArray[Any]]) -> Facts:
    """The facts that an observation (float32 [D], with or without history, or the dict that holds it) says.

    Raises:
        ValueError: the vector has neither of the two lengths that these rules give.
    """
    vector = np.asarray(observation.get("observation") if isinstance(observation, dict) else observation)
    parts = next((p for p in (layout(rules), layout(rules, True)) if vector.shape == (p.size,)), None)
    if parts is None:
        lengths = f"{layout(rules).size}, or {layout(rules, True).size} with history"
        raise ValueError(f"observation: takes a vector of length {lengths}, got shape {vector.shape}")
    seen = {
        part.name: np.rint(part.of(vector) * part.unit).astype(int) for part in parts.slices if part.name != "history"
    }
    left, right, to_play = _only(seen["left_end"]), _only(seen["right_end"]), _only(seen["to_play"])
    opener = _only(seen["opener"])
    assert opener is not None
    return Facts(
        hand=_tiles(seen["hand"], rules),
        laid=tuple(_tiles(row, rules) for row in seen["laid"]),
        ends=None if left is None or right is None else (left, right),
        tiles_left=tuple(map(int, seen["tiles_left"])),
        lacks=tuple(frozenset(map(int, np.flatnonzero(row))) for row in seen["lacks"]),
        opener=opener,
        to_play=to_play,
        passes=int(seen["passes"][0]),
        scores=tuple(map(int, seen["scores"])),
        history=_turns(rules, parts["history"], vector) if "history" in parts else None,
    )


def _only(one_hot: NDArray[Any]) -> int | None:
    return int(np.argmax(one_hot)) if one_hot.any() else None


def _tiles(flags: NDArray[Any], rules: Rules) -> tuple[Tile, ...]:
    return tuple(tile for tile, flag in zip(tiles(rules.max_pip), flags, strict=True) if flag)


def _turns(rules: Rules, part: Slice, vector: NDArray[Any]) -> tuple[Turn, ...]:
    players, count = rules.num_players, rules.num_tiles
    turns = []
    for row in part.of(vector):
        seat, tile = _only(row[:players]), _only(row[players : players + count])
        if seat is None:
            break
        left, _, passed, drawn = row[players + count :]
        move = decode_action(2 * count if tile is None else tile + (0 if left else count), rules.max_pip)
        turns.append(Turn(seat, move.tile, move.end, bool(passed), round(float(drawn) * part.unit)))
    return tuple(turns)
