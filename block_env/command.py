"""What all programs share on the command line: one-line errors with exit status 2, checked numbers, names and files."""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import NoReturn

from block_env.variants import PRESETS, Rules, resolve


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Names the default of every option that has one."""

    def _get_help_string(self, action: argparse.Action) -> str:
        shown = action.help or ""
        default = action.default
        if default is None or default is False or default == argparse.SUPPRESS:
            return shown
        return f"{shown} (default: {' '.join(map(str, default)) if isinstance(default, list) else '%(default)s'})"


class Parser(argparse.ArgumentParser):
    """An argument parser whose help shows defaults and whose errors take one line."""

    def __init__(self, description: str, prog: str | None = None) -> None:
        super().__init__(prog=prog, description=description, formatter_class=_Formatter, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line and exit with status 2."""
        line = " ".join(message.split())
        print(f"{self.prog}: error: {line}", file=sys.stderr)
        raise SystemExit(2)


def run(main: Callable[[list[str]], int]) -> NoReturn:
    """Run a program; Ctrl-C and a closed output end it without a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that has not all letters shows a ? instead
    try:
        status = main(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        status = 130
    except BrokenPipeError:  # such as `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    sys.exit(status)


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


def file_name(text: str) -> Path:
    """An argument type: a file that can be written, new or old."""
    path = Path(text)
    try:
        fits = bool(text) and path.resolve().parent.is_dir() and (path.is_file() or not path.exists())
    except (OSError, ValueError):
        fits = False
    if not fits or not os.access(path.resolve().parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"takes the name of a file in a folder that can be written, got {text!r}")
    return path


def check_apart(parser: Parser, files: dict[str, Path | None]) -> None:
    """End with an error if two of these options or arguments name the same file, under whatever names."""
    given = [(name, file.resolve()) for name, file in files.items() if file is not None]
    for (one, first), (other, second) in combinations(given, 2):
        if first == second:
            parser.error(f"{one} and {other}: take two files, got {first} for both")


def folder_name(text: str) -> Path:
    """An argument type: a folder's name."""
    if not text:
        raise argparse.ArgumentTypeError("takes the name of a folder, got ''")
    return Path(text)


def write_file(path: Path, content: bytes) -> None:
    """Write beside, then rename: nobody sees half a file. A link is followed.

    Raises:
        OSError: the file cannot be written, or is not a regular one; what was there is there still.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(content)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
