"""A game as a record: who played what, when each round ended and how, and what one player saw of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from block_env.actions import Move
from block_env.tiles import Tile, format_tile
from block_env.variants import Rules

UNFINISHED = "unfinished"
"""The result of a game that was broken off: truncated, left, or stopped after a round that was all that was asked."""


class NotationError(ValueError):
    """A text that is no record of a game; ``line`` (from 1), ``round`` and ``ply`` (from 1) say where, if known."""

    def __init__(
        self,
        what: str,
        line: int | None = None,
        round: int | None = None,
        ply: int | None = None,
        part: tuple[int | None, int | str] | None = None,
    ) -> None:
        self.what, self.line, self.round, self.ply, self._part = what, line, round, ply, part
        where = [f"{name} {number}" for name, number in (("line", line), ("round", round), ("ply", ply)) if number]
        super().__init__(f"{', '.join(where)}: {what}" if where else what)


@dataclass(frozen=True)
class Turn:
    """A seat's turn: its move, the tiles it drew (Draw; their number, where they are hidden), whether it passed."""

    seat: int
    move: Move
    drawn: tuple[Tile, ...] | int = ()
    passed: bool = False


@dataclass(frozen=True)
class RoundRecord:
    """A round.

    Attributes:
        opener: the seat that opened.
        hands: the tiles dealt to each seat; None where they are hidden.
        turns: in order.
        reason: ``"domino"`` or ``"blocked"``; None while the round is not over. So are the next four then.
        winner: the side that won; None: nobody.
        points: what it got.
        shown: the hands at the end.
        scores: points of each side after the round.
    """

    opener: int
    hands: tuple[tuple[Tile, ...] | None, ...]
    turns: tuple[Turn, ...]
    reason: str | None = None
    winner: int | None = None
    points: int = 0
    shown: tuple[tuple[Tile, ...], ...] = ()
    scores: tuple[int, ...] = ()


@dataclass(frozen=True)
class Record:
    """A game.

    Attributes:
        rules: what was played.
        names: who sat where.
        start_scores: points of each side at the start.
        rounds: in order; the last may be unfinished.
        result: ``"P0 wins"``, ``"P0+P2 win"``, ``"draw"``, ``"unfinished"``, or ``"illegal action 12 by P1"``.
        seed: what the deals came from, if known.
        viewer: the player whose view this is: the others' hands are hidden until they are shown. None: all is open.
        set_up: whether ``reset(options=...)`` set the game up; its first opener may then be anybody.
    """

    rules: Rules
    names: tuple[str, ...]
    start_scores: tuple[int, ...]
    rounds: tuple[RoundRecord, ...]
    result: str
    seed: int | None = None
    viewer: int | None = None
    set_up: bool = False


def view(record: Record, seat: int) -> Record:
    """The record as that player saw it: no seed, and the others' tiles only once they are laid or shown.

    Raises:
        ValueError: there is no such seat, or the record is another player's view.
    """
    if not 0 <= seat < record.rules.num_players:
        raise ValueError(f"seat: takes a seat from 0 to {record.rules.num_players - 1}, got {seat!r}")
    if record.viewer not in (None, seat):
        raise ValueError(f"record: takes one that is open to all, or P{seat}'s view, got P{record.viewer}'s view")
    return replace(record, seed=None, viewer=seat, rounds=tuple(_hide(one, seat) for one in record.rounds))


def _hide(one: RoundRecord, viewer: int) -> RoundRecord:
    hands = tuple(hand if seat == viewer else None for seat, hand in enumerate(one.hands))
    turns = tuple(turn if turn.seat == viewer else replace(turn, drawn=drawn_count(turn) or ()) for turn in one.turns)
    return replace(one, hands=hands, turns=turns)


def drawn_count(turn: Turn) -> int:
    """How many tiles the seat drew in this turn."""
    return turn.drawn if isinstance(turn.drawn, int) else len(turn.drawn)


def misfit(what: str, number: int | None, part: int | str) -> NotationError:
    """What is wrong, in which round (from 0), and at which of its parts: a ply from 1, or a name."""
    round_ = None if number is None else number + 1
    return NotationError(what, None, round_, part if isinstance(part, int) else None, (number, part))


def require(fits: object, what: str, number: int | None, part: int | str) -> None:
    """Raise a :func:`misfit` unless it fits."""
    if not fits:
        raise misfit(what, number, part)


def check_form(record: Record) -> None:
    """Raise a :func:`misfit` unless seats, tiles and numbers are within the rules, and a view hides what it hides."""
    require(record.viewer is None or record.seed is None, "a player's view has no seed", None, "seed")
    require(record.rounds, "takes a round", None, "result")
    for number, one in enumerate(record.rounds):
        _check_seat(record, one.opener, number, "opener")
        for seat, hand in enumerate(one.hands):
            require(hand is None or not _hidden(record, seat), f"P{seat}'s hand is hidden", number, f"has {seat}")
            require(hand is not None or _hidden(record, seat), f"P{seat}'s hand is open", number, f"has {seat}")
            _check_tiles(record, hand or (), number, f"has {seat}")
            require(list(hand or ()) == sorted(hand or ()), "the tiles are not in order", number, f"has {seat}")
        _check_turns(record, one, number)
        for seat, hand in enumerate(one.shown):
            _check_tiles(record, hand, number, f"shows {seat}")


def _check_turns(record: Record, one: RoundRecord, number: int) -> None:
    left = record.rules.stock_size
    for ply, turn in enumerate(one.turns, 1):
        require(ply <= record.rules.max_plies, "no round is as long", number, ply)
        _check_seat(record, turn.seat, number, ply)
        hidden = _hidden(record, turn.seat)
        what = f"what P{turn.seat} draws is {'hidden' if hidden else 'open'}"
        require(not turn.drawn or isinstance(turn.drawn, int) == hidden, what, number, ply)
        drawn = () if isinstance(turn.drawn, int) else turn.drawn
        _check_tiles(record, [*drawn, turn.move.tile or (0, 0)], number, ply)
        left -= drawn_count(turn)
        require(left >= 0, "more is drawn than there is", number, ply)


def _check_tiles(record: Record, some: Sequence[Tile], number: int, part: int | str) -> None:
    for low, high in some:
        takes = f"{format_tile((low, high))} is no tile of the set, low half first"
        require(0 <= low <= high <= record.rules.max_pip, takes, number, part)


def _check_seat(record: Record, seat: int, number: int, part: int | str) -> None:
    require(0 <= seat < record.rules.num_players, f"there is no seat P{seat}", number, part)


def _hidden(record: Record, seat: int) -> bool:
    return record.viewer is not None and record.viewer != seat


def illegal_end(record: Record) -> tuple[int, int] | None:
    """The illegal action that ended the game, and its seat; None: it ended otherwise."""
    match = re.fullmatch(r"illegal action (0|[1-9][0-9]{0,2}) by P([0-9])", record.result)
    return None if match is None else (int(match[1]), int(match[2]))


# Words ----------------------------------------------------------------------------------------------------------------


def tiles_words(hand: Sequence[Tile]) -> str:
    """Tiles as a record writes them; none as ``-``."""
    return " ".join(map(format_tile, hand)) or "-"


def end_words(rules: Rules, reason: str, winner: int | None, points: int) -> str:
    """How a round ended, as a record writes it."""
    who = "nobody wins" if winner is None else win_words(rules, winner)
    return f"{reason}, {who} {points}"


def win_words(rules: Rules, side: int) -> str:
    """That this side wins, as a record writes it."""
    return f"P{side}+P{side + 2} win" if rules.partnership else f"P{side} wins"


def result_words(rules: Rules, winner: int | None) -> str:
    """The result of a game that is over: which side won it, or nobody."""
    return "draw" if winner is None else win_words(rules, winner)
