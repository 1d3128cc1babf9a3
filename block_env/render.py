"""A game in words and text. Imported only when a picture is asked for.

Only what ``viewer`` may see is shown: its own hand, and of the others how many tiles they hold. ``reveal=True`` shows
all hands; so does every picture once the game is over.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from block_env.game import Game
from block_env.tiles import Tile, format_tile, pips
from block_env.variants import PRESETS

WIDTH = 100
"""No line of text is wider, in characters."""


# Words (RULES.md, "The line as a picture and as words") ---------------------------------------------------------------


@dataclass(frozen=True)
class Half:
    """What connects: a tile's ``"low end"`` or ``"high end"``, a double's ``"line side A"`` or ``"line side B"``."""

    tile: Tile
    part: str
    pip: int

    def __str__(self) -> str:
        return f"{format_tile(self.tile)} {self.part}"


@dataclass(frozen=True)
class Description:
    """Tiles in the order laid, connections in the order made (the earlier tile first), free ends left and right."""

    tiles: tuple[Tile, ...]
    connections: tuple[tuple[Half, Half], ...]
    free_ends: tuple[Half, ...]

    def __str__(self) -> str:
        connections = [f"{joined} – {joining}" for joined, joining in self.connections]
        free = [f"{half} {half.pip}" for half in self.free_ends]
        return "\n".join(
            f"{title}: {'; '.join(items) or 'none'}"
            for title, items in (
                ("tiles", list(map(format_tile, self.tiles))),
                ("connections", connections),
                ("free ends", free),
            )
        )


def describe(game: Game) -> Description:
    """Every position as tiles, connections and free ends.

    A double's line side A is where it joined the line; an opening double's is the side joined first.
    """
    laid: list[Tile] = []
    connections: list[tuple[Half, Half]] = []
    free: list[Half] = []
    for ply in game.history:
        if ply.move.tile is None:
            continue
        laid.append(ply.move.tile)
        if not free:
            free = list(_halves(ply.move.tile, ply.move.tile[0]))
            continue
        place = 0 if ply.move.end == "left" else 1
        if len(laid) == 2 and _is_double(laid[0]):
            free[place], free[1 - place] = _halves(laid[0], laid[0][0])
        joining, free_half = _halves(ply.move.tile, free[place].pip)
        connections.append((free[place], joining))
        free[place] = free_half
    return Description(tuple(laid), tuple(connections), tuple(free))


def _is_double(tile: Tile) -> bool:
    return tile[0] == tile[1]


def _halves(tile: Tile, joining: int) -> tuple[Half, Half]:
    """The half that joins, with that pip, and the other."""
    if _is_double(tile):
        return Half(tile, "line side A", joining), Half(tile, "line side B", joining)
    low, high = Half(tile, "low end", tile[0]), Half(tile, "high end", tile[1])
    return (low, high) if joining == tile[0] else (high, low)


# Text -----------------------------------------------------------------------------------------------------------------


def text(game: Game, viewer: int | None = None, reveal: bool = False) -> str:
    """The table as ``viewer`` (a seat; None: nobody's hand) sees it, in lines of at most :data:`WIDTH` characters.

    Doubles, which lie crosswise, are written ``[5‖5]``; ``<3`` and ``1>`` are the open ends; ``>`` marks whose turn it
    is. After the end of the game all hands are shown.
    """
    lines = [_heading(game), *_last_round(game), _line(game), *_stock(game)]
    lines += [_seat(game, seat, reveal or game.over or seat == viewer) for seat in range(game.rules.num_players)]
    return "\n".join(part for line in lines for part in _wrap(line)) + "\n"


def _heading(game: Game) -> str:
    name = game.rules.name.replace("_", " ") if game.rules.name in PRESETS else "Block"
    scores = " : ".join(map(str, game.scores))
    opener = f"seat {game.opener} {'opens' if game.ends is None else 'opened'}"
    now = f"the game is over, {_winner(game, game.winner)}" if game.over else f"seat {game.to_play} to play"
    return f"{name}, round {game.round_number + 1}, scores {scores}, {opener}, {now}"


def _last_round(game: Game) -> list[str]:
    if game.last_round is None:
        return []
    ended, number = game.last_round, game.round_number + game.over
    return [f"round {number}: {ended.reason}, {_winner(game, ended.winner)}, {_count(ended.points, 'point')}"]


def _winner(game: Game, side: int | None) -> str:
    if side is None:
        return "nobody wins"
    return f"seats {side}+{side + 2} win" if game.rules.partnership else f"seat {side} wins"


def _line(game: Game) -> str:
    if game.ends is None:
        return "no tile laid yet"
    laid = " ".join(f"[{left}‖{right}]" if left == right else f"[{left}|{right}]" for left, right in game.line)
    return f"<{game.ends[0]} {laid} {game.ends[1]}>"


def _stock(game: Game) -> list[str]:
    return [f"stock: {_count(len(game.stock), 'tile')}"] if game.rules.draw else []


def _seat(game: Game, seat: int, shown: bool) -> str:
    hand = game.hands[seat]
    words = f"{'>' if seat == game.to_play else ' '} seat {seat}: {_count(len(hand), 'tile')}"
    passes = sum(ply.passed for ply in game.history if ply.seat == seat)
    if passes:
        words += f", {_count(passes, 'pass', 'passes')}"
    if shown and hand:
        words += f": {' '.join(map(format_tile, hand))} ({_count(sum(map(pips, hand)), 'pip')})"
    return words


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _wrap(line: str) -> list[str]:
    return textwrap.wrap(line, WIDTH, subsequent_indent="   ", break_long_words=False, break_on_hyphens=False)
