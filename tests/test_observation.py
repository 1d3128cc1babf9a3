"""What a player sees: complete, within bounds, seen from the own seat, and nothing hidden in it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from helpers import (
    ALL_RULES,
    after_every_action,
    every_deal,
    every_rules,
    play_out_at_random,
    random_actions,
    random_states,
    read_hands,
    rules_name,
    same_bytes,
    scaled,
    seen,
    seen_by_all,
    set_up,
    swapped,
)
from numpy.typing import NDArray
from reference import tile_order

from block_env.game import Game
from block_env.observation import decode, encode_games, layout, layout_table
from block_env.play import Games
from block_env.spaces import observation_space
from block_env.variants import Rules, rules_table

with_and_without_history = pytest.mark.parametrize("history", [False, True], ids=["plain", "history"])


# Layout and bounds ----------------------------------------------------------------------------------------------------


@pytest.mark.nojit
@every_rules
def test_layout_has_no_gaps(rules: Rules) -> None:
    """Slices follow one another, have names of their own, and without history the vector is a prefix."""
    plain, full = layout(rules), layout(rules, True)
    assert full.slices[: len(plain.slices)] == plain.slices
    for parts in (plain, full):
        assert parts.slices[0].start == 0
        assert [part.start for part in parts.slices[1:]] == [part.stop for part in parts.slices[:-1]]
        assert parts.size == parts.slices[-1].stop == len(parts.high)
        assert len({part.name for part in parts.slices}) == len(parts.slices)
        assert all(part.meaning and part.name in parts and parts[part.name] is part for part in parts.slices)
    assert "history" not in plain
    assert plain.hash != full.hash
    with pytest.raises(KeyError, match="no slice 'stock'"):
        plain["stock"]


@pytest.mark.nojit
@every_rules
@with_and_without_history
def test_observations_are_within_their_space(rules: Rules, history: bool, rng: np.random.Generator) -> None:
    """Fixed shape, float32 and int8, finite and inside the bounds, at every moment, for every seat (BUGS P17, P19)."""
    games = random_states(rules, scaled(300, 8), rng, history)
    space = observation_space(rules, history)
    high = layout(rules, history).high
    for seat in range(rules.num_players):
        observation, mask = games.observe(np.arange(games.num_games), np.full(games.num_games, seat))
        assert (observation.dtype, mask.dtype) == (np.float32, np.int8)
        assert observation.shape == (games.num_games, layout(rules, history).size)
        assert (observation >= 0).all()
        assert (observation <= high).all()
        for index in range(0, games.num_games, 10):
            assert space.contains({"observation": observation[index], "action_mask": mask[index]})


@pytest.mark.nojit
def test_bounds_hold_at_the_extremes() -> None:
    """The most tiles a seat can hold, and the highest score there can be."""
    rules = Rules(2, max_pip=9, hand_size=1, draw=True)
    table = set_up(rules, "99, 00", opener=0)
    assert table.play("99L").done
    rules = Rules(2, max_pip=1, hand_size=1, target=1, blocked_points="opponents")
    table = set_up(rules, "00, 11", scores=[2, 2]).play("00L")
    assert table.game.scores == (4, 2)
    high = layout(rules).high
    assert (table.games.observation[0] <= high).all()
    rules = Rules(2, max_pip=3, hand_size=1, draw=True)
    for seed in range(50):
        games = Games(1, rules, seed=seed, auto_reset=False)
        games.reset(options={"hands": read_hands("00, 11"), "opener": 1})
        play_out_at_random(games, np.random.default_rng(seed))
        for seat in range(2):
            assert (seen(games.states, rules, 0, seat)[0] <= layout(rules).high).all()


# The decoder gives the truth ------------------------------------------------------------------------------------------


def relative(values: Any, viewer: int) -> list[Any]:
    """Seat by seat, seen from one of them."""
    return [values[(viewer + step) % len(values)] for step in range(len(values))]


def laid_by(game: Game, seat: int) -> list[Any]:
    return sorted(ply.move.tile for ply in game.history if ply.seat == seat and ply.move.tile is not None)


def lacked(game: Game) -> list[set[int]]:
    """Read from the public history alone: what each seat's passes have shown, until it draws again."""
    lacks: list[set[int]] = [set() for _ in game.hands]
    ends: tuple[int, int] | None = None
    for ply in game.history:
        if ply.drawn:
            lacks[ply.seat].clear()
        if ply.passed:
            lacks[ply.seat] |= set(ends or ())
        if ply.move.tile is not None:
            ends = _after(ends, *ply.move.tile, at_left=ply.move.end == "left")
    assert ends == game.ends
    return lacks


def _after(ends: tuple[int, int] | None, low: int, high: int, *, at_left: bool) -> tuple[int, int]:
    if ends is None:
        return low, high
    left, right = ends
    return (low + high - left, right) if at_left else (left, low + high - right)


def as_meant(game: Game, viewer: int, history: bool) -> NDArray[np.float32]:
    """The vector as the layout's words say it, slice by slice, from the whole truth; all else is 0."""
    rules, seats = game.rules, game.rules.num_players
    parts, order = layout(rules, history), tile_order(rules.max_pip)
    vector = np.zeros(parts.size, np.float32)
    view = {part.name: part.of(vector) for part in parts.slices}
    for tile in game.hands[viewer]:
        view["hand"][order.index(tile)] = 1
    if game.ends is not None:
        view["left_end"][game.ends[0]] = view["right_end"][game.ends[1]] = 1
    for step in range(seats):
        seat = (viewer + step) % seats
        for tile in laid_by(game, seat):
            view["laid"][step, order.index(tile)] = 1
        for pip in lacked(game)[seat]:
            view["lacks"][step, pip] = 1
        view["tiles_left"][step] = np.float32(len(game.hands[seat]) / rules.hand_size)
        view["opener"][step] = seat == game.opener
        view["to_play"][step] = seat == game.to_play
        view["scores"][step] = np.float32(game.scores[seat % rules.num_sides] / (rules.target or 100))
    view["passes"][0] = np.float32(game.passes / seats)
    for turn, ply in enumerate(game.history if history else ()):
        row = view["history"][turn]
        row[(ply.seat - viewer) % seats] = 1
        if ply.move.tile is not None:
            row[seats + order.index(ply.move.tile)] = 1
        ends = row[seats + len(order) :]
        ends[:3] = ply.move.end == "left", ply.move.end == "right", ply.passed
        ends[3] = np.float32(ply.drawn / max(rules.stock_size, 1))
    return vector


def check_facts(game: Game, viewer: int, observation: NDArray[np.float32], history: bool) -> None:
    rules, seats = game.rules, game.rules.num_players
    assert np.allclose(observation, as_meant(game, viewer, history), rtol=1e-6, atol=0)
    facts = decode(rules, observation)
    assert facts.hand == game.hands[viewer]
    assert [list(tiles) for tiles in facts.laid] == relative([laid_by(game, seat) for seat in range(seats)], viewer)
    assert facts.ends == game.ends
    assert list(facts.tiles_left) == relative([len(hand) for hand in game.hands], viewer)
    assert [set(lacks) for lacks in facts.lacks] == relative(lacked(game), viewer)
    assert facts.opener == (game.opener - viewer) % seats
    assert facts.to_play == (None if game.to_play is None else (game.to_play - viewer) % seats)
    assert facts.passes == game.passes
    assert list(facts.scores) == relative([game.scores[seat % rules.num_sides] for seat in range(seats)], viewer)
    assert (facts.history is not None) == history
    if facts.history is not None:
        turns = [((turn.seat + viewer) % seats, turn.tile, turn.end, turn.passed, turn.drawn) for turn in facts.history]
        assert turns == [(ply.seat, *ply.move, ply.passed, ply.drawn) for ply in game.history]


@pytest.mark.nojit
@every_rules
@with_and_without_history
def test_decode_gives_the_truth(rules: Rules, history: bool, rng: np.random.Generator) -> None:
    """10,000 states over all rule sets, every one seen from a random seat (BUGS O02, P06, and D10: no end yet is all 0
    and not pip 0)."""
    count = scaled(10_000, 300) // (2 * len(ALL_RULES)) + 1
    games = random_states(rules, count, rng, history)
    viewers = rng.integers(0, rules.num_players, count)
    observations, _ = games.observe(np.arange(count), viewers)
    for index in range(count):
        game = games.snapshot(index)
        check_facts(game, int(viewers[index]), observations[index], history)
    mask = np.zeros(rules.num_actions, np.int8)
    assert decode(rules, {"observation": observations[0], "action_mask": mask}) == decode(rules, observations[0])


@pytest.mark.nojit
@pytest.mark.parametrize("target", [1, 7, 61, 9_999, 10_000])
def test_every_score_is_told_exactly(target: int, rng: np.random.Generator) -> None:
    """Shares of the target are float32: the points come back whole, up to the highest there can be."""
    rules = Rules(target=target)
    for scores in ([0, 2 * target], [2 * target, 2 * target - 1], rng.integers(0, 2 * target + 1, 2).tolist()):
        games = Games(1, rules, seed=1)
        games.reset(options={"scores": scores, "opener": 0})
        assert list(decode(rules, games.observation[0]).scores) == scores


@pytest.mark.nojit
@every_rules
@with_and_without_history
def test_the_encoder_writes_the_asked_rows_and_nothing_else(
    rules: Rules, history: bool, rng: np.random.Generator
) -> None:
    """Eight places are written at a time: never beyond a row's last, and nothing is left of what stood there."""
    games = random_states(rules, scaled(20, 4), rng, history)
    count = games.num_games
    rows = rng.permutation(count)[: count // 2]
    seats = rng.integers(0, rules.num_players, len(rows))
    wide, flags = (
        np.full(count * games.layout.size + 64, 7, np.float32),
        np.full(count * rules.num_actions + 64, 7, np.int8),
    )
    observations, masks = wide[:-64].reshape(count, -1), flags[:-64].reshape(count, -1)
    tables = rules_table(rules), layout_table(rules, history)
    encode_games(games.states, *tables, rows, seats, rows, observations, masks)
    for row, seat in zip(rows, seats, strict=True):
        alone = seen(games.states, rules, int(row), int(seat), history)
        assert same_bytes(observations[row], alone[0])
        assert same_bytes(masks[row], alone[1])
    others = np.setdiff1d(np.arange(count), rows)
    for untouched in (observations[others], masks[others], wide[-64:], flags[-64:]):
        assert (untouched == 7).all()


@pytest.mark.nojit
@pytest.mark.parametrize("shape", [(0,), (3,), (1, 5)])
def test_decode_names_the_lengths_it_takes(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"observation: takes a vector of length \d+, or \d+ with history, got shape"):
        decode(Rules(), np.zeros(shape, np.float32))


# Nothing hidden -------------------------------------------------------------------------------------------------------


@pytest.mark.nojit
@every_rules
def test_hidden_swap_changes_no_byte(rules: Rules, rng: np.random.Generator) -> None:
    """Tiles that the viewer cannot see, and all chance to come, drawn anew: its observation and mask stay the same, in
    first and later rounds, before the end and after it (BUGS O03, O10, P20). Somebody else's do change."""
    games = random_states(rules, scaled(120, 6), rng)
    changed = Counter[str]()
    for row in range(games.num_games):
        viewer = int(rng.integers(rules.num_players))
        other = swapped(games.states, rules, row, viewer, rng)
        changed["hands"] += other["hands"].tolist() != games.states["hands"][row : row + 1].tolist()
        changed["later"] += int(games.states["round_number"][row]) > 0
        for history in (False, True):
            before, after = seen(games.states, rules, row, viewer, history), seen(other, rules, 0, viewer, history)
            assert same_bytes(before[0], after[0])
            assert same_bytes(before[1], after[1])
            neighbour = (viewer + 1) % rules.num_players
            theirs = seen(games.states, rules, row, neighbour, history)[0], seen(other, rules, 0, neighbour, history)[0]
            changed["seen"] += not same_bytes(*theirs)
    assert changed["hands"] > 0
    assert changed["seen"] > 0
    assert (changed["later"] > 0) == (rules.target is not None)


@pytest.mark.nojit
@every_rules
def test_own_view_at_any_time(rules: Rules, rng: np.random.Generator) -> None:
    """Every seat sees its own hand, whoever is to move; a seat that is not has an all-zero mask, and after the end all
    have (BUGS P06, P20, D05)."""
    games = random_states(rules, scaled(60, 4), rng)
    for row in range(games.num_games):
        game = games.snapshot(row)
        for seat in range(rules.num_players):
            observation, mask = seen(games.states, rules, row, seat)
            assert decode(rules, observation).hand == game.hands[seat]
            assert mask.any() == (seat == game.to_play)
            if seat == game.to_play:
                assert same_bytes(mask, games.action_mask[row])
                assert same_bytes(observation, games.observation[row])


@pytest.mark.nojit
@pytest.mark.parametrize("rules", [Rules.preset("draw"), Rules(4, partnership=True, target=30)], ids=rules_name)
def test_observation_works_after_the_end(rules: Rules, rng: np.random.Generator) -> None:
    """The table as it was at the end, for every seat; a hand may be empty then (BUGS D05)."""
    games = Games(scaled(30, 3), rules, history=True, seed=5, auto_reset=False)
    play_out_at_random(games, rng)
    for seat in range(rules.num_players):
        observations, masks = games.observe(np.arange(games.num_games), np.full(games.num_games, seat))
        assert not masks.any()
        for row in range(games.num_games):
            check_facts(games.snapshot(row), seat, observations[row], history=True)
    assert not games.action_mask.any()


# Seen from the own seat -----------------------------------------------------------------------------------------------


@pytest.mark.nojit
@every_rules
def test_seat_rotation(rules: Rules, rng: np.random.Generator) -> None:
    """The same game with everybody moved on by some seats looks the same to everybody, turn by turn (BUGS O06)."""
    for turn in range(1, rules.num_players):
        games = Games(2, rules, reward="points", history=True, seed=int(rng.integers(1000)), copies=2, auto_reset=False)
        scores = rng.integers(0, rules.max_start_score + 1, rules.num_sides).tolist()
        hands, opener = games.snapshot(0).hands, int(rng.integers(rules.num_players))
        for row, step in ((0, 0), (1, turn)):
            moved = {
                "hands": list(np.roll(np.array(hands), step, axis=0)),
                "opener": (opener + step) % rules.num_players,
                "scores": np.roll(scores, step).tolist(),
            }
            games.reset(options=moved, rows=np.array([row]))
            games.states["order"][row] = games.states["order"][0]
        check_rotation(games, turn, rng)


def check_rotation(games: Games, turn: int, rng: np.random.Generator) -> None:
    """Play the first round of both games with the same actions; game 1 is game 0 with all moved on by ``turn`` seats.

    What is drawn is the same tile, whatever the order in which hands were dealt.
    """
    seats = games.rules.num_players
    while games.states["round_number"][0] == 0 and games.to_play[0] >= 0:
        for seat in range(seats):
            one, other = (
                games.observe(np.array([row]), np.array([at])) for row, at in ((0, seat), (1, (seat + turn) % seats))
            )
            assert same_bytes(one[0], other[0])
            assert same_bytes(one[1], other[1])
        action = random_actions(games.action_mask[:1], rng)
        rewards, _ = games.step(np.repeat(action, 2))
        assert (np.roll(rewards[0], turn) == rewards[1]).all()


# No two different facts look alike ------------------------------------------------------------------------------------


def view(rules: Rules, hands: str, moves: str, viewer: int = 0, **options: Any) -> bytes:
    table = set_up(rules, hands, **options).play(moves)
    return seen(table.games.states, rules, 0, viewer)[0].tobytes()


MATCH_3 = Rules(3, hand_size=2, target=100)
HANDS_3 = "12 13, 23 33, 11 22"


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("rules", "one", "other"),
    [
        (MATCH_3, {"hands": HANDS_3, "moves": "", "opener": 0}, {"hands": HANDS_3, "moves": "", "opener": 1}),
        (MATCH_3, {"hands": HANDS_3, "moves": "", "opener": 1}, {"hands": HANDS_3, "moves": "", "opener": 2}),
        *(
            (MATCH_3, {"hands": HANDS_3, "moves": ""}, {"hands": HANDS_3, "moves": "", "scores": scores})
            for scores in ([1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 200])
        ),
        (
            MATCH_3,
            {"hands": HANDS_3, "moves": "", "scores": [0, 99, 0]},
            {"hands": HANDS_3, "moves": "", "scores": [0, 100, 0]},
        ),
        (  # nothing laid is not [0|0] laid: same hand of seat 2, two blank ends or none
            Rules(3, hand_size=2),
            {"hands": "00 13, 02 33, 11 22", "moves": "", "viewer": 2},
            {"hands": "00 13, 02 33, 11 22", "moves": "00L", "viewer": 2},
        ),
        (  # who laid what: the same tile from another seat
            Rules(2, hand_size=2),
            {"hands": "12 13, 23 33", "moves": "12L", "viewer": 0, "opener": 0},
            {"hands": "23 13, 12 33", "moves": "12L", "viewer": 0, "opener": 1},
        ),
        (  # which end is which
            Rules(2, hand_size=3),
            {"hands": "11 12 33, 13 22 44", "moves": "11L 13L"},
            {"hands": "11 12 33, 13 22 44", "moves": "11L 13R"},
        ),
    ],
)
def test_two_different_facts_never_look_alike(rules: Rules, one: dict[str, Any], other: dict[str, Any]) -> None:
    """Opener, counts, scores, ends, who laid: each shows (BUGS O07)."""
    assert view(rules, **one) != view(rules, **other)


@pytest.mark.nojit
def test_draw_counts_show() -> None:
    """How many tiles another seat holds shows, though not which (BUGS O07)."""
    rules = Rules(2, max_pip=2, hand_size=2, draw=True, stock_reserve=1)
    table = set_up(rules, "00 01, 11 12")
    table.play("00L")
    before = decode(rules, seen(table.games.states, rules, 0, 0)[0])
    table.play("pass")
    after = decode(rules, seen(table.games.states, rules, 0, 0)[0])
    assert (before.tiles_left, after.tiles_left) == ((1, 2), (1, 3))


@pytest.mark.nojit
def test_passes_in_a_row_show() -> None:
    table = set_up(Rules(4, hand_size=2), "66 12, 03 04, 13 22, 01 02")
    passes = []
    for move in ("66L", "pass", "pass", "pass", "pass"):
        table.play(move)
        passes.append(decode(table.games.rules, seen(table.games.states, table.games.rules, 0, 1)[0]).passes)
    assert passes == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("rules", [Rules(max_pip=2, hand_size=2), Rules(3, max_pip=2, hand_size=2)], ids=rules_name)
def test_with_history_only_equal_public_records_look_alike(rules: Rules) -> None:
    """Over the whole tree of double-two: two positions look the same to a seat exactly when its hand, the turns, the
    scores and whether it is over are the same."""
    facts_of: dict[bytes, Any] = {}
    level = every_deal(rules)
    while len(level):
        observations, _ = seen_by_all(level, rules, 0, history=True)
        for state, observation in zip(level, observations, strict=True):
            turns, scores = state.history[: state.plies].tolist(), state.scores.tolist()
            facts = (int(state.hands[0]), *turns, *scores, int(state.over))
            assert facts_of.setdefault(observation.tobytes(), facts) == facts
        level = after_every_action(level[level["over"] == 0], rules)
    assert len(set(facts_of.values())) == len(facts_of) > 500


# No dead features -----------------------------------------------------------------------------------------------------

ALIVE = [
    Rules.preset("match"),
    Rules.preset("match", 3),
    Rules.preset("partnership"),
    Rules.preset("draw"),
    Rules.preset("single_round", 4),
]


@pytest.mark.parametrize("rules", ALIVE, ids=rules_name)
def test_no_dead_features(rules: Rules, rng: np.random.Generator) -> None:
    """Over 20,000 random states, ends included, every feature takes at least two values (BUGS O14).

    The scores of a single round are among them: they move with its end.
    """
    assert constant_features(observations_of(rules, 20_000, rng, history=False), rules) == []


@pytest.mark.parametrize("rules", [Rules.preset("match"), Rules(draw=True, stock_reserve=12)], ids=rules_name)
def test_no_dead_features_in_the_history(rules: Rules, rng: np.random.Generator) -> None:
    """Constant are, by the rules: the first turn lies at the left end and neither passes nor draws; in Block nobody
    draws. Later turns than these are reached too seldom for every tile to be seen, the last perhaps never."""
    seats, count = rules.num_players, rules.num_tiles
    right, passed, drawn = (seats + count + place for place in (1, 2, 3))
    constant = {(0, right), (0, passed), (0, drawn)}
    if not rules.draw:
        constant |= {(turn, drawn) for turn in range(rules.max_plies)}
    features = constant_features(observations_of(rules, 5_000, rng, history=True), rules, history=True)
    first_turns = {f"history[{turn}, {place}]" for turn in range(8) for place in range(drawn + 1)}
    assert set(features) & first_turns == {f"history[{turn}, {place}]" for turn, place in constant if turn < 8}
    assert all(name.startswith("history") for name in features)


def observations_of(rules: Rules, count: int, rng: np.random.Generator, history: bool) -> NDArray[np.float32]:
    """Random states, each from a random seat."""
    games = random_states(rules, count, rng, history)
    return games.observe(np.arange(count), rng.integers(0, rules.num_players, count))[0]


def constant_features(observations: NDArray[np.float32], rules: Rules, history: bool = False) -> list[str]:
    """The names of slices, with the places in them, that never change."""
    same = observations.min(axis=0) == observations.max(axis=0)
    return [
        f"{part.name}{list(map(int, np.unravel_index(place, part.shape)))}"
        for part in layout(rules, history).slices
        for place in np.flatnonzero(same[part.start : part.stop])
    ]
