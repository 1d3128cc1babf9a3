"""Double-dummy: what an open position is worth, all hands seen, when everybody plays perfectly from there on.

The value is the points of the round on the table, for the side that is to move, zero-sum over sides as rewards are.
With two sides (two players, or partners against partners) it is the exact minimax value. With three or four sides it is
the *paranoid* value: what the seat to move can be sure of if all others play together against it.

The search is alpha-beta with a transposition table. Passes and draws, which are forced, take no level of the tree, so
that a node is the tiles still held, the two ends and the seat to move; which end is left makes no difference. In Draw
the stock is known, in the order in which it will be drawn.

Rules are read a second time here, in a form that a search can take back; the tests hold them against the core.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.np.numpy_support import carray
from numpy.typing import NDArray

from block_env._bits import count_ones, lowest_one, multiply_low, pointer
from block_env._compile import Array, Int, Record, Word, inlined, kernel
from block_env.state import BLOCKED, DOMINO, STATE
from block_env.tiles import BIT, MAX_PIP, MAX_TILES
from block_env.variants import Rules, rules_table

POSITION = np.dtype(
    (
        np.record,
        [
            (name, STATE[name])
            for name in (
                "hands",
                "legal_left",
                "legal_right",
                "left",
                "right",
                "to_play",
                "passes",
                "stock_next",
                "order",
            )
        ],
    )
)
"""An open position: the fields of :data:`block_env.state.STATE` that say what can still happen in the round."""

ENTRY = np.dtype(
    (
        np.record,
        [
            ("key", "<u8"),  # the tiles held, the ends and the seat to move
            ("drawn", "<u8"),  # who has drawn, tile by tile, since the search began
            ("solved", "<i4"),  # the position whose search wrote it
            ("value", "<i2"),  # for the side to move
            ("bound", "i1"),
            ("move", "i1"),  # the best one: tile, or tile + 64 at the right end
        ],
    )
)
"""One place of the transposition table."""

SEARCH = np.dtype(
    (
        np.record,
        [
            ("suit", "<u8", (MAX_PIP + 1,)),
            ("hands", "<u8", (4,)),  # tiles that each seat holds at this node
            ("pips", "<i8", (4,)),  # and their pips
            ("drawn", "<u8"),  # as in ENTRY
            ("nodes", "<i8"),  # since the search was made
            ("limit", "<i8"),  # nodes that one position may take
            ("last", "<i8"),  # the number of nodes at which the search gives up
            ("table", "<i8"),  # address of the entries
            ("table_bits", "<i8"),  # there are 2 to the power of that
            ("solved", "<i8"),  # positions so far
            ("root", "<i8"),  # the side whose points are counted
            ("stock_pips", "<i8"),  # of the tiles that can still be drawn
            ("stock_next", "<i8"),
            ("stock_end", "<i8"),
            ("players", "<i8"),
            ("sides", "<i8"),
            ("draws", "<i8"),
            ("compare_hands", "<i8"),
            ("subtract_own", "<i8"),
            ("tile_pips", "<i8", (MAX_TILES,)),
            ("ends", "<i8", (MAX_PIP + 1, MAX_PIP + 1)),  # the tile with these two pips
            ("low", "<i8", (MAX_TILES,)),
            ("order", "u1", (56,)),
            ("drawers", "u1", (56,)),  # who drew the tile of that place
        ],
    )
)
"""What a search works on: tables of the rules, and the node at which it stands."""

FRAME = np.dtype(
    (
        np.record,
        [(name, "<i8") for name in ("seat", "left", "right", "mine")]  # who is to lay; 1: for the counted side
        + [(name, "<i8") for name in ("alpha", "beta", "reached", "best", "best_move")]  # for the node's side
        + [("lefts", "<u8"), ("rights", "<u8")]  # tiles still to be tried at either end
        + [("first", "<i8"), ("move", "<i8"), ("new_left", "<i8"), ("new_right", "<i8")]  # table's move; the one tried
        + [("key", "<u8"), ("kept", "<i8"), ("stock_next", "<i8"), ("drawn", "<u8")],
    )
)
"""A node on the way from the root to where the search stands."""

EXACT, AT_LEAST, AT_MOST = 0, 1, 2
RIGHT = 64  # added to a move's tile at the right end
INFINITE = 30_000
"""More than any round pays, for three losers together too."""

_NO_TILES, _ONE, _GOLDEN = np.uint64(0), np.uint64(1), np.uint64(0x9E3779B97F4A7C15)
_LAST_DRAW = np.uint64(62)  # a search that draws more tiles than ENTRY.drawn has room for goes without the table


class DoubleDummy:
    """A solver for one set of rules. It keeps its table between calls, so one thread at a time may use it.

    Args:
        rules: what is played.
        table_bits: the transposition table has 2 to the power of that many places of 24 bytes. None: 2**14 for two
            players without drawing, 2**20 otherwise (25 MB).
        limit: nodes that a position may take, about 10 seconds by default: whole deals of sets beyond double-six for
            three or four can take more than anybody's patience. Then ``values`` and ``best`` raise a ValueError.

    Attributes:
        nodes: visited so far, over all calls.
    """

    def __init__(self, rules: Rules, table_bits: int | None = None, limit: int = 100_000_000) -> None:
        small = rules.num_players == 2 and not rules.draw
        self.rules, self.table_bits = rules, (14 if small else 20) if table_bits is None else table_bits
        self._table, self._search = np.zeros(2**self.table_bits, ENTRY), np.zeros(1, SEARCH)
        self._frames = np.zeros(MAX_TILES + 1, FRAME)
        write_rules(rules_table(rules)[0], self._search[0])
        search = self._search[0]
        self.limit = search.limit = limit
        search.table, search.table_bits = self._table.ctypes.data, self.table_bits

    def __reduce__(self) -> tuple[Any, ...]:
        return DoubleDummy, (self.rules, self.table_bits, self.limit)  # the table's address is this process's own

    @property
    def nodes(self) -> int:
        return int(self._search[0].nodes)

    def values(self, states: NDArray[Any]) -> NDArray[np.float64]:
        """What each action is worth in each position (records with the fields of :data:`POSITION`, [N]).

        Returns:
            float64 [N, A]: points of the round for the side to move; NaN where the action is not legal.
        """
        values = np.full((len(states), self.rules.num_actions), np.nan)
        self._check(solve(self._positions(states), self._search, self._frames, self.rules.num_tiles, values))
        return values

    def best(self, states: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The best action of each position and its value: faster than all values.

        Of equally good actions it is the first that was looked at; a finished game's is -1, its value NaN.

        Returns:
            Actions, int64 [N], and points for the side to move, float64 [N].
        """
        actions, values = np.full(len(states), -1), np.full(len(states), np.nan)
        tables = self._search, self._frames
        self._check(solve_best(self._positions(states), *tables, self.rules.num_tiles, actions, values))
        return actions, values

    def _check(self, row: int) -> None:
        if row >= 0:
            raise ValueError(f"states: takes positions of at most {self.limit} nodes, the one in row {row} has more")

    def _positions(self, states: NDArray[Any]) -> NDArray[Any]:
        if states.dtype == POSITION:
            return np.ascontiguousarray(states)
        return positions_of(states)


def positions_of(states: NDArray[Any]) -> NDArray[Any]:
    """The open positions of games, dtype :data:`POSITION` [N]; a finished game has nobody to move."""
    positions = np.empty(len(states), POSITION)
    for name in POSITION.names or ():
        positions[name] = states[name]
    return positions


def write_rules(rules: Record, search: Record) -> None:
    """Copy what a search reads of the rules (:data:`block_env.variants.RULES_RECORD`)."""
    search.suit[:] = rules.suit
    search.players, search.sides, search.draws = rules.num_players, rules.num_sides, rules.draw
    search.compare_hands, search.subtract_own = rules.compare_hands, rules.subtract_own
    search.stock_end = rules.num_tiles - rules.stock_reserve if rules.draw else 0
    for tile in range(rules.num_tiles):
        low, high = int(rules.low[tile]), int(rules.high[tile])
        search.tile_pips[tile], search.low[tile] = low + high, low
        search.ends[low, high] = search.ends[high, low] = tile


# Pips and the end of a round ------------------------------------------------------------------------------------------


@inlined
def count_pips(search: Record, hand: Word) -> Int:
    total = np.int64(0)
    while hand != _NO_TILES:
        total += search.tile_pips[np.uint64(lowest_one(hand))]
        hand &= hand - _ONE
    return total


@inlined
def side_pips(search: Record, side: Int) -> Int:
    """The pips of a side's hands."""
    total = np.int64(0)
    for seat in range(side, search.players, search.sides):
        total += search.pips[np.uint64(seat)]
    return total


@inlined
def all_pips(search: Record) -> Int:
    """The pips of all hands."""
    total = np.int64(0)
    for seat in range(search.players):
        total += search.pips[np.uint64(seat)]
    return total


@inlined
def paid(search: Record, winner: Int, points: Int) -> Int:
    """What the counted side gets of a round's points, times one less than the number of sides: a whole number."""
    return points * (search.sides - 1) if winner == search.root else -points


@inlined
def domino(search: Record, seat: Int) -> Int:
    """What the counted side gets when this seat has laid its last tile: all pips left in the other sides' hands."""
    side = seat % search.sides
    return paid(search, side, all_pips(search) - side_pips(search, side))


@inlined
def compared(search: Record, side: Int) -> Int:
    """What a blocked round compares: the side's total, or its lowest single hand."""
    if not search.compare_hands:
        return side_pips(search, side)
    lowest = search.pips[np.uint64(side)]
    for seat in range(side + search.sides, search.players, search.sides):
        lowest = min(lowest, search.pips[np.uint64(seat)])
    return lowest


@kernel
def blocked(search: Record) -> Int:
    """What the counted side gets when nobody can lay: the single lowest side wins the others' pips, less its own."""
    winner, lowest = np.int64(0), compared(search, 0)
    for side in range(1, search.sides):
        total = compared(search, side)
        if total < lowest:
            winner, lowest = np.int64(side), total
        elif total == lowest:
            winner = np.int64(-1)
    if winner < 0:
        return np.int64(0)
    own = side_pips(search, winner)
    points = all_pips(search) - own
    if search.subtract_own:
        points = max(points - own, 0)
    return paid(search, winner, points)


# Bounds ---------------------------------------------------------------------------------------------------------------


@inlined
def most(search: Record) -> Int:
    """The counted side can get no more than this: what the others hold, and may yet draw."""
    return (all_pips(search) - side_pips(search, search.root) + search.stock_pips) * (search.sides - 1)


@inlined
def least(search: Record) -> Int:
    """Nor less than this: all that is held, but for the lightest other side."""
    lightest = np.int64(INFINITE)
    for side in range(search.sides):
        if side != search.root:
            lightest = min(lightest, side_pips(search, side))
    return lightest - all_pips(search) - search.stock_pips


# A turn ---------------------------------------------------------------------------------------------------------------


@inlined
def is_root(search: Record, seat: Int) -> Int:
    """Whether the seat plays for the counted side."""
    return seat % search.sides == search.root


@kernel
def draw_until_fit(search: Record, seat: Int, fitting: Word) -> None:
    """Draw until a tile fits or only the reserve is left."""
    while search.hands[seat] & fitting == _NO_TILES and search.stock_next < search.stock_end:
        tile = np.int64(search.order[search.stock_next])
        search.hands[seat] |= BIT[tile]
        search.pips[seat] += search.tile_pips[tile]
        search.stock_pips -= search.tile_pips[tile]
        search.drawers[search.stock_next] = seat
        search.stock_next += 1
        search.drawn = search.drawn << np.uint64(2) | np.uint64(seat)


@inlined
def next_to_lay(search: Record, seat: Int, fitting: Word, passes: Int) -> Int:
    """From this seat on, the first that can lay, after ``passes`` in a row; it may draw. All pass: -BLOCKED."""
    while passes < search.players:
        if search.draws:
            draw_until_fit(search, seat, fitting)
        if search.hands[np.uint64(seat)] & fitting != _NO_TILES:
            return seat
        passes += 1
        seat = np.int64(0) if seat + 1 == search.players else seat + 1
    return np.int64(-BLOCKED)


# Search ---------------------------------------------------------------------------------------------------------------


@inlined
def promise(search: Record, seat: Int, tile: Int, left: Int, right: Int) -> Int:
    """How early to look at a tile that makes these ends: few answers for the others first, then many pips."""
    fitting = search.suit[np.uint64(left)] | search.suit[np.uint64(right)]
    score = search.tile_pips[np.uint64(tile)]
    answers = np.int64(0)
    for other in range(search.players):
        if (other - seat) % search.sides != 0:
            answers += count_ones(search.hands[np.uint64(other)] & fitting)
    score -= 8 * answers
    score += 4 * count_ones(search.hands[np.uint64(seat)] & fitting)
    return score


@inlined
def pick(search: Record, seat: Int, left: Int, right: Int, lefts: Word, rights: Word) -> Int:
    """The most promising of the tiles to lay at the left and at the right end."""
    best, move = np.int64(-INFINITE), np.int64(-1)
    bits = lefts
    while bits != _NO_TILES:
        tile = lowest_one(bits)
        bits &= bits - _ONE
        score = promise(search, seat, tile, search.tile_pips[np.uint64(tile)] - left, right)
        if score > best:
            best, move = score, tile
    bits = rights
    while bits != _NO_TILES:
        tile = lowest_one(bits)
        bits &= bits - _ONE
        score = promise(search, seat, tile, left, search.tile_pips[np.uint64(tile)] - right)
        if score > best:
            best, move = score, tile + RIGHT
    return move


@inlined
def node_key(search: Record, seat: Int, left: Int, right: Int) -> Word:
    """The tiles held (up to 55), the two ends as the tile that has them (6 bits), and the seat (2)."""
    held = _NO_TILES
    for other in range(search.players):
        held |= search.hands[np.uint64(other)]
    ends = np.uint64(search.ends[np.uint64(left), np.uint64(right)])
    return held | ends << np.uint64(55) | np.uint64(seat) << np.uint64(61)


@inlined
def entries(search: Record) -> Array:
    """The transposition table."""
    return carray(pointer(np.uint64(search.table)), (1 << search.table_bits,), ENTRY)


@inlined
def place_of(search: Record, key: Word) -> Word:
    """Where in the table a node belongs."""
    return multiply_low(key ^ search.drawn, _GOLDEN) >> np.uint64(64 - search.table_bits)


@inlined
def lay(search: Record, seat: Int, tile: Int, left: Int, right: Int) -> Int:
    """Lay a tile, which makes these ends; the seat that is next to lay, or why there is none: -BLOCKED or -DOMINO."""
    search.hands[np.uint64(seat)] ^= BIT[np.uint64(tile)]
    search.pips[np.uint64(seat)] -= search.tile_pips[np.uint64(tile)]
    if search.hands[np.uint64(seat)] == _NO_TILES:
        return np.int64(-DOMINO)
    following = np.int64(0) if seat + 1 == search.players else np.int64(seat + 1)
    return next_to_lay(search, following, search.suit[np.uint64(left)] | search.suit[np.uint64(right)], np.int64(0))


@inlined
def take_back(search: Record, seat: Int, tile: Int, stock_next: Int, drawn: Word) -> None:
    """Undo :func:`lay`, with all that was drawn after it; the stock stood at ``stock_next``."""
    while search.stock_next > stock_next:
        search.stock_next -= 1
        draw = np.int64(search.order[np.uint64(search.stock_next)])
        drawer = np.uint64(search.drawers[np.uint64(search.stock_next)])
        search.hands[drawer] ^= BIT[np.uint64(draw)]
        search.pips[drawer] -= search.tile_pips[np.uint64(draw)]
        search.stock_pips += search.tile_pips[np.uint64(draw)]
    search.drawn = drawn
    search.hands[np.uint64(seat)] |= BIT[np.uint64(tile)]
    search.pips[np.uint64(seat)] += search.tile_pips[np.uint64(tile)]


@inlined
def ended(search: Record, seat: Int, reason: Int) -> Int:
    """What the counted side gets when ``seat`` was the last to lay."""
    return domino(search, seat) if reason == -DOMINO else blocked(search)


@inlined
def set_window(search: Record, frame: Record, alpha: Int, beta: Int) -> Int:
    """Note what is asked of a node: its value between ``alpha`` and ``beta``; whether the pips answer that already."""
    highest = most(search) if frame.mine else -least(search)
    lowest = least(search) if frame.mine else -most(search)
    frame.alpha, frame.beta = max(alpha, lowest - 1), min(beta, highest + 1)
    frame.best = highest if highest <= alpha else lowest
    return highest <= alpha or lowest >= beta or highest == lowest


@inlined
def look_up(search: Record, frame: Record, entry: Record) -> Int:
    """Whether the table answers what is asked of a node. If it only has its best move, that is noted."""
    if entry.key != frame.key or entry.drawn != search.drawn or entry.solved != search.solved:
        return False
    value, bound = np.int64(entry.value), np.int64(entry.bound)
    frame.best, frame.first = value, entry.move
    return bound == EXACT or (value >= frame.beta if bound == AT_LEAST else value <= frame.alpha)


@inlined
def enter(search: Record, frame: Record, seat: Int, left: Int, right: Int, alpha: Int, beta: Int) -> None:
    """Come to a node where ``seat`` can lay: note all about it. If nothing is left to do, its value is ``best``."""
    search.nodes += 1
    frame.seat, frame.left, frame.right, frame.mine = seat, left, right, is_root(search, seat)
    frame.lefts, frame.rights, frame.kept, frame.first = _NO_TILES, _NO_TILES, 0, -1
    if set_window(search, frame, alpha, beta):
        return
    frame.key = node_key(search, seat, left, right)
    if search.drawn >> _LAST_DRAW == _NO_TILES:
        if look_up(search, frame, entries(search)[place_of(search, frame.key)]):
            return
        frame.kept = 1
    frame.lefts = search.hands[np.uint64(seat)] & search.suit[np.uint64(left)]
    if left != right:
        frame.rights = search.hands[np.uint64(seat)] & search.suit[np.uint64(right)]
    frame.best, frame.reached = -INFINITE, frame.alpha
    frame.stock_next, frame.drawn = search.stock_next, search.drawn


@inlined
def is_left(frame: Record, move: Int) -> Int:
    """Whether a move is one of those still to be tried."""
    tiles = frame.lefts if move < RIGHT else frame.rights
    return tiles & BIT[np.uint64(move & (RIGHT - 1))] != _NO_TILES


@inlined
def next_move(search: Record, frame: Record) -> Int:
    """The move to look at next, taken off those that are left: the table's, if it is one, or the most promising."""
    move = frame.first
    frame.first = -1
    if move < 0 or not is_left(frame, move):
        move = pick(search, frame.seat, frame.left, frame.right, frame.lefts, frame.rights)
    bit = BIT[np.uint64(move & (RIGHT - 1))]
    if move < RIGHT:
        frame.lefts ^= bit
    else:
        frame.rights ^= bit
    frame.move = move
    return move


@inlined
def make_move(search: Record, frame: Record) -> Int:
    """Lay the next tile of a node; as :func:`lay`."""
    move = next_move(search, frame)
    tile = move & (RIGHT - 1)
    frame.new_left, frame.new_right = frame.left, frame.right
    if move < RIGHT:
        frame.new_left = search.tile_pips[np.uint64(tile)] - frame.left
    else:
        frame.new_right = search.tile_pips[np.uint64(tile)] - frame.right
    return lay(search, frame.seat, tile, frame.new_left, frame.new_right)


@inlined
def take_value(search: Record, frame: Record, value: Int) -> None:
    """Take back the node's move, which has turned out to be worth that much to its side."""
    take_back(search, frame.seat, frame.move & (RIGHT - 1), frame.stock_next, frame.drawn)
    if value > frame.best:
        frame.best, frame.best_move = value, frame.move
        frame.reached = max(frame.reached, value)


@inlined
def keep(search: Record, frame: Record) -> None:
    """Write a node that is done into the table."""
    if frame.kept:
        entry, best = entries(search)[place_of(search, frame.key)], frame.best
        entry.key, entry.drawn, entry.solved = frame.key, search.drawn, search.solved
        entry.value, entry.move = best, frame.best_move
        entry.bound = AT_MOST if best <= frame.alpha else AT_LEAST if best >= frame.beta else EXACT


@kernel
def value_of(search: Record, frames: Array, seat: Int, left: Int, right: Int, alpha: Int, beta: Int) -> Int:
    """What it is worth to the side of ``seat``, which can lay a tile, that it is its turn with these ends.

    Exact between ``alpha`` and ``beta``; up to ``alpha`` it is at most, from ``beta`` on at least what is returned.
    ``frames`` is a stack: Numba cannot cache a function that calls itself. Beyond the limit the answer means nothing.
    """
    depth = np.uint64(0)
    enter(search, frames[depth], seat, left, right, alpha, beta)
    while search.nodes <= search.last:
        frame = frames[depth]
        if frame.lefts | frame.rights != _NO_TILES and frame.best < frame.beta:
            following = make_move(search, frame)
            if following < 0:
                value = ended(search, frame.seat, following)
                take_value(search, frame, value if frame.mine else -value)
                continue
            same = is_root(search, following) == frame.mine
            alpha, beta = (frame.reached, frame.beta) if same else (-frame.beta, -frame.reached)
            depth += _ONE
            enter(search, frames[depth], following, frame.new_left, frame.new_right, alpha, beta)
            continue
        keep(search, frame)
        if depth == _NO_TILES:
            return frame.best
        depth -= _ONE
        take_value(search, frames[depth], frame.best if frames[depth].mine == frame.mine else -frame.best)
    return np.int64(0)


# Positions ------------------------------------------------------------------------------------------------------------


@inlined
def begin(search: Record, position: Record) -> None:
    """Stand at a position; the side to move is counted, and what the table holds of others is forgotten."""
    search.solved += 1
    search.last = search.nodes + search.limit
    search.root = np.int64(position.to_play) % search.sides
    search.drawn = _ONE
    search.stock_next, search.stock_pips = np.int64(position.stock_next), np.int64(0)
    for place in range(search.stock_next, search.stock_end):
        tile = position.order[place]
        search.order[place] = tile
        search.stock_pips += search.tile_pips[np.uint64(tile)]
    for seat in range(search.players):
        search.hands[seat] = position.hands[seat]
        search.pips[seat] = count_pips(search, position.hands[seat])


@kernel
def value_of_turn(
    search: Record, frames: Array, seat: Int, tile: Int, left: Int, right: Int, passes: Int, alpha: Int, beta: Int
) -> Int:
    """What it is worth to the counted side that ``seat``, of its own, lays a tile and makes these ends.

    A tile of -1 is the pass (in Draw the draw) after so many ``passes`` in a row.
    """
    stock_next, drawn = search.stock_next, search.drawn
    if tile >= 0:
        following = lay(search, seat, tile, left, right)
    else:
        following = next_to_lay(search, seat, search.suit[left] | search.suit[right], passes)
    if following < 0:
        value = ended(search, seat, following)
    elif is_root(search, following):
        value = value_of(search, frames, following, left, right, alpha, beta)
    else:
        value = -value_of(search, frames, following, left, right, -beta, -alpha)
    if tile >= 0:
        take_back(search, seat, tile, stock_next, drawn)
    return value


@kernel
def root_value(
    search: Record, frames: Array, position: Record, action: Int, num_tiles: Int, alpha: Int, beta: Int
) -> Int:
    """What a legal action is worth to the side to move, within a window as :func:`value_of`."""
    seat, left, right = np.int64(position.to_play), np.int64(position.left), np.int64(position.right)
    if action == 2 * num_tiles:
        return value_of_turn(search, frames, seat, np.int64(-1), left, right, np.int64(position.passes), alpha, beta)
    tile = action if action < num_tiles else action - num_tiles
    pips, low = search.tile_pips[tile], search.low[tile]
    if left < 0:
        left, right = low, pips - low
    elif action < num_tiles:
        left = pips - left
    else:
        right = pips - right
    return value_of_turn(search, frames, seat, np.int64(tile), left, right, np.int64(0), alpha, beta)


@inlined
def is_legal(position: Record, action: Int, num_tiles: Int) -> Int:
    """Whether the position lets the seat to move do this."""
    if action == 2 * num_tiles:
        return (position.legal_left | position.legal_right) == _NO_TILES
    if action < num_tiles:
        return position.legal_left & BIT[action] != _NO_TILES
    return position.legal_right & BIT[action - num_tiles] != _NO_TILES


@kernel
def solve(positions: Array, searches: Array, frames: Array, num_tiles: Int, values: Array) -> Int:
    """The value of every legal action into ``values`` (float64 [N, A]); the others stay as they are.

    Returns the row that took too many nodes, or -1.
    """
    search = searches[0]
    for row in range(len(positions)):
        position = positions[row]
        if position.to_play < 0:
            continue
        begin(search, position)
        for action in range(2 * num_tiles + 1):
            if is_legal(position, action, num_tiles):
                value = root_value(search, frames, position, action, num_tiles, np.int64(-INFINITE), np.int64(INFINITE))
                values[row, action] = value / (search.sides - 1)
        if search.nodes > search.last:
            return row
    return -1


@kernel
def solve_best(positions: Array, searches: Array, frames: Array, num_tiles: Int, actions: Array, values: Array) -> Int:
    """The best action and its value into ``actions`` (int64 [N]) and ``values`` (float64 [N]); as :func:`solve`."""
    search = searches[0]
    for row in range(len(positions)):
        position = positions[row]
        if position.to_play < 0:
            continue
        begin(search, position)
        best = np.int64(-INFINITE)
        for action in range(2 * num_tiles + 1):
            if is_legal(position, action, num_tiles):
                value = root_value(search, frames, position, action, num_tiles, best, np.int64(INFINITE))
                if value > best:
                    best = value
                    actions[row] = action
        values[row] = best / (search.sides - 1)
        if search.nodes > search.last:
            return row
    return -1
