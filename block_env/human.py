"""Play against agents in the terminal, or with --web on a page of this machine's browser.

python -m block_env.human --opponent greedy --rules match --num-players 2
"""

from __future__ import annotations

import re
import shutil
import signal
import sys
import textwrap
from argparse import Namespace
from collections.abc import Iterable, Sequence

from block_env import named_agents
from block_env.actions import Move
from block_env.command import Parser, add_rules, file_name, rules_of, run, whole
from block_env.policy import Policy
from block_env.session import AgentError, Frame, Session
from block_env.tiles import Tile, format_tile, pips
from block_env.variants import Rules
from block_env.view import View

HELP = """Type the number of a move, or the tile and the end: 35L or [3|5]R. 35 alone does where one end fits.
  table   the table and your moves again
  hand    your tiles
  score   the score sheet
  quit    leave the game; the record is kept
What is laid stays laid: no move can be taken back."""

_MOVE = re.compile(r"\[?\s*(\d)\s*[|,:/-]?\s*(\d)\s*\]?\s*(l|left|r|right|)")


# What is typed --------------------------------------------------------------------------------------------------------


def read_move(text: str, frame: Frame) -> int:
    """The action that the person typed: a number in the list of moves, or a tile with or without an end.

    Raises:
        ValueError: it is none of the legal ones; the message says why.
    """
    words, legal = text.strip().lower(), frame.legal
    if words.isdecimal() and 1 <= int(words) <= len(legal):
        return legal[int(words) - 1][0]
    if words == "pass":
        raise ValueError("You may only pass when no tile fits.")
    match = _MOVE.fullmatch(words)
    if match is None:
        raise ValueError(f"Type a number from 1 to {len(legal)}, a move such as {_example(legal)}, or help.")
    low, high = sorted((int(match[1]), int(match[2])))
    return _find((low, high), match[3][:1], frame)


def _example(legal: Sequence[tuple[int, Move]]) -> str:
    return re.sub(r"[\[|\]]", "", str(legal[0][1]))


def _find(tile: Tile, end: str, frame: Frame) -> int:
    fitting = {str(move.end)[0]: action for action, move in frame.legal if move.tile == tile}
    own = frame.view.seats[frame.view.viewer or 0].hand or ()
    if tile not in own:
        raise ValueError(f"You do not hold {format_tile(tile)}.")
    if not fitting:
        raise ValueError(f"{format_tile(tile)} cannot be laid now.")
    if len(fitting) == 1 and (not end or not frame.view.line):
        return next(iter(fitting.values()))
    if not end:
        raise ValueError(f"{format_tile(tile)} fits both ends: add L or R.")
    if end not in fitting:
        raise ValueError(f"{format_tile(tile)} does not fit the {'left' if end == 'l' else 'right'} end.")
    return fitting[end]


# What is said ---------------------------------------------------------------------------------------------------------


def tell_turn(before: View, after: View) -> str:
    """The last turn in words: ``greedy lays [3|5] at the left end.``; tiles that the person drew are named."""
    ply = after.history[-1]
    subject = after.seats[ply.seat].name.capitalize() if ply.seat == after.viewer else after.seats[ply.seat].name
    s = "" if ply.seat == after.viewer else "s"
    if ply.move.tile is not None:
        tile = format_tile(ply.move.tile)
        return (
            f"{subject} lay{s} {tile} at the {ply.move.end} end." if before.line else f"{subject} open{s} with {tile}."
        )
    deeds = [f"draw{s} {_drawn(before, after, ply.drawn)}"] if ply.drawn else []
    deeds += [f"pass{'es' if s else ''}"] if ply.passed else []
    return f"{subject} {' and '.join(deeds)}."


def _drawn(before: View, after: View, count: int) -> str:
    old, new = (view.seats[view.viewer or 0].hand or () for view in (before, after))
    own = [tile for tile in new if tile not in old]
    return _tiles(own) if len(own) == count else f"{count} {'tile' if count == 1 else 'tiles'}"


def _tiles(hand: Iterable[Tile]) -> str:
    return " ".join(map(format_tile, hand))


def _points(count: int) -> str:
    return f"{count} {'point' if count == 1 else 'points'}"


def side_name(view: View, side: int) -> str:
    """Who plays for that side: ``you``, ``you and greedy 2``."""
    return " and ".join(seat.name for seat in view.seats if seat.side == side)


def tell_winner(view: View, side: int | None, points: int | None = None) -> str:
    """``you win 12 points``; ``nobody wins``."""
    gain = "" if points is None else f" {_points(points)}"
    if side is None:
        return "nobody wins"
    name = side_name(view, side)
    return f"{name} {'win' if name == 'you' or ' and ' in name else 'wins'}{gain}"


def tell_sheet(frame: Frame) -> list[str]:
    """The score sheet: a line a round, and the sum."""
    lines = [
        f"round {number}: {line.round.reason}, {tell_winner(frame.view, line.round.winner, line.round.points)}"
        for number, line in enumerate(frame.sheet, start=1)
    ]
    sums = (f"{side_name(frame.view, side)} {score}" for side, score in enumerate(frame.view.scores))
    target = frame.view.rules.target
    return [*lines, f"score: {', '.join(sums)}" + (f"; {target} win" if target else "")]


def tell_end(frame: Frame) -> list[str]:
    """A round that is over, and the game, if that is too: why, who won, all hands, the score sheet."""
    ended, view = frame.sheet[-1].round, frame.view
    lines = [f"The round is over ({ended.reason}): {tell_winner(view, ended.winner, ended.points)}."]
    for seat in view.seats:
        hand = seat.hand or ()
        lines.append(f"  {seat.name}: " + (f"{_tiles(hand)} ({sum(map(pips, hand))} pips)" if hand else "no tile left"))
    lines += tell_sheet(frame)
    if frame.phase == "game over":
        result = "it is a draw" if view.winner is None else tell_winner(view, view.winner)
        lines.append(f"The game is over: {result}.")
    return lines


# The terminal ---------------------------------------------------------------------------------------------------------


class _QuitError(Exception):
    """The person wants to leave."""


class Terminal:
    """A session in a terminal, or between pipes: lines in, lines out."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._width = max(20, min(100, shutil.get_terminal_size().columns))
        self._ascii = not _can_print("[5‖5] –")

    def run(self) -> None:
        """Play until the person leaves: by ``quit``, the end of the input, or Ctrl-C.

        Raises:
            AgentError: an agent failed.
        """
        try:
            self._say(self._welcome(), "Type help to see what you can do.")
            while True:
                self._go_on(self._session.frame)
        except (EOFError, KeyboardInterrupt):
            print()
        except _QuitError:
            pass

    def _welcome(self) -> str:
        rules, view = self._session.rules, self._session.frame.view
        others = ", ".join(seat.name for seat in view.seats if seat.name != "you")
        target = f" to {rules.target} points" if rules.target else ""
        return f"Block, {rules.name.replace('_', ' ')}{target}: you (seat {self._session.seat}) and {others}."

    def _go_on(self, frame: Frame) -> None:
        if frame.phase == "wait":
            self._play(self._session.ask())
        elif frame.phase == "play" and frame.legal[0][1].tile is not None:
            self._table()
            self._play(self._ask_move(frame))
        elif frame.phase == "play":
            self._say("You have no tile that fits.")
            self._play(frame.legal[0][0])
        else:
            self._say("", *tell_end(frame))
            self._command(f"Enter deals {'a new game' if frame.phase == 'game over' else 'the next round'}: ")
            self._session.go_on()

    def _play(self, action: int) -> None:
        before = self._session.frame.view
        self._session.play(action)
        self._say(tell_turn(before, self._session.frame.view))

    def _ask_move(self, frame: Frame) -> int:
        while True:
            try:
                return read_move(self._command("> "), frame)
            except ValueError as error:
                self._say(str(error))

    def _command(self, prompt: str) -> str:
        """A line that is no command; commands are answered, and the prompt comes again."""
        while True:
            text = input(prompt)
            if not self._answer(text.strip().lower()):
                return text

    def _answer(self, word: str) -> bool:
        frame = self._session.frame
        if word in ("quit", "q", "exit"):
            raise _QuitError
        if word in ("help", "h", "?"):
            self._say(*HELP.splitlines())
        elif word == "hand":
            self._say(_tiles(frame.view.seats[self._session.seat].hand or ()) or "no tile left")
        elif word == "score":
            self._say(*tell_sheet(frame))
        elif word == "table":
            self._table()
        else:
            return False
        return True

    def _table(self) -> None:
        frame = self._session.frame
        self._say("", *self._session.table(self._ascii).splitlines(), *self._moves(frame.legal, bool(frame.view.line)))

    def _moves(self, legal: Sequence[tuple[int, Move]], begun: bool) -> list[str]:
        """The numbered moves, as many in a line as fit."""
        items = [
            f"{number:>3}  {format_tile(move.tile)}{f' {move.end}' if begun else ''}"
            for number, (_, move) in enumerate(legal, start=1)
            if move.tile is not None
        ]
        row = max(1, self._width // 16)
        return ["".join(f"{item:16}" for item in items[k : k + row]).rstrip() for k in range(0, len(items), row)]

    def _say(self, *lines: str) -> None:
        for line in lines:
            print(textwrap.fill(line, self._width, subsequent_indent="   ", break_on_hyphens=False), flush=True)


def _can_print(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


# The command line -----------------------------------------------------------------------------------------------------


def main(arguments: list[str]) -> int:
    """Play in the terminal or on a page, as the arguments say."""
    parser = make_parser()
    args = parser.parse_args(arguments)
    try:
        rules = rules_of(args)
        session = Session(rules, agents_of(args.opponent, rules), args.seat, args.seed, args.record)
    except (ValueError, ImportError) as error:
        parser.error(str(error))
    _end_in_order()
    try:
        _play(session, args)
    except (AgentError, ValueError, OSError) as error:
        parser.error(str(error))
    finally:
        session.close()
        if args.record and args.record.exists():
            print(f"The record is in {args.record}.")
    return 0


def _end_in_order() -> None:
    """Make the signals that end a program, or its terminal, end this one as Ctrl-C does: the record is kept."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):  # not all on Windows
            signal.signal(getattr(signal, name), stop)


def make_parser() -> Parser:
    """The command line."""
    parser = Parser(__doc__ or "", prog="python -m block_env.human")
    parser.add_argument(
        "--opponent",
        default="greedy",
        metavar="NAME[,NAME...]",
        help="who plays at the other seats: one for all, or one for each, clockwise from you",
    )
    add_rules(parser)
    parser.add_argument("--seat", type=whole(0, 3), default=0, help="yours")
    parser.add_argument("--seed", type=whole(0), help="starts the deals and the agents' chance; default: a new one")
    parser.add_argument(
        "--record", type=file_name, metavar="FILE", help="add the games to this file, the one that is broken off too"
    )
    parser.add_argument("--web", action="store_true", help="play on a page that this machine's browser opens")
    parser.add_argument("--port", type=whole(0, 65535), default=0, help="of the page; 0: a free one")
    parser.add_argument("--no-browser", action="store_true", help="only print the page's address")
    return parser


def agents_of(names: str, rules: Rules) -> list[tuple[str, Policy]]:
    """Name and policy at each other seat, clockwise from the person; seats given one name share one policy.

    Raises:
        ValueError: a name that is no agent, or neither one nor one for each seat.
    """
    given, others = named_agents.split(names, rules), rules.num_players - 1
    if len(given) not in (1, others):
        raise ValueError(f"--opponent: takes one name, or {others} for the other seats, got {len(given)}")
    made = {name: named_agents.make(name, rules) for name in given}
    return [(name, made[name]) for name in (given if len(given) == others else given * others)]


def _play(session: Session, args: Namespace) -> None:
    if args.web:
        from block_env.web_play import serve

        serve(session, args.port, browser=not args.no_browser)
    else:
        Terminal(session).run()


if __name__ == "__main__":
    run(main)
