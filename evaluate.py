"""Score agents against each other on paired deals: each deal is played in every seating, so that luck cancels.

python evaluate.py greedy heuristic random --deals 10000
"""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import agents
import block_env
from agents.evaluation import Log, PairResult, play_pair, score_table
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
        rules = rules_of(args)
        policies = [agents.make(name, rules) for name in args.agent]
    except ValueError as error:
        parser.error(str(error))
    records = open_records(args.records, parser)
    pairs = []
    for a, b in combinations(range(len(policies)), 2):
        names = args.agent[a], args.agent[b]
        log = None if records is None else Log(records, names)
        result = play_pair(policies[a], policies[b], rules, args.unit, args.deals, args.seed, log)
        pairs.append((*names, result))
    if records is not None:
        records.close()
    if args.json:
        try:
            write_file(args.json, (json.dumps(report(pairs, rules, args), indent=2) + "\n").encode())
        except OSError as error:
            parser.error(f"--json: {args.json} cannot be written ({error.strerror})")
    print(score_table(pairs, rules, args.unit, args.deals, args.seed))
    return 0


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
    parser.add_argument("--json", metavar="FILE", type=file_name, help="write the results there, too")
    parser.add_argument(
        "--records",
        metavar="FILE",
        type=file_name,
        help="write every game there, as text that block_env.notation reads and block_env.replay shows",
    )
    return parser


def report(pairs: list[tuple[str, str, PairResult]], rules: block_env.Rules, args: Any) -> dict[str, Any]:
    """The results as JSON takes them: format 1, figures from a's side."""
    return {
        "format": 1,
        "rules": {"name": rules.name, **rules.as_dict()},
        "seed": args.seed,
        "versions": {"block_env": block_env.__version__, "numpy": np.__version__},
        "pairs": [{"a": a, "b": b, "unit": args.unit, **asdict(result)} for a, b, result in pairs],
    }


if __name__ == "__main__":
    run(main)
