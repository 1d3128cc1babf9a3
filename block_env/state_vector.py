"""The whole truth of a game as one vector, for critics that are trained with all hands open. Never for a player."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from block_env._compile import Array, Int, kernel
from block_env.observation import encode_games, layout, layout_table
from block_env.tiles import BIT
from block_env.variants import Rules, rules_table

_NO_TILES = np.uint64(0)


def state_space(rules: Rules) -> spaces.Box:
    """The space of :func:`state_vectors`' rows."""
    hidden = np.ones(rules.num_players * rules.num_tiles, np.float32)
    high = np.concatenate([layout(rules).high, hidden])
    return spaces.Box(np.zeros_like(high), high, dtype=np.float32)


def state_vectors(states: NDArray[Any], rules: Rules) -> NDArray[np.float32]:
    """Each game's whole state, float32 [N, S]: with the rules, all that play from here depends on but the later deals.

    In order: what seat 0 sees (:func:`block_env.observation.layout`, without history); the hands of seats 1, 2, …, a
    flag a tile; the stock, a number a tile: its place in the order of drawing, from 1, over the number of tiles in the
    set, and 0 for tiles not in it (outside Draw, where nobody draws, 1 for all in it).
    """
    table, places, count = rules_table(rules), layout_table(rules), len(states)
    vectors = np.zeros((count, layout(rules).size + rules.num_players * rules.num_tiles), np.float32)
    masks = np.empty((count, rules.num_actions), np.int8)
    # The rows are longer than an observation: the encoder leaves the rest of them as it is.
    rows = np.arange(count)
    encode_games(states, table, places, rows, np.zeros(count, np.int64), rows, vectors, masks)
    write_hidden(states, table, layout(rules).size, vectors)
    return vectors


@kernel
def write_hidden(states: Array, rules: Array, start: Int, vectors: Array) -> None:
    """The hands of all seats but 0, then the stock, from column ``start`` of ``vectors`` (float32 [N, S], zeros)."""
    count, others = rules[0].num_tiles, rules[0].num_players - 1
    for row in range(len(states)):
        state, out = states[row], vectors[row, start:]
        for other in range(others):
            for tile in range(count):
                out[other * count + tile] = state.hands[other + 1] & BIT[tile] != _NO_TILES
        for place in range(state.stock_next, count):
            share = (place - state.stock_next + 1) / count if rules[0].draw else 1.0
            out[others * count + state.order[place]] = share
