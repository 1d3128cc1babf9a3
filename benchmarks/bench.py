"""How fast it is: each row against its yardstick, the two taken in turn in one run; the figure is the repeats' median.

python -m benchmarks.bench
python -m benchmarks.bench --rows raw-env,env --quick --repeats 1
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import batches, empty_env, numpy_block, openspiel, plot, start, training
from benchmarks.batches import Point
from benchmarks.measure import FULL, QUICK, Goal, Result, Row, machine, measure
from benchmarks.plot import short
from block_env.command import Parser, file_name, run, whole, write_file


def _step_row(count: int, goal: float) -> Row:
    what = f"step with observation and mask, {count:,} game{'s' if count > 1 else ''}"
    make = partial(batches.step_row, count)
    return Row(f"step-{count}", what, "steps/s", make, "plain C", Goal(goal))


ROWS = (
    _step_row(4096, 0.75),
    _step_row(64, 0.45),
    _step_row(1, 0.02),
    Row("threads", "two Python threads", "steps/s", batches.threads_row, "one thread", Goal(1.8)),
    Row("vector-env", "VectorEnv v greedy, 1,024 games", "turns/s", batches.vector_env_row, "batched step", Goal(0.4)),
    Row("raw-env", "raw_env()", "steps/s", empty_env.raw_env_row, "an empty one by PettingZoo's guide", Goal(0.35)),
    Row("env", "env()", "steps/s", empty_env.env_row, "a bare one in PettingZoo's three wrappers", Goal(2.5)),
    Row("sb3", "MaskablePPO on the native VecEnv of 512", "steps/s", training.sb3_row, "DummyVecEnv of 8", Goal(4.5)),
    Row("train", "train.py", "decisions/s", training.train_row, goal=Goal(20_000)),
    Row("train-env", "train.py, the games' share of its time", "", training.share_row, goal=Goal(0.05, at_most=True)),
    Row("evaluate", "evaluate.py greedy heuristic", "rounds/s", training.evaluate_row, goal=Goal(300_000)),
    Row("cold", "first game after a fresh install", "s", start.cold_row, goal=Goal(20, at_most=True)),
    Row("start", "later start to first step", "s", start.start_row, goal=Goal(1.5, at_most=True)),
    Row("import", "import block_env", "s", start.import_row, goal=Goal(0.6, at_most=True)),
    Row("memory", "record of a game in the core", "bytes", start.record_row, goal=Goal(1000, at_most=True)),
    Row("train-memory", "peak memory of train.py", "MB", start.train_memory_row, goal=Goal(1500, at_most=True)),
    Row("batch-memory", "the same with observation, mask and all", "bytes", start.memory_row),
    Row("raw-env-bare", "raw_env()", "steps/s", empty_env.bare_row, "an empty one that hands out one object"),
    Row("numpy", "step, 4,096 games", "steps/s", numpy_block.numpy_row, "the same in NumPy"),
    Row("openspiel", "raw_env(), single rounds", "steps/s", openspiel.open_spiel_row, "OpenSpiel's block dominoes"),
)
NAMES = [row.name for row in ROWS]


def main(arguments: list[str]) -> int:
    """Measure row by row and print each as it is done; then the plot's lines, if it is asked for."""
    parser = make_parser()
    args = parser.parse_args(arguments)
    size = QUICK if args.quick else FULL
    date = datetime.now(UTC).isoformat(timespec="seconds")
    print(HEAD, flush=True)
    results = list(shown((measure(row, size, args.repeats) for row in args.rows or ROWS), table_line))
    points = list(shown(batches.curve(size, args.repeats), point_line)) if args.plot else []
    if args.json:
        save("--json", args.json, json.dumps(report(results, points, args, date), indent=1) + "\n", parser)
    if args.plot:
        save("--plot", args.plot, picture(points), parser)
    return 0


def save(option: str, path: Path, text: str, parser: Parser) -> None:
    """Write a file, whole or not at all; one that cannot be written ends the program."""
    try:
        write_file(path, text.encode())
    except OSError as error:
        parser.error(f"{option}: {path} cannot be written ({error.strerror})")


def shown(things: Iterable[Any], line: Callable[[Any], str]) -> Iterator[Any]:
    """The same, each printed as it comes."""
    for thing in things:
        print(line(thing), flush=True)
        yield thing


def make_parser() -> Parser:
    """The command line."""
    parser = Parser(__doc__ or "", prog="python -m benchmarks.bench")
    parser.add_argument("--rows", metavar="NAME,…", type=rows_named, help=f"of {', '.join(NAMES)}; default: all")
    parser.add_argument(
        "--quick", action="store_true", help="short measurements: to see that all works, not to judge by"
    )
    parser.add_argument("--repeats", type=whole(1, 1000), default=5, help="measurements of each side")
    parser.add_argument("--json", metavar="FILE", type=file_name, help="write every measurement there, too")
    parser.add_argument(
        "--plot", metavar="FILE", type=file_name, help="also measure speed against number of games, and draw it as SVG"
    )
    return parser


def rows_named(text: str) -> tuple[Row, ...]:
    """An argument type: names of rows, between commas; in the order of the table."""
    names = text.split(",")
    for name in names:
        if name not in NAMES:
            raise argparse.ArgumentTypeError(f"takes names of {', '.join(NAMES)}, got {name!r}")
    return tuple(row for row in ROWS if row.name in names)


# What is told ---------------------------------------------------------------------------------------------------------

WIDTH = max(map(len, NAMES))
HEAD = f"{'row':{WIDTH}}  {'figure':>9}  {'least to most':20}  {'goal':11}  met  what"


def table_line(result: Result) -> str:
    """A line of the table."""
    name, goal = f"{result.row.name:{WIDTH}}", str(result.row.goal or "")
    if result.skipped:
        return f"{name}  skipped: {result.skipped}"
    low, high = map(short, result.spread)
    met = {None: "", True: "yes", False: "no"}[result.met]
    return f"{name}  {short(result.figure):>9}  {f'{low} to {high}':20}  {goal:11}  {met:3}  {_what(result)}"


def _what(result: Result) -> str:
    """What is compared, with the speed of both sides."""
    row = result.row
    if row.against is None:
        return f"{row.what}, {row.unit}" if row.unit else row.what
    ours, other = (short(statistics.median(side)) for side in (result.ours, result.other))
    return f"{row.what}: {ours} {row.unit}; {row.against}: {other}"


def markdown(told: dict[str, Any]) -> str:
    """A report's rows as the README has them."""
    lines = ["| What | Figure (least to most) | Goal |", "|---|---|---|"]
    for row in told["rows"]:
        if row["figure"] is None:
            continue
        ratio = f", of {row['against']}" if row["against"] else ""
        sides = [short(statistics.median(side)) for side in (row["ours"], row["other"]) if side]
        rates = f": {' against '.join(sides)} {row['unit']}" if ratio else f", {row['unit']}".removesuffix(", ")
        goal = row["goal"] and f"{row['goal']['kind']} {row['goal']['value']:,g}{'' if row['met'] else ', missed'}"
        low, high = map(short, row["spread"])
        lines.append(f"| {row['what']}{ratio}{rates} | {short(row['figure'])} ({low} to {high}) | {goal or ''} |")
    return "\n".join(lines)


def point_line(point: Point) -> str:
    """A point of the plot, as it is printed."""
    return f"{point.line:22}  {point.games:>7,} games  {short(point.rate):>9} steps/s"


def picture(points: list[Point]) -> str:
    """The plot, as SVG."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for point in points:
        lines.setdefault(point.line, []).append((point.games, point.rate))
    return plot.draw(lines, "How cost grows: one thread, random play", "games in the batch", "steps a second")


def report(results: list[Result], points: list[Point], args: argparse.Namespace, date: str) -> dict[str, Any]:
    """All of it as JSON takes it: format 1."""
    return {
        "format": 1,
        "date": date,
        "quick": args.quick,
        "repeats": args.repeats,
        "machine": machine(),
        "rows": [result.as_dict() for result in results],
        "curve": [vars(point) for point in points],
    }


if __name__ == "__main__":
    run(main)
