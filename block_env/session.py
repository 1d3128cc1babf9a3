"""One person at one seat, policies at the others: a game that waits for its moves.

What a session hands out is what the person may see (:mod:`block_env.view`), so that a terminal or a page that stands on
it cannot show more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from block_env.actions import Move, decode_action
from block_env.game import Game, Round, snapshot
from block_env.keywords import check_seed, is_whole
from block_env.observation import layout
from block_env.play import Games
from block_env.policy import Policy, choose, needs_history
from block_env.positions import end_of_round
from block_env.recording import PathLike, Recorder
from block_env.state import NO_REASON
from block_env.variants import Rules
from block_env.view import View, see

HUMAN = "human"
"""What the person is called in records."""

_ROW = (0,)

PHASES = ("play", "wait", "round over", "game over", "failed")
"""Whom a frame waits for: the person, an agent, the person again to see the next deal; nobody once an agent failed."""


class AgentError(RuntimeError):
    """An agent raised an error, or chose what it may not; ``seat`` and ``name`` say which agent."""

    def __init__(self, seat: int, name: str, why: str) -> None:
        super().__init__(f"{name} at seat {seat} failed: {why}")
        self.seat, self.name = seat, name


@dataclass(frozen=True)
class Score:
    """A line of the score sheet: how a round ended, and each side's points after it."""

    round: Round
    scores: tuple[int, ...]


@dataclass(frozen=True)
class Frame:
    """The game as the person sees it after a deal, a turn or a failure.

    Attributes:
        number: frames so far; later frames have higher ones.
        phase: one of :data:`PHASES`.
        view: the table; in the two "over" phases as the round's last turn leaves it, all hands shown.
        legal: (action, move) of all that the person may do now, in the order of actions; empty unless "play".
        sheet: the rounds of this game so far.
        failure: which agent failed, in words; None unless "failed".
    """

    number: int
    phase: str
    view: View
    legal: tuple[tuple[int, Move], ...]
    sheet: tuple[Score, ...]
    failure: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The frame as what JSON can hold."""
        legal = [{"action": action, "tile": move.tile, "end": move.end} for action, move in self.legal]
        sheet = [{"round": vars(line.round), "scores": line.scores} for line in self.sheet]
        return {**vars(self), "view": self.view.as_dict(), "legal": legal, "sheet": sheet}


class Session:
    """Games of one person against agents, one after another. Not for several threads at once, but for :meth:`ask`.

    Args:
        rules: what is played.
        agents: name and policy at each of the other seats, clockwise from the person.
        seat: the person's.
        seed: starts the deals and the agents' chance; None: fresh ones.
        record: a file that the games are added to (:mod:`block_env.recording`), each as it ends, the last one by
            :meth:`close`.

    Attributes:
        frames: all frames of the game that is on, the last one now.

    Raises:
        ValueError: a seat or seed that is none, not one agent for each other seat, or a file that cannot be written.
    """

    def __init__(
        self,
        rules: Rules,
        agents: Sequence[tuple[str, Policy]],
        seat: int = 0,
        seed: int | None = None,
        record: PathLike | None = None,
    ) -> None:
        if not is_whole(seat) or not 0 <= seat < rules.num_players:
            raise ValueError(f"seat: takes a seat from 0 to {rules.num_players - 1}, got {seat!r}")
        if len(agents) != rules.num_players - 1:
            raise ValueError(f"agents: takes {rules.num_players - 1}, one for each other seat, got {len(agents)}")
        self.rules, self.seat = rules, int(seat)
        places = [(self.seat + 1 + k) % rules.num_players for k in range(len(agents))]
        self._agents = dict(zip(places, agents, strict=True))
        self.names = _names([name for name, _ in agents], self.seat)
        chances = np.random.default_rng(check_seed(seed)).spawn(rules.num_players)
        self._chances = dict(enumerate(chances))
        history = any(needs_history(policy) for _, policy in agents)
        self._games = Games(1, rules, reward="points", history=history, seed=seed, auto_reset=False)
        players = [HUMAN if one == self.seat else self._agents[one][0] for one in range(rules.num_players)]
        self._recorder = None if record is None else Recorder(record, rules, lambda _: players, add=True)
        self._number = 0
        self._begin(seed)

    @property
    def frame(self) -> Frame:
        """The game now."""
        return self.frames[-1]

    def table(self, ascii: bool = False) -> str:
        """The table in lines of text (:func:`block_env.render.text`); ``ascii``: without other characters."""
        from block_env.render import text

        return text(self._games.snapshot(0), self.seat, ascii=ascii)

    def since(self, number: int) -> list[Frame]:
        """The frames after that one; the last one alone where the number is none of this game's, nor the one before."""
        first = self.frames[0].number
        known = first - 1 <= number <= self.frame.number
        return self.frames[number + 1 - first :] if known else self.frames[-1:]

    def ask(self) -> int:
        """What the agent to move chooses; a forced turn is not asked for. Changes nothing, and may take its time.

        Raises:
            AgentError: the agent raised an error or gave no legal action.
        """
        seat = int(self._games.to_play[0])
        mask = self._games.action_mask.copy()
        if mask.sum() == 1:
            return int(mask[0].argmax())
        name, policy = self._agents[seat]
        size = layout(self.rules, needs_history(policy)).size
        try:
            action = int(choose(policy, self._games.observation[:, :size].copy(), mask.copy(), self._chances[seat])[0])
        except Exception as error:
            raise AgentError(seat, name, f"{type(error).__name__}: {error}") from error
        if not mask[0, action]:
            raise AgentError(seat, name, f"{decode_action(action, self.rules.max_pip)} is not legal")
        return action

    def play(self, action: int) -> None:
        """Play a turn of the seat to move, the person's or an agent's.

        Raises:
            ValueError: no turn is awaited, or the action is not legal now; nothing has changed.
        """
        if self.frame.phase not in ("play", "wait"):
            raise ValueError(f"action: takes none in phase {self.frame.phase!r}, got {action!r}")
        before = self._games.states.copy()
        self._games.step(np.array([action]))
        if self._recorder is not None:
            self._recorder.turn(self._games.states, _ROW, (action,), self._games.reasons)
        game = self._games.snapshot(0)
        if self._games.reasons[0] == NO_REASON:
            self._add(self._phase(), self._see(game), self.frame.sheet)
            return
        table = snapshot(end_of_round(before, self.rules, action)[0], self.rules)
        table = replace(table, over=game.over, winner=game.winner)
        assert game.last_round is not None
        sheet = (*self.frame.sheet, Score(game.last_round, game.scores))
        self._add("game over" if game.over else "round over", self._see(table, reveal=True), sheet)

    def go_on(self) -> None:
        """After a round: the next one's deal; after a game: a new game.

        Raises:
            ValueError: the round is not over.
        """
        if self.frame.phase == "game over":
            self._games.reset()
            self._begin()
        elif self.frame.phase == "round over":
            self._add(self._phase(), self._see(self._games.snapshot(0)), self.frame.sheet)
        else:
            raise ValueError(f"go_on: takes a round that is over, got phase {self.frame.phase!r}")

    def fail(self, error: AgentError) -> None:
        """End the game because of an agent's error. What the agent said of its own hand stays out of the frame."""
        words = f"{error.name} at seat {error.seat} failed; the game cannot go on."
        self._add("failed", replace(self.frame.view), self.frame.sheet, words)

    def close(self) -> None:
        """Write the game that is on as unfinished, and close the record."""
        if self._recorder is not None:
            self._recorder.close()
            self._recorder = None

    def _begin(self, seed: int | None = None) -> None:
        self.frames: list[Frame] = []
        if self._recorder is not None:
            self._recorder.begin(self._games.states, _ROW, [seed])
        self._add(self._phase(), self._see(self._games.snapshot(0)), ())

    def _phase(self) -> str:
        return "play" if self._games.to_play[0] == self.seat else "wait"

    def _see(self, game: Game, reveal: bool = False) -> View:
        return see(game, self.seat, reveal, self.names)

    def _add(self, phase: str, view: View, sheet: tuple[Score, ...], failure: str | None = None) -> None:
        self._number += 1
        legal = self._legal() if phase == "play" else ()
        self.frames.append(Frame(self._number, phase, view, legal, sheet, failure))

    def _legal(self) -> tuple[tuple[int, Move], ...]:
        actions = np.flatnonzero(self._games.action_mask[0]).tolist()
        return tuple((action, decode_action(action, self.rules.max_pip)) for action in actions)


def _names(agents: list[str], seat: int) -> tuple[str, ...]:
    """Who sits where, in seat order: ``you``, and the agents, numbered where two have one name."""
    numbered = [
        f"{name} {agents[:k].count(name) + 1}" if agents.count(name) > 1 else name for k, name in enumerate(agents)
    ]
    clockwise = ["you", *numbered]
    return tuple(clockwise[one - seat] for one in range(len(clockwise)))
