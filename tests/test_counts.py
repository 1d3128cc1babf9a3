"""Exhaustive counts on tiny sets: every deal and every history of the core, against the reference's."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

import pytest
from helpers import after_every_action, every_deal
from reference import count_tree

from block_env.play import Games
from block_env.variants import Rules

DOUBLE_TWO = Rules(max_pip=2, hand_size=2)
DOUBLE_THREE = Rules(max_pip=3, hand_size=3)
COUNTS = {DOUBLE_TWO: (90, 1014, 357), DOUBLE_THREE: (4200, 262746, 83100)}
"""Deals, histories, and those that end a round: what `count_tree` gives, which takes seconds for the larger set."""


def count_core(rules: Rules) -> tuple[int, int, int]:
    """Deals, nodes and terminal histories of the core, walked a turn at a time."""
    level = every_deal(rules)
    deals, nodes, terminals = len(level), 0, 0
    while len(level):
        nodes += len(level)
        terminals += int(level["over"].sum())
        level = after_every_action(level[level["over"] == 0], rules)
    return deals, nodes, terminals


@pytest.mark.nojit
def test_double_two_every_history() -> None:
    rules = DOUBLE_TWO
    assert astuple(count_tree(max_pip=rules.max_pip, hand_size=rules.hand_size)) == COUNTS[rules]
    assert count_core(rules) == COUNTS[rules]


def test_double_three_every_history() -> None:
    rules = DOUBLE_THREE
    assert astuple(count_tree(max_pip=rules.max_pip, hand_size=rules.hand_size)) == COUNTS[rules]
    assert count_core(rules) == COUNTS[rules]


@pytest.mark.parametrize(
    "options",
    [{"num_players": 3, "hand_size": 1}, {"opener_plays_double": True, "hand_size": 2}],
    ids=["three seats", "forced opening"],
)
def test_double_two_variations(options: dict[str, Any]) -> None:
    rules = Rules(max_pip=2, **options)
    assert count_core(rules) == astuple(count_tree(max_pip=2, **options))


@pytest.mark.parametrize("rules", [DOUBLE_TWO, DOUBLE_THREE], ids=["double-two", "double-three"])
def test_random_deals_are_exactly_all_deals(rules: Rules) -> None:
    """Shuffles reach every deal, and nothing else: 90 and 4,200 distinct ones."""
    count = 20 * COUNTS[rules][0]  # each deal is missed with chance e^-20
    hands = Games(count, rules, seed=11).states["hands"][:, : rules.num_players]
    assert {tuple(row) for row in hands.tolist()} == {tuple(row) for row in every_deal(rules)["hands"][:, :2].tolist()}
