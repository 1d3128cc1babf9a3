"""Score agents against each other on paired deals: each deal is played in every seating, so that luck cancels.

python evaluate.py greedy heuristic random --deals 10000
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import agents
import block_env
from agents.evaluation import score_table
from agents.ratings import Ratings
from agents.tournament import Pairing, Task, play, rate, rating_table
from block_env.command import Parser, add_rules, check_apart, file_name, rules_of, run, whole, write_file
from block_env.play import UNITS
from block_env.recording import RecordFile


def main(arguments: list[str]) -> int:
    """Play all pairs of the agents named; print a table, and write it as JSON if asked."""
    parser = make_parser()
    args = parser.parse_args(arguments)
    check_apart(parser, {"--json": args.json, "--records": args.records})
    if len(args.agent) < 2:
        parser.error("AGENT: takes two or more agents, got one")
    try:
        task = Task(tuple(args.agent), rules_of(args), args.unit, args.deals, args.seed)
        pairings = play_shown(task, args, parser)
    except ValueError as error:
        parser.error(str(error))
    ratings = rate(pairings, task.rules)
    if args.json:
        try:
            write_file(args.json, (json.dumps(report(pairings, ratings, task), indent=2) + "\n").encode())
        except OSError as error:
            parser.error(f"--json: {args.json} cannot be written ({error.strerror})")
    pairs = [(one.a, one.b, one.result) for one in pairings]
    print(score_table(pairs, task.rules, task.unit, task.deals, task.seed))
    if ratings is not None:
        print(f"\n{rating_table(ratings)}")
    return 0


def play_shown(task: Task, args: Any, parser: Parser) -> list[Pairing]:
    """Play all pairs; a bar on stderr shows how far it is, where that is a terminal."""
    records = open_records(args.records, parser)
    with tqdm(total=task.games, unit=" games", unit_scale=True, leave=False, disable=None) as bar:
        pairings = play(task, args.workers, records, bar.update)
    if records is not None:
        records.close()
    return pairings


def open_records(path: Path | None, parser: Parser) -> RecordFile | None:
    """The file that ``--records`` names."""
    try:
        return None if path is None else RecordFile(path)
    except ValueError as error:
        parser.error(f"--records: {str(error).removeprefix('record: ')}")


def make_parser() -> Parser:
    """The command line."""
    parser = Parser(__doc__ or "")
    parser.add_argument("agent", nargs="+", metavar="AGENT", help=agents.GRAMMAR)
    add_rules(parser)
    parser.add_argument("--unit", choices=UNITS, default="round", help="what is played: single rounds or whole matches")
    parser.add_argument(
        "--deals", type=whole(2, 10**8), default=1000, help="deals (or matches) a pair, each in every seating"
    )
    parser.add_argument("--seed", type=whole(0), default=0, help="starts the deals and the agents' chance")
    parser.add_argument(
        "--workers", type=whole(1, 1024), help="processes; default: one a core; the results do not depend on them"
    )
    parser.add_argument("--json", metavar="FILE", type=file_name, help="write the results there, too")
    parser.add_argument(
        "--records",
        metavar="FILE",
        type=file_name,
        help="write every game there, as text that block_env.notation reads and block_env.replay shows; by one process",
    )
    return parser


def report(pairings: list[Pairing], ratings: Ratings | None, task: Task) -> dict[str, Any]:
    """The results as JSON takes them: format 1, figures from a's side."""
    return {
        "format": 1,
        "rules": {"name": task.rules.name, **task.rules.as_dict()},
        "seed": task.seed,
        "versions": {"block_env": block_env.__version__, "numpy": np.__version__},
        "pairs": [{"a": one.a, "b": one.b, "unit": task.unit, **asdict(one.result)} for one in pairings],
        "ratings": None if ratings is None else ratings.as_dict(),
    }


if __name__ == "__main__":
    run(main)
