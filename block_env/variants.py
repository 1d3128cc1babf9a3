"""Rule sets: every number and switch of the game that varies, the presets, and where each comes from (RULES.md).

RULES.md's sources: **[M]** the match game (Pagat), **[R]** the single-round game ("Blockspiel"), **[decision]** ours.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from block_env.tiles import BIT, MAX_PIP, MAX_TILES, tiles

PRESETS = ("match", "single_round", "partnership", "draw")
MAX_SEATS = 4
MAX_TARGET = 10_000
SINGLE_ROUND_SCALE = 100
"""Scores are seen as shares of the target; a single round has none and takes the two-player match's."""


@dataclass(frozen=True)
class Rules:
    """One way of playing Block. Immutable and hashable; ``dataclasses.replace`` gives variations.

    ``Rules()`` is one round for two, opener by lot. ``Rules.preset("match", num_players=3)`` gives the named sets.

    Attributes:
        num_players: 2, 3 or 4 seats; play goes clockwise, seat 0, 1, 2, …
        max_pip: the highest pip of the set, 1 to 9; 6 is the usual double-six set of 28 tiles. [decision]
        hand_size: tiles dealt to a seat. None takes the text's: 7 for two players, 5 for three or four [M], 7 in
            partnership [R].
        partnership: seats 0 and 2 play against seats 1 and 3. [R]
        draw: who cannot lay draws until a tile fits. [R, the comparison game]
        stock_reserve: tiles at the end of the stock that are never drawn; needs ``draw``. [decision]
        target: the score that ends a match, 1 to 10,000. None: the game is a single round. [M, R]
        first_opener: who opens the first round: ``"lot"``, a fair lot [M], or ``"highest_double"``, the holder of the
            highest double, or where nobody holds one, of the heaviest tile [R, decision]. In a match the opening then
            moves one seat clockwise a round [M].
        opener_plays_double: the opener must open with its highest double, or, holding none, its heaviest tile.
            [decision, off]
        blocked_compare: what a blocked partnership round compares: ``"side"``, both hands together, or ``"hand"``, the
            lowest single hand. [decision]
        blocked_points: what a blocked round pays: ``"difference"``, the other sides' totals less the winner's own
            (never less than 0), or ``"opponents"``, without subtracting. [M, decision]

    Raises:
        ValueError: a value is out of range or does not go with another; the message names the field.
    """

    num_players: int = 2
    max_pip: int = 6
    hand_size: int | None = None
    partnership: bool = False
    draw: bool = False
    stock_reserve: int = 0
    target: int | None = None
    first_opener: str = "lot"
    opener_plays_double: bool = False
    blocked_compare: str = "side"
    blocked_points: str = "difference"

    def __post_init__(self) -> None:
        for name, value in self.as_dict().items():
            if isinstance(value, np.integer):
                object.__setattr__(self, name, int(value))
        _check_whole("num_players", self.num_players, 2, MAX_SEATS)
        _check_whole("max_pip", self.max_pip, 1, MAX_PIP)
        if self.num_tiles < self.num_players:
            takes = f"takes at most {self.num_tiles} with max_pip {self.max_pip}"
            raise ValueError(f"num_players: {takes}, got {self.num_players}")
        for name in ("partnership", "draw", "opener_plays_double"):
            _check_one_of(name, getattr(self, name), (False, True))
        _check_one_of("first_opener", self.first_opener, ("lot", "highest_double"))
        _check_one_of("blocked_compare", self.blocked_compare, ("side", "hand"))
        _check_one_of("blocked_points", self.blocked_points, ("difference", "opponents"))
        if self.partnership and self.num_players != 4:
            raise ValueError(f"num_players: partnership takes 4, got {self.num_players}")
        if self.target is not None:
            _check_whole("target", self.target, 1, MAX_TARGET)
        if self.hand_size is None:
            object.__setattr__(self, "hand_size", 7 if self.num_players == 2 or self.partnership else 5)
        _check_whole("hand_size", self.hand_size, 1, self.num_tiles // self.num_players, self._hand_size_hint())
        _check_whole("stock_reserve", self.stock_reserve, 0, self.stock_size if self.draw else 0, self._reserve_hint())

    @classmethod
    def preset(cls, name: str, num_players: int | None = None) -> Rules:
        """The rule set ``"match"``, ``"single_round"``, ``"partnership"`` or ``"draw"``.

        Match: to 100 for two, 61 for three or four [M]. Partnership: a match of four to 100, all 28 tiles in play [R].
        Single round and Draw: one round, the highest double opens [R]. ``num_players`` defaults to 2, in partnership 4.
        """
        _check_one_of("rules", name, PRESETS)
        seats = num_players if num_players is not None else 4 if name == "partnership" else 2
        if name == "match":
            return cls(seats, target=100 if seats == 2 else 61)
        if name == "partnership":
            return cls(seats, partnership=True, target=100)
        return cls(seats, draw=name == "draw", first_opener="highest_double")

    @property
    def name(self) -> str:
        """The preset that these rules are, or ``"custom"``."""
        for name in PRESETS:
            if (name == "partnership") == self.partnership and self == Rules.preset(name, self.num_players):
                return name
        return "custom"

    @property
    def num_tiles(self) -> int:
        """Tiles in the set: 28 for double-six."""
        return len(tiles(self.max_pip))

    @property
    def num_actions(self) -> int:
        """Action ids: ``2 * num_tiles + 1`` (:mod:`block_env.actions`)."""
        return 2 * self.num_tiles + 1

    @property
    def num_sides(self) -> int:
        """Sides that score: the two partnerships, or one a seat."""
        return 2 if self.partnership else self.num_players

    @property
    def stock_size(self) -> int:
        """Tiles that are not dealt: 14, 13, 8 or 0 with the double-six set (RULES.md)."""
        assert self.hand_size is not None
        return self.num_tiles - self.num_players * self.hand_size

    @property
    def max_plies(self) -> int:
        """A bound on the turns of one round, forced passes and draws included.

        All but one seat keep a tile, between two tiles every other seat may pass, and a blocked round ends with a pass
        of every seat; each draw takes at least one tile from the stock.
        """
        assert self.hand_size is not None
        drawable = self.stock_size - self.stock_reserve if self.draw else 0
        laid = self.num_players * (self.hand_size - 1) + drawable
        return self.num_players * laid + 1 + drawable

    @property
    def total_pips(self) -> int:
        """The pips of the whole set: no round can pay more."""
        return sum(low + high for low, high in tiles(self.max_pip))

    @property
    def max_start_score(self) -> int:
        """The highest score that a match may be set up with: twice the target (0 in a single round)."""
        return 2 * (self.target or 0)

    def as_dict(self) -> dict[str, Any]:
        """All fields, as JSON takes them; ``Rules(**d)`` gives them back."""
        return dataclasses.asdict(self)

    def _hand_size_hint(self) -> str:
        return f" for {self.num_players} players and max_pip {self.max_pip}"

    def _reserve_hint(self) -> str:
        return f" (the stock has {self.stock_size})" if self.draw else " without draw=True"


def resolve(rules: str | Rules = "match", num_players: int | None = None) -> Rules:
    """The rules that an environment's keywords mean: a preset's name and seats, or a :class:`Rules` as it is.

    Raises:
        ValueError: no such preset; or ``num_players`` is given and the rules say otherwise.
    """
    if num_players is not None and not isinstance(num_players, int | np.integer):
        raise ValueError(f"num_players: takes a whole number from 2 to {MAX_SEATS}, got {num_players!r}")
    if isinstance(rules, Rules):
        if num_players is not None and num_players != rules.num_players:
            raise ValueError(f"num_players: the given Rules take {rules.num_players}, got {num_players!r}")
        return rules
    if not isinstance(rules, str):
        raise ValueError(f"rules: takes one of {', '.join(map(repr, PRESETS))} or a Rules, got {rules!r}")
    return Rules.preset(rules, num_players)


RULES_RECORD = np.dtype(
    (
        np.record,
        [
            ("suit", "<u8", (MAX_PIP + 1,)),  # the tiles with that pip, as a bit set
            ("doubles", "<u8"),
            ("pip_bits", "<u8", (5,)),  # the tiles whose pips have 1, 2, 4, 8, 16 in them, as bit sets
            ("num_players", "<i4"),
            ("num_sides", "<i4"),
            ("hand_size", "<i4"),
            ("num_tiles", "<i4"),
            ("draw", "<i4"),
            ("stock_reserve", "<i4"),
            ("target", "<i4"),  # 0: a single round
            ("highest_double_opens", "<i4"),
            ("opener_plays_double", "<i4"),
            ("compare_hands", "<i4"),
            ("subtract_own", "<i4"),
            ("low", "<u1", (MAX_TILES,)),
            ("high", "<u1", (MAX_TILES,)),
        ],
    )
)
"""What the kernels read of a :class:`Rules`: numbers, and the tables of its set of tiles."""


@cache
def rules_table(rules: Rules) -> NDArray[Any]:
    """The rules as kernels take them: one record, dtype :data:`RULES_RECORD`, in an array of length 1."""
    table = np.zeros(1, RULES_RECORD)
    row = table[0]
    for name in ("num_players", "num_sides", "hand_size", "num_tiles", "draw", "stock_reserve"):
        row[name] = getattr(rules, name)
    row.target = rules.target or 0
    row.highest_double_opens = rules.first_opener == "highest_double"
    row.opener_plays_double = rules.opener_plays_double
    row.compare_hands = rules.blocked_compare == "hand"
    row.subtract_own = rules.blocked_points == "difference"
    for index, (low, high) in enumerate(tiles(rules.max_pip)):
        row.low[index], row.high[index] = low, high
        row.suit[low] |= BIT[index]
        row.suit[high] |= BIT[index]
        if low == high:
            row.doubles |= BIT[index]
        for place in range(len(row.pip_bits)):
            if low + high >> place & 1:
                row.pip_bits[place] |= BIT[index]
    return table


def _check_whole(name: str, value: object, low: int, high: int, hint: str = "") -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        takes = f"a whole number from {low} to {high}" if high > low else str(low)
        raise ValueError(f"{name}: takes {takes}{hint}, got {value!r}")


def _check_one_of(name: str, value: object, choices: tuple[object, ...]) -> None:
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        raise ValueError(f"{name}: takes {' or '.join(map(repr, choices))}, got {value!r}")
