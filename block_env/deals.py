"""How a game starts: random streams of deals, positions that ``reset(options=...)`` sets up; and refused actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from block_env import rules as kernels
from block_env.actions import check_action, decode_action
from block_env.keywords import check_seed, is_whole
from block_env.tiles import format_tile, tile_id
from block_env.variants import Rules, rules_table

Seed = int | Sequence[int] | NDArray[np.integer[Any]] | None


class IllegalActionError(ValueError):
    """An action that the seat to move may not take; the game is unchanged."""


@dataclass(frozen=True)
class Setup:
    """What ``reset(options=...)`` asks for, checked: tile ids in seat order, a seat, scores; None: not asked."""

    tiles: tuple[int, ...] | None = None
    opener: int | None = None
    scores: tuple[int, ...] | None = None

    @classmethod
    def parse(cls, options: Mapping[str, Any] | None, rules: Rules) -> Setup:
        """Read the options ``hands``, ``opener`` and ``scores``; other keys are ignored.

        Raises:
            ValueError: a position that can't be; the message names the option and what it takes.
        """
        if options is None:
            return cls()
        if not isinstance(options, Mapping):
            raise ValueError(f"options: takes a dict with any of hands, opener, scores, got {options!r}")
        hands, opener, scores = (options.get(name) for name in ("hands", "opener", "scores"))
        return cls(
            None if hands is None else _hands(hands, rules),
            None if opener is None else _seat("options['opener']", opener, rules),
            None if scores is None else _scores(scores, rules),
        )


def _hands(hands: Any, rules: Rules) -> tuple[int, ...]:
    takes = f"options['hands']: takes {rules.num_players} hands of {rules.hand_size} tiles"
    try:
        given = [list(hand) for hand in _in_order(hands)]
    except TypeError:
        raise ValueError(f"{takes}, each a pair of pips; got {hands!r}") from None
    sizes, dealt = [len(hand) for hand in given], [tile for hand in given for tile in hand]
    if sizes != [rules.hand_size] * rules.num_players:
        raise ValueError(f"{takes}; got hands of {sizes}")
    try:
        ids = [tile_id(tile, rules.max_pip) for tile in dealt]
    except ValueError as error:
        raise ValueError(f"options['hands']: {error}") from None
    twice = next((tile for place, tile in enumerate(dealt) if ids[place] in ids[:place]), None)
    if twice is not None:
        raise ValueError(f"options['hands']: takes each tile once, got {format_tile(twice)} twice")
    return tuple(ids)


def _in_order(values: Any) -> Any:
    """The values, if they come in an order of their own; a TypeError for texts, dicts and sets."""
    if isinstance(values, str | bytes | Mapping | Set):
        raise TypeError
    return values


def _seat(name: str, seat: Any, rules: Rules) -> int:
    if not is_whole(seat) or not 0 <= seat < rules.num_players:
        raise ValueError(f"{name}: takes a seat from 0 to {rules.num_players - 1}, got {seat!r}")
    return int(seat)


def _scores(scores: Any, rules: Rules) -> tuple[int, ...]:
    takes = f"options['scores']: takes {rules.num_sides} whole numbers from 0 to {rules.max_start_score}"
    try:
        given = list(_in_order(scores))
    except TypeError:
        raise ValueError(f"{takes}, one a side; got {scores!r}") from None
    if len(given) != rules.num_sides or not all(is_whole(one) and 0 <= one <= rules.max_start_score for one in given):
        raise ValueError(f"{takes}, one a side; got {given!r}")
    return tuple(map(int, given))


def stream_keys(seed: Seed, count: int) -> NDArray[np.uint32]:
    """Keys of ``count`` random streams, uint32 [count, 4], by NumPy's ``SeedSequence``.

    One seed gives every stream its own key, and the k-th is the same however many there are. A sequence of seeds gives
    stream k the key that ``seed[k]`` alone would give the first. None: fresh entropy.
    """
    if seed is None or isinstance(seed, int | np.integer):
        words = np.random.SeedSequence(check_seed(seed)).generate_state(4 * count)
        return words.reshape(count, 4).astype(np.uint32)
    try:
        seeds = [check_seed(one) for one in seed]
    except TypeError:
        raise ValueError(f"seed: takes None, a whole number from 0, or one for each game, got {seed!r}") from None
    if len(seeds) != count:
        raise ValueError(f"seed: takes one seed, or one for each of {count} games, got {len(seeds)}")
    return np.array([np.random.SeedSequence(one).generate_state(4) for one in seeds], np.uint32)


def start_games(states: NDArray[Any], rules: Rules, rows: NDArray[np.int64], setup: Setup) -> None:
    """Start a new game in each row from its stream's next deal, changed as ``setup`` says.

    Set-up hands go to the front of the shuffle and the other tiles keep their order; later deals stay as they were.
    """
    kernels.deal_games(states, rules_table(rules), rows)
    if setup == Setup():
        return
    for row in rows:
        if setup.tiles is not None:
            order = states[row].order
            rest = [tile for tile in order[: rules.num_tiles].tolist() if tile not in setup.tiles]
            order[: rules.num_tiles] = list(setup.tiles) + rest
        if setup.scores is not None:
            states[row].scores[: rules.num_sides] = setup.scores
    openers = np.full(len(rows), -1 if setup.opener is None else setup.opener, np.int64)
    kernels.open_games(states, rules_table(rules), rows, openers)


def illegal_action(state: Any, rules: Rules, action: Any, where: str = "") -> IllegalActionError:
    """The error for an action that the state's mover may not take: it names both, and all that is legal."""
    if state.over:
        return IllegalActionError(f"action {action}{where}: the game is over, nothing is legal; reset it first")
    legal = [
        f"{candidate} {decode_action(candidate, rules.max_pip)}"
        for candidate in range(rules.num_actions)
        if kernels.is_legal(state, rules_table(rules)[0], candidate)
    ]
    try:
        meaning = f" ({decode_action(check_action(action, rules.max_pip), rules.max_pip)})"
    except ValueError:
        meaning = ""
    return IllegalActionError(
        f"action {action}{meaning}{where} is not legal for seat {int(state.to_play)}; legal: {', '.join(legal)}"
    )
