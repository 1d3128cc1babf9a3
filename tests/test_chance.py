"""Chance: the generator, uniform and independent deals, seeds, and copies that keep their future."""

from __future__ import annotations

import copy
import pickle
import random
from typing import Any

import numpy as np
import pytest
from helpers import SOME_RULES, play_out_at_random, random_actions, rules_name, same_bytes, scaled
from numpy.typing import NDArray

from block_env import rules as kernels
from block_env.play import Games
from block_env.state import new_states
from block_env.variants import Rules

DRAW = Rules.preset("draw")
"""All 28 places of the shuffle matter in Draw; elsewhere it stops with the last tile dealt."""


def chi_square_holds(statistic: float, freedom: int) -> bool:
    """Within 4 standard deviations of what chance gives (the normal approximation, for many degrees of freedom)."""
    return abs(statistic - freedom) < 4 * (2 * freedom) ** 0.5


# The generator --------------------------------------------------------------------------------------------------------

PI_COUNTER = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)
PI_KEY = (0xA4093822, 0x299F31D0)
ONES = 0xFFFFFFFF


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ((0,) * 4, (0,) * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ONES,) * 4, (ONES,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (PI_COUNTER, PI_KEY, (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
    ],
    ids=["zeros", "ones", "pi"],
)
def test_philox_known_answers(counter: tuple[int, ...], key: tuple[int, ...], words: tuple[int, ...]) -> None:
    """The known-answer vectors of the Random123 distribution for philox4x32-10 (kat_vectors)."""
    assert tuple(map(int, kernels.philox(*map(np.uint64, counter + key)))) == words


def with_words(*words: int) -> NDArray[Any]:
    """A record whose deal has used one word of its block, and has these three left."""
    states = new_states(1)
    states["words"][0, 1 : 1 + len(words)] = words
    states["words_used"] = 1
    return states


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("bound", "words", "value", "used"),
    [
        (3, [1 << 30], 0, 2),  # a quarter of the way
        (3, [ONES], 2, 2),
        (3, [0, 1 << 31], 1, 3),  # 2^32 is 1 more than a multiple of 3: one word, 0, is thrown away
        (3, [1], 0, 2),
        (28, [0, 1 << 30, 1], 0, 4),  # 2^32 is 4 more than a multiple of 28: the four multiples of 2^30 are thrown away
        (28, [28], 0, 2),
        (4, [0], 0, 2),  # a power of two throws nothing away
        (1, [12345], 0, 2),
    ],
)
def test_random_below_throws_away_what_would_bias(bound: int, words: list[int], value: int, used: int) -> None:
    states = with_words(*words)
    assert int(kernels.random_below(states[0], bound)) == value
    assert states[0].words_used == used


@pytest.mark.nojit
def test_random_below_is_unbiased_where_bias_would_be_large() -> None:
    """Below 3 * 2^30, scaling without throwing away would give multiples of three half of the time."""
    states, count = new_states(1), scaled(30_000, 3_000)
    states["stream"] = 7
    values = [int(kernels.random_below(states[0], 3 << 30)) for _ in range(count)]
    assert max(values) < 3 << 30
    counts = np.bincount(np.array(values) % 3, minlength=3)
    assert (np.abs(counts - count / 3) < 4 * (count * 2 / 9) ** 0.5).all()


# Uniform deals --------------------------------------------------------------------------------------------------------


def batched_orders() -> NDArray[np.uint8]:
    games = Games(10_000, DRAW, seed=21)
    orders = []
    for _ in range(10):
        orders.append(games.states["order"][:, :28].copy())
        games.reset()
    return np.concatenate(orders)


def single_orders() -> NDArray[np.uint8]:
    games = Games(1, DRAW, seed=22)
    orders = np.zeros((100_000, 28), np.uint8)
    for order in orders:
        order[:] = games.states["order"][0, :28]
        games.reset()
    return orders


@pytest.mark.parametrize("orders", [batched_orders, single_orders])
def test_every_tile_is_in_every_place_equally_often(orders: Any) -> None:
    """28 x 28 tile-by-place table of 100,000 deals, batched and single (BUGS S15); no deal comes twice, and tiles of
    one deal tell nothing of the next."""
    deals = orders()
    assert (np.sort(deals, axis=1) == np.arange(28)).all()
    table = np.stack([np.bincount(deals[:, place], minlength=28) for place in range(28)])
    # Rows and columns have fixed sums, which makes the usual sum 28/27 of a chi-square with 27 x 27 degrees of freedom.
    expected = len(deals) / 28
    assert chi_square_holds(((table - expected) ** 2 / expected).sum() * 27 / 28, 27 * 27)
    assert len(np.unique(deals, axis=0)) == len(deals)
    pairs = np.bincount(deals[:-1, 0] * np.int64(28) + deals[1:, 0], minlength=28 * 28)
    expected = (len(deals) - 1) / 28**2
    assert chi_square_holds(((pairs - expected) ** 2 / expected).sum(), 28**2 - 1)


@pytest.mark.parametrize("rules", [Rules.preset("match", 3), Rules.preset("partnership")], ids=rules_name)
def test_every_tile_is_in_every_hand_equally_often_in_block(rules: Rules) -> None:
    """The shuffle that stops with the last tile dealt: hands by tile, first and later deals."""
    games, counts = Games(10_000, rules, seed=23), np.zeros((rules.num_players, 28), np.int64)
    for _ in range(5):
        for seat in range(rules.num_players):
            bits = games.states["hands"][:, seat, None] >> np.arange(28, dtype=np.uint64)
            counts[seat] += (bits & np.uint64(1)).astype(np.int64).sum(axis=0)
        games.reset()
    share = rules.hand_size / 28
    deviations = (counts - 50_000 * share) / (50_000 * share * (1 - share)) ** 0.5
    assert np.abs(deviations).max() < 4.5
    assert 0.5 < (deviations**2).mean() < 1.6


def test_sub_games_never_share_deals() -> None:
    """100 deals of each of 1,000 games, of two batches with neighbouring seeds: all different (BUGS S15)."""
    deals = []
    for seed in (0, 1):
        games = Games(1_000, "partnership", seed=seed)
        for _ in range(50):
            deals.append(games.states["hands"].copy())
            games.reset()
    hands = np.concatenate(deals)
    assert len(np.unique(hands, axis=0)) == len(hands)


def test_the_lot_of_a_deal_is_fair_and_tells_nothing_of_the_hands() -> None:
    """Opener by lot: each seat equally often, whoever holds [6|6]."""
    games = Games(30_000, Rules(3), seed=24)
    openers = games.states["opener"]
    assert (games.states["last_lot"] == openers).all()
    held = (games.states["hands"][:, :3] >> np.uint64(27) & np.uint64(1)).astype(bool)
    for holder in range(3):
        counts = np.bincount(openers[held[:, holder]], minlength=3)
        assert (np.abs(counts - counts.mean()) < 4 * counts.mean() ** 0.5).all()


# Seeds ----------------------------------------------------------------------------------------------------------------


def deals_of(games: Games, count: int, rng: np.random.Generator | None = None) -> list[Any]:
    """The next hands, orders and lots of every game; between them, with ``rng``, some random play."""
    deals = []
    for _ in range(count):
        states = games.states
        deals.append((states["hands"].tolist(), states["order"].tolist(), states["last_lot"].tolist()))
        if rng is not None:
            for _ in range(3):
                games.step(random_actions(games.action_mask, rng))
        games.reset()
    return deals


@pytest.mark.nojit
@pytest.mark.parametrize("seed", [0, 3, 2**32 + 3, 2**100])
@pytest.mark.parametrize("rules", [Rules.preset("match"), DRAW], ids=rules_name)
def test_same_seed_same_deals_whatever_is_played(seed: int, rules: Rules, rng: np.random.Generator) -> None:
    """Seeding again, in the constructor or in reset, gives the same deals, unseeded resets included (BUGS S03)."""
    first = deals_of(Games(3, rules, seed=seed), 4)
    assert deals_of(Games(3, rules, seed=seed), 4, rng) == first
    games = Games(3, rules, seed=99)
    deals_of(games, 2, rng)
    games.reset(seed=seed)
    assert deals_of(games, 4) == first
    assert deals_of(games, 4) != first, "an unseeded reset goes on"


@pytest.mark.nojit
def test_later_rounds_are_the_streams_next_deals(rng: np.random.Generator) -> None:
    """Round n of a match has the stream's n-th deal, however the rounds before were played."""
    rules = Rules(target=10_000)
    expected = [hands for hands, _, _ in deals_of(Games(1, rules, seed=5), 4)]
    for _ in range(scaled(5, 2)):
        games = Games(1, rules, seed=5)
        for number in range(1, 4):
            while games.states["round_number"][0] < number:
                games.step(random_actions(games.action_mask, rng))
            assert games.states["hands"].tolist() == expected[number]


@pytest.mark.nojit
def test_different_seeds_different_deals() -> None:
    """Seed 0 is a seed; so are large ones, and 2^32 + 3 is not 3."""
    seeds = [0, 1, 2, 3, 2**32, 2**32 + 3, 2**64, 2**100]
    assert len({tuple(Games(1, seed=seed).states["hands"][0].tolist()) for seed in seeds}) == len(seeds)


@pytest.mark.nojit
def test_no_seed_is_fresh_chance() -> None:
    assert Games(1).states["stream"].tolist() != Games(1).states["stream"].tolist()


@pytest.mark.nojit
@pytest.mark.parametrize("seed", [0, 17])
def test_game_k_is_the_same_in_every_batch(seed: int) -> None:
    large = deals_of(Games(40, seed=seed), 3)
    for count in (1, 2, 7):
        small = deals_of(Games(count, seed=seed), 3)
        assert small == [tuple(part[:count] for part in deal) for deal in large]


@pytest.mark.nojit
@pytest.mark.parametrize("seeds", [[5, 0, 5, 2**80], np.array([5, 0, 5, 9]), (5, 0, 5, 9)])
def test_a_sequence_of_seeds_gives_each_game_its_own(seeds: Any) -> None:
    """Game i is then the game that a batch of one with that seed has."""
    batch = deals_of(Games(4, seed=seeds), 3)
    for index, seed in enumerate(seeds):
        alone = deals_of(Games(1, seed=int(seed)), 3)
        assert alone == [tuple(part[index : index + 1] for part in deal) for deal in batch]


@pytest.mark.nojit
def test_two_batches_in_one_process_do_not_meet(rng: np.random.Generator) -> None:
    """Interleaved, each equals its solo run (BUGS S06)."""
    solo = deals_of(Games(2, seed=6), 4)
    one, other = Games(2, seed=6), Games(2, seed=6)
    for hands, order, lots in solo:
        for games in (one, other):
            assert (games.states["hands"].tolist(), games.states["order"].tolist()) == (hands, order)
            assert games.states["last_lot"].tolist() == lots
            games.step(random_actions(games.action_mask, rng))
            games.reset()


@pytest.mark.nojit
def test_global_random_state_is_neither_read_nor_changed(rng: np.random.Generator) -> None:
    """(BUGS S03) Draws from the global generators between resets change nothing, and they go on undisturbed."""
    deals = []
    for seed in (1, 2):
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        before = random.getstate(), pickle.dumps(np.random.get_state())  # noqa: NPY002
        games = Games(2, "match", 3, seed=4)
        games.step(random_actions(games.action_mask, rng))
        games.reset()
        deals.append(deals_of(games, 2, rng))
        Games(1)
        assert (random.getstate(), pickle.dumps(np.random.get_state())) == before  # noqa: NPY002
    assert deals[0] == deals[1]


# Copies ---------------------------------------------------------------------------------------------------------------


@pytest.mark.nojit
@pytest.mark.parametrize("rules", SOME_RULES, ids=rules_name)
@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda games: pickle.loads(pickle.dumps(games))], ids=["copy", "pickle"]
)
def test_copies_keep_the_running_game_and_its_future_deals(rules: Rules, copied: Any, rng: np.random.Generator) -> None:
    """(BUGS S07) The copy plays on and deals as the original; what either does leaves the other alone."""
    games = Games(3, rules, history=True, seed=12)
    for _ in range(scaled(40, 10)):
        games.step(random_actions(games.action_mask, rng))
    other = copied(games)
    assert same_bytes(other.states, games.states)
    before = games.states.copy()
    actions = []
    for _ in range(scaled(60, 15)):
        actions.append(random_actions(other.action_mask, rng))
        other.step(actions[-1])
    assert same_bytes(games.states, before)
    for step in actions:
        rewards, done = games.step(step)
    assert same_bytes(games.states, other.states)
    assert same_bytes(games.observation, other.observation)
    assert same_bytes(games.action_mask, other.action_mask)
    assert deals_of(games, 5) == deals_of(other, 5)
    assert (rewards.shape, done.shape) == ((3, rules.num_players), (3,))


@pytest.mark.nojit
def test_a_copied_record_is_a_copied_game(rng: np.random.Generator) -> None:
    """Going back to a record kept on the way restores every field (BUGS S09): step on, put it back, play the same."""
    games = Games(4, "match", 3, seed=13, auto_reset=False)
    kept = []
    for _ in range(scaled(60, 20)):
        actions = random_actions(games.action_mask, rng)
        kept.append((games.states.copy(), actions))
        games.step(actions)
    last = games.states.copy()
    for states, actions in reversed(kept):
        games.states[:] = states
        games.step(actions)
        assert same_bytes(games.states, last)
        last = states


@pytest.mark.nojit
def test_duplicate_deals() -> None:
    """`copies=2`: games 0 and 1 have the same deals, and so on; pair k has what game k of one seed has."""
    games, plain = Games(6, "match", seed=14, copies=2), Games(3, "match", seed=14)
    for _ in range(3):
        for name in ("hands", "order", "opener"):
            assert (games.states[name][::2] == games.states[name][1::2]).all()
            assert (games.states[name][::2] == plain.states[name]).all()
        games.reset()
        plain.reset()
    games.reset(seed=15)
    assert (games.states["hands"][::2] == games.states["hands"][1::2]).all()
    assert (games.states["hands"][::2] == Games(3, "match", seed=15).states["hands"]).all()


@pytest.mark.nojit
def test_duplicate_deals_stay_duplicate_however_long_games_take(rng: np.random.Generator) -> None:
    """The n-th deal of both is the same, also when one is at it earlier."""
    games = Games(2, "match", seed=16, copies=2, auto_reset=False)
    play_out_at_random(games, rng)
    first, second = (int(deal) for deal in games.states["deal"])
    for row, more in ((0, second - first), (1, first - second)):
        for _ in range(max(0, more)):
            games.reset(rows=np.array([row]))
    games.reset()
    assert games.states["deal"][0] == games.states["deal"][1]
    assert (games.states["order"][0] == games.states["order"][1]).all()
