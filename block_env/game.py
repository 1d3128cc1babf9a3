"""A game as people read it: a snapshot of one state record, in tiles and words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from block_env.actions import Move, decode_action
from block_env.state import REASONS, unpack_ply
from block_env.tiles import Tile, tiles, tiles_in
from block_env.variants import Rules


@dataclass(frozen=True)
class Ply:
    """One turn: the seat, its move, the tiles it drew first (Draw), and whether the turn ended in a pass."""

    seat: int
    action: int
    move: Move
    drawn: int
    passed: bool


@dataclass(frozen=True)
class Round:
    """How a round ended: winning side (None: nobody), its points, ``"domino"`` or ``"blocked"``, the hands shown."""

    winner: int | None
    points: int
    reason: str
    hands: tuple[tuple[Tile, ...], ...]


@dataclass(frozen=True)
class Game:
    """The whole truth about a game at one moment; for people, tests and logs, never for a player.

    Attributes:
        rules: what is played.
        hands: each seat's tiles, as (low, high).
        stock: the tiles out of play or still to be drawn; in Draw in the order in which they will be drawn.
        line: the tiles on the table left to right, each as it lies: (left half, right half).
        ends: pips of the two open ends, None before the opening tile.
        scores: points of each side.
        opener: the seat that opened the round.
        to_play: the seat to move, None once the game is over.
        passes: passes in a row.
        round_number: 0 in the first round.
        history: the round's turns in order.
        last_round: how the round before ended (once the game is over: the last one); None while there is none.
        over: whether the game is over.
        winner: the side that won it; None for a draw, or while it goes on.
    """

    rules: Rules
    hands: tuple[tuple[Tile, ...], ...]
    stock: tuple[Tile, ...]
    line: tuple[Tile, ...]
    ends: tuple[int, int] | None
    scores: tuple[int, ...]
    opener: int
    to_play: int | None
    passes: int
    round_number: int
    history: tuple[Ply, ...]
    last_round: Round | None
    over: bool
    winner: int | None


def snapshot(state: Any, rules: Rules) -> Game:
    """Read one record (:data:`block_env.state.STATE`) of a game under ``rules``."""
    seats = range(rules.num_players)
    history = tuple(_ply(int(state.history[ply]), rules) for ply in range(state.plies))
    return Game(
        rules=rules,
        hands=tuple(tuple(tiles_in(state.hands[seat], rules.max_pip)) for seat in seats),
        stock=tuple(tiles(rules.max_pip)[tile] for tile in state.order[state.stock_next : rules.num_tiles]),
        line=_line(history),
        ends=None if state.left < 0 else (int(state.left), int(state.right)),
        scores=tuple(int(state.scores[side]) for side in range(rules.num_sides)),
        opener=int(state.opener),
        to_play=None if state.over else int(state.to_play),
        passes=int(state.passes),
        round_number=int(state.round_number),
        history=history,
        last_round=_last_round(state, rules),
        over=bool(state.over),
        winner=None if state.winner < 0 else int(state.winner),
    )


def _ply(packed: int, rules: Rules) -> Ply:
    seat, action, drawn, passed = unpack_ply(packed)
    return Ply(seat, action, decode_action(action, rules.max_pip), drawn, passed)


def _last_round(state: Any, rules: Rules) -> Round | None:
    reason = REASONS[state.last_reason]
    if reason is None:
        return None
    hands = tuple(tuple(tiles_in(state.shown[seat], rules.max_pip)) for seat in range(rules.num_players))
    return Round(None if state.last_winner < 0 else int(state.last_winner), int(state.last_points), reason, hands)


def _line(history: tuple[Ply, ...]) -> tuple[Tile, ...]:
    line: list[Tile] = []
    for ply in history:
        if ply.move.tile is None:
            continue
        low, high = ply.move.tile
        if not line:
            line.append((low, high))
        elif ply.move.end == "left":
            line.insert(0, (low, high) if high == line[0][0] else (high, low))
        else:
            line.append((low, high) if low == line[-1][1] else (high, low))
    return tuple(line)
