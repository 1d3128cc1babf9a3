"""A game in words and text. Imported only when a picture is asked for.

Only what ``viewer`` may see is shown: its own hand, and of the others how many tiles they hold; ``reveal=True`` shows
all.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from block_env.game import Game
from block_env.tiles import Tile, format_tile, pips
from block_env.variants import PRESETS, Rules

WIDTH = 100
"""No line of text is wider, in characters."""


# Words (RULES.md, "The line as a picture and as words") ---------------------------------------------------------------


@dataclass(frozen=True)
class Half:
    """A part of a tile that connects: ``"low end"``, ``"high end"``, or a double's ``"line side A"``, ``"line side B"``."""

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

    Doubles, which lie crosswise, are written ``[5‖5]``; ``<3`` and ``1>`` are the open ends.
    """
    lines = [_heading(game), *_line_text(game), *(_seat_text(game, seat, viewer, reveal) for seat in _seats(game))]
    return "\n".join(line for text in lines for line in _wrap(text)) + "\n"


def _seats(game: Game) -> range:
    return range(game.rules.num_players)


def _heading(game: Game) -> str:
    scores = " : ".join(map(str, game.scores))
    turn = f"seat {game.to_play} to play" if game.to_play is not None else _result(game)
    return (
        f"{_rules_name(game.rules)}, round {game.round_number + 1}, seat {game.opener} opened, scores {scores}, {turn}"
    )


def _rules_name(rules: Rules) -> str:
    return rules.name.replace("_", " ") if rules.name in PRESETS else "Block"


def _result(game: Game) -> str:
    return "over: a draw" if game.winner is None else f"over: side {game.winner} wins"


def _line_text(game: Game) -> list[str]:
    if game.ends is None:
        return ["no tile laid yet"]
    laid = " ".join(f"[{left}‖{right}]" if left == right else f"[{left}|{right}]" for left, right in game.line)
    return [f"<{game.ends[0]} {laid} {game.ends[1]}>"]


def _seat_text(game: Game, seat: int, viewer: int | None, reveal: bool) -> str:
    hand = game.hands[seat]
    passed = sum(ply.passed for ply in game.history if ply.seat == seat)
    words = f"{'>' if seat == game.to_play else ' '} seat {seat}: {len(hand)} tile{'s' * (len(hand) != 1)}"
    if reveal or seat == viewer:
        words += f" {' '.join(map(format_tile, hand))} ({sum(map(pips, hand))} pips)"
    return words + (f", passed {passed} time{'s' * (passed != 1)}" if passed else "")


def _wrap(line: str) -> list[str]:
    return textwrap.wrap(line, WIDTH, subsequent_indent="   ", break_long_words=False, break_on_hyphens=False)
