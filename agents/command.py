"""What the two scripts share on the command line: one-line errors with exit status 2, and checked numbers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import NoReturn

from block_env.variants import PRESETS, Rules, resolve


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Names the default of every option that has one."""

    def _get_help_string(self, action: argparse.Action) -> str:
        shown = action.help or ""
        if action.default in (None, False, argparse.SUPPRESS) or "%(default)" in shown:
            return shown
        return f"{shown} (default: %(default)s)"


class Parser(argparse.ArgumentParser):
    """An argument parser whose help shows defaults and whose errors take one line."""

    def __init__(self, description: str) -> None:
        super().__init__(description=description, formatter_class=_Formatter)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line and exit with status 2."""
        line = " ".join(message.split())
        print(f"{self.prog}: error: {line}", file=sys.stderr)
        raise SystemExit(2)


def add_rules(parser: Parser) -> None:
    """``--rules`` and ``--num-players``, as the environments take them."""
    parser.add_argument("--rules", choices=PRESETS, default="match", help="rule set")
    parser.add_argument(
        "--num-players",
        type=int,
        choices=(2, 3, 4),
        help="seats; default: 2, in partnership 4",
        default=argparse.SUPPRESS,
    )


def rules_of(arguments: argparse.Namespace) -> Rules:
    """The rules that ``--rules`` and ``--num-players`` mean."""
    return resolve(arguments.rules, getattr(arguments, "num_players", None))


def whole(low: int, high: int | None = None) -> Callable[[str], int]:
    """An argument type: a whole number from ``low`` (to ``high``)."""
    takes = f"a whole number from {low}" + (f" to {high}" if high is not None else "")

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"takes {takes}, got {text!r}") from None
        if value < low or (high is not None and value > high):
            raise argparse.ArgumentTypeError(f"takes {takes}, got {text}")
        return value

    return parse


def number(low: float, high: float) -> Callable[[str], float]:
    """An argument type: a number from ``low`` to ``high``."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"takes a number from {low:g} to {high:g}, got {text!r}")
        return value

    return parse
