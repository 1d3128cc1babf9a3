"""Batched play: many games at once, and the only turn loop between policies."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from block_env import rules as kernels
from block_env._bits import count_ones, lowest_one
from block_env._compile import Array, Int, kernel
from block_env.batch import Batch
from block_env.deals import IllegalActionError, Seed, Setup, illegal_action, start_games, stream_keys
from block_env.game import Game, snapshot
from block_env.keywords import check_history, check_reward, is_whole
from block_env.observation import encode_batch, encode_games, layout, layout_table, observe
from block_env.policy import Player, as_array, choose, choose_on, sees_everything
from block_env.recording import PathLike, Recorder
from block_env.state import BLOCKED, NO_REASON, new_states
from block_env.variants import Rules, resolve, rules_table

_NO_TILES = np.uint64(0)

# Batched play ---------------------------------------------------------------------------------------------------------


class Games:
    """N games of the same rules, played in lockstep, all seats; by one thread at a time.

    Args:
        num_games: N.
        rules: ``"match"``, ``"single_round"``, ``"partnership"``, ``"draw"``, or a :class:`Rules`.
        num_players: 2, 3 or 4; None takes the rules' own.
        reward: ``"outcome"``, +1 and -1 at the end of the game, or ``"points"``, at the end of each round.
        history: whether observations end with the whole public round.
        seed: one seed for all, a sequence of one a game (game i is then the environment reset with that seed), or None.
        auto_reset: whether a finished game starts its next deal within the step that ends it.
        record: as in the environments, or a :class:`block_env.recording.Recorder`.
        copies: games 0 to ``copies - 1`` get the same deals, and so on: duplicate deals. Goes with one seed or None.

    Attributes are set once; arrays are written into, as by ``games.states[:] = kept``.

    Attributes:
        observation: float32 [N, D], what the seat to move sees; the next step overwrites it.
        action_mask: int8 [N, A], what it may do; all 0 in a finished game. Overwritten likewise.
        reasons: int8 [N], index into ``block_env.state.REASONS``: how the last step ended a round, 0 if it ended none.
        states: the records, dtype :data:`block_env.state.STATE`.

    Raises:
        ValueError: an argument is out of range; the message names it.
    """

    def __init__(
        self,
        num_games: int,
        rules: str | Rules = "match",
        num_players: int | None = None,
        reward: str = "outcome",
        history: bool = False,
        seed: Seed = None,
        *,
        auto_reset: bool = True,
        copies: int = 1,
        record: PathLike | Recorder | None = None,
    ) -> None:
        if not is_whole(num_games) or num_games < 1:
            raise ValueError(f"num_games: takes a whole number from 1, got {num_games!r}")
        if not is_whole(copies) or copies < 1 or num_games % copies:
            raise ValueError(f"copies: takes a divisor of num_games ({num_games}), got {copies!r}")
        if not isinstance(auto_reset, bool | np.bool_):
            raise ValueError(f"auto_reset: takes True or False, got {auto_reset!r}")
        self.rules = resolve(rules, num_players)
        self.num_games = int(num_games)
        self.reward, self.history = check_reward(reward), check_history(history)
        self.auto_reset, self._copies = auto_reset, copies
        self.layout = layout(self.rules, history)
        self._rules, self._places = rules_table(self.rules), layout_table(self.rules, history)
        self._all = np.arange(self.num_games)
        self.states = new_states(self.num_games)
        self.observation = np.zeros((self.num_games, self.layout.size), np.float32)
        self.action_mask = np.zeros((self.num_games, self.rules.num_actions), np.int8)
        self.reasons = np.zeros(self.num_games, np.int8)
        self._rewards = np.zeros((self.num_games, self.rules.num_players), np.float32)
        self._done = np.zeros(self.num_games, np.bool_)
        self._whole: Batch | None = None
        self._some: Batch | None = None
        self._seed_streams(seed)
        self._recorder = self._open_record(record)
        self.reset()

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and name in self.__dict__:
            raise AttributeError(
                f"{name} of Games cannot be replaced; an array can be written into: games.{name}[:] = …"
            )
        super().__setattr__(name, value)

    @property
    def to_play(self) -> NDArray[np.int32]:
        """The seat to move in each game, int [N]; -1 in a finished one. A live view."""
        return self.states["to_play"]

    def reset(
        self, seed: Seed = None, options: Mapping[str, Any] | None = None, rows: NDArray[Any] | None = None
    ) -> None:
        """Start a new game everywhere, or in ``rows`` (int [n]), each from its stream's next deal.

        Args:
            seed: starts the streams of all games anew, as in the constructor; None goes on with them.
            options: ``hands``, ``opener`` and ``scores``, the same in each game.
            rows: games to reset, no game twice; does not go with a seed.

        Raises:
            ValueError: as the constructor, or the options describe a position that can't be. Nothing has changed then.
        """
        setup = Setup.parse(options, self.rules)
        if seed is not None:
            if rows is not None:
                raise ValueError("seed: does not go with rows; it starts the streams of all games")
            self._seed_streams(seed)
        chosen = self._all if rows is None else self._check_rows(rows, once=True)
        start_games(self.states, self.rules, chosen, setup)
        if self._recorder is not None:
            self._recorder.begin(self.states, chosen, self._first_seeds(chosen), setup != Setup())
        self.reasons[chosen], self._done[chosen] = NO_REASON, False
        self._observe(chosen)

    def step(
        self, actions: NDArray[Any], rows: NDArray[Any] | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Play one action in every game, or in ``rows`` (int [n], no game twice) alone.

        Args:
            actions: int [N] (or [n]), a legal action of the seat to move in each.
            rows: the games to play in; None plays in all.

        Returns:
            ``rewards`` float32 [N, seats] and ``done`` bool [N], true where the game ended; only the rows of played
            games are meant. The next step overwrites both.

        Raises:
            IllegalActionError: an action is not legal; the message names the game, the mover and what is legal. No game
                has changed.
            ValueError: ``actions`` is not whole numbers of that shape.
        """
        chosen = self._all if rows is None else self._check_rows(rows, once=True)
        given = actions if type(actions) is np.ndarray else as_array(actions)
        if given.dtype.kind not in "iu" or given.shape != chosen.shape:
            takes = f"whole numbers, int [{len(chosen)}]"
            raise ValueError(f"actions: takes {takes}, got {given.dtype} {list(given.shape)}")
        batch = (self._whole if rows is None else self._some) or self._bind(whole=rows is None)
        count = len(chosen)
        batch.actions[:count] = given
        if rows is not None:
            batch.rows[:count] = chosen
            batch.part(count)
        wrong = kernels.step_batch(batch.address)
        if wrong >= 0:
            where = chosen[wrong]
            raise illegal_action(self.states[where], self.rules, given[wrong], f" in game {where}")
        if self._recorder is not None:
            self._record(self._recorder, chosen, batch.actions[:count])
        encode_batch(batch.address)
        return self._rewards, self._done

    def observe(self, rows: NDArray[Any], seats: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        """What ``seats[k]`` sees of game ``rows[k]`` (both int [n]): new arrays float32 [n, D] and int8 [n, A].

        Raises:
            ValueError: no such game or seat, or not as many seats as rows.
        """
        chosen = self._check_rows(rows)
        viewers = self._check_seats(seats, len(chosen))
        return observe(self.states, self.rules, chosen, viewers, self.history)

    def snapshot(self, index: int) -> Game:
        """The whole truth about one game, readable (:class:`block_env.game.Game`); a ValueError if there is none."""
        if not is_whole(index) or not 0 <= index < self.num_games:
            raise ValueError(f"index: takes a whole number from 0 to {self.num_games - 1}, got {index!r}")
        return snapshot(self.states[index], self.rules)

    def close(self) -> None:
        """Close the record, if there is one."""
        if self._recorder is not None:
            self._recorder.close()
            self._recorder = self._whole = self._some = None

    def _bind(self, whole: bool) -> Batch:
        """Bind the buffers, for calls about all games or about some of them."""
        names = {"observation": self.observation, "action_mask": self.action_mask, "reasons": self.reasons}
        redeal = self.auto_reset and self._recorder is None
        points = self.reward == "points"
        batch = Batch.of(
            self.states, self.rules, self.history, points, redeal, rewards=self._rewards, done=self._done, **names
        )
        self._whole, self._some = (batch, self._some) if whole else (self._whole, batch)
        return batch

    def _open_record(self, record: PathLike | Recorder | None) -> Recorder | None:
        if record is None or isinstance(record, Recorder):
            return record
        return Recorder(record, self.rules)

    def _first_seeds(self, rows: NDArray[np.int64]) -> list[int | None]:
        """The seeds of games that are the first of their streams; of one seed for all, only the first game is."""
        first = self.states["deal"][rows] == 1
        return [self._seeds.get(row) if fresh else None for row, fresh in zip(rows.tolist(), first, strict=True)]

    def _record(self, recorder: Recorder, rows: NDArray[np.int64], actions: NDArray[np.int64]) -> None:
        """Write the turns down, and only then start the next games in place of those that are over."""
        recorder.turn(self.states, rows, actions, self.reasons[rows])
        over = rows[self._done[rows]]
        if self.auto_reset and over.size:
            start_games(self.states, self.rules, over, Setup())
            recorder.begin(self.states, over)

    def _seed_streams(self, seed: Seed) -> None:
        if self._copies == 1:
            self.states["stream"] = stream_keys(seed, self.num_games)
        else:
            keys = stream_keys(seed, self.num_games // self._copies)
            self.states["stream"] = np.repeat(keys, self._copies, axis=0)
        self.states["deal"] = 0
        self._seeds: dict[int, Any] = dict(enumerate([seed] if seed is None or is_whole(seed) else seed))  # type: ignore[arg-type]

    def _observe(self, rows: NDArray[np.int64]) -> None:
        movers = np.full(len(rows), -1)
        buffers = self.observation, self.action_mask
        encode_games(self.states, self._rules, self._places, rows, movers, rows, *buffers)

    def _check_rows(self, rows: NDArray[Any], once: bool = False) -> NDArray[np.int64]:
        chosen = as_array(rows)
        if chosen.dtype.kind not in "iu" or chosen.ndim != 1 or (chosen.size and not self._in_range(chosen)):
            raise ValueError(f"rows: takes whole numbers from 0 to {self.num_games - 1}, int [n], got {rows!r}")
        chosen = np.array(chosen, np.int64)  # in one piece, and writable: else kernels are compiled anew
        if once and chosen.size and np.bincount(chosen).max() > 1:
            raise ValueError(f"rows: takes each game once, got game {np.bincount(chosen).argmax()} more often")
        return chosen

    def _check_seats(self, seats: NDArray[Any], count: int) -> NDArray[np.int64]:
        last = self.rules.num_players - 1
        given = as_array(seats)
        fits = given.dtype.kind in "iu" and given.shape == (count,)
        if not fits or (count and not 0 <= given.min() <= given.max() <= last):
            raise ValueError(f"seats: takes whole numbers from 0 to {last}, int [{count}], got {seats!r}")
        return np.array(given, np.int64)

    def _in_range(self, rows: NDArray[Any]) -> bool:
        return bool(rows.min() >= 0 and rows.max() < self.num_games)


UNITS = ("round", "match")


# Policies against each other ------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """What came of N games.

    Attributes:
        points: float64 [N, seats], points for each seat, zero-sum over sides, summed over the rounds played.
        winners: int64 [N], the side that won the game (or the one round), -1 for a draw.
        rounds: int64 [N], rounds played.
        blocked: int64 [N], rounds of them that ended blocked.
        decisions: int64 [policies], choices among two or more legal actions.
        seconds: float64 [policies], time spent in ``act``.
    """

    points: NDArray[np.float64]
    winners: NDArray[np.int64]
    rounds: NDArray[np.int64]
    blocked: NDArray[np.int64]
    decisions: NDArray[np.int64]
    seconds: NDArray[np.float64]


def play_out(
    games: Games,
    policies: Sequence[Player],
    seating: NDArray[np.integer[Any]],
    rng: np.random.Generator,
    unit: str = "match",
) -> Tally:
    """Let policies play every game to its end, in lockstep. Forced moves are made without asking.

    Args:
        games: made with ``reward="points"`` and ``auto_reset=False``.
        policies: the players, seers (:class:`block_env.policy.Seer`) among them; each draws from a generator of its
            own, spawned from ``rng``.
        seating: int [N, seats], which policy sits where.
        rng: where the policies' generators come from; nothing else here is drawn.
        unit: ``"match"`` plays whole games; ``"round"`` leaves each after the round that is on the table.
    """
    if games.reward != "points" or games.auto_reset:
        raise ValueError("games: takes Games with reward='points' and auto_reset=False")
    if unit not in UNITS:
        raise ValueError(f"unit: takes 'round' or 'match', got {unit!r}")
    count, seats = games.num_games, games.rules.num_players
    tally = Tally(
        np.zeros((count, seats)),
        np.full(count, -1),
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.zeros(len(policies), np.int64),
        np.zeros(len(policies)),
    )
    rngs, seats_of = rng.spawn(len(policies)), np.ascontiguousarray(seating, np.int64)
    live = np.flatnonzero(games.to_play >= 0)
    while live.size:
        actions = _choose(games, policies, seats_of, rngs, live, tally)
        rewards, done = games.step(actions, live)
        sums = tally.points, tally.rounds, tally.blocked
        live = live[: book(live, rewards, games.reasons, done, unit == "match", *sums)]
    tally.winners[:] = games.states["winner" if unit == "match" else "last_winner"]
    return tally


def _choose(
    games: Games,
    policies: Sequence[Player],
    seating: NDArray[np.int64],
    rngs: list[np.random.Generator],
    rows: NDArray[np.int64],
    tally: Tally,
) -> NDArray[np.int64]:
    """One action for each row: the only legal one, or what the policy sitting there chooses."""
    actions, asked = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    whom_to_ask(games.states, rows, seating, games.rules.num_actions - 1, actions, asked)
    for index, policy in enumerate(policies):
        mine = np.flatnonzero(asked == index)
        if not mine.size:
            continue
        where = rows[mine]
        actions[mine], seconds = _ask(games, policy, where, rngs[index])
        tally.seconds[index] += seconds
        tally.decisions[index] += len(mine)
    return actions


def _ask(
    games: Games, player: Player, rows: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], float]:
    """What a player chooses in these games, and the seconds it took."""
    if sees_everything(player):
        states = games.states[rows]
        start = time.perf_counter()
        chosen = choose_on(player, states, games.rules.num_actions, rng)  # type: ignore[arg-type]
    else:
        seen = games.observation.take(rows, axis=0), games.action_mask.take(rows, axis=0)
        start = time.perf_counter()
        chosen = choose(player, *seen, rng)  # type: ignore[arg-type]
    return chosen, time.perf_counter() - start


@kernel
def whom_to_ask(states: Array, rows: Array, seating: Array, last: Int, actions: Array, asked: Array) -> None:
    """Into ``asked`` (int64 [n]) who is to choose in each of these rows, by ``seating`` (int64 [N, seats]).

    Where only one action is legal, -1; it is then in ``actions`` (int64 [n]). ``last``: the action that is the pass.
    """
    for k in range(len(rows)):
        state = states[rows[k]]
        left, right = state.legal_left, state.legal_right
        asked[k] = seating[rows[k], np.int64(state.to_play)] if count_ones(left) + count_ones(right) > 1 else -1
        if left != _NO_TILES:
            actions[k] = lowest_one(left)
        elif right != _NO_TILES:
            actions[k] = last // 2 + lowest_one(right)
        else:
            actions[k] = last


@kernel
def book(
    live: Array,
    rewards: Array,
    reasons: Array,
    done: Array,
    matches: Int,
    points: Array,
    rounds: Array,
    blocked: Array,
) -> Int:
    """Add what the last step brought in the games of ``live`` (int64 [n]); how many go on; they move to its front.

    A game goes on up to its end, or without ``matches`` to the end of its round.
    """
    count = 0
    for row in live:
        reason = reasons[row]
        if reason != NO_REASON:
            rounds[row] += 1
            blocked[row] += reason == BLOCKED
            for seat in range(rewards.shape[1]):
                points[row, seat] += rewards[row, seat]
        if not (done[row] if matches else reason != NO_REASON):
            live[count] = row
            count += 1
    return count


__all__ = ["Games", "IllegalActionError", "Tally", "play_out"]
