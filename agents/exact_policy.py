"""A solved round as an agent: its odds at each information set that it comes to, in one small safetensors file.

An information set is found by a number made of the own hand and the public turns, each as the tile and the pip that it
was joined to. So a line and its mirror image are the same, wherever both ends showed the same pip; odds are kept in the
order of actions on the line with its smaller end at the left. Nothing is unpickled.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from agents.exact import Table, Tree, exploitability, reach, seen, sequences_of, set_batches
from agents.symmetry import orientation
from block_env.command import write_file
from block_env.observation import layout
from block_env.tiles import tiles
from block_env.variants import Rules

FORMAT = "1"
_UNIT = 65535  # odds are kept as whole shares of it
_PASS = 1 << 12
_TURN, _HAND, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93), np.uint64(29)


class ExactFileError(ValueError):
    """A file that holds no solved round, or one of other rules; the message names the file and what differs."""


class ExactPolicy:
    """A solved round as a :class:`block_env.policy.Policy`: it draws its actions with the odds of the solution.

    Args:
        rules: what was solved.
        keys: uint64 [n], sorted: the information sets that are kept (:func:`set_keys`).
        sizes: uint8 [n]: how many actions each has.
        odds: uint16 [sum of sizes]: the share of each action.
        exploitability: points, of these odds.

    Where no set is kept (its own odds never lead there) all legal actions are alike.
    """

    needs_history = True

    def __init__(
        self,
        rules: Rules,
        keys: NDArray[np.uint64],
        sizes: NDArray[np.uint8],
        odds: NDArray[np.uint16],
        exploitability: float = float("nan"),
    ) -> None:
        self.rules, self.exploitability = rules, exploitability
        self.keys, self.sizes, self.odds = keys, sizes, odds
        self._starts = np.cumsum(sizes, dtype=np.int64) - sizes
        self._width, self._lines = layout(rules, history=True).size, orientation(rules, history=True)

    @classmethod
    def from_table(cls, tree: Tree, table: Table) -> ExactPolicy:
        """The policy of a table, rounded; its ``exploitability`` is measured after that.

        Raises:
            ValueError: the tree is not a merged one.
        """
        if not tree.merged:
            raise ValueError("tree: takes one built with merged=True, got one that is not")
        shares = np.rint(table * _UNIT).astype(np.uint16)
        rounded = _normalised(tree, shares)
        kept = reach(tree, rounded)[tree.parent] > 0
        parts = [_packed(tree, sets, shares, kept[sets]) for sets in set_batches(tree)] or [_nothing()]
        keys, sizes, odds = (np.concatenate([part[k] for part in parts]) for k in range(3))
        order = np.argsort(keys)
        if (np.diff(keys[order]) == 0).any():
            raise ValueError("tree: two information sets have the same key")
        places = np.repeat(np.cumsum(sizes, dtype=np.int64)[order] - sizes[order], sizes[order]) + _ranges(sizes[order])
        return cls(tree.rules, keys[order], sizes[order], odds[places], exploitability(tree, rounded))

    def probabilities(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        """The odds of each action, float64 [B, A], for observations with history.

        Raises:
            ValueError: the observations are of other rules, or without history.
        """
        if observation.ndim != 2 or observation.shape[1] != self._width:
            raise ValueError(f"observation: this policy takes [B, {self._width}], got {list(observation.shape)}")
        turned, mask = canonical(self.rules, observation, action_mask)
        keys, counts = set_keys(self.rules, observation), mask.sum(axis=1, dtype=np.int64)
        places = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
        odds = mask.astype(np.float64)
        if len(self.keys):
            known = (self.keys[places] == keys) & (self.sizes[places] == counts)
            rows, actions = np.nonzero(mask * known[:, None])
            starts = np.repeat(self._starts[places[known]], counts[known])
            odds[rows, actions] = self.odds[starts + _ranges(counts[known])]
        return self._lines.masks(odds / odds.sum(axis=1, keepdims=True), turned)

    def act(
        self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """An action drawn for each row, int64 [B]."""
        odds = self.probabilities(observation, action_mask)
        drawn = odds.cumsum(axis=1) > rng.random((len(odds), 1))
        last = np.where(odds > 0, np.arange(odds.shape[1]), 0).max(axis=1)  # where rounding leaves the sum below 1
        return np.where(drawn.any(axis=1), drawn.argmax(axis=1), last)

    def save(self, path: Path) -> None:
        """Write the file, beside and then renamed."""
        card = {
            "format": FORMAT,
            "rules": json.dumps(self.rules.as_dict()),
            "exploitability": repr(self.exploitability),
        }
        write_file(Path(path), save({"keys": self.keys, "sizes": self.sizes, "odds": self.odds}, card))

    @classmethod
    def load(cls, path: Path, rules: Rules | None = None) -> ExactPolicy:
        """The policy of a file.

        Args:
            path: what :meth:`save` wrote.
            rules: what is to be played; None takes what was solved.

        Raises:
            ExactFileError: the file is missing, broken or of another format, or its rules differ.
        """
        card, arrays = _read(Path(path))
        if card.get("format") != FORMAT:
            raise ExactFileError(f"{path}: format: takes {FORMAT!r}, got {card.get('format')!r}")
        try:
            solved, measured = Rules(**json.loads(card["rules"])), float(card["exploitability"])
        except (KeyError, TypeError, ValueError) as error:
            raise ExactFileError(f"{path}: not a solved round ({error!r})") from None
        if rules is not None and rules != solved:
            raise ExactFileError(f"{path}: rules do not fit: solved for {solved}, played with {rules}")
        _check_arrays(path, arrays)
        return cls(solved, *arrays, measured)


def _read(path: Path) -> tuple[dict[str, str], list[NDArray[Any]]]:
    try:
        with safe_open(path, framework="numpy") as file:
            return file.metadata() or {}, [file.get_tensor(name) for name in ("keys", "sizes", "odds")]
    except FileNotFoundError:
        raise ExactFileError(f"{path}: there is no such file") from None
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise ExactFileError(f"{path}: not a safetensors file of a solved round ({error})") from None


def _check_arrays(path: Path, arrays: list[NDArray[Any]]) -> None:
    keys, sizes, odds = arrays
    kinds = [array.dtype for array in arrays] == [np.uint64, np.uint8, np.uint16]
    if not kinds or keys.ndim != 1 or keys.shape != sizes.shape or odds.shape != (int(sizes.sum()),):
        raise ExactFileError(f"{path}: takes keys uint64 [n], sizes uint8 [n] and odds uint16 [sum of sizes]")
    if (keys[1:] <= keys[:-1]).any() or (sizes == 0).any():
        raise ExactFileError(f"{path}: takes sorted keys and sizes from 1")
    if len(odds) and (np.add.reduceat(odds.astype(np.int64), np.cumsum(sizes, dtype=np.int64) - sizes) == 0).any():
        raise ExactFileError(f"{path}: takes an action with odds above 0 in each set")


# Packing --------------------------------------------------------------------------------------------------------------


def _normalised(tree: Tree, shares: NDArray[np.uint16]) -> Table:
    table = shares.astype(np.float64)
    sums = np.add.reduceat(table, tree.first[:-1]) if tree.num_decisions else np.zeros(0)
    table[2:] /= np.repeat(sums, np.diff(tree.first))
    table[:2] = 1
    return table


def _packed(
    tree: Tree, sets: NDArray[np.int64], shares: NDArray[np.uint16], kept: NDArray[np.bool_]
) -> tuple[NDArray[np.uint64], NDArray[np.uint8], NDArray[np.uint16]]:
    """Keys, sizes and shares of those of these sets that are kept."""
    observation, mask = seen(tree, sets, history=True)
    sequences, rows = sequences_of(tree, sets)
    given = np.zeros(mask.shape, np.uint16)
    given[rows, tree.action[sequences]] = shares[sequences]
    turned, mask = canonical(tree.rules, observation, mask)
    given = orientation(tree.rules, True).masks(given, turned)
    legal = mask[kept] > 0
    return set_keys(tree.rules, observation[kept]), legal.sum(axis=1).astype(np.uint8), given[kept][legal]


def _nothing() -> tuple[NDArray[np.uint64], NDArray[np.uint8], NDArray[np.uint16]]:
    return np.zeros(0, np.uint64), np.zeros(0, np.uint8), np.zeros(0, np.uint16)


def _ranges(sizes: NDArray[Any]) -> NDArray[np.int64]:
    """0, 1, … up to each size, one after the other."""
    ends = np.cumsum(sizes, dtype=np.int64)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - sizes, sizes)


def canonical(
    rules: Rules, observation: NDArray[np.float32], action_mask: NDArray[np.int8]
) -> tuple[NDArray[np.bool_], NDArray[np.int8]]:
    """Which lines to turn to have the smaller end at the left, and the masks then; of two equal ends only the left."""
    lines, parts = orientation(rules, True), layout(rules, True)
    turned = lines.turned(observation)
    mask = lines.masks(action_mask, turned)
    left, right = parts["left_end"].of(observation), parts["right_end"].of(observation)
    mask[(left == right).all(axis=1), rules.num_tiles : 2 * rules.num_tiles] = 0
    return turned, mask


def set_keys(rules: Rules, observation: NDArray[np.float32]) -> NDArray[np.uint64]:
    """A number for the hand and the turns that each observation (with history) tells, uint64 [B]."""
    parts, count = layout(rules, True), rules.num_tiles
    turns = parts["history"].of(observation)
    low, high = np.array(tiles(rules.max_pip)).T
    keys, ends = np.zeros(len(turns), np.uint64), np.full((2, len(turns)), -1)
    for ply in range(turns.shape[1]):
        flags = turns[:, ply, rules.num_players : rules.num_players + count]
        laid, passed, right = flags.any(axis=1), turns[:, ply, -2] > 0, turns[:, ply, -3] > 0
        tile = flags.argmax(axis=1)
        joined = np.where(right, ends[1], ends[0])
        codes = np.where(laid, tile * 16 + joined + 2, _PASS).astype(np.uint64)
        keys = np.where(laid | passed, (keys + codes) * _TURN ^ keys >> _SHIFT, keys)
        opening, other = laid & (joined < 0), low[tile] + high[tile] - joined
        ends[0] = np.where(opening, low[tile], np.where(laid & ~right, other, ends[0]))
        ends[1] = np.where(opening, high[tile], np.where(laid & right, other, ends[1]))
    hands = (parts["hand"].of(observation) > 0) @ (np.uint64(1) << np.arange(count, dtype=np.uint64))
    mixed = (keys ^ hands + np.uint64(1)) * _HAND
    return (mixed ^ mixed >> _SHIFT) * _TURN
