"""N games with one learner each: what the single and the vector environment of Gymnasium have in common."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium import logger
from numpy.typing import NDArray

from block_env import rules as kernels
from block_env._bits import count_ones, lowest_one
from block_env._compile import Array, Int, Record, kernel
from block_env.deals import Setup, illegal_action, start_games, stream_keys
from block_env.game import snapshot
from block_env.keywords import check_history, check_max_cycles, check_reward, is_whole
from block_env.observation import encode_games, layout, layout_table
from block_env.opponents import OPPONENTS, make
from block_env.policy import Policy, choose, needs_history, sees_everything
from block_env.recording import PathLike, Recorder
from block_env.state import new_states
from block_env.variants import Rules, resolve, rules_table

Observation = dict[str, NDArray[Any]] | NDArray[np.float32]
Opponent = str | Policy
_NO_SETUP = Setup()
_NO_TILES = np.uint64(0)
_NO_LIMIT = np.iinfo(np.int32).max


# Keywords -------------------------------------------------------------------------------------------------------------


def check_seat(seat: int | None, rules: Rules) -> int | None:
    """None or a seat from 0; a ValueError for anything else."""
    if seat is not None and (not is_whole(seat) or not 0 <= seat < rules.num_players):
        raise ValueError(f"seat: takes None or a seat from 0 to {rules.num_players - 1}, got {seat!r}")
    return None if seat is None else int(seat)


def seat_opponents(opponent: Opponent | Sequence[Opponent], rules: Rules, history: bool) -> list[Policy]:
    """The policy at each of the other seats, clockwise from the learner; seats given one name share one policy.

    Raises:
        ValueError: a name that is none of :data:`block_env.opponents.OPPONENTS`, something that is no policy, one that
            needs ``history`` where there is none, or a list that does not have one for each other seat.
    """
    others = rules.num_players - 1
    given = list(opponent) if isinstance(opponent, list | tuple) else [opponent] * others
    if len(given) != others:
        raise ValueError(f"opponent: takes one, or a list of {others} clockwise from the learner, got {len(given)}")
    named = {one: make(one, rules, rules.num_players) for one in given if isinstance(one, str)}
    return [named[one] if isinstance(one, str) else _check_policy(one, history) for one in given]


def _check_policy(policy: Any, history: bool) -> Policy:
    if sees_everything(policy):
        raise ValueError(f"opponent: takes a Policy, which sees observations alone; {policy!r} sees all hands")
    if not isinstance(policy, Policy) or isinstance(policy, type):
        raise ValueError(f"opponent: takes a Policy or one of {', '.join(map(repr, OPPONENTS))}, got {policy!r}")
    if needs_history(policy) and not history:
        raise ValueError(f"history: takes True with an opponent that needs it ({policy!r}), got False")
    return policy


def pack(
    observation: NDArray[np.float32], action_mask: NDArray[np.int8], mask_in: str
) -> tuple[Observation, dict[str, Any]]:
    """What an environment hands out: the observation, and the info, with the mask in the one or the other."""
    if mask_in == "info":
        return observation, {"action_mask": action_mask}
    return {"observation": observation, "action_mask": action_mask}, {}


class Outcome(NamedTuple):
    """What a step brought n learners: rewards float64 [n]; terminated and truncated, bool [n]."""

    rewards: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]


# Games with one learner each ------------------------------------------------------------------------------------------


class LearnerGames:
    """N games, each with a learner at one seat and policies at the others, who have always played up to the learner.

    Arguments are those of :class:`BlockGymEnv`. Rows (int64 [n]) say which games a call is about.

    Attributes:
        observation: float32 [N, D], what each learner sees; a new array after each call.
        action_mask: int8 [N, A], what it may do; all 0 once its episode has ended. Overwritten by the next call.
        learner: int64 [N], the learner's seat.
        running: bool [N], whether the episode goes on.
        states: the records, dtype :data:`block_env.state.STATE`.
    """

    def __init__(
        self,
        num_games: int,
        opponent: Opponent | Sequence[Opponent],
        seat: int | None,
        rules: str | Rules,
        num_players: int | None,
        reward: str,
        history: bool,
        max_cycles: int | None,
        record: PathLike | None = None,
    ) -> None:
        self.rules = resolve(rules, num_players)
        self.seat = check_seat(seat, self.rules)
        self._history = check_history(history)
        self.opponent = opponent
        self._points = check_reward(reward) == "points"
        self._limit = min(check_max_cycles(max_cycles) or _NO_LIMIT, _NO_LIMIT)
        self._rules, self._places = rules_table(self.rules), layout_table(self.rules, history)
        self.states = new_states(num_games)
        self.observation = np.zeros((num_games, layout(self.rules, history).size), np.float32)
        self.action_mask = np.zeros((num_games, self.rules.num_actions), np.int8)
        self.learner = np.zeros(num_games, np.int64)
        self.running = np.zeros(num_games, np.bool_)
        self._owed = np.zeros(num_games)  # reward that the learner has not been given yet
        self._rewards = np.zeros((num_games, self.rules.num_players), np.float32)
        self._done = np.zeros(num_games, np.bool_)
        self._reasons = np.zeros(num_games, np.int8)
        self._seeds: list[int | None] = [None] * num_games  # what a stream was started with, if that is known
        names = weakref.WeakMethod(
            self._names
        )  # so that a forgotten environment is forgotten at once, and its file freed
        self._recorder = None if record is None else Recorder(record, self.rules, lambda row: names()(row))  # type: ignore[misc]

    @property
    def opponent(self) -> Opponent | Sequence[Opponent]:
        """Who plays at the other seats, as given. A new one takes over with the next turn."""
        return self._opponent

    @opponent.setter
    def opponent(self, opponent: Opponent | Sequence[Opponent]) -> None:
        policies = seat_opponents(opponent, self.rules, self._history)
        self._opponent = opponent
        self._policies = list({id(policy): policy for policy in policies}.values())
        places = [next(k for k, one in enumerate(self._policies) if one is policy) for policy in policies]
        self._seating = np.array([-1, *places])  # by relative seat; the learner's is 0

    @property
    def dealt(self) -> NDArray[np.bool_]:
        """Whether there has been a reset, bool [N]."""
        dealt: NDArray[np.bool_] = self.states["deal"] > 0
        return dealt

    def seed(self, rows: NDArray[np.int64], seeds: Sequence[int | None]) -> None:
        """Start the random streams of ``rows`` anew; with a seed of None one goes on, or if it is none yet, starts."""
        for row, seed in zip(rows.tolist(), seeds, strict=True):
            self._seeds[row] = seed
        given = np.array([seed is not None for seed in seeds], np.bool_)
        self._start_streams(rows[given], [seed for seed in seeds if seed is not None])
        self._start_streams(rows[~given & ~self.dealt[rows]], None)

    def _start_streams(self, rows: NDArray[np.int64], seeds: list[int] | None) -> None:
        if rows.size:
            self.states["stream"][rows] = stream_keys(seeds, len(rows))
            self.states["deal"][rows] = 0

    def reset(self, rows: NDArray[np.int64], rng: np.random.Generator, setup: Setup = _NO_SETUP) -> None:
        """Start a new episode in each row from its stream's next deal, and play up to the learner's first turn.

        Where the game is over before that, any action hands over its reward and end; the mask shows the pass.
        """
        self._deal(rows, setup)
        self._go_on(rows, rng)
        self._begin(rows)

    def step(
        self,
        rows: NDArray[np.int64],
        actions: NDArray[np.int64],
        rng: np.random.Generator,
        over: NDArray[np.int64] | None = None,
    ) -> Outcome:
        """Play the learners' actions (int64 [n], in the action space) in running rows, then up to their next turns.

        Args:
            rows: which run.
            actions: one for each of them.
            rng: the opponents' chance.
            over: other rows, in which a new episode starts meanwhile, as by :meth:`reset`.
        """
        legal, going = np.empty(len(rows), np.bool_), np.empty(len(rows), np.bool_)
        if judge(self.states, rows, actions, self.action_mask, self._limit, legal, going):
            self._warn(rows[~legal], actions[~legal])
            self._record_illegal(rows[~legal], actions[~legal])
        self.running[rows] = False
        played = rows[going]
        self._play(played, actions[going])
        if over is None or not over.size:
            self._go_on(played, rng)
        else:
            self._deal(over, _NO_SETUP)
            self._go_on(np.concatenate([played, over]), rng)
            self._begin(over)
        return self._settle(rows, legal)

    def _deal(self, rows: NDArray[np.int64], setup: Setup) -> None:
        start_games(self.states, self.rules, rows, setup)
        if self.seat is None:
            kernels.draw_lots(self.states, self._rules, rows, self.learner)
        else:
            self.learner[rows] = self.seat
        self._owed[rows] = 0.0
        self._rewards[rows] = 0.0
        self.running[rows] = False
        if self._recorder is not None:
            self._recorder.begin(self.states, rows, [self._seeds[row] for row in rows], setup != _NO_SETUP)

    def _begin(self, rows: NDArray[np.int64]) -> None:
        self.running[rows] = True
        show_early_ends(self.states, rows, self._limit, self.action_mask)

    def _settle(self, rows: NDArray[np.int64], legal: NDArray[np.bool_]) -> Outcome:
        count = len(rows)
        outcome = Outcome(np.empty(count), np.empty(count, np.bool_), np.empty(count, np.bool_))
        settle(self.states, rows, legal, self._limit, self._owed, self.running, self.action_mask, *outcome)
        if self._recorder is not None:
            self._recorder.leave(rows[outcome.truncated])
        return outcome

    def _go_on(self, rows: NDArray[np.int64], rng: np.random.Generator) -> None:
        """Let the others play until it is the learner's turn or the end, and look at the game with its eyes."""
        waiting, actions, asked = self._book(rows)
        while waiting.size:
            self._choose(waiting, actions, asked, rng)
            self._play(waiting, actions)
            waiting, actions, asked = self._book(waiting)
        self._look(rows)

    def _book(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows in which another is to move, its action where it has no choice, and else which policy is asked."""
        turns = np.empty((3, len(rows)), np.int64)
        games = self.states, rows, self.learner, self._limit
        count = book(*games, self._seating, self.rules.num_actions - 1, self._rewards, self._owed, turns)
        return turns[:, :count]

    def _observe(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        """What the seats to move see: new arrays, float32 [n, D] and int8 [n, A]."""
        count = len(rows)
        observation = np.empty((count, self.observation.shape[1]), np.float32)
        action_mask = np.empty((count, self.action_mask.shape[1]), np.int8)
        games = self.states, self._rules, self._places, rows, np.full(count, -1)
        encode_games(*games, np.arange(count), observation, action_mask)
        return observation, action_mask

    def _look(self, rows: NDArray[np.int64]) -> None:
        """Look at the games with the learners' eyes; masks are new in these rows alone.

        Observations go to new arrays, since who got the old ones may keep them, and write into them.
        """
        self.observation = np.empty_like(self.observation)
        every, masks = np.arange(len(self.states)), self.action_mask
        if len(rows) < len(every):
            masks = np.empty_like(masks)
        encode_games(self.states, self._rules, self._places, every, self.learner, every, self.observation, masks)
        if masks is not self.action_mask:
            self.action_mask[rows] = masks[rows]

    def _play(self, rows: NDArray[np.int64], actions: NDArray[np.int64]) -> None:
        kernels.step_games(
            self.states, self._rules, rows, actions, self._points, False, self._rewards, self._done, self._reasons
        )
        if self._recorder is not None:
            self._recorder.turn(self.states, rows, actions, self._reasons[rows])

    def _choose(
        self, rows: NDArray[np.int64], actions: NDArray[np.int64], asked: NDArray[np.int64], rng: np.random.Generator
    ) -> None:
        """Ask the opponents, one call a policy; forced moves (``asked`` is -1) are made without."""
        for index, policy in enumerate(self._policies):
            mine = np.flatnonzero(asked == index)
            if mine.size:
                actions[mine] = choose(policy, *self._observe(rows[mine]), rng)
        self._check_choices(rows, actions)

    def _check_choices(self, rows: NDArray[np.int64], actions: NDArray[np.int64]) -> None:
        wrong = kernels.first_illegal(self.states, self._rules, rows, actions)
        if wrong >= 0:
            where = f" in environment {rows[wrong]}" if len(self.states) > 1 else ""
            raise illegal_action(self.states[rows[wrong]], self.rules, actions[wrong], f" of an opponent{where}")

    def close(self) -> None:
        """Close the record, if there is one."""
        if self._recorder is not None:
            self._recorder.close()
            self._recorder = None

    def _names(self, row: int) -> list[str]:
        """Who sits where, as records name them."""
        seats, learner = self.rules.num_players, int(self.learner[row])
        others = self._opponent if isinstance(self._opponent, list | tuple) else [self._opponent] * (seats - 1)
        called = ["learner", *(one if isinstance(one, str) else type(one).__name__ for one in others)]
        return [called[(seat - learner) % seats] for seat in range(seats)]

    def _record_illegal(self, rows: NDArray[np.int64], actions: NDArray[np.int64]) -> None:
        if self._recorder is not None:
            for row, action in zip(rows.tolist(), actions.tolist(), strict=True):
                self._recorder.illegal(row, action)

    def _warn(self, rows: NDArray[np.int64], actions: NDArray[np.int64]) -> None:
        where = f" in environment {rows[0]}" if len(self.states) > 1 else ""
        more = f" (and {len(rows) - 1} more in this step)" if len(rows) > 1 else ""
        error = illegal_action(self.states[rows[0]], self.rules, actions[0], where)
        logger.warn(f"{error}; reward -1 and the end{more}")


@kernel
def at_end(state: Record, limit: Int) -> Int:
    """Whether the game is over, or has had ``limit`` turns."""
    return state.over != 0 or state.turns >= limit


@kernel
def show_early_ends(states: Array, rows: Array, limit: Int, masks: Array) -> None:
    """Where the game is at its end, make the pass the one legal action."""
    for row in rows:
        if at_end(states[row], limit):
            masks[row] = 0
            masks[row, masks.shape[1] - 1] = 1


@kernel
def judge(states: Array, rows: Array, actions: Array, masks: Array, limit: Int, legal: Array, going: Array) -> Int:
    """How many of the actions are illegal; which are legal, and which are to be played (both bool [n]).

    In a game that is at its end already any action is taken, and none is played.
    """
    illegal = 0
    for k in range(len(rows)):
        ended = at_end(states[rows[k]], limit)
        legal[k] = ended or masks[rows[k], actions[k]] != 0
        going[k] = legal[k] and not ended
        if not legal[k]:
            illegal += 1
    return illegal


@kernel
def book(
    states: Array,
    rows: Array,
    learner: Array,
    limit: Int,
    seating: Array,
    last: Int,
    rewards: Array,
    owed: Array,
    turns: Array,
) -> Int:
    """Add what the last turn paid the learners to what they are owed; who is to move in how many other rows.

    Into ``turns`` (int64 [3, n]) go these rows; the action of the seat to move, if one only is legal (``last``: the
    pass); and which policy chooses else, by ``seating`` (int64 [seats], from the learner on), or -1.
    """
    count, seats = 0, len(seating)
    for row in rows:
        state, seat = states[row], learner[row]
        owed[row] += rewards[row, seat]
        mover = np.int64(state.to_play)
        if mover == seat or at_end(state, limit):
            continue
        left, right = state.legal_left, state.legal_right
        turns[0, count], turns[1, count], turns[2, count] = row, last, -1
        if left != _NO_TILES:
            turns[1, count] = lowest_one(left)
        elif right != _NO_TILES:
            turns[1, count] = last // 2 + lowest_one(right)
        if count_ones(left) + count_ones(right) > 1:
            turns[2, count] = seating[mover - seat if mover >= seat else mover - seat + seats]
        count += 1
    return count


@kernel
def settle(
    states: Array,
    rows: Array,
    legal: Array,
    limit: Int,
    owed: Array,
    running: Array,
    masks: Array,
    rewards: Array,
    terminated: Array,
    truncated: Array,
) -> None:
    """Pay the learners, and write whose episode has ended, and how (:class:`Outcome`)."""
    for k in range(len(rows)):
        row = rows[k]
        rewards[k] = owed[row] if legal[k] else -1.0
        owed[row] = 0.0
        terminated[k] = not legal[k] or states[row].over != 0
        truncated[k] = not terminated[k] and at_end(states[row], limit)
        running[row] = not terminated[k] and not truncated[k]
        if not running[row]:
            masks[row] = 0


def table_picture(games: LearnerGames, row: int, render_mode: str) -> str | NDArray[np.uint8]:
    """The game in this row as its learner sees it: text for ``"ansi"``, and pixels (uint8 [H, W, 3]) otherwise."""
    if render_mode == "ansi":
        return table_text(games, row)
    from block_env.render import render_rgb

    return render_rgb(snapshot(games.states[row], games.rules), viewer=int(games.learner[row]))


def table_text(games: LearnerGames, row: int) -> str:
    """The game in this row as its learner sees it, in words (:func:`block_env.render.text`)."""
    from block_env.render import text

    return text(snapshot(games.states[row], games.rules), viewer=int(games.learner[row]))
