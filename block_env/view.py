"""What a viewer may see of a game: the only door from a game to a picture, a page or a text.

Of hands a view holds the viewer's own alone; all of them with ``reveal=True``, and once the game is over, when all
hands are shown (RULES.md, "End of a round and its points"). Everything else in it is public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from block_env.game import Game, Ply, Round
from block_env.keywords import is_whole
from block_env.line import FreeEnd, Placed, place, table_size
from block_env.tiles import Tile
from block_env.variants import Rules


@dataclass(frozen=True)
class Seat:
    """A seat as the viewer sees it.

    Attributes:
        name: who sits there.
        side: the side it plays for, index into ``scores``.
        tiles_left: how many tiles it holds.
        hand: these tiles, or None while they lie face down.
        passes: how often it has passed in this round.
        opener, to_play: whether it opened the round; whether it is to move.
    """

    name: str
    side: int
    tiles_left: int
    hand: tuple[Tile, ...] | None
    passes: int
    opener: bool
    to_play: bool


@dataclass(frozen=True)
class View:
    """A game as one viewer sees it.

    Attributes:
        rules: what is played.
        viewer: the seat whose eyes these are; None: nobody's.
        seats: in seat order.
        line, ends: the tiles on the table in the order laid, and the left and the right free end
            (:mod:`block_env.line`).
        table: width and height of the table that they lie on, in halves of a tile.
        stock: how many tiles lie face down beside it: out of play, or in Draw still to be drawn.
        scores: points of each side.
        round_number: 0 in the first round.
        history: the round's turns in order.
        last_round: how the round before ended (once the game is over: the last one), with the hands shown then.
        over: whether the game is over.
        winner: the side that won it; None for a draw, or while it goes on.
    """

    rules: Rules
    viewer: int | None
    seats: tuple[Seat, ...]
    line: tuple[Placed, ...]
    ends: tuple[FreeEnd, ...]
    table: tuple[float, float]
    stock: int
    scores: tuple[int, ...]
    round_number: int
    history: tuple[Ply, ...]
    last_round: Round | None
    over: bool
    winner: int | None

    def as_dict(self) -> dict[str, Any]:
        """The view as what JSON can hold; tuples and named tuples become lists, the rules their fields."""
        return {**asdict(self), "rules": {"name": self.rules.name, **self.rules.as_dict()}}


def see(game: Game, viewer: int | None = None, reveal: bool = False, names: Sequence[str] | None = None) -> View:
    """The game as ``viewer`` (a seat; None: nobody) sees it.

    Args:
        game: the whole truth.
        viewer: whose hand is shown.
        reveal: whether all hands are.
        names: who sits where; None: ``player_0``, ``player_1``, …

    Raises:
        ValueError: there is no such seat, not one name a seat, or ``game`` is something else.
    """
    if not isinstance(game, Game):
        raise ValueError(f"game: takes a Game, such as env.game or games.snapshot(0), got {type(game).__name__}")
    count = game.rules.num_players
    if viewer is not None and (not is_whole(viewer) or not 0 <= viewer < count):
        raise ValueError(f"viewer: takes None or a seat from 0 to {count - 1}, got {viewer!r}")
    called = [f"player_{seat}" for seat in range(count)] if names is None else list(names)
    if len(called) != count:
        raise ValueError(f"names: takes {count}, one a seat, got {len(called)}")
    if not all(isinstance(name, str) and name.strip() for name in called):
        raise ValueError(f"names: takes names that are not empty, got {called!r}")
    line, ends = place(((ply, turn.move) for ply, turn in enumerate(game.history)), game.rules)
    return View(
        rules=game.rules,
        viewer=None if viewer is None else int(viewer),
        seats=tuple(_seat(game, seat, name, reveal or game.over or seat == viewer) for seat, name in enumerate(called)),
        line=line,
        ends=ends,
        table=table_size(game.rules),
        stock=len(game.stock),
        scores=game.scores,
        round_number=game.round_number,
        history=game.history,
        last_round=game.last_round,
        over=game.over,
        winner=game.winner,
    )


def _seat(game: Game, seat: int, name: str, shown: bool) -> Seat:
    return Seat(
        name=name,
        side=seat % game.rules.num_sides,
        tiles_left=len(game.hands[seat]),
        hand=game.hands[seat] if shown else None,
        passes=sum(ply.passed for ply in game.history if ply.seat == seat),
        opener=seat == game.opener,
        to_play=seat == game.to_play,
    )
