"""RULES.md, paragraph by paragraph and row by row, played through the public door from set-up hands."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from helpers import (
    Table,
    every_rules,
    play_out_at_random,
    random_actions,
    read_hands,
    rules_name,
    scaled,
    set_up,
)
from reference import tile_order

from block_env.play import Games
from block_env.render import describe
from block_env.variants import Rules

pytestmark = pytest.mark.nojit

TWO = Rules(2, hand_size=2)
THREE = Rules(3, hand_size=2)
MATCH = Rules(3, hand_size=2, target=100)
PARTNERS = Rules(4, hand_size=4, partnership=True)
DRAW = Rules(2, max_pip=2, hand_size=2, draw=True)

# Nobody but the opener of [6|6] holds a six: all pass, and the round is blocked.
BLOCKED_12 = "66 12, 03 04, 13 22"  # 3, 7, 8 pips: seat 0 wins 7 + 8 - 3
BLOCKED_TIE = "66 12, 01 02, 13 22"  # 3, 3, 8
BLOCKED_SIDES = "66 35 23 02, 00 15 14 11, 22 33 04 01, 55 45 44 24"  # 15, 13, 15, 33
DOMINO_8 = "12 11, 00 23, 33 26"
ALL_PASS_3 = "66L pass pass pass"
ALL_PASS_4 = "66L pass pass pass pass"


# Set, seats, deal -----------------------------------------------------------------------------------------------------


@every_rules
def test_every_deal_is_anew_from_the_full_set(rules: Rules, rng: np.random.Generator) -> None:
    """'Every shuffle deals anew from the full set': each tile once in hands and stock (BUGS D04)."""
    games = Games(scaled(200, 5), rules, seed=3)
    for _ in range(2):
        for index in range(games.num_games):
            game = games.snapshot(index)
            tiles = [tile for hand in game.hands for tile in hand] + list(game.stock)
            assert sorted(tiles) == tile_order(rules.max_pip)
            assert [len(hand) for hand in game.hands] == [rules.hand_size] * rules.num_players
        games.reset()


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_play_goes_clockwise(seats: int) -> None:
    """'play goes clockwise, seat 0, 1, 2, …'."""
    hands = {2: "01 02, 11 22", 3: "01 02, 11 22, 12 00", 4: "01 02, 11 22, 12 00, 13 33"}[seats]
    table = set_up(Rules(seats, hand_size=2), hands, opener=seats - 1)
    movers = [table.game.to_play]
    for _ in range(seats):
        table.games.step(table.games.action_mask.argmax(axis=1))
        movers.append(table.game.to_play)
    assert movers == [seats - 1, *range(seats)]


def test_undealt_tiles_stay_out_of_play() -> None:
    """'Undealt tiles stay face down for the whole round': nobody's turn touches them in Block."""
    table = set_up(TWO, "12 13, 44 55")
    stock = table.game.stock
    table.play("12L pass")
    assert table.game.stock == stock
    assert len(stock) == 24


# Who opens ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_match_the_first_opener_is_drawn_by_a_fair_lot(seats: int) -> None:
    """'the first round's opener is drawn by a fair lot': chi-square over many first deals."""
    count = scaled(30_000, 600)
    counts = np.bincount(Games(count, "match", seats, seed=5).states["opener"], minlength=seats)
    expected = count / seats
    assert ((counts - expected) ** 2 / expected).sum() < 16  # 3 degrees of freedom: one in a thousand


@pytest.mark.parametrize("end", [BLOCKED_TIE, BLOCKED_12, DOMINO_8], ids=["tie", "blocked", "domino"])
@pytest.mark.parametrize("opener", [0, 2])
def test_match_the_opening_moves_one_seat_clockwise_from_the_last_opener(end: str, opener: int) -> None:
    """'whoever won, ties included': seat 0 wins or nobody, the next seat after the opener opens (BUGS D08, D27)."""
    hands = ",".join(np.roll(end.split(","), opener))  # the same end, seen from the opener
    table = set_up(MATCH, hands, opener=opener)
    table.play(ALL_PASS_3 if end.startswith("66") else "12L 23R 33R 11L")
    assert table.game.round_number == 1
    assert table.game.opener == table.game.to_play == (opener + 1) % 3
    assert table.game.history == ()


@pytest.mark.parametrize("rules", [Rules.preset("match", 3), Rules.preset("partnership")], ids=rules_name)
def test_match_openers_and_turns_from_public_data(rules: Rules, rng: np.random.Generator) -> None:
    """In whole matches the first turn of every round is the opener's, the next opener sits clockwise, and every turn
    passes clockwise, forced passes included (BUGS D27, D09)."""
    games = Games(scaled(40, 3), rules, seed=8, auto_reset=False)
    openers: list[list[int]] = [[int(opener)] for opener in games.states["opener"]]
    while (rows := np.flatnonzero(games.to_play >= 0)).size:
        movers, rounds = games.to_play.copy(), games.states["round_number"].copy()
        games.step(random_actions(games.action_mask[rows], rng), rows)
        for row in rows[games.to_play[rows] >= 0]:
            if games.states["round_number"][row] > rounds[row]:
                openers[row].append(int(games.to_play[row]))
            else:
                assert games.to_play[row] == (movers[row] + 1) % rules.num_players
    assert max(map(len, openers)) > 3
    for seats in openers:
        assert all((this + 1) % rules.num_players == after for this, after in pairwise(seats))


def test_match_doubles_give_no_priority() -> None:
    """'The opener may lay any tile; doubles give no priority': the lot decides, and all tiles of the hand are legal."""
    openers = {Games(1, Rules(2, hand_size=2, target=100), seed=seed).snapshot(0).opener for seed in range(20)}
    assert openers == {0, 1}
    table = set_up(Rules(2, hand_size=2, target=100), "66 01, 12 13", opener=1)
    assert table.legal_moves("12L", "13L")
    assert set_up(Rules(2, hand_size=2, target=100), "66 01, 12 13", opener=0).legal_moves("66L", "01L")


@pytest.mark.parametrize(
    ("hands", "opener"),
    [
        ("66 01, 55 45, 12 13", 0),
        ("46 01, 55 45, 44 13", 1),
        ("56 01, 46 45, 00 13", 2),  # any double, the blank one too, is before all other tiles
    ],
)
def test_single_round_the_holder_of_the_highest_double_opens(hands: str, opener: int) -> None:
    table = set_up(replace(THREE, first_opener="highest_double"), hands, opener=None)
    assert table.game.opener == table.game.to_play == opener


@pytest.mark.parametrize(
    ("hands", "opener"),
    [
        ("01 02, 12 13, 56 03", 2),  # 11 pips
        ("01 36, 12 45, 34 03", 0),  # 9 pips each: the larger half, 6 before 5, decides
        ("01 45, 12 36, 34 03", 1),
        ("15 02, 12 13, 24 03", 0),  # 6 pips each, 5 before 4
    ],
)
def test_single_round_nobody_holds_a_double_the_heaviest_tile_opens(hands: str, opener: int) -> None:
    """'the holder of the heaviest tile (pips, then the larger half)'."""
    table = set_up(replace(THREE, first_opener="highest_double"), hands, opener=None)
    assert table.game.opener == opener


def test_single_round_the_opener_may_lay_any_tile() -> None:
    table = set_up(replace(THREE, first_opener="highest_double"), "66 01, 55 45, 12 13", opener=None)
    assert table.legal_moves("66L", "01L")


@pytest.mark.parametrize(
    ("hands", "forced"),
    [("66 01, 55 45, 12 13", "66L"), ("00 56, 12 13, 23 24", "00L"), ("36 01, 45 02, 34 03", "36L")],
)
def test_opener_plays_double_forces_the_double_or_that_heaviest_tile(hands: str, forced: str) -> None:
    rules = replace(THREE, first_opener="highest_double", opener_plays_double=True)
    assert set_up(rules, hands, opener=None).legal_moves(forced)


@pytest.mark.parametrize(("opener", "forced"), [(0, "66L"), (1, "55L"), (2, "13L")])
def test_opener_plays_double_speaks_of_the_openers_own_hand(opener: int, forced: str) -> None:
    """An opener by lot or by turn that lacks the highest double of all plays its own, or its heaviest tile."""
    table = set_up(replace(MATCH, opener_plays_double=True), "66 01, 55 45, 12 13", opener=opener)
    assert table.legal_moves(forced)


def test_opener_plays_double_binds_the_opening_tile_alone() -> None:
    table = set_up(replace(TWO, opener_plays_double=True), "11 12, 13 33").play("11L")
    assert table.legal_moves("13L", "13R")
    assert table.play("13R").legal_moves("12L")


@every_rules
def test_the_opening_tile_has_one_action_and_no_end_yet(rules: Rules) -> None:
    """One left action a tile of the hand, or exactly one when the tile is forced; never a pass (BUGS D07, D10)."""
    games = Games(scaled(1000, 20), rules, seed=4)
    count = 1 if rules.opener_plays_double else rules.hand_size
    assert (games.action_mask.sum(axis=1) == count).all()
    assert not games.action_mask[:, rules.num_tiles :].any()
    assert (games.to_play == games.states["opener"]).all()
    assert all(games.snapshot(index).ends is None for index in range(10))


# A turn ---------------------------------------------------------------------------------------------------------------


def test_equal_halves_meet_and_the_other_half_becomes_the_new_end() -> None:
    table = set_up(Rules(2, hand_size=3), "14 11 46, 12 26 55").play("14L")
    assert table.game.ends == (1, 4)
    assert table.legal_moves("12L")
    assert table.play("12L").game.ends == (2, 4)
    assert table.game.line == ((2, 1), (1, 4))
    assert table.play("46R").game.ends == (2, 6)
    assert table.game.line == ((2, 1), (1, 4), (4, 6))
    assert table.legal_moves("26L", "26R")
    assert table.play("26R").game.line == ((2, 1), (1, 4), (4, 6), (6, 2))


def test_a_blank_half_fits_only_a_blank_half() -> None:
    """'[0|0] is no joker'."""
    table = set_up(TWO, "12 34, 00 01").play("12L")
    assert table.legal_moves("01L")
    assert set_up(TWO, "12 34, 00 03").play("12L").legal_moves("pass")
    assert set_up(TWO, "03 34, 00 11").play("03L").legal_moves("00L")


def test_whoever_can_lay_must_lay_and_whoever_cannot_passes() -> None:
    """The pass is legal exactly when nothing else is: the mask of a stuck seat is {pass} alone (BUGS D03)."""
    assert set_up(TWO, "12 33, 23 44").play("12L").legal_moves("23R")
    assert set_up(TWO, "12 33, 44 55").play("12L").legal_moves("pass")


def test_a_forced_pass_is_a_visible_step() -> None:
    """The opening tile may force passes at once; each is a turn of its own in the history, and the same seat may lay
    twice in a row (BUGS D09)."""
    table = set_up(Rules(3, hand_size=2), "12 11, 33 44, 55 66").play("12L pass pass")
    game = table.game
    assert [(ply.seat, str(ply.move), ply.passed) for ply in game.history] == [
        (0, "[1|2]L", False),
        (1, "pass", True),
        (2, "pass", True),
    ]
    assert (game.to_play, game.passes, game.over) == (0, 2, False)
    assert table.play("11L").game.passes == 0


def test_no_drawing_in_block() -> None:
    table = set_up(TWO, "12 33, 44 55")
    before = table.game
    after = table.play("12L pass").game
    assert (after.hands[1], after.stock) == (before.hands[1], before.stock)
    assert after.history[-1].drawn == 0


def test_equal_ends_both_are_legal() -> None:
    """DESIGN.md, Actions: 'Equal ends: both are legal.'"""
    assert set_up(TWO, "22 33, 23 12").play("22L").legal_moves("23L", "23R", "12L", "12R")


def test_doubles_lie_in_the_line_no_spinner_no_side_arms() -> None:
    """'The line has exactly two ends for the whole round … the opening double too': once both sides of [3|3] are
    covered it offers nothing more."""
    table = set_up(Rules(2, hand_size=3), "33 35 11, 34 36 22").play("33L 34L 35R")
    assert table.game.ends == (4, 5)
    assert table.legal_moves("pass")  # [3|6] would fit a spinner


@pytest.mark.parametrize("moves", ["12L", "12L 23R", "12L 23R 33R"])
def test_laying_scores_nothing(moves: str) -> None:
    table = set_up(MATCH, DOMINO_8).play(moves)
    assert table.rewards == [0, 0, 0]
    assert table.game.scores == (0, 0, 0)


def test_laying_the_last_tile_scores_nothing_of_its_own() -> None:
    """Going out with [5|5] pays what the others hold, not its own pips."""
    table = set_up(TWO, "05 55, 03 01").play("05L 03L 55R")
    assert table.rewards == [1, -1]


# Draw: max_pip 2 has [0|0] [0|1] [0|2] [1|1] [1|2] [2|2]; two hands of two leave a stock of two -----------------------


def draw_table(rules: Rules, stock: str, hands: str = "00 01, 11 12") -> Table:
    """A game of Draw whose stock is drawn in this order; found by seed, since options do not set the stock."""
    for seed in range(200):
        games = Games(1, rules, seed=seed, auto_reset=False, reward="points")
        games.reset(options={"hands": read_hands(hands), "opener": 0})
        if [f"{low}{high}" for low, high in games.snapshot(0).stock] == stock.split():
            return Table(games, [0.0, 0.0], False)
    raise AssertionError(f"no seed below 200 shuffles the stock to {stock}")


def test_draw_who_cannot_lay_draws_until_a_tile_fits() -> None:
    """'draws from the stock until a tile fits': [2|2] does not fit the blanks, [0|2] does; the turn stays."""
    table = draw_table(DRAW, "22 02").play("00L")
    assert table.legal_moves("pass")  # the same action draws
    table.play("pass")
    game = table.game
    assert game.hands[1] == ((0, 2), (1, 1), (1, 2), (2, 2))
    assert game.stock == ()
    assert game.to_play == 1
    assert (game.history[-1].drawn, game.history[-1].passed, game.passes) == (2, False, 0)
    assert table.legal_moves("02L", "02R")


def test_draw_stops_at_the_first_tile_that_fits() -> None:
    table = draw_table(DRAW, "02 22").play("00L pass")
    assert table.game.stock == ((2, 2),)
    assert table.game.history[-1].drawn == 1


def test_draw_passes_only_when_no_tile_fits_and_the_stock_is_empty() -> None:
    """With a reserve of all but one tile, one is drawn in vain and the same turn passes."""
    table = draw_table(replace(DRAW, stock_reserve=1), "22 02").play("00L pass")
    game = table.game
    assert (game.history[-1].drawn, game.history[-1].passed, game.passes, game.to_play) == (1, True, 1, 0)
    assert game.hands[1] == ((1, 1), (1, 2), (2, 2))


def test_draw_stock_reserve_is_never_drawn() -> None:
    table = draw_table(replace(DRAW, stock_reserve=2), "02 22").play("00L pass")
    assert table.game.stock == ((0, 2), (2, 2))
    assert (table.game.history[-1].drawn, table.game.history[-1].passed) == (0, True)


def test_draw_whoever_can_lay_does_not_draw() -> None:
    table = draw_table(DRAW, "22 02", hands="00 11, 01 12").play("00L")
    assert table.legal_moves("01L", "01R")


def test_draw_how_many_tiles_a_seat_drew_is_public_which_ones_is_not() -> None:
    """The other seat's observation is the same whether [2|2] [0|2] or [1|2] [0|2] was drawn."""
    first = draw_table(DRAW, "22 02", hands="00 01, 11 12").play("00L pass")
    second = draw_table(DRAW, "12 02", hands="00 01, 11 22").play("00L pass")
    rows, seats = np.array([0]), np.array([0])
    assert first.game.history[-1].drawn == second.game.history[-1].drawn == 2
    assert first.games.observe(rows, seats)[0].tobytes() == second.games.observe(rows, seats)[0].tobytes()


@pytest.mark.parametrize(("stock", "reserve", "lacks"), [("22 02", 1, 0b001), ("22 02", 0, 0), ("02 22", 2, 0b001)])
def test_draw_what_a_seat_lacks_is_shown_by_passing_not_by_drawing(stock: str, reserve: int, lacks: int) -> None:
    """'what a seat has shown not to hold is true until it draws again': after [2|2] alone it still lacks the blank,
    after [0|2] it does not."""
    table = draw_table(replace(DRAW, stock_reserve=reserve), stock).play("00L pass")
    assert table.games.states["lacks"][0].tolist()[:2] == [0, lacks]


def test_lacks_a_pass_shows_both_ends_and_adds_up() -> None:
    """In Block it is true for the rest of the round: [1|2] lies, seat 1 lacks 1 and 2, later 3 too."""
    table = set_up(Rules(2, hand_size=3), "12 23 36, 44 55 00").play("12L pass 23R")
    assert table.games.states["lacks"][0].tolist()[:2] == [0, 0b0110]
    table.play("pass")
    assert table.games.states["lacks"][0].tolist()[:2] == [0, 0b1110]


# End of a round and its points ----------------------------------------------------------------------------------------


def test_the_round_ends_at_once_when_a_player_lays_the_last_tile() -> None:
    table = set_up(THREE, DOMINO_8).play("12L 23R 33R")
    assert not table.done
    table.play("11L")
    assert table.done
    assert table.game.last_round.reason == "domino"
    assert table.legal == set()


def test_the_round_ends_when_all_seats_have_passed_one_after_another() -> None:
    """Not one pass earlier, not one later (BUGS D14)."""
    table = set_up(THREE, BLOCKED_12).play("66L pass pass")
    assert not table.done
    table.play("pass")
    assert table.done
    assert table.game.last_round.reason == "blocked"


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_blocked_comes_exactly_when_nobody_can_lay_any_more(seats: int, rng: np.random.Generator) -> None:
    """5,000 games each, against all hands on the table (BUGS D14): who passes holds neither end; a round is blocked at
    the last of as many passes in a row as there are seats, when no hand fits, and it never goes on after that."""
    rules, count = Rules(seats), scaled(5_000, 50)
    suit = np.array([sum(1 << k for k, tile in enumerate(tile_order(6)) if pip in tile) for pip in range(7)], np.uint64)
    games = Games(count, rules, seed=10, auto_reset=False)
    in_a_row = np.zeros(count, int)
    for _ in range(rules.max_plies):
        rows, before = np.flatnonzero(games.to_play >= 0), games.states.copy()
        ends = np.where(before["left"] >= 0, suit[before["left"]] | suit[before["right"]], ~np.uint64(0))
        fits = (before["hands"] & ends[:, None]) > 0
        actions = random_actions(games.action_mask[rows], rng)
        assert ((actions == 56) == ~fits[rows, before["to_play"][rows]]).all()
        games.step(actions, rows)
        in_a_row[rows] = np.where(actions == 56, in_a_row[rows] + 1, 0)
        out = (games.states["hands"][rows, :seats] == 0).any(axis=1)
        assert ((games.reasons[rows] == 1) == out).all()
        assert ((games.reasons[rows] == 2) == (in_a_row[rows] == seats)).all()
        assert not fits[rows[games.reasons[rows] == 2]].any()
    assert (games.to_play == -1).all()


def test_passes_must_be_in_a_row() -> None:
    """Two passes, a tile, two passes: nothing is blocked yet."""
    table = set_up(Rules(3, hand_size=3), "66 06 12, 11 22 33, 44 55 13").play("66L pass pass 06L pass pass")
    assert not table.done
    assert table.play("pass").done


def test_then_all_hands_are_shown() -> None:
    table = set_up(MATCH, BLOCKED_12).play(ALL_PASS_3)
    assert table.game.last_round.hands == (((1, 2),), ((0, 3), (0, 4)), ((1, 3), (2, 2)))


def test_a_tile_counts_both_halves() -> None:
    """'[6|6] 12, [0|0] 0': seat 1 is left with both."""
    assert set_up(TWO, "12 22, 66 00").play("12L pass 22R").rewards == [12, -12]


WORKED_CASES = [
    ("domino by seat 0 | –, [0|0], 8 | 0, 8", DOMINO_8, "12L 23R 33R 11L", 0, 8),
    ("domino by seat 0 | –, 5, 5 | 0, 10", "12 11, 24 05, 44 23", "12L 24R 44R 11L", 0, 10),
    ("domino by seat 0 | –, [0|0] | 0, 0", "12 11, 24 00", "12L 24R 11L", 0, 0),
    ("blocked | 3, 7, 8 | 0, 12", BLOCKED_12, ALL_PASS_3, 0, 12),
    ("blocked | 3, 3, 8 | nobody, 0", BLOCKED_TIE, ALL_PASS_3, None, 0),
]


@pytest.mark.parametrize(
    ("hands", "moves", "winner", "points"), [row[1:] for row in WORKED_CASES], ids=[row[0] for row in WORKED_CASES]
)
@pytest.mark.parametrize("target", [None, 100], ids=["single round", "match"])
def test_worked_cases(hands: str, moves: str, winner: int | None, points: int, target: int | None) -> None:
    """The table of RULES.md; a held [0|0] is no tie, a shared lowest total is no win (BUGS D21, D24, D25, D28)."""
    seats = len(read_hands(hands))
    table = set_up(Rules(seats, hand_size=2, target=target), hands).play(moves)
    last = table.game.last_round
    assert (last.winner, last.points) == (winner, points)
    assert last.reason == ("blocked" if "pass" in moves else "domino")
    assert table.game.scores == tuple(points if seat == winner else 0 for seat in range(seats))
    assert table.done == (target is None)
    assert table.game.winner == (winner if target is None else None)
    loss = -points / (seats - 1)
    assert table.rewards == [0 if winner is None else points if seat == winner else loss for seat in range(seats)]


@pytest.mark.parametrize(
    ("compare", "pays", "winner", "points"),
    [
        ("side", "difference", 0, 16),
        ("side", "opponents", 0, 46),
        ("hand", "opponents", 1, 30),  # 13 is the lowest single hand
        ("hand", "difference", 1, 0),  # 30 - 46: nobody's score ever goes down
    ],
)
def test_worked_cases_partnership_blocked_with_15_13_15_33(compare: str, pays: str, winner: int, points: int) -> None:
    rules = replace(PARTNERS, blocked_compare=compare, blocked_points=pays)
    table = set_up(rules, BLOCKED_SIDES).play(ALL_PASS_4)
    assert (table.game.last_round.winner, table.game.last_round.points) == (winner, points)
    sign = [1, -1] if winner == 0 else [-1, 1]
    assert table.rewards == [sign[seat % 2] * points for seat in range(4)]
    assert table.game.scores == tuple(points if side == winner else 0 for side in range(2))


@pytest.mark.parametrize(
    ("hands", "by_side", "by_hand"),
    [
        ("66 12, 00 01, 02 22, 03 14", (None, 0), (1, 0)),  # 3, 1, 6, 8: sides 9 and 9, lowest hand 1
        ("66 12, 00 03, 02 22, 14 13", (0, 3), (None, 0)),  # 3, 3, 6, 9: sides 9 and 12, lowest hands 3 and 3
        ("66 12, 04 03, 01 02, 14 13", (0, 10), (0, 10)),  # 3, 7, 3, 9: partners may share the lowest hand
    ],
)
def test_partnership_blocked_a_side_is_the_two_partners(
    hands: str, by_side: tuple[int | None, int], by_hand: tuple[int | None, int]
) -> None:
    for compare, (winner, points) in (("side", by_side), ("hand", by_hand)):
        rules = Rules(4, hand_size=2, partnership=True, blocked_compare=compare)
        last = set_up(rules, hands).play(ALL_PASS_4).game.last_round
        assert (last.winner, last.points) == (winner, points)


@pytest.mark.parametrize("opener", range(4))
def test_partnership_domino_pays_the_other_sides_hands_alone(opener: int) -> None:
    """Who goes out wins for the side: 10 pips of seat 3, none of the partner's 8; the same from every seat."""
    hands = ",".join(np.roll(["12 11", "23 00", "33 26", "34 55"], opener))
    table = set_up(Rules(4, hand_size=2, partnership=True, target=100), hands, opener=opener)
    table.play("12L 23R 33R 34R 11L")
    last = table.game.last_round
    assert (last.winner, last.points, last.reason) == (opener % 2, 10, "domino")
    assert table.rewards == [10 if seat % 2 == opener % 2 else -10 for seat in range(4)]


@pytest.mark.parametrize(("pays", "points"), [("difference", 12), ("opponents", 15)])
def test_blocked_points_for_single_players(pays: str, points: int) -> None:
    """3, 7, 8: the winner's own total comes off once (BUGS D25)."""
    table = set_up(replace(THREE, blocked_points=pays), BLOCKED_12).play(ALL_PASS_3)
    assert table.rewards == [points, -points / 2, -points / 2]


def test_points_are_raw() -> None:
    """'never rounded, never divided by five': 12 stays 12, and 1 stays 1."""
    assert set_up(MATCH, BLOCKED_12).play(ALL_PASS_3).game.scores == (12, 0, 0)
    assert set_up(TWO, "12 22, 01 66").play("12L 01L 22R").rewards == [12, -12]
    assert set_up(TWO, "12 22, 13 01").play("12L 13L 22R").rewards == [1, -1]


def test_nobodys_score_ever_goes_down(rng: np.random.Generator) -> None:
    rules = Rules(4, max_pip=6, hand_size=4, partnership=True, target=300, blocked_compare="hand")
    games = Games(scaled(300, 6), rules, seed=2, auto_reset=False)
    for _ in range(scaled(200, 80)):
        rows = np.flatnonzero(games.to_play >= 0)
        before = games.states["scores"].copy()
        games.step(random_actions(games.action_mask[rows], rng), rows)
        assert (games.states["scores"] >= before).all()
    assert games.states["scores"].max() > 0


# End of a game --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("hands", "winner"), [(BLOCKED_12, 0), (BLOCKED_TIE, None)])
def test_single_round_the_rounds_winner_wins_no_winner_is_a_draw(hands: str, winner: int | None) -> None:
    """(BUGS D24, D29) 'The losing sides share -1'; a draw pays nothing."""
    table = set_up(THREE, hands, reward="outcome").play(ALL_PASS_3)
    assert table.done
    assert table.game.winner == winner
    assert table.rewards == ([0, 0, 0] if winner is None else [1, -0.5, -0.5])


def test_single_round_a_win_with_zero_points_is_a_win() -> None:
    table = set_up(TWO, "12 11, 24 00", reward="outcome").play("12L 24R 11L")
    assert (table.game.winner, table.rewards) == (0, [1, -1])


@pytest.mark.parametrize(("start", "over"), [(87, False), (88, True), (89, True)], ids=["T-1", "T", "T+1"])
@pytest.mark.parametrize("reward", ["outcome", "points"])
def test_match_at_least_the_target_wins_and_points_above_are_kept(start: int, over: bool, reward: str) -> None:
    """The round pays 12 to seat 0; the target is 100 (BUGS D26)."""
    table = set_up(MATCH, BLOCKED_12, scores=[start, 99, 0], reward=reward).play(ALL_PASS_3)
    game = table.game
    assert (table.done, game.over, game.scores) == (over, over, (start + 12, 99, 0))
    assert game.winner == (0 if over else None)
    assert game.round_number == (0 if over else 1)
    if reward == "points":
        assert table.rewards == [12, -6, -6]
    else:
        assert table.rewards == ([1, -0.5, -0.5] if over else [0, 0, 0])


@pytest.mark.parametrize(
    ("scores", "winner", "rewards"),
    [
        ([88, 120, 0], 1, [-0.5, 1, -0.5]),  # 100, 120: both have the target, the highest wins, whoever won the round
        ([108, 120, 0], None, [0, 0, 0]),  # 120, 120: a tie at the top
        ([0, 130, 130], None, [0, 0, 0]),  # the tie need not be with the round's winner
        ([108, 50, 50], 0, [1, -0.5, -0.5]),  # a tie below the top is none
        ([0, 0, 100], 2, [-0.5, -0.5, 1]),
    ],
)
def test_match_the_highest_score_wins_a_tie_at_the_top_is_a_draw(
    scores: list[int], winner: int | None, rewards: list[float]
) -> None:
    table = set_up(MATCH, BLOCKED_12, scores=scores, reward="outcome").play(ALL_PASS_3)
    assert (table.done, table.game.winner, table.rewards) == (True, winner, rewards)


def test_match_a_round_without_points_can_end_it_too() -> None:
    """The target is looked at after every round, a tied one too (reachable from starting scores)."""
    table = set_up(MATCH, BLOCKED_TIE, scores=[0, 100, 0], reward="outcome").play(ALL_PASS_3)
    assert (table.done, table.game.winner, table.rewards) == (True, 1, [-0.5, 1, -0.5])


def test_match_the_target_is_looked_at_only_after_a_round() -> None:
    table = set_up(MATCH, BLOCKED_12, scores=[100, 0, 0])
    assert not table.game.over
    assert table.play("66L pass pass").done is False
    assert table.play("pass").done is True


def test_match_partnerships_score_as_sides_to_100() -> None:
    rules = replace(PARTNERS, target=100)
    table = set_up(rules, BLOCKED_SIDES, scores=[84, 99], reward="outcome").play(ALL_PASS_4)
    assert (table.done, table.game.scores, table.game.winner) == (True, (100, 99), 0)
    assert table.rewards == [1, -1, 1, -1]
    assert not set_up(rules, BLOCKED_SIDES, scores=[83, 99]).play(ALL_PASS_4).done


def test_match_otherwise_shuffle_all_tiles_and_deal_again() -> None:
    """After a tie scores are unchanged and the next round has all tiles anew (BUGS D08)."""
    table = set_up(MATCH, BLOCKED_TIE, scores=[5, 6, 7]).play(ALL_PASS_3)
    game = table.game
    assert (game.scores, game.round_number, game.passes, game.line, game.ends) == ((5, 6, 7), 1, 0, (), None)
    assert sorted([tile for hand in game.hands for tile in hand] + list(game.stock)) == tile_order(6)
    assert game.hands != tuple(map(tuple, read_hands(BLOCKED_TIE)))
    assert game.last_round.winner is None
    assert table.games.states["lacks"][0].tolist() == [0, 0, 0, 0]


# The line as a picture and as words -----------------------------------------------------------------------------------

LINE_HANDS = "14 44 55, 11 34 66"
LINE_ROWS = [
    ("[1|4]", LINE_HANDS, "14L", "14", "", "14 high end 4; 14 low end 1"),
    (
        "then [1|1] at 1",
        LINE_HANDS,
        "14L 11L",
        "11 14",
        "14 low end - 11 line side A",
        "11 line side B 1; 14 high end 4",
    ),
    (
        "then [4|4] at 4",
        LINE_HANDS,
        "14L 11L 44R",
        "11 14 44",
        "14 low end - 11 line side A; 14 high end - 44 line side A",
        "11 line side B 1; 44 line side B 4",
    ),
    (
        "then [3|4] at 4",
        LINE_HANDS,
        "14L 11L 44R 34R",
        "11 14 44 43",
        "14 low end - 11 line side A; 14 high end - 44 line side A; 44 line side B - 34 high end",
        "11 line side B 1; 34 low end 3",
    ),
    (
        "[3|6], then [6|6] at 6",
        "36 00 55, 66 11 22",
        "36L 66R",
        "36 66",
        "36 high end - 66 line side A",
        "36 low end 3; 66 line side B 6",
    ),
    ("[0|0] alone", "00 12 55, 66 11 22", "00L", "00", "", "00 line side A 0; 00 line side B 0"),
    ("[2|2] alone", "22 12 55, 66 11 33", "22L", "22", "", "22 line side A 2; 22 line side B 2"),
    # Not in the table, but in the sentence above it: of an opening double A is the side joined first.
    (
        "[2|2], joined at the right, then at the left",
        "22 25 55, 23 11 33",
        "22L 23R 25L",
        "52 22 23",
        "22 line side A - 23 low end; 22 line side B - 25 low end",
        "25 high end 5; 23 high end 3",
    ),
    (
        "[2|2], joined at the left",
        "22 25 55, 23 11 33",
        "22L 23L",
        "32 22",
        "22 line side A - 23 low end",
        "23 high end 3; 22 line side B 2",
    ),
]
LINE_COLUMNS = ("hands", "moves", "line", "connections", "free")
line_rows = pytest.mark.parametrize(LINE_COLUMNS, [row[1:] for row in LINE_ROWS], ids=[row[0] for row in LINE_ROWS])


@line_rows
def test_line_and_ends(hands: str, moves: str, line: str, connections: str, free: str) -> None:
    game = set_up(Rules(2, hand_size=3), hands).play(moves).game
    assert ["".join(map(str, tile)) for tile in game.line] == line.split()
    assert sorted(game.ends) == sorted(int(words[-1]) for words in free.split("; "))


@line_rows
def test_line_in_words(hands: str, moves: str, line: str, connections: str, free: str) -> None:
    """`describe()` gives the table's connections and free ends; where two are named their order does not matter."""
    words = describe(set_up(Rules(2, hand_size=3), hands).play(moves).game)
    joined = {" - ".join(f"{a}{b} {part}" for (a, b), part in ((h.tile, h.part) for h in c)) for c in words.connections}
    assert joined == set(connections.split("; ")) - {""}
    assert len(words.connections) == len(joined)
    assert {f"{h.tile[0]}{h.tile[1]} {h.part} {h.pip}" for h in words.free_ends} == set(free.split("; "))


def test_line_neighbours_meet_in_equal_halves(rng: np.random.Generator) -> None:
    """No tile lies flipped for one neighbour and unflipped for the other (BUGS D19); the ends are the outer halves."""
    games = Games(scaled(500, 10), "single_round", seed=9, auto_reset=False)
    play_out_at_random(games, rng)
    for index in range(games.num_games):
        game = games.snapshot(index)
        assert all(left[1] == right[0] for left, right in pairwise(game.line))
        assert game.ends == (game.line[0][0], game.line[-1][1])
        laid = [tuple(sorted(tile)) for tile in game.line]
        assert sorted([*laid, *game.stock, *(t for hand in game.hands for t in hand)]) == tile_order(6)
