"""The whole truth of a game as one vector, for critics that are trained with all hands open. Never for a player."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from block_env.observation import encode_games, layout, layout_table
from block_env.tiles import BIT
from block_env.variants import Rules, rules_table


def state_space(rules: Rules) -> spaces.Box:
    """The space of :func:`state_vectors`' rows."""
    others = np.ones(rules.num_players * rules.num_tiles, np.float32)
    high = np.concatenate([layout(rules).high, others])
    return spaces.Box(np.zeros_like(high), high, dtype=np.float32)


def state_vectors(states: NDArray[Any], rules: Rules) -> NDArray[np.float32]:
    """Each game's whole state, float32 [N, S]: with the rules, all that play from here depends on.

    In order: what seat 0 sees (:func:`block_env.observation.layout`, without history); the hands of seats 1, 2, …, a
    flag a tile; the stock, a number a tile: its place in the order of drawing, from 1, over the number of tiles in the
    set, and 0 for tiles not in it (outside Draw, where nobody draws, 1 for all in it).
    """
    count, rows = len(states), np.arange(len(states))
    seen = np.zeros((count, layout(rules).size), np.float32)
    masks = np.zeros((count, rules.num_actions), np.int8)
    encode_games(states, rules_table(rules), layout_table(rules), rows, np.zeros(count, np.int64), seen, masks)
    hands = states["hands"][:, 1 : rules.num_players, None] & BIT[: rules.num_tiles] != 0
    return np.concatenate([seen, hands.reshape(count, -1).astype(np.float32), _stock(states, rules)], axis=1)


def _stock(states: NDArray[Any], rules: Rules) -> NDArray[np.float32]:
    order = states["order"][:, : rules.num_tiles]
    place = np.arange(rules.num_tiles)[None] - states["stock_next"][:, None] + 1
    share = np.clip(place, 0, None) / rules.num_tiles if rules.draw else place > 0
    stock = np.zeros((len(states), rules.num_tiles), np.float32)
    np.put_along_axis(stock, order.astype(np.int64), share.astype(np.float32), axis=1)
    return stock
