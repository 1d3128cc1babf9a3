"""What a player's view of a game hides, and games played again from their records."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import every_rules, random_actions, rules_name, scaled
from record_cases import DRAW
from record_oracle import (
    Told,
    accepted,
    heads_fit,
    is_true,
    other_digit,
    other_lines,
    other_turns,
    played,
    view_text,
)
from reference import Deal, Tile, tile_order

from block_env import Rules, notation, raw_env
from block_env.notation import NotationError
from block_env.play import Games

# Views ----------------------------------------------------------------------------------------------------------------


def test_a_view_hides_what_the_player_did_not_see() -> None:
    assert view_text(DRAW.replace("scores", "seed: 5\nscores", 1), 0) == (
        DRAW.replace("view: all", "view: P0")
        .replace("P1 has [1|1] [1|2]", "P1 has 2 tiles")
        .replace("P1 draw [0|1]", "P1 draw 1")
    )


@every_rules
def test_views_of_all_seats_are_read(rules: Rules, tmp_path: Path, rng: np.random.Generator) -> None:
    for text in [*played(rules, tmp_path, rng, 2, 60), *played(rules, tmp_path, rng, 1, 15)]:
        told = Told(text)
        for seat in range(rules.num_players):
            seen = view_text(text, seat)
            assert seen == told.retold(told.deals(), seat)
            (back,) = notation.read(seen)
            assert back == notation.view(notation.read(text)[0], seat)
            assert notation.view(back, seat) == back


def test_whose_view(tmp_path: Path) -> None:
    (record,) = notation.read(DRAW)
    seen = notation.view(record, 1)
    for seat in (-1, 2):
        with pytest.raises(ValueError, match="seat: takes a seat from 0 to 1"):
            notation.view(record, seat)
    with pytest.raises(ValueError, match="P1's view"):
        notation.view(seen, 0)
    for text in (
        notation.write(seen).replace("view: P1", "view: P0"),
        notation.write(seen).replace("view: P1", "view: all"),
        notation.write(seen).replace("scores: 0 0", "seed: 5\nscores: 0 0", 1),
        notation.write(seen).replace("P0 has 2 tiles", "P0 has [0|0] [2|2]"),
        notation.write(seen).replace("P0 has 2 tiles", "P0 has 3 tiles"),
        notation.write(seen).replace("P0 draw 1", "P0 draw [0|2]"),
    ):
        with pytest.raises(NotationError):
            notation.read(text)


def hidden_swap(told: Told, viewer: int, rng: np.random.Generator) -> list[Deal]:
    """Other deals of a one-round record: what the viewer has not seen laid has changed places."""
    (deal,) = told.deals()
    (_, _, turns) = told.rounds[0]
    laid = {(int(move[0]), int(move[1])) for _, _, move in turns if move and move != "pass"}
    mine = [tile for seat, some, _ in turns if seat == viewer for tile in some] + list(deal.hands[viewer])
    order = [tile for hand in deal.hands for tile in hand] + list(deal.stock)
    free = [k for k, tile in enumerate(order) if tile not in laid and tile not in mine]
    for k, tile in zip(free, [order[k] for k in rng.permutation(free)], strict=True):
        order[k] = tile
    size = told.rules.hand_size
    hands = [order[k * size : (k + 1) * size] for k in range(told.rules.num_players)]
    return [Deal(hands, order[told.rules.num_players * size :])]


@every_rules
def test_equal_to_the_player_is_equal_in_its_view(rules: Rules, tmp_path: Path, rng: np.random.Generator) -> None:
    """BUGS L03: two games that differ in what the viewer cannot see give the same bytes, until hands are shown."""
    swaps = 0
    for text in played(rules, tmp_path, rng, 10, 5):
        told = Told(text)
        if len(told.rounds) != 1 or told.result != "result: unfinished":
            continue
        for viewer in range(rules.num_players):
            for _ in range(scaled(8, 3)):
                with contextlib.suppress(ValueError, AssertionError):  # a swap that the passes rule out
                    other = told.retold(hidden_swap(told, viewer, rng))
                    if re.sub(r"(has|draw) .*", "", other) == re.sub(r"(has|draw) .*", "", text):
                        swaps += other != text
                        assert view_text(other, viewer) == view_text(text, viewer)
    assert swaps or rules.hand_size <= 2 or rules.num_tiles == rules.num_players * rules.hand_size


@every_rules
def test_a_view_replays_as_the_truth_in_public(rules: Rules, tmp_path: Path, rng: np.random.Generator) -> None:
    for text in [*played(rules, tmp_path, rng, 1, 40), *played(rules, tmp_path, rng, 1, 9)]:
        (record,) = notation.read(text)
        for seat in range(rules.num_players):
            seen = notation.view(record, seat)
            again = list(notation.replay(seen))
            assert [p.game for p in notation.replay(seen)] == [p.game for p in again]
            for true, other in zip(notation.replay(record), again, strict=True):
                assert (true.round, true.ply) == (other.round, other.ply)
                assert public(true.game, seat) == public(other.game, seat)


def public(game: Any, viewer: int) -> dict[str, Any]:
    facts = {name: value for name, value in vars(game).items() if name not in ("hands", "stock")}
    return facts | {"left": [len(hand) for hand in game.hands], "stock": len(game.stock), "own": game.hands[viewer]}


SMALL = [
    Rules(2, max_pip=2, hand_size=2),
    Rules(2, max_pip=2, hand_size=2, draw=True),
    Rules(2, max_pip=2, hand_size=2, draw=True, first_opener="highest_double"),
    Rules(2, max_pip=2, hand_size=2, draw=True, stock_reserve=1, opener_plays_double=True),
    Rules(2, max_pip=2, hand_size=3, first_opener="highest_double", opener_plays_double=True),
    Rules(3, max_pip=2, hand_size=2, first_opener="highest_double"),
    Rules(3, max_pip=2, hand_size=1, draw=True, first_opener="highest_double", opener_plays_double=True),
    Rules(3, max_pip=2, hand_size=2, opener_plays_double=True),
    Rules(4, max_pip=2, hand_size=1, draw=True),
    Rules(2, max_pip=3, hand_size=3, first_opener="highest_double"),
    Rules(2, max_pip=3, hand_size=4, draw=True, first_opener="highest_double"),
    Rules(3, max_pip=3, hand_size=3, draw=True, opener_plays_double=True),
]


def explanations(told: Told) -> Iterator[Deal]:
    """Every deal of a one-round view that agrees with the viewer's own tiles."""
    ((_, hands, turns),) = told.rounds
    slots = [tile for _, some, _ in turns for tile in ([None] * some if isinstance(some, int) else some)]
    mine = [tile for hand in hands for tile in hand or ()] + [tile for tile in slots if tile]
    free = [tile for tile in tile_order(told.rules.max_pip) if tile not in mine]
    for dealt in hand_choices(told.rules, hands, free):
        left = [tile for tile in free if not any(tile in hand for hand in dealt)]
        for some in permutations(left, slots.count(None)):
            unseen = iter(some)
            yield told.deal(dealt, [tile or next(unseen) for tile in slots])


def hand_choices(rules: Rules, hands: Any, free: list[Tile]) -> Iterator[list[list[Tile]]]:
    if not hands:
        yield []
        return
    for hand in [hands[0]] if hands[0] is not None else combinations(free, rules.hand_size):
        left = [tile for tile in free if tile not in hand]
        for others in hand_choices(rules, hands[1:], left):
            yield [list(hand), *others]


def can_be(text: str) -> bool:
    """Whether some deal explains the view: by trying them all."""
    try:
        told = Told(text)
        if told.viewer is None or told.seed or not heads_fit(told) or len(told.rounds) != 1:
            return False
        for deal in explanations(told):
            with contextlib.suppress(ValueError, AssertionError, IndexError):
                if told.retold([deal], told.viewer) == text:
                    return True
    except Exception:
        return False
    return False


def other_tile(text: str, rng: np.random.Generator) -> str:
    """One tile of the play or the table for another, everywhere or in one place."""
    tiles = sorted(set(re.findall(r"\[.\|.\]", text)))
    old, new = rng.choice(tiles), rng.choice(tiles)
    if rng.random() < 0.5:
        return text.replace(old, new, 1)
    return text.replace(old, "?").replace(new, old).replace("?", new)


def other_result(text: str, rng: np.random.Generator) -> str:
    action, seat = int(rng.integers(22)), int(rng.integers(3))
    return re.sub("result: .*", f"result: illegal action {action} by P{seat}", text)


def other_number(text: str, rng: np.random.Generator) -> str:
    return re.sub(r"draw \d", f"draw {rng.integers(1, 4)}", text, count=1)


VIEW_MUTATIONS = [*[other_tile] * 4, *[other_number] * 2, *[other_result] * 2, other_lines, other_turns, other_digit]


def illegal_end(text: str, rng: np.random.Generator) -> str:
    """The same game, left by an illegal action instead, where there is a table to play on."""
    changed = re.sub(r"\n(domino|blocked)(.|\n)*\n", "\nresult: unfinished\n", text)
    lines = changed.split("\n")
    lines[-3] = "  ".join(lines[-3].split("  ")[: int(rng.integers(1, 9))])
    changed = "\n".join(lines)
    choices = [changed.replace("unfinished", f"illegal action {a} by P{s}") for a in range(21) for s in range(3)]
    return next((choices[k] for k in rng.permutation(len(choices)) if is_true(choices[k])), text)


@pytest.mark.parametrize("rules", SMALL, ids=rules_name)
def test_a_view_is_read_if_some_deal_explains_it(rules: Rules, tmp_path: Path, rng: np.random.Generator) -> None:
    """Both ways, by all deals there are: true views, and views with something changed."""
    verdicts: list[bool] = []
    for text in played(rules, tmp_path, rng, scaled(6, 2), int(rng.integers(1, 20))) + played(
        rules, tmp_path, rng, 6, 3
    ):
        told = Told(re.sub(r"seed: \d+\n", "", text))
        for one in (told.text, illegal_end(told.text, rng)):
            seat = int(rng.integers(rules.num_players))
            seen = view_text(one, seat)
            for changed in [seen, *(mutate(seen, rng) for mutate in VIEW_MUTATIONS)]:
                verdicts.append(accepted(changed))
                assert verdicts[-1] == can_be(changed), changed
    assert any(verdicts)
    assert not all(verdicts)


# Positions ------------------------------------------------------------------------------------------------------------


@every_rules
def test_replay_equals_the_environment_at_every_ply(rules: Rules, tmp_path: Path, rng: np.random.Generator) -> None:
    """BUGS L05, the straight play of a replay; the table after a round shows all hands."""
    table = raw_env(rules=rules, record=tmp_path / "game")
    table.reset(seed=int(rng.integers(1000)))
    games, rounds = [table.game], []
    while not games[-1].over and len(games) < 100:
        mask = table.observe(table.agent_selection)["action_mask"]
        table.step(int(random_actions(mask[None], rng)[0]))
        games.append(table.game)
        if games[-1].over or games[-1].round_number > games[-2].round_number:
            rounds.append(games[-1])
    table.close()
    (record,) = notation.read_file(tmp_path / "game")
    positions = list(notation.replay(record))
    ends = [
        p for p in positions if p.ply and p.ply == len(record.rounds[p.round].turns) and record.rounds[p.round].reason
    ]
    starts = [p.game for p in positions if p not in ends]
    assert [facts(game) for game in starts] == [facts(game) for game in games if not game.over][: len(starts)]
    assert len(starts) >= len(games) - 1 - any(game.over for game in games[-1:])
    for end, after in zip(ends, rounds, strict=True):
        assert end.game.hands == after.last_round.hands
        assert (end.game.scores, end.game.last_round, end.game.over) == (after.scores, after.last_round, True)
        assert len(end.game.line) + sum(map(len, end.game.hands)) + len(end.game.stock) == rules.num_tiles


def facts(game: Any) -> dict[str, Any]:
    """A game but for the order of tiles that nobody ever draws."""
    return {**vars(game), "stock": sorted(game.stock)}


def test_end_of_round_leaves_its_argument_as_it_was(rng: np.random.Generator) -> None:
    rules = Rules.preset("match", 3)
    games = Games(1, rules, seed=3, auto_reset=False)
    ended = 0
    while games.to_play[0] >= 0:
        action, before = int(random_actions(games.action_mask, rng)[0]), games.states.copy()
        games.step(np.array([action]))
        if games.reasons[0]:
            ended += 1
            state = before.copy()
            table = notation.end_of_round(state, rules, action)
            assert state.tobytes() == before.tobytes()
            assert not np.shares_memory(table, state)
            assert (table["shown"] == games.states["shown"]).all()
            assert (table["hands"][0] == games.states["shown"][0]).all()
            assert (table["scores"] == games.states["scores"]).all()
            assert table["round_number"] == before["round_number"]
    assert ended > 2
