"""STATE: the one record layout of a game, for one game, thousands, or the nodes of a search. No rules here.

Sets of tiles are bit sets over tile ids (:mod:`block_env.tiles`); "-1" stands for nobody or nothing. Counters are 32
bits wide, because what is added up must not be narrower: compiled code would wrap where plain Python raises.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from block_env.tiles import MAX_TILES

MAX_PLIES = 256
"""The longest round of any rules (``Rules.max_plies``): one tile each for four with double-nine, drawing."""

NO_REASON, DOMINO, BLOCKED = 0, 1, 2
REASONS = (None, "domino", "blocked")
"""Why a round ended, as words; the index is what records and batches hold."""

STATE = np.dtype(
    (
        np.record,
        [
            # The round on the table.
            ("hands", "<u8", (4,)),  # tiles that each seat holds
            ("laid", "<u8", (4,)),  # tiles that each seat has laid
            ("legal_left", "<u8"),  # tiles that the seat to move may lay at the left end
            ("legal_right", "<u8"),  # and at the right end; both empty: it passes, or draws
            ("tiles_left", "<i4", (4,)),  # how many tiles each seat holds
            ("lacks", "<u4", (4,)),  # bit p: the seat has shown, by passing, that it holds no tile with pip p
            ("left", "<i4"),  # pip of the left end, -1 before the opening tile
            ("right", "<i4"),
            ("to_play", "<i4"),  # seat to move, -1 once the game is over
            ("opener", "<i4"),
            ("passes", "<i4"),  # passes in a row
            ("plies", "<i4"),  # turns of this round so far: entries of history
            ("stock_next", "<i4"),  # place in order of the next tile to draw
            # The game.
            ("turns", "<i4"),  # turns of the whole game so far
            ("round_number", "<i4"),  # 0 in the first round
            ("over", "<i4"),  # 1 once the game is over
            ("winner", "<i4"),  # the side that won the game, -1 for a draw or while it goes on
            ("scores", "<i4", (4,)),  # points of each side
            # The round before, -1 and 0 while there is none.
            ("last_winner", "<i4"),  # side
            ("last_points", "<i4"),
            ("last_reason", "<i4"),  # index into REASONS
            ("last_lot", "<i4"),  # a lot among the seats, drawn with every deal
            ("words_used", "<i4"),  # random words that this deal has taken (see below)
            ("shown", "<u8", (4,)),  # the hands shown at the end of the round before
            # The random stream: deal number ``deal`` follows from ``stream`` alone, whatever is played.
            ("deal", "<i8"),  # deals so far
            ("stream", "<u4", (4,)),  # the key, from the seed
            ("words", "<u4", (4,)),  # the block of random words in use
            # Long parts last: a step touches one place of them.
            ("history", "<u2", (MAX_PLIES,)),  # this round's turns in order, packed as unpack_ply reads it
            ("order", "u1", (56,)),  # the shuffled set: hands in seat order, then the stock as it is drawn
        ],
    )
)
"""Field by field; 832 bytes a game. Records with equal bytes are equal games, with equal deals to come."""

assert STATE["order"].shape[0] >= MAX_TILES


BUFFERS: dict[str, Any] = {
    "states": STATE,  # [N]
    "rules": None,  # one RULES_RECORD
    "places": None,  # one LAYOUT_RECORD
    "rows": np.int64,  # [at least count], which games a call is about
    "seats": np.int64,  # [at least count], whose eyes to look with; -1: those of the seat to move
    "actions": np.int64,  # [at least count]
    "observation": np.float32,  # [N, D]
    "action_mask": np.int8,  # [N, A]
    "rewards": np.float32,  # [N, seats]
    "done": np.bool_,  # [N]
    "reasons": np.int8,  # [N]
}
"""What kernels read and write of a batch of games, and the dtype of each."""

BATCH = np.dtype(
    (
        np.record,
        [(name, "<i8") for name in BUFFERS]  # their addresses
        + [("num_games", "<i8"), ("width", "<i8"), ("num_actions", "<i8"), ("num_players", "<i8")]  # N, D, A, seats
        + [("points", "<i8"), ("redeal", "<i8")]  # the switches of step_games
        + [("count", "<i8")],  # how many of ``rows`` a call is about
    )
)
"""Where the buffers of a batch lie (:class:`block_env.batch.Batch`)."""


def new_states(count: int) -> NDArray[Any]:
    """``count`` blank records; a stream key and a deal make games of them (:func:`block_env.play.start_games`)."""
    return np.zeros(count, STATE)


def unpack_ply(ply: int) -> tuple[int, int, int, bool]:
    """(seat, action id, tiles drawn, passed) of a history entry.

    Bits 0 to 6 hold the action id, 7 to 12 the tiles drawn, 13 and 14 the seat, 15 whether the turn ended in a pass. A
    turn of the Draw game that draws and may then lay holds the pass id, the tiles drawn, and no pass.
    """
    ply = int(ply)
    return ply >> 13 & 3, ply & 127, ply >> 7 & 63, bool(ply >> 15)
