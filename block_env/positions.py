"""Records played again with the core: checked, and position by position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from block_env import rules as kernels
from block_env.actions import encode_action
from block_env.deals import Setup, illegal_action, start_games
from block_env.game import Game, snapshot
from block_env.hidden import complete
from block_env.records import (
    UNFINISHED,
    Record,
    Turn,
    drawn_count,
    end_words,
    illegal_end,
    misfit,
    require,
    tiles_words,
    win_words,
)
from block_env.state import REASONS, new_states, unpack_ply
from block_env.tiles import Tile, format_tile, tile_id, tiles
from block_env.variants import Rules, rules_table

_ROW = np.zeros(1, np.int64)


@dataclass(frozen=True)
class Position:
    """A moment of a game: before the round's turn ``ply`` (from 0), or after its last.

    ``state`` is a copy of the record (dtype STATE, length 1), ``game`` its snapshot. After the last turn of a round the
    table is still there, and all hands are shown.
    """

    round: int
    ply: int
    state: NDArray[Any]
    game: Game


def end_of_round(state: NDArray[Any], rules: Rules, action: int) -> NDArray[Any]:
    """The table as an action (a legal one) that ends the round leaves it; ``state`` (length 1) stays as it is.

    The core deals the next round in the step that ends one. This is what people look at in between: the line, all
    hands shown, the new scores; a game that is over, as a single round is.
    """
    table = state.copy()
    kernels.step_game(table, rules_table(replace(rules, target=None)), action, True, _rewards(rules))
    return table


def replay(record: Record) -> Iterator[Position]:
    """Play a record again: every position of every round, and after a finished round its end.

    Where hands are hidden, they are filled in: with what is shown later, and else with *some* tiles that agree with
    all that is known, the same each time. Those must not be shown to anybody.

    Raises:
        NotationError: the record is of no game that can be; see :func:`check`.
    """
    yield from _play(complete(record))


def check(record: Record) -> None:
    """Play a record again and compare all that it says.

    Raises:
        NotationError: a move is not legal, a tile is not in the hand, a pass is missing, a hand, opener, winner, score
            or result is wrong, or what is hidden could not be.
    """
    for _ in _play(complete(record)):
        pass


def _play(record: Record) -> Iterator[Position]:
    rules, table = record.rules, rules_table(record.rules)
    single = replace(rules, target=None)
    state = new_states(1)
    start_games(state, rules, _ROW, Setup(scores=_scores(record)))
    for number, one in enumerate(record.rounds):
        require(number == 0 or not state[0].over, "the game is over", number, "opener")
        _open(state, record, number)
        yield _position(state, rules, number, 0)
        for ply, turn in enumerate(one.turns):
            before = state.copy()
            reason = _take(state, rules, rules_table(single), turn, number, ply)
            last = ply == len(one.turns) - 1
            require(last or not reason, f"the round has ended ({REASONS[reason]})", number, ply + 1)
            yield _position(state, single if reason else rules, number, ply + 1)
            if reason:
                ended = snapshot(state[0], single)
                kernels.step_game(before, table, _action(turn, rules), True, _rewards(rules))
                _compare_end(ended, before, record, number)
                state = before
        require(one.reason is None or _has_ended(state, number), "the round is not over", number, "reason")
        last_round = number == len(record.rounds) - 1
        require(one.reason is not None or last_round, "the round does not end", number, "opener")
    _compare_result(state, record)


def _has_ended(state: NDArray[Any], number: int) -> bool:
    return bool(state[0].over) or int(state[0].round_number) > number


def _position(state: NDArray[Any], rules: Rules, number: int, ply: int) -> Position:
    return Position(number, ply, state.copy(), snapshot(state[0], rules))


def _rewards(rules: Rules) -> NDArray[np.float32]:
    return np.zeros(rules.num_players, np.float32)


def _scores(record: Record) -> tuple[int, ...]:
    rules = record.rules
    fits = len(record.start_scores) == rules.num_sides and all(
        0 <= score <= rules.max_start_score for score in record.start_scores
    )
    require(fits, f"scores: takes {rules.num_sides} from 0 to {rules.max_start_score}", None, "start")
    require(record.set_up or not any(record.start_scores), "scores: takes 0 unless set up", None, "start")
    return record.start_scores


def _open(state: NDArray[Any], record: Record, number: int) -> None:
    """Hand out a round's tiles, the drawn ones in their order, and let the opener open."""
    rules, one = record.rules, record.rounds[number]
    dealt = [tile for hand in one.hands for tile in hand or ()]
    drawn = [tile for turn in one.turns for tile in _drawn(turn)]
    _check_tiles(record, number)
    rest = [tile for tile in tiles(rules.max_pip) if tile not in dealt and tile not in drawn]
    state[0].order[: rules.num_tiles] = [tile_id(tile, rules.max_pip) for tile in [*dealt, *drawn, *rest]]
    by_rule = number == 0 and not record.set_up and rules.first_opener == "highest_double"
    opener = int(state[0].opener) if number else one.opener
    kernels.open_games(state, rules_table(rules), _ROW, np.array([-1 if by_rule else opener]))
    require(int(state[0].opener) == one.opener, f"P{int(state[0].opener)} opens", number, "opener")


def _check_tiles(record: Record, number: int) -> None:
    """Every seat is dealt its number of tiles, and no tile is dealt or drawn twice."""
    rules, one = record.rules, record.rounds[number]
    seen: set[Tile] = set()
    for seat, hand in enumerate(one.hands):
        takes = f"P{seat} is dealt {rules.hand_size} tiles"
        require(hand is not None and len(hand) == rules.hand_size, takes, number, f"has {seat}")
        _check_once(hand or (), seen, number, f"has {seat}")
    for ply, turn in enumerate(one.turns, 1):
        _check_once(_drawn(turn), seen, number, ply)


def _check_once(some: Sequence[Tile], seen: set[Tile], number: int, part: int | str) -> None:
    for tile in some:
        require(tile not in seen, f"{format_tile(tile)} is there twice", number, part)
        seen.add(tile)


def _drawn(turn: Turn) -> Sequence[Tile]:
    return () if isinstance(turn.drawn, int) else turn.drawn


def _action(turn: Turn, rules: Rules) -> int:
    return encode_action(turn.move, rules.max_pip)


def _take(state: NDArray[Any], rules: Rules, single: NDArray[Any], turn: Turn, number: int, ply: int) -> int:
    """Play a turn; why the round ended, or 0."""
    where = ply + 1
    mover = int(state[0].to_play)
    require(mover >= 0, "the round has ended", number, where)
    require(turn.seat == mover, f"it is P{mover}'s turn", number, where)
    try:
        action = _action(turn, rules)
    except ValueError as error:
        raise misfit(str(error), number, where) from None
    reason = int(kernels.step_game(state, single, action, True, _rewards(rules)))
    if reason < 0:
        raise misfit(str(illegal_action(state[0], rules, action)), number, where)
    _, _, drawn, passed = unpack_ply(state[0].history[ply])
    require(drawn_count(turn) == drawn, f"{drawn} tiles are drawn", number, where)
    require(turn.passed == passed, "it passes" if passed else "it does not pass", number, where)
    return reason


def _compare_end(ended: Game, after: NDArray[Any], record: Record, number: int) -> None:
    one, last = record.rounds[number], ended.last_round
    assert last is not None
    require(one.reason is not None, f"the round has ended ({last.reason})", number, "opener")
    said, true = (one.reason, one.winner, one.points), (last.reason, last.winner, last.points)
    require(said == true, f"the round ends: {end_words(record.rules, *true)}", number, "reason")
    for seat, hand in enumerate(last.hands):
        require(one.shown[seat] == hand, f"P{seat} shows {tiles_words(hand)}", number, f"shows {seat}")
    scores = tuple(int(after[0].scores[side]) for side in range(record.rules.num_sides))
    require(one.scores == scores, f"scores: {' '.join(map(str, scores))}", number, "scores")


def _compare_result(state: NDArray[Any], record: Record) -> None:
    over, said, illegal = bool(state[0].over), record.result, illegal_end(record)
    if over:
        winner = int(state[0].winner)
        true = "draw" if winner < 0 else win_words(record.rules, winner)
        require(said == true, f"the game is over: {true}", None, "result")
        return
    ended = illegal is not None and _is_illegal(state, record, *illegal)
    require(said == UNFINISHED or ended, "the game is not over", None, "result")


def _is_illegal(state: NDArray[Any], record: Record, action: int, seat: int) -> bool:
    """Whether the seat is to move on the table that the record shows, and may not do that."""
    on_the_table = record.rounds[-1].reason is None
    inside = on_the_table and action < record.rules.num_actions and seat == int(state[0].to_play)
    return inside and not kernels.is_legal(state[0], rules_table(record.rules)[0], action)
