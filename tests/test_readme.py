"""README says what the code does: its tables are the code's, its names exist, its figures have their recipe."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import pytest

import agents
import block_env
from agents.learned import CARD
from block_env import Rules
from block_env.observation import Slice, layout

README = Path(__file__).parent.parent.joinpath("README.md").read_text()
MATCH = Rules.preset("match")


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table after a heading."""
    table = README.split(heading, 1)[1].split("\n|---", 1)[1].split("\n\n", 1)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[1:]]


def test_the_observation_table_is_the_layout():
    parts = layout(MATCH, history=True)
    history = parts["history"]
    assert f"{layout(MATCH).size} numbers" in README
    assert f"{history.shape[0]} rows of {history.shape[1]}" in README
    found = [(name.strip("`"), start, shape, meaning) for name, start, shape, meaning in rows("### Observation Space")]
    expected = [
        (part.name, _numbers(part), " × ".join(map(str, part.shape)), part.meaning) for part in layout(MATCH).slices
    ]
    assert found == expected


def _numbers(part: Slice) -> str:
    return f"{part.start}–{part.stop - 1}" if part.size > 1 else str(part.start)


def test_the_keyword_table_is_the_signature():
    parameters = inspect.signature(block_env.raw_env).parameters
    names = [row[0].strip("`") for row in rows("All take the same")]
    assert names == list(parameters)
    for row in rows("All take the same"):
        default = parameters[row[0].strip("`")].default
        assert row[1] == (f"`{json.dumps(default)}`" if isinstance(default, str) else row[1])
        if not isinstance(default, str) and default is not None:
            assert row[1] == f"`{default}`"


def test_the_rule_set_table_is_the_presets():
    for names, seats, hands, _, game, _ in rows("### Rule sets"):
        name = names.strip('`"')
        for number, hand in zip(seats.split(", "), hands.split(", ") * 3, strict=False):
            rules = Rules.preset(name, int(number))
            assert rules.hand_size == int(hand)
            assert ("one round" in game) == (rules.target is None)
            assert rules.target is None or str(rules.target) in game


@pytest.mark.parametrize("field", list(Rules.__dataclass_fields__))
def test_every_field_of_the_rules_is_named(field):
    assert f"`{field}" in README


def test_every_file_of_the_package_is_on_the_map():
    listed = set(re.findall(r"\b[a-z0-9_]+\b", README.split("## Map", 1)[1]))
    package = Path(block_env.__file__).parent
    assert {path.stem for path in package.glob("*.py") if not path.stem.startswith("_")} <= listed


def test_the_shipped_networks_recipe_is_in_the_results():
    card = json.loads((agents.SHIPPED / "match-2p" / CARD).read_text())
    assert card["command"] in README
