"""Recorded games as one web page: step through them, look at the hands, compare what agents would have played.

python -m block_env.replay games.txt -o game.html --agents greedy,heuristic
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from block_env import named_agents, notation
from block_env.actions import decode_action
from block_env.analysis import Decision, decisions, kind
from block_env.command import Parser, check_apart, file_name, run, whole, write_file
from block_env.game import Game
from block_env.line import FreeEnd, Placed, place, table_size
from block_env.notation import Position, Record, RoundRecord
from block_env.policy import Policy
from block_env.state import new_states
from block_env.svg import tile_symbols
from block_env.variants import Rules

Json = dict[str, Any]

_MARGIN = 1.6  # beyond the outermost tile, for the mark of a free end


# The program ----------------------------------------------------------------------------------------------------------


def main(arguments: list[str]) -> int:
    """Read the records, write the page."""
    parser = make_parser()
    args = parser.parse_args(arguments)
    check_apart(parser, {"FILE": args.file, "-o": args.output})
    try:
        records = _chosen(notation.read_file(args.file), args.game, args.view)
        content = page(records, _printable(args.file.name), args.agents, args.game or 1)
    except OSError as error:
        parser.error(f"FILE: {args.file} cannot be read ({error.strerror})")
    except ValueError as error:
        parser.error(str(error))
    try:
        write_file(args.output, content.encode())
    except OSError as error:
        parser.error(f"-o: {args.output} cannot be written ({error.strerror})")
    return 0


def _printable(name: str) -> str:
    """A file's name as text: bytes that are no UTF-8 become marks."""
    return os.fsencode(name).decode(errors="replace")


def make_parser() -> Parser:
    """The command line."""
    parser = Parser(__doc__ or "", "python -m block_env.replay")
    parser.add_argument("file", type=Path, metavar="FILE", help="records of games, as block_env.notation writes them")
    parser.add_argument("-o", "--output", type=file_name, required=True, metavar="PAGE", help="the HTML page to write")
    parser.add_argument("--game", type=whole(1), metavar="K", help="only the K-th game of the file")
    parser.add_argument(
        "--view",
        type=whole(0),
        metavar="SEAT",
        help="as that seat saw it: hands that it did not see are not in the page",
    )
    parser.add_argument(
        "--agents", metavar="A,B", help="show what these agents would have played, and where they differ"
    )
    return parser


def _chosen(records: Sequence[Record], game: int | None, seat: int | None) -> list[Record]:
    """The records to show, as that seat saw them."""
    if not records:
        raise ValueError("FILE: there is no game in it")
    if game is not None and game > len(records):
        raise ValueError(f"--game: takes a game from 1 to {len(records)}, got {game}")
    chosen = list(records) if game is None else [records[game - 1]]
    return chosen if seat is None else [notation.view(record, seat) for record in chosen]


# The page -------------------------------------------------------------------------------------------------------------


def page(records: Sequence[Record], title: str = "Replay", agents: str | None = None, first: int = 1) -> str:
    """One self-contained HTML page of these games; it asks for nothing over the network.

    Of a player-view record's hidden tiles the page holds none but those that were shown at a round's end.

    Args:
        records: the games, in order.
        title: what the page is called.
        agents: names of agents, with commas between them, as :func:`block_env.named_agents.split` reads them.
        first: the number of the first game.

    Raises:
        ValueError: no such agent, or one that does not fit the rules of a game.
    """
    played = [_Replayed(record, _rounds(record)) for record in records]
    compared = _compare(played, agents)
    games = [_game(game, compared.get(k)) for k, game in enumerate(played)]
    data = {"title": title, "first": first, "games": games}
    return _fill(
        "replay.html",
        title=html.escape(title),
        symbols=tile_symbols(max(record.rules.max_pip for record in records)),
        data=json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
        style=_read("board.css") + _read("replay.css"),
        script=_read("board.js") + _read("replay.js"),
    )


def _read(name: str) -> str:
    return files("block_env").joinpath("pages", name).read_text("utf-8")


def _fill(name: str, **parts: str) -> str:
    """The page with its parts put in; its policy allows the style and the script inside it, by their hashes alone."""
    hashes = {f"{part}_hash": _hash(parts[part]) for part in ("style", "script")}
    return re.sub(r"\{\{(\w+)\}\}", lambda match: (parts | hashes)[match[1]], _read(name))


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


# A game as the page's script reads it ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Replayed:
    record: Record
    rounds: list[list[Position]]  # of each round the position before every turn, and the last one

    def told(self, position: Position) -> bool:
        """Whether the page may tell what could be played there: it follows from the mover's hand."""
        return self.record.viewer in (None, position.game.to_play)


def _rounds(record: Record) -> list[list[Position]]:
    return [list(group) for _, group in groupby(notation.replay(record), key=lambda position: position.round)]


def _game(game: _Replayed, compared: _Compared | None) -> Json:
    """Each round once: the deal, the turns, how it ended. The script makes each position of these."""
    record, rules = game.record, game.record.rules
    choices = {} if compared is None else compared.choices
    return {
        "rules": {"name": rules.name, **rules.as_dict()},
        "sides": rules.num_sides,
        "viewer": record.viewer,
        "names": list(record.names),
        "seed": None if record.seed is None else str(record.seed),  # JavaScript has no whole numbers that large
        "result": record.result,
        "table": table_size(rules),
        "agents": None if compared is None else compared.agents,
        "rounds": [_round(k, positions, record, choices) for k, positions in enumerate(game.rounds)],
    }


def _frame(end: Game) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of the part of the table that a round's line takes."""
    x, y = 3.0, 1.0
    for one in _lay_out(end)[0]:
        flat = one.angle % 180 == 0
        x, y = max(x, abs(one.x) + (1 if flat else 0.5)), max(y, abs(one.y) + (0.5 if flat else 1))
    x, y = round(x + _MARGIN, 3), round(y + _MARGIN, 3)
    return -x, -y, x, y


def _lay_out(game: Game, plies: int | None = None) -> tuple[tuple[Placed, ...], tuple[FreeEnd, ...]]:
    """The tiles and the free ends after so many turns of the round; None: after all."""
    return place(((ply, turn.move) for ply, turn in enumerate(game.history[:plies])), game.rules)


def _round(number: int, positions: Sequence[Position], record: Record, choices: Choices) -> Json:
    start, end, said = positions[0].game, positions[-1].game, record.rounds[number]
    plies = _plies(end, said)
    return {
        "opener": said.opener,
        "scores": start.scores,
        "stock": len(start.stock),
        "frame": _frame(end),
        "hands": said.hands,
        "plies": [{**turn, "choice": choices.get((number, ply))} for ply, turn in enumerate(plies)],
        "next": end.to_play,
        "result": _result(number, record),
    }


def _plies(end: Game, said: RoundRecord) -> Iterator[Json]:
    """The turns; tiles that are hidden are not even in the record, those that a replay fills in are not read."""
    placed = {one.ply: _place(one) for one in _lay_out(end)[0]}
    for ply, turn in enumerate(end.history):
        ends = [_place(one) for one in _lay_out(end, ply + 1)[1]] if ply in placed else None
        drawn = said.turns[ply].drawn
        took = drawn if isinstance(drawn, tuple) and drawn else None
        yield {**asdict(turn), "took": took, "placed": placed.get(ply), "ends": ends}


def _place(one: Placed | FreeEnd) -> Json:
    return {**asdict(one), "x": round(one.x, 3), "y": round(one.y, 3)}


def _result(number: int, record: Record) -> Json | None:
    """How the round ended, and the game with it; None where the record leaves it unfinished."""
    said = record.rounds[number]
    if said.reason is None:
        return None
    ends = {notation.result_words(record.rules, side): side for side in (None, *range(record.rules.num_sides))}
    over = number == len(record.rounds) - 1 and record.result in ends
    return {
        "reason": said.reason,
        "winner": said.winner,
        "points": said.points,
        "hands": said.shown,
        "scores": said.scores,
        "over": over,
        "game_winner": ends[record.result] if over else None,
    }


# What agents would have played ----------------------------------------------------------------------------------------

Choices = dict[tuple[int, int], Json]
"""By round and turn."""


@dataclass(frozen=True)
class _Compared:
    agents: list[Json]
    choices: Choices


def _compare(games: Sequence[_Replayed], agents: str | None) -> dict[int, _Compared]:
    """By game; all games of the same rules at once."""
    if agents is None:
        return {}
    compared = {}
    for rules in {game.record.rules: None for game in games}:
        chosen = {k: game for k, game in enumerate(games) if game.record.rules == rules}
        names = named_agents.split(agents, rules)
        policies = [named_agents.make(name, rules) for name in names]
        told = [{"name": name, "kind": kind(policy)} for name, policy in zip(names, policies, strict=True)]
        compared.update({k: _Compared(told, choices) for k, choices in _choices(chosen, rules, policies).items()})
    return compared


def _choices(games: Mapping[int, _Replayed], rules: Rules, policies: Sequence[Policy]) -> dict[int, Choices]:
    turns = [
        (k, position, ply.action)
        for k, game in games.items()
        for positions in game.rounds
        for position, ply in zip(positions, positions[-1].game.history, strict=False)
        if game.told(position)
    ]
    found: dict[int, Choices] = {k: {} for k in games}
    states = np.concatenate([new_states(0), *(position.state for _, position, _ in turns)])
    told = decisions(states, rules, policies, np.array([action for _, _, action in turns], np.int64))
    for (k, position, _), decision in zip(turns, told, strict=True):
        if decision is not None:
            found[k][position.round, position.ply] = _choice(decision, rules)
    return found


def _choice(decision: Decision, rules: Rules) -> Json:
    return {
        "moves": [decode_action(int(action), rules.max_pip) for action in decision.actions],
        "odds": decision.odds.round(4).tolist(),
        "scores": [None if scores is None else scores.round(4).tolist() for scores in decision.scores],
        "differ": round(decision.differ, 4),
    }


if __name__ == "__main__":
    run(main)
