"""A second opinion on records of games, and changes that it is asked about.

:class:`Told` takes deals and turns out of a text, plays them with the naive reference, and writes the whole text anew.
A record is right when nothing differs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import numpy as np
from helpers import action_id, random_actions
from reference import Deal, Reference, Tile, tile_order

from block_env import Rules, notation
from block_env.notation import NotationError
from block_env.play import Games


def tiles_of(text: str) -> list[Tile]:
    """``"[1|2] [3|3]"`` is [1|2] and [3|3]; ``"-"`` none."""
    assert re.fullmatch(r"-|\[[0-9]\|[0-9]\]( \[[0-9]\|[0-9]\])*", text), text
    return [(int(word[1]), int(word[3])) for word in text.split(" ") if word != "-"]


def words(tiles: Any) -> str:
    return " ".join(f"[{low}|{high}]" for low, high in tiles) or "-"


def rules_of(line: str) -> Rules:
    name, *fields = line.removeprefix("rules: ").split(", ")
    values = dict(field.split("=") for field in fields)
    if name != "custom":
        return Rules.preset(name, int(values["num_players"]))
    known = {"None", "True", "False"}
    return Rules(**{k: ast.literal_eval(v) if v in known or v.isdecimal() else v for k, v in values.items()})


def rules_line(rules: Rules) -> str:
    fields = {"num_players": rules.num_players} if rules.name != "custom" else rules.as_dict()
    return f"rules: {rules.name}, " + ", ".join(f"{name}={value}" for name, value in fields.items())


class Told:
    """A record taken apart, as far as a naive reader can; an AssertionError or another error where it cannot.

    Attributes:
        rounds: opener, hands (None: hidden) and turns of each; a turn is its seat, its tiles drawn or their number, and
            its move as ``"12L"``, ``"pass"``, or None for a draw.
    """

    def __init__(self, text: str) -> None:
        lines = text.split("\n")
        assert lines.pop() == ""
        self.text, self.lines = text, lines
        self.rules = rules_of(lines[1])
        seats = self.rules.num_players
        self.head = [lines.pop(0) for _ in range(3 + seats)]
        self.seed = lines.pop(0) if lines[0].startswith("seed: ") else None
        self.set_up = lines[0] == "set up"
        del lines[: int(self.set_up)]
        self.start = [int(word) for word in lines.pop(0).removeprefix("scores: ").split(" ")]
        self.viewer = None if self.head[2] == "view: all" else int(self.head[2].removeprefix("view: P"))
        self.rounds = []
        while lines[0].startswith("round"):
            self.rounds.append(self.round())
        (self.result,) = lines

    def round(self) -> tuple[int, list[list[Tile] | None], list[tuple[int, Any, str | None]]]:
        opener = int(re.fullmatch(r"round [0-9]+, P([0-3]) opens", self.lines.pop(0))[1])
        hands = [self.lines.pop(0).removeprefix(f"P{seat} has ") for seat in range(self.rules.num_players)]
        turns: list[str] = []
        while re.match(r"P. (\[|draw|pass)", self.lines[0]):
            turns += self.lines.pop(0).split("  ")
        while not self.lines[0].startswith(("round", "result")):
            self.lines.pop(0)  # how it ended is told anew
        return opener, [None if hand.endswith("tiles") else tiles_of(hand) for hand in hands], [*map(self.turn, turns)]

    @staticmethod
    def turn(word: str) -> tuple[int, Any, str | None]:
        draw = r" draw (?P<drawn>[0-9]+|\[.\|.\](?: \[.\|.\])*)"
        match = re.fullmatch(rf"P([0-3])({draw})?( (?P<move>pass|\[.\|.\][LR]))?", word)
        assert match, word
        drawn, move = match["drawn"] or "-", match["move"]
        return (
            int(match[1]),
            int(drawn) if drawn.isdecimal() else tiles_of(drawn),
            move and re.sub(r"[\[|\]]", "", move),
        )

    def deals(self) -> list[Deal]:
        """The deals of a record without hidden tiles."""
        return [self.deal(hands, [t for _, some, _ in turns for t in some]) for _, hands, turns in self.rounds]

    def deal(self, hands: Any, drawn: list[Tile]) -> Deal:
        gone = [tile for hand in hands for tile in hand] + drawn
        return Deal(hands, drawn + [tile for tile in tile_order(self.rules.max_pip) if tile not in gone], 0)

    def retold(self, deals: list[Deal], viewer: int | None = None) -> str:
        """The text as a game with these deals and the record's turns gives it."""
        first = self.rounds[0][0]
        for deal in deals:
            deal.lot = first
        opener = first if self.set_up else None
        endless = chain(deals, repeat(deals[-1]))  # the deal after the last round is not looked at
        game = Reference(endless, **self.rules.as_dict(), scores=self.start, opener=opener)
        head = [self.head[0], rules_line(self.rules), f"view: {'all' if viewer is None else f'P{viewer}'}"]
        lines = [*head, *self.head[3:], *([self.seed] if self.seed and viewer is None else [])]
        lines += ["set up"] * self.set_up + [f"scores: {' '.join(map(str, self.start))}"]
        assert self.set_up or not any(self.start)
        for number, (_, _, turns) in enumerate(self.rounds):
            assert not game.over
            lines += self.told_round(game, number, turns, viewer)
        return "\n".join([*lines, self.told_result(game)]) + "\n"

    def told_round(self, game: Reference, number: int, turns: Any, viewer: int | None) -> list[str]:
        lines = [f"round {number + 1}, P{game.opener} opens"]
        for seat, hand in enumerate(game.hands):
            hidden = viewer not in (None, seat)
            lines.append(f"P{seat} has {f'{self.rules.hand_size} tiles' if hidden else words(sorted(hand))}")
        told: list[str] = []
        ended = False
        for _, _, move in turns:
            assert not ended
            word, ended = self.told_turn(game, move, viewer)
            told.append(word)
        width = 6 if self.rules.num_players == 3 else 8
        lines += ["  ".join(told[k : k + width]) for k in range(0, len(told), width)]
        if not ended:
            assert number == len(self.rounds) - 1
            return lines
        last = game.last_round
        side = last.winner
        who = "nobody wins" if side is None else self.wins(side)
        lines.append(f"{last.reason}, {who} {last.points}")
        lines += [f"P{seat} shows {words(sorted(hand))}" for seat, hand in enumerate(last.hands)]
        return [*lines, f"scores: {' '.join(map(str, game.scores))}"]

    def told_turn(self, game: Reference, move: str | None, viewer: int | None) -> tuple[str, bool]:
        seat, before, number = game.to_play, set(game.hands[game.to_play]), game.round_number
        stock = list(game.stock)
        game.step(action_id(move or "pass", self.rules.max_pip))
        ended = game.over or game.round_number > number
        after = game.last_round.hands[seat] if ended else game.hands[seat]
        drawn = stock[: len(set(after) - before)]
        word = f"P{seat}"
        if drawn:
            word += f" draw {words(drawn) if viewer in (None, seat) else len(drawn)}"
        if move not in (None, "pass"):
            word += f" [{move[0]}|{move[1]}]{move[2]}"
        elif ended or game.to_play != seat:
            word += " pass"
        return word, ended

    def wins(self, side: int) -> str:
        return f"P{side}+P{side + 2} win" if self.rules.partnership else f"P{side} wins"

    def told_result(self, game: Reference) -> str:
        if game.over:
            return "result: draw" if game.winner is None else f"result: {self.wins(game.winner)}"
        illegal = re.fullmatch(r"result: illegal action (0|[1-9][0-9]*) by P([0-3])", self.result)
        if illegal is None:
            return "result: unfinished"
        assert game.round_number == len(self.rounds) - 1  # on a table that is there
        assert int(illegal[2]) == game.to_play
        assert int(illegal[1]) <= game.pass_id
        assert int(illegal[1]) not in game.legal()
        return self.result


def is_true(text: str) -> bool:
    """Whether the text is that of a game that can be: the second opinion."""
    try:
        told = Told(text)
        return not ({"", None} & set(told.head)) and told.retold(told.deals()) == text and heads_fit(told)
    except Exception:
        return False


def heads_fit(told: Told) -> bool:
    names = [line.split(": ", 1) for line in told.head[3:]]
    seed = told.seed is None or re.fullmatch(r"seed: (0|[1-9][0-9]{0,3999})", told.seed)
    return (
        told.head[0] == "block record 1"
        and bool(seed)
        and all(
            mark == f"P{seat}" and name and name.isprintable() and name == name.strip()
            for seat, (mark, name) in enumerate(names)
        )
    )


def accepted(text: str) -> bool:
    """Whether reading takes the text; it refuses by a NotationError alone."""
    try:
        notation.read(text)
    except NotationError:
        return False
    return True


def played(rules: Rules, folder: Path, rng: np.random.Generator, count: int = 1, steps: int = 500) -> list[str]:
    """Records of random games, the text of each; after so many steps they are left."""
    file = folder / "played"
    games = Games(count, rules, seed=int(rng.integers(2**32)), auto_reset=False, record=file)
    for _ in range(steps):
        rows = np.flatnonzero(games.to_play >= 0)
        if not rows.size:
            break
        games.step(random_actions(games.action_mask[rows], rng), rows)
    games.close()
    return [f"{text}\n" for text in file.read_text().rstrip("\n").split("\n\n")]


def view_text(text: str, seat: int) -> str:
    return notation.write(notation.view(notation.read(text)[0], seat))


# Changes to a text ----------------------------------------------------------------------------------------------------

MUTATIONS: list[Callable[[str, np.random.Generator], str]] = []


def mutation(mutate: Callable[[str, np.random.Generator], str]) -> Callable[[str, np.random.Generator], str]:
    MUTATIONS.append(mutate)
    return mutate


@mutation
def other_letter(text: str, rng: np.random.Generator) -> str:
    place = int(rng.integers(len(text)))
    return text[:place] + str(rng.choice(list("0123456789PLR[]| ,:.-\nabdlprsuw"))) + text[place + 1 :]


@mutation
def other_digit(text: str, rng: np.random.Generator) -> str:
    places = [k for k, letter in enumerate(text) if letter.isdigit()]
    place = int(rng.choice(places))
    return text[:place] + str(rng.integers(10)) + text[place + 1 :]


@mutation
def other_end(text: str, rng: np.random.Generator) -> str:
    places = [match.start(1) for match in re.finditer(r"\]([LR])", text)]
    if not places:
        return text[1:]
    place = int(rng.choice(places))
    return text[:place] + ("L" if text[place] == "R" else "R") + text[place + 1 :]


@mutation
def letter_left_out(text: str, rng: np.random.Generator) -> str:
    place = int(rng.integers(len(text)))
    return text[:place] + text[place + 1 :]


def by_parts(text: str, rng: np.random.Generator, gap: str) -> str:
    """A line (or a turn) left out, doubled, or in the place of the next."""
    parts = text.split(gap)
    place = int(rng.integers(len(parts) - 1)) if len(parts) > 1 else 0
    here = parts[place : place + 2]
    return gap.join([*parts[:place], *[here[1:], [here[0], *here], here[::-1]][rng.integers(3)], *parts[place + 2 :]])


@mutation
def other_lines(text: str, rng: np.random.Generator) -> str:
    return by_parts(text, rng, "\n")


@mutation
def other_turns(text: str, rng: np.random.Generator) -> str:
    return by_parts(text, rng, "  ")
