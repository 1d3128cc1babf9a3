"""A game in words, text and pictures. Imported only when one is asked for.

Only what ``viewer`` may see is shown (:func:`block_env.view.see`): its own hand, and of the others how many tiles they
hold. ``reveal=True`` shows all hands; so does every picture once the game is over.

``python -m block_env.render --seed 3 --plies 9 -o table.svg`` makes a picture of a random game.
"""

from __future__ import annotations

import textwrap
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from block_env import opponents, pixels, svg
from block_env.command import Parser, add_rules, file_name, rules_of, run, whole, write_file
from block_env.game import Game
from block_env.picture import count, draw, rules_title
from block_env.play import Games
from block_env.tiles import Tile, format_tile, pips
from block_env.view import Seat, View, see

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


def text(game: Game, viewer: int | None = None, reveal: bool = False, ascii: bool = False) -> str:
    """The table as ``viewer`` (a seat; None: nobody's hand) sees it, in lines of at most :data:`WIDTH` characters.

    Doubles, which lie crosswise, are written ``[5‖5]``, with ``ascii=True`` ``[5=5]``: all else is ASCII. ``<3`` and
    ``1>`` are the open ends; ``>`` marks whose turn it is. After the end of the game all hands are shown.

    Raises:
        ValueError: there is no such seat.
    """
    view = see(game, viewer, reveal)
    lines = [_heading(view), *_last_round(view), _line(game, "=" if ascii else "‖"), *_stock(view)]
    lines += [_seat(index, seat) for index, seat in enumerate(view.seats)]
    return "\n".join(part for line in lines for part in _wrap(line)) + "\n"


def _heading(view: View) -> str:
    scores = " : ".join(map(str, view.scores))
    opener = next(index for index, seat in enumerate(view.seats) if seat.opener)
    opens = f"seat {opener} {'opened' if view.line else 'opens'}"
    return f"{rules_title(view.rules)}, round {view.round_number + 1}, scores {scores}, {opens}, {_now(view)}"


def _now(view: View) -> str:
    if view.over:
        return f"the game is over, {_winner(view, view.winner)}"
    return f"seat {next(index for index, seat in enumerate(view.seats) if seat.to_play)} to play"


def _last_round(view: View) -> list[str]:
    """How the round before ended, and the hands shown then; once the game is over the seats' own lines have them."""
    ended, number = view.last_round, view.round_number + view.over
    if ended is None:
        return []
    told = f"round {number}: {ended.reason}, {_winner(view, ended.winner)}, {count(ended.points, 'point')}"
    hands = (f"seat {seat} {_tiles(hand) or 'none'}" for seat, hand in enumerate(ended.hands))
    return [told] if view.over else [told, f"hands shown then: {', '.join(hands)}"]


def _winner(view: View, side: int | None) -> str:
    if side is None:
        return "nobody wins"
    return f"seats {side}+{side + 2} win" if view.rules.partnership else f"seat {side} wins"


def _line(game: Game, crosswise: str) -> str:
    if game.ends is None:
        return "no tile laid yet"
    laid = (f"[{left}{crosswise if left == right else '|'}{right}]" for left, right in game.line)
    return f"<{game.ends[0]} {' '.join(laid)} {game.ends[1]}>"


def _stock(view: View) -> list[str]:
    return [f"stock: {count(view.stock, 'tile')}"] if view.rules.draw else []


def _seat(index: int, seat: Seat) -> str:
    words = f"{'>' if seat.to_play else ' '} seat {index}: {count(seat.tiles_left, 'tile')}"
    if seat.passes:
        words += f", {count(seat.passes, 'pass', 'passes')}"
    return f"{words}: {_tiles(seat.hand)}" if seat.hand else words


def _tiles(hand: Sequence[Tile]) -> str:
    """A hand and its pips; nothing for an empty one."""
    return f"{' '.join(map(format_tile, hand))} ({count(sum(map(pips, hand)), 'pip')})" if hand else ""


def _wrap(line: str) -> list[str]:
    return textwrap.wrap(line, WIDTH, subsequent_indent="   ", break_long_words=False, break_on_hyphens=False)


# Pictures -------------------------------------------------------------------------------------------------------------


def render_svg(game: Game, viewer: int | None = None, reveal: bool = False, names: Sequence[str] | None = None) -> str:
    """The table as ``viewer`` (a seat; None: nobody's hand) sees it, as an SVG file that needs no other.

    ``names``, one a seat, say who plays. The same game gives the same bytes.

    Raises:
        ValueError: there is no such seat, or not one name a seat.
    """
    return svg.write(draw(see(game, viewer, reveal, names)), str(describe(game)))


def render_rgb(
    game: Game,
    viewer: int | None = None,
    reveal: bool = False,
    names: Sequence[str] | None = None,
    width: int | None = None,
) -> NDArray[np.uint8]:
    """The picture of :func:`render_svg` as uint8 [H, W, 3], one size for all games of the same rules.

    ``width`` is W, an even number (None: 880 to 1120, as the rules ask for); H follows, and is even as video needs it.
    No display is needed.

    Raises:
        PygameNotInstalledError: pygame-ce is not installed.
        ValueError: there is no such seat, not one name a seat, or no such width.
    """
    return pixels.paint(draw(see(game, viewer, reveal, names)), width)


class Window(pixels.Window):
    """The window of one environment."""

    def show_game(self, game: Game, viewer: int, fps: float) -> None:
        """Show the table as ``viewer`` sees it, at most ``fps`` pictures a second."""
        self.show(draw(see(game, viewer)), fps)


# A picture of a random game -------------------------------------------------------------------------------------------


def main(arguments: list[str]) -> int:
    """Write one picture; the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        game = _random_game(options)
        picture = render_svg(game, None if options.viewer < 0 else options.viewer, options.reveal)
        write_file(options.output, picture.encode())
    except (OSError, ValueError) as error:
        parser.error(str(error))
    return 0


def _parser() -> Parser:
    parser = Parser("A picture of a random game, as SVG.", "python -m block_env.render")
    add_rules(parser)
    parser.add_argument("--seed", type=whole(0), default=0, help="of the deals and of the play")
    parser.add_argument("--plies", type=whole(0), default=9, help="turns that are played")
    parser.add_argument("--viewer", type=whole(-1, 3), default=0, help="the seat whose hand is shown; -1: nobody's")
    parser.add_argument("--reveal", action="store_true", help="show all hands")
    parser.add_argument("-o", "--output", type=file_name, required=True, metavar="FILE", help="the file to write")
    return parser


def _random_game(options: Namespace) -> Game:
    rules = rules_of(options)
    games = Games(1, rules, seed=options.seed, auto_reset=False)
    player, rng = opponents.make("random", rules), np.random.default_rng(options.seed)
    for _ in range(options.plies):
        if games.to_play[0] < 0:
            break
        games.step(player.act(games.observation, games.action_mask, rng))
    return games.snapshot(0)


if __name__ == "__main__":
    run(main)
