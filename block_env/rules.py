"""The rules, compiled: deal, open, legal, lay, pass or draw, round over, score, match over, next round (RULES.md).

One game is one record of ``states`` (:data:`block_env.state.STATE`); ``rules`` is the record of
:func:`block_env.variants.rules_table`. The small functions take a game's record and change it in place; the batch
functions at the end are what Python calls. All of them also run as plain Python (``NUMBA_DISABLE_JIT=1``).
"""

from __future__ import annotations

import numpy as np
from numba.np.numpy_support import carray

from block_env._bits import count_ones, multiply_high, multiply_low, pointer
from block_env._compile import Array, Int, Record, Word, inlined, kernel
from block_env.state import BATCH, BLOCKED, DOMINO, NO_REASON, STATE
from block_env.tiles import BIT
from block_env.variants import RULES_RECORD

NO_TILES = np.uint64(0)
_MASK32 = np.uint64(0xFFFFFFFF)
_SHIFT32 = np.uint64(32)
_ALL_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
_BATCH = 7  # tiles that share a random word: 4 * 55**7 < 2**60
_PHILOX_M0, _PHILOX_M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_PHILOX_W0, _PHILOX_W1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)


# Chance ---------------------------------------------------------------------------------------------------------------


@inlined
def philox(c0: Word, c1: Word, c2: Word, c3: Word, k0: Word, k1: Word) -> tuple[Word, Word, Word, Word]:
    """Philox4x32-10: four random words from a counter and a key (Salmon, Moraes, Dror and Shaw, 2011).

    All arguments and results are ``uint64`` that hold 32 bits.
    """
    for _ in range(10):
        p0, p1 = _PHILOX_M0 * c0, _PHILOX_M1 * c2
        c0, c1, c2, c3 = (p1 >> _SHIFT32) ^ c1 ^ k0, p1 & _MASK32, (p0 >> _SHIFT32) ^ c3 ^ k1, p0 & _MASK32
        k0, k1 = (k0 + _PHILOX_W0) & _MASK32, (k1 + _PHILOX_W1) & _MASK32
    return c0, c1, c2, c3


@inlined
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


@inlined
def random_below(state: Record, bound: Int) -> Int:
    """A uniform whole number from 0 to ``bound - 1``, without bias (Lemire, 2019)."""
    n = np.uint64(bound)
    product = next_word(state) * n
    if product & _MASK32 < n:
        threshold = (_MASK32 - n + np.uint64(1)) % n
        while product & _MASK32 < threshold:
            product = next_word(state) * n
    return np.int64(product >> _SHIFT32)


@kernel
def next_digits(state: Record, product: Word) -> Word:
    """A random word for :func:`next_digit`: numbers below bounds of this product (under 2**60), without bias.

    Several numbers from one word (Brackett-Rozinsky and Lemire, 2024): their digits are one number below the product.
    """
    word = next_word(state) | next_word(state) << _SHIFT32
    if multiply_low(word, product) < product:
        threshold = (_ALL_ONES - product + np.uint64(1)) % product
        while multiply_low(word, product) < threshold:
            word = next_word(state) | next_word(state) << _SHIFT32
    return word


# Deal -----------------------------------------------------------------------------------------------------------------


@inlined
def deal(state: Record, rules: Record) -> None:
    """Shuffle the full set and hand out; the rest is the stock, face down, drawn in the order of the shuffle."""
    state.deal += 1
    state.words_used = 0
    order, tiles = state.order, rules.num_tiles
    for k in range(tiles):
        order[k] = k
    # Only in Draw does the order of the stock matter: elsewhere the shuffle stops with the last tile dealt.
    shuffled = tiles if rules.draw else rules.num_players * rules.hand_size
    bound = np.uint64(rules.num_players)  # the first of all numbers is the lot
    for start in range(0, shuffled, _BATCH):
        last = min(start + _BATCH, shuffled)
        for k in range(start, last):
            bound *= np.uint64(tiles - k)
        word = next_digits(state, bound)
        if start == 0:
            state.last_lot = multiply_high(word, np.uint64(rules.num_players))
            word = multiply_low(word, np.uint64(rules.num_players))
        for k in range(start, last):
            left = np.uint64(tiles - k)
            other = k + np.int64(multiply_high(word, left))
            word = multiply_low(word, left)
            order[k], order[other] = order[other], order[k]
        bound = np.uint64(1)
    hand_out(state, rules)


@inlined
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


@inlined
def weight(tile: Int, rules: Record) -> Int:
    """Orders tiles: doubles by height before all others; those by pips, then by the larger half."""
    low, high = np.int64(rules.low[tile]), np.int64(rules.high[tile])
    return (low == high) * 1000 + (low + high) * 10 + high


@inlined
def opening_tile(hand: Word, rules: Record) -> Int:
    """The highest double among these tiles, or without one the heaviest tile."""
    best = -1
    for tile in range(rules.num_tiles):
        if hand & BIT[tile] != NO_TILES and (best < 0 or weight(tile, rules) > weight(best, rules)):
            best = tile
    return best


@inlined
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


@inlined
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


@inlined
def next_seat(seat: Int, rules: Record) -> Int:
    """The next clockwise; a division would cost more than all else in a turn."""
    return np.int64(0) if seat + 1 == rules.num_players else np.int64(seat + 1)


@inlined
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


@inlined
def is_legal(state: Record, rules: Record, action: Int) -> Int:
    """Whether the seat to move may do this. Whoever can lay must lay; the pass is legal when nothing else is."""
    if state.over or action < 0 or action > 2 * rules.num_tiles:
        return False
    if action == 2 * rules.num_tiles:
        return (state.legal_left | state.legal_right) == NO_TILES
    if action < rules.num_tiles:
        return state.legal_left & BIT[action] != NO_TILES
    return state.legal_right & BIT[action - rules.num_tiles] != NO_TILES


@inlined
def note_turn(state: Record, action: Int, drawn: Int, passed: Int) -> None:
    """Write the turn into the history, packed as :func:`block_env.state.unpack_ply` reads it."""
    state.history[state.plies] = action | drawn << 7 | np.int64(state.to_play) << 13 | passed << 15
    state.plies += 1
    state.turns += 1


@inlined
def lay(state: Record, rules: Record, action: Int) -> None:
    """Lay a tile so that equal halves meet; its other half is the new end. The opening tile makes both ends."""
    at_left = action < rules.num_tiles
    tile = action if at_left else action - rules.num_tiles
    low, high = np.int64(rules.low[tile]), np.int64(rules.high[tile])
    if state.left < 0:
        state.left, state.right = low, high
    else:  # no branch: which end it is cannot be foreseen
        left, right = np.int64(state.left), np.int64(state.right)
        state.left = low + high - left if at_left else left
        state.right = right if at_left else low + high - right
    seat = state.to_play
    state.hands[seat] &= ~BIT[tile]
    state.laid[seat] |= BIT[tile]
    state.tiles_left[seat] -= 1
    state.passes = 0
    note_turn(state, action, 0, 0)


@inlined
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


@inlined
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


@inlined
def round_reason(state: Record, rules: Record) -> Int:
    """Domino: the last tile of the hand was laid. Blocked: all seats have passed one after another."""
    if state.tiles_left[state.to_play] == 0:
        return DOMINO
    return BLOCKED if state.passes == rules.num_players else NO_REASON


@inlined
def hand_pips(hand: Word, rules: Record) -> Int:
    """A tile counts both halves: [6|6] 12, [0|0] 0."""
    total = np.int64(0)
    for place in range(len(rules.pip_bits)):
        total += count_ones(hand & rules.pip_bits[place]) << place
    return total


@inlined
def side_pips(state: Record, rules: Record, side: Int) -> Int:
    """The pips of a side's hands: seat ``side`` alone, or with its partner."""
    total = 0
    for seat in range(side, rules.num_players, rules.num_sides):
        total += hand_pips(state.hands[seat], rules)
    return total


@inlined
def blocked_total(state: Record, rules: Record, side: Int) -> Int:
    """What a blocked round compares: the side's total, or its lowest single hand."""
    if not rules.compare_hands:
        return side_pips(state, rules, side)
    lowest = hand_pips(state.hands[side], rules)
    for seat in range(side + rules.num_sides, rules.num_players, rules.num_sides):
        lowest = min(lowest, hand_pips(state.hands[seat], rules))
    return lowest


@inlined
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


@inlined
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


@inlined
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


@inlined
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


@inlined
def game_is_over(state: Record, rules: Record) -> Int:
    """Looked at only after a round is fully scored: a single round is; a match once somebody has the target."""
    if rules.target == 0:
        return True
    for side in range(rules.num_sides):
        if state.scores[side] >= rules.target:
            return True
    return False


@inlined
def end_game(state: Record, rules: Record) -> None:
    """The round's winner wins a single round; the highest score, if nobody shares it, wins a match."""
    state.over = 1
    state.winner = state.last_winner if rules.target == 0 else top_side(state, rules)
    state.to_play = -1
    state.legal_left = NO_TILES
    state.legal_right = NO_TILES


@inlined
def next_round(state: Record, rules: Record) -> None:
    """Shuffle and deal anew; the opening moves one seat clockwise from the last opener, whoever won."""
    state.round_number += 1
    deal(state, rules)
    open_round(state, rules, next_seat(state.opener, rules))


@inlined
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


@inlined
def play(state: Record, rules: Record, action: Int) -> Int:
    """One legal action of the seat to move, and all that follows; why the round ended, or NO_REASON."""
    turn_over = True
    if action == 2 * rules.num_tiles:
        turn_over = pass_or_draw(state, rules, action)
    else:
        lay(state, rules, action)
    reason = round_reason(state, rules)
    if reason == NO_REASON:
        give_turn(state, rules, next_seat(state.to_play, rules) if turn_over else np.int64(state.to_play))
        return reason
    end_round(state, rules, reason)
    if game_is_over(state, rules):
        end_game(state, rules)
    else:
        next_round(state, rules)
    return reason


@inlined
def pay(state: Record, rules: Record, reason: Int, points: Int, rewards: Array, at: Int) -> None:
    """The step's reward of each seat, zero-sum over sides: the winners' figure, the other sides share the minus.

    Written into ``rewards`` (float32 [n]) from ``at`` on; a view of each row would cost as much as the step. With
    ``points`` it is the round's when that ends; otherwise the outcome, 1, when the game ends.
    """
    winner, figure = np.int64(-1), 0.0
    if points and reason != NO_REASON:
        winner, figure = np.int64(state.last_winner), float(state.last_points)
    elif not points and state.over:
        winner, figure = np.int64(state.winner), 1.0
    for seat in range(rules.num_players):
        rewards[at + seat] = 0.0
        if winner >= 0:
            rewards[at + seat] = figure if seat % rules.num_sides == winner else -figure / (rules.num_sides - 1)


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
    pay(states[0], rules[0], reason, points, rewards, 0)
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
    width, flat = rewards.shape[1], rewards.reshape(-1)
    for k in range(len(rows)):
        row = rows[k]
        state = states[row]
        reason = play(state, rules[0], actions[k])
        pay(state, rules[0], reason, points, flat, row * width)
        reasons[row] = reason
        done[row] = state.over != 0
        if redeal and state.over:
            new_game(state, rules[0])


@kernel
def draw_lots(states: Array, rules: Array, rows: Array, lots: Array) -> None:
    """A fair lot among the seats for each of these rows, from its deal's random words, into ``lots`` (int64 [N])."""
    for row in rows:
        lots[row] = random_below(states[row], rules[0].num_players)


@kernel
def step_batch(address: Int) -> Int:
    """Check and play the actions of a batch (:mod:`block_env.batch`): the place of the first illegal one, or -1.

    With an illegal action nothing has changed.
    """
    batch = carray(pointer(np.uint64(address)), (1,), BATCH)[0]
    states = carray(pointer(np.uint64(batch.states)), (batch.num_games,), STATE)
    rules = carray(pointer(np.uint64(batch.rules)), (1,), RULES_RECORD)
    rows = carray(pointer(np.uint64(batch.rows)), (batch.count,), np.int64)
    actions = carray(pointer(np.uint64(batch.actions)), (batch.count,), np.int64)
    wrong = first_illegal(states, rules, rows, actions)
    if wrong < 0:
        rewards = carray(pointer(np.uint64(batch.rewards)), (batch.num_games, batch.num_players), np.float32)
        done = carray(pointer(np.uint64(batch.done)), (batch.num_games,), np.bool_)
        reasons = carray(pointer(np.uint64(batch.reasons)), (batch.num_games,), np.int8)
        step_games(states, rules, rows, actions, batch.points, batch.redeal, rewards, done, reasons)
    return wrong


@kernel
def step_one(address: Int, action: Int) -> Int:
    """Play an action in row 0 of a batch: -1 if it is not legal, and nothing has changed.

    Otherwise why the round ended, plus four times one more than the seat to move (which is -1 once the game is over).
    """
    batch = carray(pointer(np.uint64(address)), (1,), BATCH)[0]
    states = carray(pointer(np.uint64(batch.states)), (1,), STATE)
    rules = carray(pointer(np.uint64(batch.rules)), (1,), RULES_RECORD)
    rewards = carray(pointer(np.uint64(batch.rewards)), (batch.num_players,), np.float32)
    reason = step_game(states, rules, action, batch.points, rewards)
    return reason if reason < 0 else reason + 4 * (np.int64(states[0].to_play) + 1)
