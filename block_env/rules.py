"""The rules, compiled: deal, open, legal, lay, pass or draw, round over, score, match over, next round (RULES.md).

One game is one record of ``states`` (:data:`block_env.state.STATE`); ``rules`` is the record of
:func:`block_env.variants.rules_table`. The small functions take a game's record and change it in place; the batch
functions at the end are what Python calls. All of them also run as plain Python (``NUMBA_DISABLE_JIT=1``).
"""

from __future__ import annotations

import numpy as np

from block_env._compile import Array, Int, Record, Word, kernel
from block_env.state import BLOCKED, DOMINO, NO_REASON
from block_env.tiles import BIT

NO_TILES = np.uint64(0)
_MASK32 = np.uint64(0xFFFFFFFF)
_SHIFT32 = np.uint64(32)
_PHILOX_M0, _PHILOX_M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_PHILOX_W0, _PHILOX_W1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)


# Chance ---------------------------------------------------------------------------------------------------------------


@kernel
def philox(c0: Word, c1: Word, c2: Word, c3: Word, k0: Word, k1: Word) -> tuple[Word, Word, Word, Word]:
    """Philox4x32-10: four random words from a counter and a key (Salmon, Moraes, Dror and Shaw, 2011).

    All arguments and results are ``uint64`` that hold 32 bits.
    """
    for _ in range(10):
        p0, p1 = _PHILOX_M0 * c0, _PHILOX_M1 * c2
        c0, c1, c2, c3 = (p1 >> _SHIFT32) ^ c1 ^ k0, p1 & _MASK32, (p0 >> _SHIFT32) ^ c3 ^ k1, p0 & _MASK32
        k0, k1 = (k0 + _PHILOX_W0) & _MASK32, (k1 + _PHILOX_W1) & _MASK32
    return c0, c1, c2, c3


@kernel
def next_word(state: Record) -> Word:
    """The next 32 random bits of this deal. The counter is (block, deal number): deal n needs no deal before it."""
    place = state.words_used % 4
    if place == 0:
        key = state.stream
        words = philox(
            np.uint64(state.words_used // 4),
            np.uint64(state.deal),
            np.uint64(key[2]),
            np.uint64(key[3]),
            np.uint64(key[0]),
            np.uint64(key[1]),
        )
        for k in range(4):
            state.words[k] = words[k]
    state.words_used += 1
    return np.uint64(state.words[place])


@kernel
def random_below(state: Record, bound: Int) -> Int:
    """A uniform whole number from 0 to ``bound - 1``, without bias (Lemire, 2019)."""
    n = np.uint64(bound)
    product = next_word(state) * n
    if product & _MASK32 < n:
        threshold = (_MASK32 - n + np.uint64(1)) % n
        while product & _MASK32 < threshold:
            product = next_word(state) * n
    return np.int64(product >> _SHIFT32)


# Deal -----------------------------------------------------------------------------------------------------------------


@kernel
def deal(state: Record, rules: Record) -> None:
    """Shuffle the full set and hand out; the rest is the stock, face down, drawn in the order of the shuffle."""
    state.deal += 1
    state.words_used = 0
    state.last_lot = random_below(state, rules.num_players)
    order, tiles = state.order, rules.num_tiles
    for k in range(tiles):
        order[k] = k
    # Only in Draw does the order of the stock matter: elsewhere the shuffle stops with the last tile dealt.
    for k in range(tiles if rules.draw else rules.num_players * rules.hand_size):
        other = k + random_below(state, tiles - k)
        order[k], order[other] = order[other], order[k]
    hand_out(state, rules)


@kernel
def hand_out(state: Record, rules: Record) -> None:
    """Give each seat in turn its tiles from the front of ``order``."""
    for seat in range(rules.num_players):
        hand = NO_TILES
        for k in range(seat * rules.hand_size, (seat + 1) * rules.hand_size):
            hand |= BIT[state.order[k]]
        state.hands[seat] = hand
        state.tiles_left[seat] = rules.hand_size
    state.stock_next = rules.num_players * rules.hand_size


# Who opens ------------------------------------------------------------------------------------------------------------


@kernel
def weight(tile: Int, rules: Record) -> Int:
    """Orders tiles: doubles by height before all others; those by pips, then by the larger half."""
    low, high = np.int64(rules.low[tile]), np.int64(rules.high[tile])
    return (low == high) * 1000 + (low + high) * 10 + high


@kernel
def opening_tile(hand: Word, rules: Record) -> Int:
    """The highest double among these tiles, or without one the heaviest tile."""
    best = -1
    for tile in range(rules.num_tiles):
        if hand & BIT[tile] != NO_TILES and (best < 0 or weight(tile, rules) > weight(best, rules)):
            best = tile
    return best


@kernel
def first_opener(state: Record, rules: Record) -> Int:
    """The first round: by the deal's lot, or the holder of the highest double, or else of the heaviest tile."""
    if not rules.highest_double_opens:
        return np.int64(state.last_lot)
    dealt = NO_TILES
    for seat in range(rules.num_players):
        dealt |= state.hands[seat]
    bit = BIT[opening_tile(dealt, rules)]
    for seat in range(rules.num_players):
        if state.hands[seat] & bit != NO_TILES:
            break
    return np.int64(seat)


@kernel
def open_round(state: Record, rules: Record, opener: Int) -> None:
    """Clear the table for a round that ``opener`` opens."""
    for seat in range(rules.num_players):
        state.laid[seat] = NO_TILES
        state.lacks[seat] = 0
    state.left = -1
    state.right = -1
    state.opener = opener
    state.passes = 0
    state.plies = 0
    give_turn(state, rules, opener)


# A turn ---------------------------------------------------------------------------------------------------------------


@kernel
def give_turn(state: Record, rules: Record, seat: Int) -> None:
    """It is ``seat``'s turn: note what it may lay. Equal halves must meet; a blank fits only a blank."""
    hand = state.hands[seat]
    state.to_play = seat
    if state.left >= 0:
        state.legal_left = hand & rules.suit[state.left]
        state.legal_right = hand & rules.suit[state.right]
        return
    state.legal_left = BIT[opening_tile(hand, rules)] if rules.opener_plays_double else hand
    state.legal_right = NO_TILES


@kernel
def is_legal(state: Record, rules: Record, action: Int) -> Int:
    """Whether the seat to move may do this. Whoever can lay must lay; the pass is legal when nothing else is."""
    if state.over or action < 0 or action > 2 * rules.num_tiles:
        return False
    if action == 2 * rules.num_tiles:
        return (state.legal_left | state.legal_right) == NO_TILES
    if action < rules.num_tiles:
        return state.legal_left & BIT[action] != NO_TILES
    return state.legal_right & BIT[action - rules.num_tiles] != NO_TILES


@kernel
def note_turn(state: Record, action: Int, drawn: Int, passed: Int) -> None:
    """Write the turn into the history, packed as :func:`block_env.state.unpack_ply` reads it."""
    state.history[state.plies] = action | drawn << 7 | np.int64(state.to_play) << 13 | passed << 15
    state.plies += 1
    state.turns += 1


@kernel
def lay(state: Record, rules: Record, action: Int) -> None:
    """Lay a tile so that equal halves meet; its other half is the new end. The opening tile makes both ends."""
    at_left = action < rules.num_tiles
    tile = action if at_left else action - rules.num_tiles
    low, high = np.int64(rules.low[tile]), np.int64(rules.high[tile])
    if state.left < 0:
        state.left, state.right = low, high
    elif at_left:
        state.left = low + high - state.left
    else:
        state.right = low + high - state.right
    seat = state.to_play
    state.hands[seat] &= ~BIT[tile]
    state.laid[seat] |= BIT[tile]
    state.tiles_left[seat] -= 1
    state.passes = 0
    note_turn(state, action, 0, 0)


@kernel
def draw_until_fit(state: Record, rules: Record) -> Int:
    """Draw: take tiles from the stock until one fits or only the reserve is left; how many were taken."""
    seat, drawn = state.to_play, 0
    last = rules.num_tiles - rules.stock_reserve
    while (state.legal_left | state.legal_right) == NO_TILES and state.stock_next < last:
        state.hands[seat] |= BIT[state.order[state.stock_next]]
        state.tiles_left[seat] += 1
        state.stock_next += 1
        drawn += 1
        give_turn(state, rules, seat)
    if drawn:
        state.lacks[seat] = 0  # what it has shown not to hold is true until it draws again
    return drawn


@kernel
def pass_or_draw(state: Record, rules: Record, action: Int) -> Int:
    """Whoever cannot lay passes; in Draw only once the stock has not helped. A pass shows what the seat lacks."""
    drawn = draw_until_fit(state, rules) if rules.draw else 0
    passed = (state.legal_left | state.legal_right) == NO_TILES
    note_turn(state, action, drawn, np.int64(passed))
    if passed:
        state.passes += 1
        state.lacks[state.to_play] |= (1 << state.left) | (1 << state.right)
    return passed


# End of a round and its points ----------------------------------------------------------------------------------------


@kernel
def round_reason(state: Record, rules: Record) -> Int:
    """Domino: the last tile of the hand was laid. Blocked: all seats have passed one after another."""
    if state.tiles_left[state.to_play] == 0:
        return DOMINO
    return BLOCKED if state.passes == rules.num_players else NO_REASON


@kernel
def hand_pips(hand: Word, rules: Record) -> Int:
    """A tile counts both halves: [6|6] 12, [0|0] 0."""
    total = np.int64(0)
    for tile in range(rules.num_tiles):
        if hand & BIT[tile] != NO_TILES:
            total += np.int64(rules.low[tile]) + np.int64(rules.high[tile])
    return total


@kernel
def side_pips(state: Record, rules: Record, side: Int) -> Int:
    """The pips of a side's hands: seat ``side`` alone, or with its partner."""
    total = 0
    for seat in range(side, rules.num_players, rules.num_sides):
        total += hand_pips(state.hands[seat], rules)
    return total


@kernel
def blocked_total(state: Record, rules: Record, side: Int) -> Int:
    """What a blocked round compares: the side's total, or its lowest single hand."""
    if not rules.compare_hands:
        return side_pips(state, rules, side)
    lowest = hand_pips(state.hands[side], rules)
    for seat in range(side + rules.num_sides, rules.num_players, rules.num_sides):
        lowest = min(lowest, hand_pips(state.hands[seat], rules))
    return lowest


@kernel
def blocked_winner(state: Record, rules: Record) -> Int:
    """The side with the single lowest total; a shared lowest total: nobody (-1)."""
    winner, lowest = 0, blocked_total(state, rules, 0)
    for side in range(1, rules.num_sides):
        total = blocked_total(state, rules, side)
        if total < lowest:
            winner, lowest = side, total
        elif total == lowest:
            winner = -1
    return winner


@kernel
def round_points(state: Record, rules: Record, winner: Int, reason: Int) -> Int:
    """Raw points: the other sides' pips; in a blocked round less the winner's own, once, and never below 0."""
    points = 0
    if winner < 0:
        return points
    for side in range(rules.num_sides):
        if side != winner:
            points += side_pips(state, rules, side)
    if reason == BLOCKED and rules.subtract_own:
        points -= side_pips(state, rules, winner)
    return max(points, 0)


@kernel
def end_round(state: Record, rules: Record, reason: Int) -> None:
    """Show all hands, and score the round."""
    winner = state.to_play % rules.num_sides if reason == DOMINO else blocked_winner(state, rules)
    state.last_winner = winner
    state.last_points = round_points(state, rules, winner, reason)
    state.last_reason = reason
    for seat in range(rules.num_players):
        state.shown[seat] = state.hands[seat]
    if winner >= 0:
        state.scores[winner] += state.last_points


# End of a game --------------------------------------------------------------------------------------------------------


@kernel
def top_side(state: Record, rules: Record) -> Int:
    """The side with the single highest score; a tie at the top: nobody (-1)."""
    top = 0
    for side in range(1, rules.num_sides):
        if state.scores[side] > state.scores[top]:
            top = side
    for side in range(rules.num_sides):
        if side != top and state.scores[side] == state.scores[top]:
            return -1
    return top


@kernel
def game_is_over(state: Record, rules: Record) -> Int:
    """Looked at only after a round is fully scored: a single round is; a match once somebody has the target."""
    if rules.target == 0:
        return True
    for side in range(rules.num_sides):
        if state.scores[side] >= rules.target:
            return True
    return False


@kernel
def end_game(state: Record, rules: Record) -> None:
    """The round's winner wins a single round; the highest score, if nobody shares it, wins a match."""
    state.over = 1
    state.winner = state.last_winner if rules.target == 0 else top_side(state, rules)
    state.to_play = -1
    state.legal_left = NO_TILES
    state.legal_right = NO_TILES


@kernel
def next_round(state: Record, rules: Record) -> None:
    """Shuffle and deal anew; the opening moves one seat clockwise from the last opener, whoever won."""
    state.round_number += 1
    deal(state, rules)
    open_round(state, rules, (state.opener + 1) % rules.num_players)


@kernel
def new_game(state: Record, rules: Record) -> None:
    """A fresh game from the stream's next deal."""
    for seat in range(4):
        state.scores[seat] = 0
        state.shown[seat] = NO_TILES
    state.turns = 0
    state.round_number = 0
    state.over = 0
    state.winner = -1
    state.last_winner = -1
    state.last_points = 0
    state.last_reason = NO_REASON
    deal(state, rules)
    open_round(state, rules, first_opener(state, rules))


# One step -------------------------------------------------------------------------------------------------------------


@kernel
def play(state: Record, rules: Record, action: Int) -> Int:
    """One legal action of the seat to move, and all that follows; why the round ended, or NO_REASON."""
    turn_over = True
    if action == 2 * rules.num_tiles:
        turn_over = pass_or_draw(state, rules, action)
    else:
        lay(state, rules, action)
    reason = round_reason(state, rules)
    if reason == NO_REASON:
        give_turn(state, rules, (state.to_play + 1) % rules.num_players if turn_over else np.int64(state.to_play))
        return reason
    end_round(state, rules, reason)
    if game_is_over(state, rules):
        end_game(state, rules)
    else:
        next_round(state, rules)
    return reason


@kernel
def pay(state: Record, rules: Record, reason: Int, points: Int, rewards: Array) -> None:
    """The step's reward of each seat, zero-sum over sides: the winners' figure, the other sides share the minus.

    ``points``: the round's, when it ends; otherwise the outcome, 1, when the game ends.
    """
    winner, figure = np.int64(-1), 0.0
    if points and reason != NO_REASON:
        winner, figure = np.int64(state.last_winner), float(state.last_points)
    elif not points and state.over:
        winner, figure = np.int64(state.winner), 1.0
    for seat in range(rules.num_players):
        rewards[seat] = 0.0
        if winner >= 0:
            rewards[seat] = figure if seat % rules.num_sides == winner else -figure / (rules.num_sides - 1)


# Batches --------------------------------------------------------------------------------------------------------------


@kernel
def deal_games(states: Array, rules: Array, rows: Array) -> None:
    """Start a new game in each of these rows (int64 [n])."""
    for row in rows:
        new_game(states[row], rules[0])


@kernel
def open_games(states: Array, rules: Array, rows: Array, openers: Array) -> None:
    """Hand out ``order`` as it stands and open the round: by ``openers`` (int64 [n]), or where -1 by the rules."""
    for k in range(len(rows)):
        state = states[rows[k]]
        hand_out(state, rules[0])
        opener = openers[k]
        if opener < 0:
            opener = first_opener(state, rules[0])
        open_round(state, rules[0], opener)


@kernel
def first_illegal(states: Array, rules: Array, rows: Array, actions: Array) -> Int:
    """The place in ``rows`` of the first game whose action (int64 [n]) is not legal, or -1."""
    for k in range(len(rows)):
        if not is_legal(states[rows[k]], rules[0], actions[k]):
            return k
    return -1


@kernel
def step_game(states: Array, rules: Array, action: Int, points: Int, rewards: Array) -> Int:
    """Play one action in row 0; why the round ended, or -1 for an illegal action, which changes nothing.

    Writes ``rewards`` (float32 [seats]).
    """
    if not is_legal(states[0], rules[0], action):
        return -1
    reason = play(states[0], rules[0], action)
    pay(states[0], rules[0], reason, points, rewards)
    return reason


@kernel
def step_games(
    states: Array,
    rules: Array,
    rows: Array,
    actions: Array,
    points: Int,
    redeal: Int,
    rewards: Array,
    done: Array,
    reasons: Array,
) -> None:
    """Play one legal action (int64 [n]) in each of these rows.

    Writes ``rewards`` (float32 [N, seats]), ``done`` (bool [N]) and ``reasons`` (int8 [N], index into REASONS) at the
    same rows. ``redeal``: a finished game starts its next deal at once.
    """
    for k in range(len(rows)):
        row = rows[k]
        state = states[row]
        reason = play(state, rules[0], actions[k])
        pay(state, rules[0], reason, points, rewards[row])
        reasons[row] = reason
        done[row] = state.over != 0
        if redeal and state.over:
            new_game(state, rules[0])


@kernel
def draw_lots(states: Array, rules: Array, rows: Array, lots: Array) -> None:
    """A fair lot among the seats for each of these rows, from its deal's random words, into ``lots`` (int64 [N])."""
    for row in rows:
        lots[row] = random_below(states[row], rules[0].num_players)
