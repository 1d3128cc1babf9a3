"""Batched play: what it refuses, what it leaves alone, and how policies meet in it."""

from __future__ import annotations

import contextlib
import copy
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from helpers import (
    COMPILED,
    every_rules,
    play_out_at_random,
    random_actions,
    random_states,
    read_hands,
    rules_name,
    same_bytes,
    scaled,
    seen,
    set_up,
)
from numpy.typing import NDArray

from block_env import rules as kernels
from block_env.observation import encode_games
from block_env.play import Games, IllegalActionError, play_out
from block_env.state import REASONS
from block_env.variants import Rules, rules_table


def everything(games: Games) -> list[bytes]:
    """All that a refused call must leave as it was."""
    return [part.tobytes() for part in (games.states, games.observation, games.action_mask, games.reasons)]


# Refusals: one clear error that names the argument, and nothing changes -----------------------------------------------

NUM_GAMES = 4


def midgame() -> Games:
    games = Games(NUM_GAMES, "match", 3, seed=1)
    games.reset()
    games.step(games.action_mask.argmax(axis=1))
    return games


def one_wrong(action: Any) -> list[Any]:
    """Legal actions for all games of :func:`midgame` but the third."""
    actions: list[Any] = midgame().action_mask.argmax(axis=1).tolist()
    actions[2] = action
    return actions


BAD_STEPS: list[tuple[str, Any, str]] = [
    ("negative", one_wrong(-1), "action -1"),
    ("past the last", one_wrong(57), "action 57"),
    ("far past the last", np.array(one_wrong(2**62)), "action 4611686018427387904"),
    ("wraps to a legal one", np.array(one_wrong(0), np.uint64) + np.uint64(2**63), "action "),
    ("illegal pass", one_wrong(56), "action 56 .pass."),
    ("float", np.array(one_wrong(0), float), "actions: takes whole numbers"),
    ("NaN", np.full(NUM_GAMES, np.nan), "actions: takes whole numbers"),
    ("None", one_wrong(None), "actions: takes whole numbers"),
    ("nothing at all", None, "actions: takes whole numbers"),
    ("bool", np.ones(NUM_GAMES, bool), "actions: takes whole numbers"),
    ("huge", one_wrong(2**70), "actions: takes whole numbers"),
    ("text", ["0"] * NUM_GAMES, "actions: takes whole numbers"),
    ("one number", 0, r"actions: takes whole numbers, int \[4\]"),
    ("too few", [0] * 3, r"actions: takes whole numbers, int \[4\]"),
    ("too many", [0] * 5, r"actions: takes whole numbers, int \[4\]"),
    ("a column", [[0]] * 4, r"actions: takes whole numbers, int \[4\]"),
    ("ragged", [[0], [0, 1], [0], [0]], "actions: takes whole numbers"),
]


@pytest.mark.nojit
@pytest.mark.parametrize(("actions", "message"), [row[1:] for row in BAD_STEPS], ids=[row[0] for row in BAD_STEPS])
def test_bad_actions_change_nothing(actions: Any, message: str) -> None:
    """(BUGS P04, P22) Also those of the other games, which were legal, are not played."""
    games = midgame()
    before = everything(games)
    with pytest.raises(ValueError, match=message):
        games.step(actions)
    assert everything(games) == before
    games.step(games.action_mask.argmax(axis=1))


BAD_ROWS: list[tuple[str, Any]] = [
    ("negative", [-1]),
    ("past the last", [NUM_GAMES]),
    ("float", [0.0]),
    ("bool", [True, False, True, True]),
    ("one number", 2),
    ("a table", [[0, 1]]),
    ("text", ["0"]),
    ("None inside", [None]),
    ("ragged", [[0], [0, 1]]),
]


@pytest.mark.nojit
@pytest.mark.parametrize("rows", [row[1] for row in BAD_ROWS], ids=[row[0] for row in BAD_ROWS])
@pytest.mark.parametrize("call", ["step", "reset", "observe"])
def test_bad_rows_change_nothing(rows: Any, call: str) -> None:
    games = midgame()
    before = everything(games)
    calls: dict[str, Callable[[], Any]] = {
        "step": lambda: games.step([int(games.action_mask[0].argmax())], rows=rows),
        "reset": lambda: games.reset(rows=rows),
        "observe": lambda: games.observe(rows, np.array([0])),
    }
    with pytest.raises(ValueError, match=r"rows: takes whole numbers from 0 to 3"):
        calls[call]()
    assert everything(games) == before


@pytest.mark.nojit
def test_a_game_twice_in_rows_is_refused() -> None:
    """The second action would be played without having been checked against what the first one left (BUGS P22)."""
    games = midgame()
    before = everything(games)
    action = int(games.action_mask[1].argmax())
    with pytest.raises(ValueError, match="rows: "):
        games.step([action, action], rows=[1, 1])
    assert everything(games) == before


@pytest.mark.nojit
@pytest.mark.parametrize(
    "seats",
    [[3], [-2], [4], [99], [0, 1], [], 0, [0.5], [None], [True], ["0"], [[0]]],
    ids=repr,
)
def test_bad_seats_are_refused(seats: Any) -> None:
    """`observe` must not read beyond the seats there are: behind them lie other fields of the record."""
    games = midgame()
    with pytest.raises(ValueError, match="seats: "):
        games.observe([0], seats)


BAD_SEEDS: list[Any] = [-1, 1.5, "seven", True, [1, 2, 3], [1, 2, 3, -4], [1, 2, 3, 4.5], [1, 2, 3, True], [[1, 2]] * 4]
BAD_SEEDS += [np.array(1.5), np.array([1.0, 2.0, 3.0, 4.0]), {"seed": 1}, np.nan]


@pytest.mark.nojit
@pytest.mark.parametrize("seed", BAD_SEEDS, ids=repr)
def test_bad_seeds_change_nothing(seed: Any) -> None:
    games = midgame()
    before = everything(games)
    with pytest.raises(ValueError, match="seed: takes"):
        games.reset(seed=seed)
    assert everything(games) == before
    with pytest.raises(ValueError, match="seed: takes"):
        Games(NUM_GAMES, seed=seed)


@pytest.mark.nojit
@pytest.mark.parametrize("seeds", [[2**63, 1], [2**64, 0], [2**63, 2**100]], ids=repr)
def test_large_seeds_go_with_small_ones(seeds: list[int]) -> None:
    """Whole numbers beyond 64 bits, and between 63 and 64, are seeds like any other in a sequence too."""
    together = Games(2, seed=seeds).states["stream"]
    assert together.tolist() == [Games(1, seed=seed).states["stream"][0].tolist() for seed in seeds]


@pytest.mark.nojit
def test_a_seed_does_not_go_with_rows() -> None:
    games = midgame()
    before = everything(games)
    with pytest.raises(ValueError, match="seed: does not go with rows"):
        games.reset(seed=1, rows=[0])
    assert everything(games) == before


GOOD_HANDS = "12 13 14 15 16, 22 23 24 25 26, 33 34 35 36 00"
BAD_OPTIONS: list[tuple[str, Any, str]] = [
    ("no dict", [1], "options: takes a dict"),
    ("text", "hands", "options: takes a dict"),
    ("tile twice", {"hands": read_hands(GOOD_HANDS.replace("00", "12"))}, r"'hands'.*\[1\|2\] twice"),
    ("turned tile twice", {"hands": read_hands(GOOD_HANDS.replace("00", "21"))}, r"'hands'.*twice"),
    ("tile not in the set", {"hands": read_hands(GOOD_HANDS.replace("00", "07"))}, r"'hands'.*two pips from 0 to 6"),
    ("negative pip", {"hands": [[(-1, 2), *read_hands(GOOD_HANDS)[0][1:]], *read_hands(GOOD_HANDS)[1:]]}, "'hands'"),
    ("half a pip", {"hands": [[(1.5, 2), *read_hands(GOOD_HANDS)[0][1:]], *read_hands(GOOD_HANDS)[1:]]}, "'hands'"),
    (
        "infinite pip",
        {"hands": [[(np.inf, 2), *read_hands(GOOD_HANDS)[0][1:]], *read_hands(GOOD_HANDS)[1:]]},
        "'hands'",
    ),
    ("three pips", {"hands": [[(1, 2, 3), *read_hands(GOOD_HANDS)[0][1:]], *read_hands(GOOD_HANDS)[1:]]}, "'hands'"),
    ("ids, not pairs", {"hands": [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10], [11, 12, 13, 14, 15]]}, "'hands'"),
    ("hand too small", {"hands": read_hands(GOOD_HANDS[3:])}, r"'hands'.*3 hands of 5 tiles.*\[4, 5, 5\]"),
    ("hand too large", {"hands": read_hands("11 " + GOOD_HANDS)}, r"'hands'.*\[6, 5, 5\]"),
    ("hand missing", {"hands": read_hands(GOOD_HANDS)[:2]}, r"'hands'.*\[5, 5\]"),
    ("hand too many", {"hands": [*read_hands(GOOD_HANDS), []]}, "'hands'"),
    ("hands a number", {"hands": 5}, "'hands'"),
    ("hands of None", {"hands": [None] * 3}, "'hands'"),
    *(
        (f"opener {opener!r}", {"opener": opener}, "'opener'.*a seat from 0 to 2")
        for opener in (3, -1, 1.0, True, "0", [0])
    ),
    ("score negative", {"scores": [0, -1, 0]}, r"'scores'.*3 whole numbers from 0 to 122"),
    ("score too high", {"scores": [0, 123, 0]}, "'scores'.*from 0 to 122"),
    ("score a float", {"scores": [0, 1.0, 0]}, "'scores'"),
    ("score a bool", {"scores": [0, True, 0]}, "'scores'"),
    ("scores too many", {"scores": [0, 0, 0, 0]}, "'scores'"),
    ("scores too few", {"scores": [0, 0]}, "'scores'"),
    ("scores a number", {"scores": 7}, "'scores'"),
    ("one good, one bad", {"hands": read_hands(GOOD_HANDS), "opener": 7}, "'opener'"),
]


@pytest.mark.nojit
@pytest.mark.parametrize(("options", "message"), [row[1:] for row in BAD_OPTIONS], ids=[row[0] for row in BAD_OPTIONS])
def test_bad_options_change_nothing(options: Any, message: str) -> None:
    """A seed given with them does not take hold either."""
    for arguments in ({}, {"seed": 5}, {"rows": [1]}):
        games = midgame()
        before = everything(games)
        with pytest.raises(ValueError, match=message):
            games.reset(options=options, **arguments)
        assert everything(games) == before


@pytest.mark.nojit
def test_a_single_round_has_no_starting_scores() -> None:
    games = Games(1, "single_round", seed=1)
    with pytest.raises(ValueError, match=r"'scores'.*from 0 to 0"):
        games.reset(options={"scores": [1, 0]})


BAD_CONSTRUCTIONS: list[tuple[dict[str, Any], str]] = [
    *(({"num_games": count}, "num_games: takes a whole number from 1") for count in (0, -1, 1.0, None, True, "4")),
    *(({"copies": copies}, r"copies: takes a divisor of num_games \(4\)") for copies in (0, -1, 3, 8, 2.0, True, None)),
    *(({"rules": rules}, "rules: takes") for rules in ("chess", 3, None, "")),
    *(({"num_players": seats}, "num_players: takes") for seats in (0, 1, 5, 2.0, "2", True)),
    ({"rules": "partnership", "num_players": 3}, "num_players: partnership takes 4, got 3"),
    ({"rules": Rules(3), "num_players": 2}, "num_players: the given Rules take 3, got 2"),
    *(({"reward": reward}, "reward: takes 'outcome' or 'points'") for reward in ("score", None, 1)),
    *(({"history": history}, "history: takes True or False") for history in (1, "yes", None)),
    *(({"auto_reset": value}, "auto_reset: takes True or False") for value in (1, "no", None)),
    ({"copies": 2, "seed": [1, 2, 3, 4]}, "seed: takes one seed"),
]


@pytest.mark.nojit
@pytest.mark.parametrize(("arguments", "message"), BAD_CONSTRUCTIONS, ids=lambda value: repr(value)[:40])
def test_bad_constructions(arguments: dict[str, Any], message: str) -> None:
    """(BUGS D16: 0, 1 and 5 players)"""
    with pytest.raises(ValueError, match=message):
        Games(**{"num_games": NUM_GAMES, "seed": 1} | arguments)


# What is taken --------------------------------------------------------------------------------------------------------


@pytest.mark.nojit
@pytest.mark.parametrize(
    "kind", [list, tuple, np.array, lambda a: np.array(a, np.int8), lambda a: np.array(a, np.uint64)]
)
def test_whole_numbers_of_every_kind_are_actions(kind: Any) -> None:
    games, plain = midgame(), midgame()
    actions = games.action_mask.argmax(axis=1)
    games.step(kind(actions.tolist()))
    plain.step(actions)
    assert same_bytes(games.states, plain.states)


@pytest.mark.nojit
def test_hands_as_iterators_are_dealt_or_refused_never_ignored() -> None:
    games = Games(1, "match", 3, seed=1)
    hands = read_hands(GOOD_HANDS)
    with contextlib.suppress(ValueError):
        games.reset(options={"hands": (hand for hand in hands)})
        assert [sorted(hand) for hand in games.snapshot(0).hands] == [sorted(hand) for hand in hands]


@pytest.mark.nojit
def test_options_set_up_each_row_and_nothing_else() -> None:
    """NumPy arrays, turned tiles and NumPy seats will do; the other games go on as they were."""
    games = midgame()
    before = games.states.copy()
    hands = np.array(read_hands(GOOD_HANDS))[:, :, ::-1]
    games.reset(options={"hands": hands, "opener": np.int64(2), "scores": np.array([1, 2, 3])}, rows=[1, 3])
    for row in (1, 3):
        game = games.snapshot(row)
        assert [sorted(hand) for hand in game.hands] == [sorted(hand) for hand in read_hands(GOOD_HANDS)]
        assert (game.opener, game.to_play, game.scores) == (2, 2, (1, 2, 3))
    assert same_bytes(games.states[[0, 2]], before[[0, 2]])


@pytest.mark.nojit
def test_unknown_options_are_ignored() -> None:
    games, plain = Games(2, seed=1), Games(2, seed=1)
    games.reset(options={"colour": "green", "Hands": 3})
    plain.reset()
    assert same_bytes(games.states, plain.states)


@pytest.mark.nojit
def test_options_change_no_later_deal() -> None:
    """A set-up game takes its stream's next deal; the deals after it are those of any other play."""
    games, plain = Games(2, "match", 3, seed=1), Games(2, "match", 3, seed=1)
    games.reset(options={"hands": read_hands(GOOD_HANDS)})
    for batch in (plain, games, plain):
        batch.reset()
    assert same_bytes(games.states["hands"], plain.states["hands"])


# Illegal actions ------------------------------------------------------------------------------------------------------


@pytest.mark.nojit
def test_an_illegal_action_names_game_mover_and_what_is_legal() -> None:
    table = set_up(Rules(2, hand_size=2), "12 33, 23 22").play("12L")
    with pytest.raises(IllegalActionError, match="not legal") as caught:
        table.games.step([0])
    message = str(caught.value)
    assert message.startswith("action 0 ([0|0]L) in game 0 is not legal for seat 1; legal: ")
    assert re.findall(r"\[.\|.\].", message.split("legal: ")[1]) == ["[2|2]R", "[2|3]R"]


@pytest.mark.nojit
def test_after_the_end_nothing_is_legal() -> None:
    table = set_up(Rules(2, hand_size=2), "12 11, 24 00").play("12L 24R 11L")
    before = everything(table.games)
    with pytest.raises(IllegalActionError, match="the game is over"):
        table.games.step([56])
    assert everything(table.games) == before


@pytest.mark.nojit
@every_rules
def test_a_step_accepts_exactly_what_the_mask_allows(rules: Rules, rng: np.random.Generator) -> None:
    """Every action, out of range ones too, in copies of thousands of random states; what is refused changes nothing
    (BUGS D12, P24)."""
    games = random_states(rules, scaled(300, 6), rng)
    assert games.action_mask.shape == (games.num_games, rules.num_actions)
    rewards, table = np.zeros(rules.num_players, np.float32), rules_table(rules)
    for row in range(games.num_games):
        state = games.states[row : row + 1]
        for action in range(-2, rules.num_actions + 3):
            copied = state.copy()
            reason = kernels.step_game(copied, table, action, False, rewards)
            inside = 0 <= action < rules.num_actions
            assert (reason >= 0) == (inside and games.action_mask[row, action] == 1)
            assert same_bytes(copied, state) == (reason < 0)


@pytest.mark.nojit
@every_rules
def test_batched_steps_accept_exactly_what_the_mask_allows(rules: Rules, rng: np.random.Generator) -> None:
    """The same through `Games.step`, every action of a few states (BUGS D12)."""
    games = random_states(rules, scaled(3, 1), rng)
    kept = games.states.copy()
    for row in range(games.num_games):
        for action, legal in enumerate(games.action_mask[row].tolist()):
            try:
                games.step([action], rows=[row])
                accepted = True
            except IllegalActionError:
                accepted = False
            assert accepted == bool(legal)
            assert legal or same_bytes(games.states, kept)
            games.states[:] = kept
            games.action_mask[row] = seen(kept, rules, row, max(int(kept["to_play"][row]), 0))[1]


@pytest.mark.nojit
@every_rules
def test_never_an_empty_mask_and_the_pass_alone(rules: Rules, rng: np.random.Generator) -> None:
    """Whoever is to move has a legal action; the pass is legal exactly when nothing else is (BUGS D03, P24)."""
    games = random_states(rules, scaled(400, 8), rng)
    live, legal = games.to_play >= 0, games.action_mask.sum(axis=1)
    assert (legal[live] > 0).all()
    assert (legal[~live] == 0).all()
    assert (legal[games.action_mask[:, -1] == 1] == 1).all()


# Stepping -------------------------------------------------------------------------------------------------------------


@pytest.mark.nojit
@every_rules
def test_auto_reset_starts_the_next_deal_within_the_step(rules: Rules, rng: np.random.Generator) -> None:
    """With and without it the same games come one after another, with the same rewards, ends and reasons."""
    auto = Games(scaled(20, 3), rules, reward="points", seed=7)
    plain = Games(auto.num_games, rules, reward="points", seed=7, auto_reset=False)
    ended = 0
    for _ in range(scaled(150, 25)):
        assert same_bytes(auto.states, plain.states)
        assert same_bytes(auto.observation, plain.observation)
        actions = random_actions(auto.action_mask, rng)
        results = auto.step(actions), plain.step(actions)
        assert all(same_bytes(one, other) for one, other in zip(*results, strict=True))
        assert same_bytes(auto.reasons, plain.reasons)
        over = np.flatnonzero(results[1][1])
        ended += len(over)
        assert (plain.to_play[over] == -1).all()
        assert (auto.to_play >= 0).all()
        plain.reset(rows=over)
        plain.reasons[over] = auto.reasons[over]
    assert ended > 0 or (rules.target or 0) > 20 or not COMPILED


@pytest.mark.nojit
def test_rows_are_played_and_only_these(rng: np.random.Generator) -> None:
    """In any order; what the others see and hold stays."""
    games, plain = Games(5, "match", seed=2), Games(5, "match", seed=2)
    for _ in range(scaled(60, 20)):
        rows = rng.permutation(5)[: rng.integers(1, 5)]
        others = np.setdiff1d(np.arange(5), rows)
        before = games.states[others].copy(), games.observation[others].copy()
        actions = random_actions(games.action_mask, rng)
        games.step(actions[rows], rows)
        assert same_bytes(games.states[others], before[0])
        assert same_bytes(games.observation[others], before[1])
        for row in rows:
            plain.step(actions[[row]], np.array([row]))
    assert same_bytes(games.states, plain.states)
    assert same_bytes(games.action_mask, plain.action_mask)
    games.step(np.zeros(0, int), np.zeros(0, int))
    assert same_bytes(games.states, plain.states)
    for batch, kind in ((games, np.uint64), (plain, np.int8)):
        batch.step(batch.action_mask.argmax(axis=1)[[4, 0]], np.array([4, 0], kind))
    assert same_bytes(games.states, plain.states)
    assert same_bytes(games.states, plain.states)


@pytest.mark.nojit
def test_observe_takes_a_game_twice() -> None:
    """Both seats of the same game in one call: each gets its own view, and its own alone."""
    games = midgame()
    rows, seats = np.array([1, 1, 0, 1]), np.array([0, 1, 2, 2])
    observations, masks = games.observe(rows, seats)
    for row, seat, observation, mask in zip(rows, seats, observations, masks, strict=True):
        alone = seen(games.states, games.rules, row, seat)
        assert same_bytes(observation, alone[0])
        assert same_bytes(mask, alone[1])


@pytest.mark.nojit
def test_observe_gives_arrays_of_its_own() -> None:
    """They outlive the next step, and writing to them changes no game."""
    games = midgame()
    observation, mask = games.observe(np.array([0]), np.array([0]))
    kept, before = observation.copy(), everything(games)
    observation[:], mask[:] = 9, 9
    assert everything(games) == before
    observation[:] = kept
    games.step(games.action_mask.argmax(axis=1))
    assert same_bytes(observation, kept)


@pytest.mark.nojit
def test_reasons_name_how_a_round_ended() -> None:
    """0 on all other steps, also on the step after."""
    assert REASONS == (None, "domino", "blocked")
    for hands, moves, reason in (("12 11, 24 00", "12L 24R 11L", 1), ("66 12, 03 04", "66L pass pass", 2)):
        table = set_up(Rules(2, hand_size=2, target=100), hands)
        reasons = []
        for move in moves.split():
            table.play(move)
            reasons.append(int(table.games.reasons[0]))
        assert reasons == [0] * (len(reasons) - 1) + [reason]
        table.games.step(table.games.action_mask.argmax(axis=1))
        assert table.games.reasons[0] == 0


@pytest.mark.nojit
def test_reset_midgame_leaves_nothing_behind(rng: np.random.Generator) -> None:
    """Counters, passes, lacks, history, scores: the game is as in a batch that has just come to it (BUGS V06)."""
    games = Games(6, "match", history=True, seed=3)
    for _ in range(scaled(40, 15)):
        games.step(random_actions(games.action_mask, rng))
    games.reset(seed=4)
    fresh = Games(6, "match", history=True, seed=4)
    fresh.reset(seed=4)
    assert same_bytes(games.observation, fresh.observation)
    assert same_bytes(games.action_mask, fresh.action_mask)
    for name in games.states.dtype.names or ():
        if name != "history":  # what lies beyond `plies` is not part of the game
            assert same_bytes(games.states[name], fresh.states[name]), name
    assert [games.snapshot(row) for row in range(6)] == [fresh.snapshot(row) for row in range(6)]
    assert not games.reasons.any()


@pytest.mark.nojit
def test_batches_with_other_options_do_not_touch_each_other(rng: np.random.Generator) -> None:
    """(BUGS V09)"""
    one = Games(3, "match", reward="points", seed=1)
    alone = Games(3, "match", reward="points", seed=1)
    for other in (Games(2, "draw", 3, history=True, seed=1), Games(2, "partnership", seed=1, auto_reset=False)):
        for _ in range(10):
            actions = random_actions(one.action_mask, rng)
            other.step(random_actions(other.action_mask, rng))
            results = one.step(actions), alone.step(actions)
            assert same_bytes(results[0][0], results[1][0])
        assert same_bytes(one.states, alone.states)
        assert (one.reward, one.auto_reset, one.layout) == (alone.reward, alone.auto_reset, alone.layout)


@pytest.mark.nojit
def test_types_of_what_a_step_gives() -> None:
    """(BUGS V10)"""
    games = midgame()
    rewards, done = games.step(games.action_mask.argmax(axis=1))
    assert (rewards.dtype, rewards.shape, done.dtype, done.shape) == (np.float32, (4, 3), np.bool_, (4,))
    assert (games.observation.dtype, games.observation.shape) == (np.float32, (4, games.layout.size))
    assert (games.action_mask.dtype, games.action_mask.shape) == (np.int8, (4, 57))
    assert (games.to_play.shape, games.reasons.dtype) == ((4,), np.int8)


# Rewards --------------------------------------------------------------------------------------------------------------


@pytest.mark.nojit
@every_rules
@pytest.mark.parametrize("reward", ["outcome", "points"])
def test_rewards_are_zero_sum_over_sides_and_within_the_stated_range(
    rules: Rules, reward: str, rng: np.random.Generator
) -> None:
    """+1 and the shared -1, or points up to the pips of the set; both ends of the outcome are met (BUGS D28, D29)."""
    games = Games(scaled(300, 10), rules, reward=reward, seed=4)
    lowest, highest, most = 0.0, 0.0, 1 if reward == "outcome" else rules.total_pips
    for _ in range(scaled(200, 40)):
        rewards, done = games.step(random_actions(games.action_mask, rng))
        ended = games.reasons > 0
        assert not rewards[~(done if reward == "outcome" else ended)].any()
        assert np.allclose(rewards[:, : rules.num_sides].sum(axis=1), 0, atol=1e-4)
        if rules.partnership:
            assert (rewards[:, :2] == rewards[:, 2:]).all()
        lowest, highest = min(lowest, float(rewards.min())), max(highest, float(rewards.max()))
    assert highest <= most
    assert lowest == pytest.approx(-highest / (rules.num_sides - 1)) or reward == "points"
    if COMPILED:  # enough is played for the extremes to come up
        assert highest == 1 if reward == "outcome" else highest > 0


# Policies against each other ------------------------------------------------------------------------------------------


class Recorder:
    """Takes the first or the last legal action, and keeps what it was shown."""

    def __init__(self, last: bool) -> None:
        self.last = last
        self.masks: list[NDArray[np.int8]] = []
        self.draws: list[float] = []

    def act(
        self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        assert len(observation) == len(action_mask)
        self.masks.append(action_mask.copy())
        self.draws.append(float(rng.random()))
        if self.last:
            return action_mask.shape[1] - 1 - action_mask[:, ::-1].argmax(axis=1)
        return action_mask.argmax(axis=1)


def duel(rules: Rules, count: int = 40, seed: int = 9) -> tuple[Games, list[Recorder], NDArray[np.int64], Any]:
    """Two recorders take turns in the seats of some games."""
    games = Games(count, rules, reward="points", seed=seed, auto_reset=False)
    players = [Recorder(last=False), Recorder(last=True)]
    seating = (np.arange(count)[:, None] + np.arange(rules.num_players)) % 2
    return games, players, seating, play_out(games, players, seating, np.random.default_rng(1))


@pytest.mark.nojit
@pytest.mark.parametrize("rules", [Rules.preset("draw", 3), Rules(4, partnership=True, target=40)], ids=rules_name)
def test_play_out_tallies(rules: Rules) -> None:
    """Each game once to its end; points zero-sum; winners, rounds and decisions as a plain loop counts them."""
    count = scaled(40, 5)
    games, players, seating, tally = duel(rules, count)
    assert (games.to_play == -1).all()
    assert (games.states["deal"] == tally.rounds).all()
    assert np.allclose(tally.points[:, : rules.num_sides].sum(axis=1), 0, atol=1e-3)
    assert (tally.winners == games.states["winner"]).all()
    assert (tally.blocked <= tally.rounds).all()
    assert tally.decisions.tolist() == [sum(map(len, player.masks)) for player in players]
    assert all((mask.sum(axis=1) > 1).all() for player in players for mask in player.masks), (
        "forced moves are not asked"
    )
    assert (tally.seconds > 0).all()
    for row in range(count):
        check_alone(rules, count, row, seating[row], tally)


def check_alone(rules: Rules, count: int, row: int, seating: NDArray[np.int64], tally: Any) -> None:
    """Play the same game of the same batch in a plain loop."""
    games = Games(count, rules, reward="points", seed=9, auto_reset=False)
    points, rounds, blocked = np.zeros(rules.num_players), 0, 0
    while games.to_play[row] >= 0:
        legal = np.flatnonzero(games.action_mask[row])
        action = legal[-1] if seating[games.to_play[row]] else legal[0]
        rewards, _ = games.step([action], [row])
        points += rewards[row]
        rounds += games.reasons[row] > 0
        blocked += games.reasons[row] == 2
    assert np.allclose(points, tally.points[row])
    assert (rounds, blocked, games.states["winner"][row]) == (tally.rounds[row], tally.blocked[row], tally.winners[row])


@pytest.mark.nojit
def test_play_out_gives_each_policy_chance_of_its_own() -> None:
    """The same again from the same generator; two policies do not share draws."""
    first, second = duel(Rules.preset("single_round"))[1], duel(Rules.preset("single_round"))[1]
    assert [player.draws for player in first] == [player.draws for player in second]
    assert not set(first[0].draws) & set(first[1].draws)


@pytest.mark.nojit
def test_play_out_a_round_alone() -> None:
    """`unit="round"` leaves each match after the round on the table: its points, its winner."""
    games = Games(30, "match", reward="points", seed=9, auto_reset=False)
    players = [Recorder(last=False), Recorder(last=True)]
    tally = play_out(games, players, np.tile([0, 1], (30, 1)), np.random.default_rng(1), unit="round")
    assert (tally.rounds == 1).all()
    assert (games.states["round_number"] == 1).all()
    assert (tally.winners == games.states["last_winner"]).all()
    assert (tally.points.max(axis=1) == games.states["last_points"]).all()
    assert (tally.points[np.arange(30), tally.winners] >= 0).all()


@pytest.mark.nojit
def test_play_out_goes_on_with_running_games_and_leaves_finished_ones(rng: np.random.Generator) -> None:
    games = Games(3, "single_round", reward="points", seed=9, auto_reset=False)
    while games.to_play[1] >= 0:
        games.step(random_actions(games.action_mask[[1]], rng), np.array([1]))
    before = games.states[1].copy()
    tally = play_out(games, [Recorder(last=False)], np.zeros((3, 2), int), rng)
    assert tally.rounds.tolist() == [1, 0, 1]
    assert games.states[1].tobytes() == before.tobytes()


@pytest.mark.nojit
@pytest.mark.parametrize("arguments", [{"reward": "outcome", "auto_reset": False}, {"reward": "points"}], ids=repr)
def test_play_out_takes_games_that_stop_and_pay_points(arguments: dict[str, Any]) -> None:
    games = Games(1, **arguments)
    with pytest.raises(ValueError, match="games: takes Games with reward='points' and auto_reset=False"):
        play_out(games, [Recorder(last=False)], np.zeros((1, 2), int), np.random.default_rng(1))


@pytest.mark.nojit
def test_play_out_refuses_an_illegal_choice() -> None:
    class Stubborn(Recorder):
        def act(self, observation: Any, action_mask: Any, rng: Any) -> Any:
            return action_mask.argmin(axis=1)

    games = Games(3, "single_round", reward="points", seed=9, auto_reset=False)
    with pytest.raises(IllegalActionError, match="not legal"):
        play_out(games, [Stubborn(last=False)], np.zeros((3, 2), int), np.random.default_rng(1))


@pytest.mark.nojit
def test_going_out_breaks_nothing(rng: np.random.Generator) -> None:
    """(BUGS D05) After the winning tile snapshots and views of all seats work, the empty hand's too."""
    games = Games(scaled(200, 10), "single_round", 3, history=True, seed=6, auto_reset=False)
    play_out_at_random(games, rng)
    out = [row for row in range(games.num_games) if games.snapshot(row).last_round.reason == "domino"]
    assert out
    for row in out:
        game = games.snapshot(row)
        assert sum(not hand for hand in game.hands) == 1
        assert game.to_play is None
        for seat in range(3):
            assert np.isfinite(games.observe(np.array([row]), np.array([seat]))[0]).all()


@pytest.mark.parametrize("index", [2, -1, "x", 0.0, slice(0, 1)])
def test_a_game_that_is_not_there(index: Any) -> None:
    with pytest.raises(ValueError, match=r"^index: takes a whole number from 0 to 1"):
        Games(2, seed=0).snapshot(index)


@pytest.mark.parametrize("scores", [{0: 1, 1: 2}, {1, 2}, "12"])
def test_scores_come_in_an_order(scores: Any) -> None:
    with pytest.raises(ValueError, match=r"^options\['scores'\]: takes"):
        Games(2, seed=0).reset(options={"scores": scores})


@pytest.mark.parametrize("pip", [0.0, True, False, "0"])
def test_pips_are_whole_numbers(pip: Any) -> None:
    hands = [[(pip, 6)], [(1, 2)]]
    with pytest.raises(ValueError, match=r"^options\['hands'\]: tile: takes"):
        Games(2, Rules(hand_size=1), seed=0).reset(options={"hands": hands})


# Threads and batch sizes ----------------------------------------------------------------------------------------------


def told_by(count: int, seeds: list[int], steps: int) -> list[list[bytes]]:
    """What each of these games shows, step by step, played in batches of ``count``, by the last legal action."""
    told: list[list[bytes]] = []
    for start in range(0, len(seeds), count):
        games = Games(count, "draw", reward="points", seed=seeds[start : start + count])
        shown: list[list[bytes]] = [[] for _ in range(count)]
        for _ in range(steps):
            last = games.action_mask.shape[1] - 1 - games.action_mask[:, ::-1].argmax(axis=1)
            rewards, done = games.step(last)
            for row, frames in enumerate(shown):
                parts = games.observation, games.action_mask, rewards, done, games.reasons, games.states
                frames.append(b"".join(part[row].tobytes() for part in parts))
        told += shown
    return told


def test_a_game_is_the_same_in_any_batch_and_thread() -> None:
    seeds = list(range(24))
    alone = told_by(1, seeds, scaled(120, 20))
    assert told_by(24, seeds, scaled(120, 20)) == alone
    assert told_by(8, seeds, scaled(120, 20)) == alone
    with ThreadPoolExecutor(2) as pool:
        halves = pool.map(lambda part: told_by(4, part, scaled(120, 20)), (seeds[:12], seeds[12:]))
    assert [game for half in halves for game in half] == alone


@pytest.mark.parametrize("name", ["states", "observation", "action_mask", "reasons", "auto_reset", "reward", "rules"])
def test_what_is_bound_cannot_be_replaced(name: str) -> None:
    games = Games(2, seed=1)
    before = getattr(games, name)
    with pytest.raises(AttributeError, match=f"{name} of Games cannot be replaced"):
        setattr(games, name, copy.deepcopy(before))
    assert getattr(games, name) is before
    kept = games.states.copy()
    games.step(games.action_mask.argmax(axis=1))
    games.states[:] = kept
    assert games.states.tobytes() == kept.tobytes()


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_rows_and_seats_of_any_layout_compile_nothing() -> None:
    games, rows, seats = Games(8, seed=1), np.arange(8), np.zeros(8, np.int64)
    games.reset(rows=rows)
    games.observe(rows, seats)
    compiled = [kernels.deal_games, encode_games]
    before = [len(one.signatures) for one in compiled]
    fixed = rows.copy()
    fixed.flags.writeable = False
    for some in (rows[::2], fixed, rows[::-1], np.broadcast_to(3, 4), rows.astype(">i4")):
        if len(set(some.tolist())) == len(some):
            games.reset(rows=some)
        games.observe(some, seats[: len(some)][::-1])
        games.observe(some, np.broadcast_to(1, len(some)))
    assert [len(one.signatures) for one in compiled] == before


def test_no_rows_are_none() -> None:
    games = Games(3, seed=1)
    before = games.states.tobytes()
    games.step([], [])
    games.reset(rows=[])
    assert [len(part) for part in games.observe([], [])] == [0, 0]
    assert games.states.tobytes() == before
