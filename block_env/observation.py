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
from numpy.typing import NDArray

from block_env._compile import Array, Int, Record, Word, kernel
from block_env.actions import decode_action
from block_env.tiles import BIT, Tile, tiles
from block_env.variants import SINGLE_ROUND_SCALE, Rules

_NO_TILES = np.uint64(0)


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
        [(name, "<i4") for name in ("size", "hand", "laid", "left_end", "right_end", "tiles_left", "lacks", "opener")]
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
    row.size = parts.size
    row.history = parts["history"].start if history else -1
    row.turn_size = parts["history"].shape[1] if history else 0
    row.num_pips = rules.max_pip + 1
    row.tiles_unit, row.score_unit = parts["tiles_left"].unit, parts["scores"].unit
    row.drawn_unit = parts["history"].unit if history else 1
    return table


# Encoder --------------------------------------------------------------------------------------------------------------


@kernel
def encode_tiles(bits: Word, count: Int, out: Array, start: Int) -> None:
    for tile in range(count):
        out[start + tile] = 1.0 if bits & BIT[tile] != _NO_TILES else 0.0


@kernel
def encode_history(state: Record, rules: Record, places: Record, seat: Int, out: Array) -> None:
    """One row a turn: seat, tile, left, right, passed, drawn; the packing is :func:`block_env.state.unpack_ply`'s."""
    players, count = rules.num_players, rules.num_tiles
    for ply in range(state.plies):
        turn = np.int64(state.history[ply])
        action, drawn, mover, passed = turn & 127, turn >> 7 & 63, turn >> 13 & 3, turn >> 15
        at = places.history + ply * places.turn_size
        out[at + (mover - seat) % players] = 1.0
        if action < 2 * count:
            out[at + players + action % count] = 1.0
            out[at + players + count + action // count] = 1.0
        out[at + players + count + 2] = passed
        out[at + players + count + 3] = drawn / places.drawn_unit


@kernel
def encode(state: Record, rules: Record, places: Record, seat: Int, out: Array) -> None:
    """Write what ``seat`` sees into ``out`` (float32 [D])."""
    players, count, pips = rules.num_players, rules.num_tiles, places.num_pips
    out[:] = 0.0
    encode_tiles(state.hands[seat], count, out, places.hand)
    if state.left >= 0:
        out[places.left_end + state.left] = 1.0
        out[places.right_end + state.right] = 1.0
    for relative in range(players):
        other = (seat + relative) % players
        encode_tiles(state.laid[other], count, out, places.laid + relative * count)
        out[places.tiles_left + relative] = state.tiles_left[other] / places.tiles_unit
        if state.lacks[other]:
            for pip in range(pips):
                if np.int64(state.lacks[other]) >> pip & 1:
                    out[places.lacks + relative * pips + pip] = 1.0
        out[places.scores + relative] = state.scores[other % rules.num_sides] / places.score_unit
    out[places.opener + (state.opener - seat) % players] = 1.0
    if state.to_play >= 0:
        out[places.to_play + (state.to_play - seat) % players] = 1.0
    out[places.passes] = state.passes / players
    if places.history >= 0:
        encode_history(state, rules, places, seat, out)


@kernel
def encode_mask(state: Record, rules: Record, seat: Int, mask: Array) -> None:
    """Write the legal actions into ``mask`` (int8 [A]): all zero for a seat that is not to move."""
    count = rules.num_tiles
    mask[:] = 0
    if seat != state.to_play:
        return
    left, right = state.legal_left, state.legal_right
    mask[2 * count] = (left | right) == _NO_TILES
    for tile in range(count):
        mask[tile] = left & BIT[tile] != _NO_TILES
        mask[count + tile] = right & BIT[tile] != _NO_TILES


@kernel
def encode_games(
    states: Array, rules: Array, places: Array, rows: Array, seats: Array, observations: Array, masks: Array
) -> None:
    """What ``seats[k]`` sees of the game in row ``rows[k]``, into the same row of both buffers.

    A seat of -1 stands for the one to move, or where the game is over seat 0.
    """
    for k in range(len(rows)):
        state = states[rows[k]]
        seat = seats[k]
        if seat < 0:
            seat = max(np.int64(state.to_play), 0)
        encode(state, rules[0], places[0], seat, observations[rows[k]])
        encode_mask(state, rules[0], seat, masks[rows[k]])


@kernel
def encode_game(states: Array, rules: Array, places: Array, seat: Int, observation: Array, mask: Array) -> None:
    """What ``seat`` sees of the game in row 0, into ``observation`` (float32 [D]) and ``mask`` (int8 [A]).

    The same as :func:`encode_games` for one game and its seat, at half the cost of the call from Python.
    """
    encode(states[0], rules[0], places[0], seat, observation)
    encode_mask(states[0], rules[0], seat, mask)


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
