"""The scripted opponents, against a naive reading of what an observation says."""

from __future__ import annotations

import dataclasses
import pickle
from math import comb
from typing import Any

import numpy as np
import pytest
from helpers import ALL_RULES, play_steps, random_rules, random_states, rules_name, scaled, seen, swapped
from numpy.typing import NDArray
from reference import Tile, pips, tile_order

from block_env.observation import Facts, decode, layout
from block_env.opponents import OPPONENTS, HeuristicPolicy, Weights, make
from block_env.play import Games, play_out
from block_env.policy import Policy
from block_env.variants import Rules

FEATURES = [field.name for field in dataclasses.fields(Weights)]

every_rules = pytest.mark.parametrize("rules", ALL_RULES, ids=rules_name)
every_name = pytest.mark.parametrize("name", OPPONENTS)


def rows_to_move(
    rules: Rules, count: int, rng: np.random.Generator, history: bool = False
) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """What the seats to move see in ``count`` games, each after up to 40 random actions."""
    games = Games(count, rules, history=history, seed=int(rng.integers(2**32)))
    play_steps(games, rng.integers(0, 41, count), rng)
    return games.observation, games.action_mask


# Naive readings -------------------------------------------------------------------------------------------------------


def naive_move(rules: Rules, action: int) -> tuple[Tile | None, bool]:
    """The tile that an action lays (None: a pass), and whether at the left end."""
    order = tile_order(rules.max_pip)
    return (None, False) if action == 2 * len(order) else (order[action % len(order)], action < len(order))


def naive_ends(facts: Facts, tile: Tile, at_left: bool) -> tuple[int, int]:
    """The line's ends once the tile is laid."""
    if facts.ends is None:
        return tile
    left, right = facts.ends
    joined = left if at_left else right
    new = tile[1] if tile[0] == joined else tile[0]
    return (new, right) if at_left else (left, new)


def naive_features(rules: Rules, facts: Facts, action: int) -> dict[str, float]:
    """Each feature as its sentence in ``Weights`` says it, with lists and whole hands counted."""
    tile, at_left = naive_move(rules, action)
    if tile is None:
        return dict.fromkeys(FEATURES, 0.0)
    ends = naive_ends(facts, tile, at_left)
    rest = [own for own in facts.hand if own != tile]
    out = {one for laid in facts.laid for one in laid} | set(facts.hand)
    unseen = [one for one in tile_order(rules.max_pip) if one not in out]
    own_fits = [one for one in rest if set(one) & set(ends)]
    partner = 2 if rules.partnership else None
    opponents_pass, partner_passes, all_pass = 0.0, 0.0, 1.0
    coverable: set[int] = set()
    own, others = float(sum(map(pips, rest))), 0.0
    for seat in range(1, rules.num_players):
        may_hold = [one for one in unseen if not set(one) & facts.lacks[seat]]
        misfits = [one for one in may_hold if not set(one) & set(ends)]
        held = facts.tiles_left[seat]
        chance = comb(len(misfits), held) / comb(len(may_hold), held)
        expected = held * sum(map(pips, may_hold)) / max(len(may_hold), 1)
        all_pass *= chance
        if seat == partner:
            partner_passes, own = chance, own + expected
        else:
            opponents_pass, others = opponents_pass + chance, others + expected
            coverable |= {pip for one in may_hold for pip in one}
    if not rules.partnership:
        others /= rules.num_players - 1
    return {
        "pips": pips(tile),
        "double": tile[0] == tile[1],
        "weaker_end": min(sum(end in one for one in rest) for end in ends),
        "stuck": not own_fits,
        "sure_ends": sum(any(end in one for one in rest) and end not in coverable for end in ends),
        "unseen_fits": sum(bool(set(one) & set(ends)) for one in unseen),
        "opponents_pass": opponents_pass,
        "partner_passes": partner_passes,
        "block": 0.0 if own_fits else all_pass * (others - own),
    }


def naive_scores(rules: Rules, row: NDArray[np.float32], mask: NDArray[np.int8]) -> NDArray[np.float64]:
    """Every feature of every action, [A, features], -inf where it is not legal."""
    scores = np.full((len(mask), len(FEATURES)), -np.inf)
    facts = decode(rules, row)
    for action in np.flatnonzero(mask).tolist():
        features = naive_features(rules, facts, action)
        scores[action] = [features[name] for name in FEATURES]
    return scores


def one_feature(name: str, rules: Rules) -> HeuristicPolicy:
    return HeuristicPolicy(rules, Weights(**{other: float(other == name) for other in FEATURES}))


@pytest.mark.nojit
@every_rules
def test_greedy_lays_most_pips_and_of_equals_the_lower_action(rules: Rules, rng: np.random.Generator) -> None:
    rows, masks = rows_to_move(rules, scaled(100, 3), rng)
    chosen = make("greedy", rules).act(rows, masks, rng)
    for row, mask, action in zip(rows, masks, chosen.tolist(), strict=True):
        hand = decode(rules, row).hand
        moves = [(one, *naive_move(rules, one)) for one in np.flatnonzero(mask).tolist()]
        laid = [(-pips(tile), one) for one, tile, _ in moves if tile is not None]
        assert all(tile in hand for _, tile, _ in moves if tile is not None)
        assert action == (min(laid)[1] if laid else rules.num_actions - 1)


@pytest.mark.nojit
@every_rules
def test_each_feature_is_what_it_says(rules: Rules, rng: np.random.Generator) -> None:
    rows, masks = rows_to_move(rules, scaled(150, 3), rng)
    right = np.array([naive_scores(rules, row, mask) for row, mask in zip(rows, masks, strict=True)])
    for index, name in enumerate(FEATURES):
        scores = one_feature(name, rules).scores(rows, masks)
        np.testing.assert_allclose(scores, right[:, :, index], atol=1e-9, err_msg=name)


@every_rules
def test_heuristic_takes_the_highest_score_and_of_equals_the_lower_action(
    rules: Rules, rng: np.random.Generator
) -> None:
    rows, masks = rows_to_move(rules, 100, rng)
    right = [naive_scores(rules, row, mask)[mask > 0] for row, mask in zip(rows, masks, strict=True)]
    for weights in (Weights(), Weights(*rng.normal(0, 3, len(FEATURES)).tolist())):
        policy = HeuristicPolicy(rules, weights)
        chosen = policy.act(rows, masks, rng)
        assert (chosen == policy.scores(rows, masks).argmax(axis=1)).all()
        for features, mask, action in zip(right, masks, chosen.tolist(), strict=True):
            scores = features @ dataclasses.astuple(weights)
            assert action in np.flatnonzero(mask)[scores >= scores.max() - 1e-9]


def test_equal_ends_are_a_tie_that_goes_to_the_left(rng: np.random.Generator) -> None:
    games = Games(1, Rules(), seed=1)
    hands = [[(6, 6), (1, 6), (2, 6), (0, 0), (0, 1), (1, 1), (0, 2)]]
    hands.append([(3, 6), (4, 6), (3, 3), (3, 4), (4, 4), (3, 5), (4, 5)])
    games.reset(options={"hands": hands, "opener": 0})
    games.step(np.array([tile_order(6).index((6, 6))]))
    left, right = tile_order(6).index((4, 6)), 28 + tile_order(6).index((4, 6))
    heuristic = make("heuristic", Rules())
    assert isinstance(heuristic, HeuristicPolicy)
    scores = heuristic.scores(games.observation, games.action_mask)[0]
    assert scores[left] == scores[right]
    assert make("greedy", Rules()).act(games.observation, games.action_mask, rng).tolist() == [left]
    assert (heuristic.act(games.observation, games.action_mask, rng) < 28).all()


# Random ---------------------------------------------------------------------------------------------------------------


@pytest.mark.nojit
def test_random_is_uniform_over_the_legal_actions(rng: np.random.Generator) -> None:
    rows, masks = rows_to_move(Rules(), 25, rng)
    draws = scaled(4000, 300)
    chosen = make("random", Rules()).act(np.repeat(rows, draws, axis=0), np.repeat(masks, draws, axis=0), rng)
    for mask, actions in zip(masks, chosen.reshape(len(masks), draws), strict=True):
        legal = np.flatnonzero(mask)
        counts = np.bincount(actions, minlength=len(mask))
        assert counts[legal].sum() == draws
        freedom, expected = len(legal) - 1, draws / len(legal)
        chi_square = ((counts[legal] - expected) ** 2 / expected).sum()
        assert chi_square <= freedom + 5 * (2 * freedom) ** 0.5


@every_name
def test_chance_comes_from_the_generator_alone(name: str, rng: np.random.Generator) -> None:
    rows, masks = rows_to_move(Rules(), 200, rng)
    before = np.random.get_state()[1].tobytes()  # noqa: NPY002
    policy = make(name, Rules())
    first, again = (policy.act(rows, masks, np.random.default_rng(5)) for _ in range(2))
    other = policy.act(rows, masks, np.random.default_rng(6))
    assert (first == again).all()
    assert (first == other).all() == (name != "random")
    assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002


@pytest.mark.parametrize("name", ["greedy", "heuristic"])
def test_greedy_and_heuristic_draw_nothing(name: str, rng: np.random.Generator) -> None:
    rows, masks = rows_to_move(Rules(), 50, rng)
    before = rng.bit_generator.state
    make(name, Rules()).act(rows, masks, rng)
    assert rng.bit_generator.state == before


# All of them ----------------------------------------------------------------------------------------------------------


@every_name
def test_choices_are_legal(name: str, rng: np.random.Generator) -> None:
    for rules in [*ALL_RULES, *(random_rules(rng) for _ in range(40))]:
        rows, masks = rows_to_move(rules, 400, rng)
        chosen = make(name, rules).act(rows, masks, rng)
        assert (masks[np.arange(len(rows)), chosen] == 1).all()


@every_name
def test_the_history_part_changes_no_choice(name: str, rng: np.random.Generator) -> None:
    for rules in ALL_RULES:
        rows, masks = rows_to_move(rules, 50, rng, history=True)
        base, policy = rows[:, : layout(rules).size], make(name, rules)
        chosen = policy.act(rows, masks, np.random.default_rng(1))
        assert (policy.act(base, masks, np.random.default_rng(1)) == chosen).all()


@pytest.mark.parametrize("name", ["greedy", "heuristic"])
def test_a_row_gets_the_same_choice_in_any_batch(name: str, rng: np.random.Generator) -> None:
    rules = Rules.preset("partnership")
    rows, masks = rows_to_move(rules, 4096, rng)
    policy = make(name, rules)
    chosen = policy.act(rows, masks, rng)
    order = rng.permutation(len(rows))
    assert (policy.act(rows[order], masks[order], rng) == chosen[order]).all()
    for row in order[:100]:
        assert policy.act(rows[row : row + 1], masks[row : row + 1], rng).tolist() == [chosen[row]]


@pytest.mark.parametrize("name", ["greedy", "heuristic"])
def test_hidden_tiles_change_no_choice(name: str, rng: np.random.Generator) -> None:
    for rules in ALL_RULES:
        policy, states = make(name, rules), random_states(rules, 30, rng).states
        for row in np.flatnonzero(states["to_play"] >= 0).tolist():
            mover = int(states["to_play"][row])
            observation, mask = seen(states, rules, row, mover)
            other_deal = swapped(states, rules, row, mover, rng)
            observation_there, mask_there = seen(other_deal, rules, 0, mover)
            batch = np.array([observation, observation_there]), np.array([mask, mask_there])
            here, there = policy.act(*batch, rng)
            assert here == there


@every_name
def test_policies_leave_their_arguments_alone_and_take_any_memory_order(name: str, rng: np.random.Generator) -> None:
    rows, masks = rows_to_move(Rules(), 64, rng)
    copies = rows.copy(), masks.copy()
    policy = make(name, Rules())
    chosen = policy.act(rows, masks, np.random.default_rng(1))
    assert (rows == copies[0]).all()
    assert (masks == copies[1]).all()
    assert chosen.dtype.kind == "i"
    turned = np.asfortranarray(rows), masks.astype(bool)
    assert (policy.act(*turned, np.random.default_rng(1)) == chosen).all()
    assert policy.act(rows[:0], masks[:0], rng).shape == (0,)


@every_name
def test_pickled_policies_choose_the_same(name: str, rng: np.random.Generator) -> None:
    rules = Rules.preset("draw", 3)
    rows, masks = rows_to_move(rules, 100, rng)
    policy = make(name, "draw", 3)
    assert isinstance(policy, Policy)
    copy = pickle.loads(pickle.dumps(policy))
    assert (copy.act(rows, masks, np.random.default_rng(2)) == policy.act(rows, masks, np.random.default_rng(2))).all()


@pytest.mark.nojit
@every_name
def test_misfits_are_named(name: str, rng: np.random.Generator) -> None:
    policy, (rows, masks) = make(name, Rules(3)), rows_to_move(Rules(3), 10, rng)
    no_legal = masks.copy()
    no_legal[3] = 0
    wrong: list[tuple[Any, Any, str]] = [
        (rows[:, :-1], masks, r"observation: takes float32 \[B, \d+\], .* with history, got .*made for Rules\(num_pl"),
        (rows[0], masks[0], "observation: takes"),
        (*rows_to_move(Rules(2), 10, rng), "observation: takes.*num_players=3"),
        (rows, masks[:, :-1], r"action_mask: takes int8 \[\d+, 57\], got \[\d+, 56\]; .* was made for"),
        (rows, masks[:-1], "action_mask: takes"),
        (rows, no_legal, "action_mask: takes at least one legal action a row, row 3 has none"),
    ]
    for observation, action_mask, message in wrong:
        with pytest.raises(ValueError, match=message):
            policy.act(observation, action_mask, rng)


@pytest.mark.nojit
def test_names_and_rules_are_checked() -> None:
    assert OPPONENTS == ("random", "greedy", "heuristic")
    with pytest.raises(ValueError, match="opponent: takes one of 'random', 'greedy', 'heuristic', got 'clever'"):
        make("clever")
    with pytest.raises(ValueError, match="rules: takes"):
        make("greedy", "whist")
    with pytest.raises(ValueError, match="num_players"):
        make("greedy", Rules(3), 2)


# Strength -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("better", [1, 2])
@pytest.mark.parametrize(
    "rules", [Rules(), Rules(3), Rules(4), Rules(4, partnership=True), Rules(draw=True)], ids=rules_name
)
def test_each_beats_the_one_before_it(better: int, rules: Rules, rng: np.random.Generator) -> None:
    """On mirrored deals: every deal is played once for each side that the better one can sit on."""
    sides, deals = rules.num_sides, 1500
    games = Games(deals * sides, rules, reward="points", seed=7, auto_reset=False, copies=sides)
    side = np.arange(games.num_games) % sides
    seating = (np.arange(rules.num_players) % sides != side[:, None]).astype(int)
    policies = [make(OPPONENTS[better], rules), make(OPPONENTS[better - 1], rules)]
    points = (
        play_out(games, policies, seating, rng).points[np.arange(len(side)), side].reshape(deals, sides).mean(axis=1)
    )
    assert points.mean() > 3 * points.std() / deals**0.5
