"""The hidden tiles of a player's view, filled in so that all that was seen could have been.

A tile may have been dealt to a seat, or drawn by it in one of its turns, if it fitted neither end whenever the seat
could lay nothing while it held it. Which tile came from where is a matching of tiles to such places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from block_env import rules as kernels
from block_env.actions import Move, decode_action
from block_env.records import Record, RoundRecord, check_form, drawn_count, illegal_end, misfit
from block_env.tiles import Tile, tile_id, tiles
from block_env.variants import rules_table


@dataclass(frozen=True)
class _Slot:
    """A place for a hidden tile: dealt to a seat (turn -1), or the ``place``-th that it drew in that turn."""

    seat: int
    turn: int
    place: int


def complete(record: Record) -> Record:
    """The record with every hidden tile filled in.

    Raises:
        NotationError: nothing can be filled in that agrees with what was seen.
    """
    check_form(record)
    if record.viewer is None:
        return record
    return replace(record, rounds=tuple(_fill(record, number) for number in range(len(record.rounds))))


def _fill(record: Record, number: int) -> RoundRecord:
    """A round with its hidden tiles filled in, so that all that was seen is as it was.

    Tiles are matched to slots. Two conditions are on several tiles together: nobody was dealt a better tile to open
    with than the opener, and who was not allowed to pass could lay something. They are met by trying which tile it was.
    """
    puzzle = _Puzzle(record, number)
    for best, held in product(puzzle.best_tiles(), puzzle.tiles_in_the_way()):
        found = puzzle.match(best, held)
        if found is not None:
            return puzzle.filled(found)
    raise misfit("no hidden hands agree with what was seen", number, "opener")


class _Puzzle:
    """Which hidden tile came from where in a round that one player saw."""

    def __init__(self, record: Record, number: int) -> None:
        self.record, self.rules, self.one = record, record.rules, record.rounds[number]
        self.number = number
        self.ends = _ends(self.one)
        self.laid_at = {turn.move.tile: k for k, turn in enumerate(self.one.turns) if turn.move.tile is not None}
        self.owner = {turn.move.tile: turn.seat for turn in self.one.turns if turn.move.tile is not None}
        self.owner |= {tile: seat for seat, hand in enumerate(self.one.shown) for tile in hand}
        self.refused, self.mover = self._refused()
        self.slots = [slot for seat in range(self.rules.num_players) for slot in self._slots(seat)]
        self.seen = {tile for hand in self.one.hands for tile in hand or ()}
        self.seen |= {tile for turn in self.one.turns if not isinstance(turn.drawn, int) for tile in turn.drawn}

    def _refused(self) -> tuple[Move | None, int]:
        """The illegal move that ended the game in this round, and its seat; None and -1 if none did."""
        end = illegal_end(self.record)
        last = self.number == len(self.record.rounds) - 1
        if end is None or not last or self.one.reason is not None:
            return None, -1
        if end[0] >= self.rules.num_actions or end[1] >= self.rules.num_players:
            return None, -1
        return decode_action(end[0], self.rules.max_pip), end[1]

    def _slots(self, seat: int) -> Iterator[_Slot]:
        assert self.rules.hand_size is not None
        if self.one.hands[seat] is None:
            yield from (_Slot(seat, -1, place) for place in range(self.rules.hand_size))
        for k, turn in enumerate(self.one.turns):
            if turn.seat == seat and isinstance(turn.drawn, int):
                yield from (_Slot(seat, k, place) for place in range(turn.drawn))

    def best_tiles(self) -> list[Tile | None]:
        """The tiles that may be the best one that the opener could open with; [None] where the rules do not ask."""
        if not self._opens_by_rule() and not self.rules.opener_plays_double:
            return [None]
        opener = self.one.opener
        if self.rules.opener_plays_double and self.one.turns and self.one.turns[0].move.tile is not None:
            return [self.one.turns[0].move.tile]
        mine = self.one.hands[opener]
        if mine:
            return [max(mine, key=self._weight)]
        floor = max((self._weight(tile) for hand in self.one.hands for tile in hand or ()), default=-1)
        best = [tile for tile in tiles(self.rules.max_pip) if self.owner.get(tile, opener) == opener]
        if self.rules.opener_plays_double and self.refused is not None and self.refused.end == "left":
            best = [tile for tile in best if tile != self.refused.tile]
        return [tile for tile in best if not self._opens_by_rule() or self._weight(tile) > floor]

    def _opens_by_rule(self) -> bool:
        return self.number == 0 and not self.record.set_up and self.rules.first_opener == "highest_double"

    def _weight(self, tile: Tile) -> int:
        return int(kernels.weight(tile_id(tile, self.rules.max_pip), rules_table(self.rules)[0]))

    def tiles_in_the_way(self) -> list[Tile | None]:
        """The hidden tiles that may be why the pass was illegal that ended the game; [None] where none need be."""
        hand_is_open = self.mover >= 0 and self.one.hands[self.mover] is not None
        if self.refused is None or self.refused.tile is not None or hand_is_open or self.ends[-1] is None:
            return [None]
        unknown = set(tiles(self.rules.max_pip)) - self.seen - set(self.owner)
        return [tile for tile in sorted(unknown) if self._joins(tile, len(self.one.turns))]

    def match(self, best: Tile | None, held: Tile | None) -> dict[_Slot, Tile] | None:
        """A tile for each slot, ``held`` in the hand of the seat to move; None if there is no such matching."""
        owner = self.owner if held is None else self.owner | {held: self.mover}
        hidden = [tile for tile in tiles(self.rules.max_pip) if tile not in self.seen]
        slot_of: dict[Tile, _Slot] = {}
        tile_of: dict[_Slot, Tile] = {}
        fitting = {tile: [slot for slot in self.slots if self._fits(tile, slot, best, owner)] for tile in hidden}
        wanted: dict[_Slot, list[Tile]] = {slot: [] for slot in self.slots}
        for tile, slots in fitting.items():
            for slot in slots:
                wanted[slot].append(tile)
        known = sorted((tile for tile in hidden if tile in owner), key=lambda tile: tile != best)
        if not all(_augment(tile, fitting, slot_of, tile_of, set()) for tile in known):
            return None
        if not all(slot in tile_of or _augment(slot, wanted, tile_of, slot_of, set()) for slot in self.slots):
            return None
        return tile_of

    def _fits(self, tile: Tile, slot: _Slot, best: Tile | None, owner: dict[Tile, int]) -> bool:
        """Whether the tile may have come to that seat then, and lain in its hand until it was laid."""
        if owner.get(tile, slot.seat) != slot.seat or (tile not in owner and self.one.reason is not None):
            return False
        if slot.seat == self.mover and self._was_refused(tile):
            return False
        laid_at = self.laid_at.get(tile, len(self.one.turns))
        return (
            laid_at > slot.turn
            and self._may_be_dealt(tile, slot, best)
            and self._was_right_to_draw(tile, slot)
            and not any(self._joins(tile, k) for k in self._idle_turns(slot.seat, slot.turn, laid_at))
        )

    def _was_refused(self, tile: Tile) -> bool:
        """Whether the illegal move was illegal because its seat did not hold this tile."""
        if self.refused is None or tile != self.refused.tile or tile in self.laid_at:
            return False
        ends = self.ends[-1]
        if ends is None:
            return self.refused.end == "left" and not self.rules.opener_plays_double
        return ends[self.refused.end == "right"] in tile

    def _may_be_dealt(self, tile: Tile, slot: _Slot, best: Tile | None) -> bool:
        if best is None or slot.turn >= 0:
            return True
        if slot.seat == self.one.opener:
            # its first slot is the best tile's
            return (tile == best) == (slot.place == 0) and self._weight(tile) <= self._weight(best)
        return not self._opens_by_rule() or self._weight(tile) < self._weight(best)

    def _was_right_to_draw(self, tile: Tile, slot: _Slot) -> bool:
        """A seat draws until a tile fits: the last one does, unless it passed; the others do not."""
        if slot.turn < 0:
            return True
        turn = self.one.turns[slot.turn]
        return self._joins(tile, slot.turn) == (not turn.passed and slot.place == drawn_count(turn) - 1)

    def _idle_turns(self, seat: int, after: int, before: int) -> Iterator[int]:
        """The turns between in which the seat could lay nothing."""
        for k in range(after + 1, before):
            if self.one.turns[k].seat == seat and self.one.turns[k].move.tile is None:
                yield k

    def _joins(self, tile: Tile, turn: int) -> bool:
        ends = self.ends[turn]
        return ends is None or tile[0] in ends or tile[1] in ends

    def filled(self, found: dict[_Slot, Tile]) -> RoundRecord:
        def of(seat: int, turn: int) -> tuple[Tile, ...]:
            return tuple(found[slot] for slot in self.slots if (slot.seat, slot.turn) == (seat, turn))

        hands = tuple(tuple(sorted(of(k, -1))) if hand is None else hand for k, hand in enumerate(self.one.hands))
        turns = tuple(
            replace(turn, drawn=of(turn.seat, k)) if isinstance(turn.drawn, int) else turn
            for k, turn in enumerate(self.one.turns)
        )
        return replace(self.one, hands=hands, turns=turns)


def _ends(one: RoundRecord) -> list[tuple[int, int] | None]:
    """The open ends before each turn and after the last, as the tiles lie."""
    ends: list[tuple[int, int] | None] = []
    now: tuple[int, int] | None = None
    for turn in one.turns:
        ends.append(now)
        tile = turn.move.tile
        if tile is None:
            continue
        if now is None:
            now = tile
            continue
        place = 0 if turn.move.end == "left" else 1
        other = sum(tile) - now[place]
        now = (other, now[1]) if place == 0 else (now[0], other)
    return [*ends, now]


def _augment(one: Any, edges: Any, own: Any, theirs: Any, tried: set[Any]) -> bool:
    """Find a partner for ``one`` by moving others to another of theirs (Kuhn's algorithm)."""
    for other in edges[one]:
        if other in tried:
            continue
        tried.add(other)
        if other not in theirs or _augment(theirs[other], edges, own, theirs, tried):
            own[one], theirs[other] = other, one
            return True
    return False
