"""The rules of Block read a second time: naive, slow, and meant to be checked by eye.

Read it beside RULES.md: the sections below stand in the order of that page, and each method names
the paragraph it implements and quotes it where the wording decides. Tiles are tuples (low, high),
hands are sets, the line is a list. It shares no code with the package it checks.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import Any

Tile = tuple[int, int]


@dataclass
class Deal:
    """One shuffle: a hand per seat, the undealt tiles in the order they would be drawn, the seat
    the lot falls on.
    """

    hands: Sequence[Collection[Tile]]
    stock: Sequence[Tile]
    lot: int = 0


@dataclass
class RoundResult:
    """What a finished round was: the winning side or None, its points, the reason, and all hands as
    shown.
    """

    winner: int | None
    points: int
    reason: str  # "domino" or "blocked"
    hands: list[set[Tile]]


def tile_order(max_pip: int) -> list[Tile]:
    """DESIGN, Actions: 'Tiles count in the order [0|0], [0|1], ... [0|6], [1|1], ... [6|6].'"""
    return [(low, high) for low in range(max_pip + 1) for high in range(low, max_pip + 1)]


def pips(tile: Tile) -> int:
    """End of a round: 'a tile counts both halves: [6|6] 12, [0|0] 0.'"""
    return tile[0] + tile[1]


def is_double(tile: Tile) -> bool:
    return tile[0] == tile[1]


def heaviest(tiles: Iterable[Tile]) -> Tile:
    """Who opens: 'the heaviest tile (pips, then the larger half)'."""
    return max(tiles, key=lambda tile: (pips(tile), tile[1]))


def opening_tile(tiles: Iterable[Tile]) -> Tile:
    """Who opens: the highest double among these tiles; with no double among them, the heaviest."""
    tiles = set(tiles)
    doubles = {tile for tile in tiles if is_double(tile)}
    return heaviest(doubles or tiles)


def shuffled_deal(rng: Random, num_players: int, max_pip: int, hand_size: int) -> Deal:
    """Set, seats, deal: 'Every shuffle is uniform and deals anew from the full set.' The lot is
    fair.
    """
    tiles = tile_order(max_pip)
    rng.shuffle(tiles)
    hands = [tiles[seat * hand_size : (seat + 1) * hand_size] for seat in range(num_players)]
    return Deal(hands, tiles[num_players * hand_size :], rng.randrange(num_players))


class Reference:
    """A running game. `legal()` says what may be done, `step(action)` does it; the attributes are
    the whole state.

    Once the game is over nothing changes any more: hands, line, ends, passes and history stay as at
    the end, `to_play` stays at the seat that moved last.
    """

    hands: list[set[Tile]]  # per seat
    stock: list[Tile]  # undealt tiles, the next to be drawn first
    line: list[Tile]  # oriented tiles, left to right
    ends: tuple[int, int] | None  # (left, right); None before the opening tile
    to_play: int
    opener: int  # of the current round
    passes: int  # in a row
    history: list[tuple[int, int, int]]  # (seat, action, tiles drawn), of the current round
    lacks: list[set[int]]  # per seat: pips it has shown not to hold

    def __init__(
        self,
        deals: Iterable[Deal] | Callable[[], Deal],
        *,
        num_players: int = 2,
        max_pip: int = 6,
        hand_size: int | None,  # None: hands of any size, for positions set up by hand
        partnership: bool = False,
        draw: bool = False,
        stock_reserve: int = 0,
        target: int | None = None,  # None: a single round
        first_opener: str = "lot",  # or "highest_double"
        opener_plays_double: bool = False,
        blocked_compare: str = "side",  # or "hand"
        blocked_points: str = "difference",  # or "opponents"
        reward: str = "outcome",  # or "points"
        scores: Sequence[int] | None = None,  # to start with, one per side
        opener: int | None = None,  # of the first round, whatever first_opener says
    ) -> None:
        assert first_opener in ("lot", "highest_double")
        assert blocked_compare in ("side", "hand")
        assert blocked_points in ("difference", "opponents")
        assert reward in ("outcome", "points")
        assert not partnership or num_players == 4
        self.next_deal = deals if callable(deals) else iter(deals).__next__
        self.num_players = num_players
        self.hand_size = hand_size
        self.partnership = partnership
        self.draw = draw
        self.stock_reserve = stock_reserve
        self.target = target
        self.opener_plays_double = opener_plays_double
        self.blocked_compare = blocked_compare
        self.blocked_points = blocked_points
        self.reward = reward

        self.tiles = tile_order(max_pip)
        self.pass_id = 2 * len(self.tiles)
        self.num_sides = 2 if partnership else num_players
        self.scores = [0] * self.num_sides if scores is None else list(scores)
        assert len(self.scores) == self.num_sides

        self.over = False
        self.winner: int | None = None  # the side that won the game
        self.last_round: RoundResult | None = None
        self.round_number = 0
        deal = self.next_deal()
        self.start_round(deal, self.first_opener(deal, first_opener) if opener is None else opener)

    # ---- Set, seats, deal ------------------------------------------------------------------------

    def start_round(self, deal: Deal, opener: int) -> None:
        """Set, seats, deal: a hand for every seat, the undealt tiles stay face down."""
        self.check_deal(deal)
        self.hands = [set(hand) for hand in deal.hands]
        self.stock = list(deal.stock)
        self.line = []
        self.ends = None
        self.opener = opener
        self.to_play = opener
        self.passes = 0
        self.history = []
        self.lacks = [set() for _ in range(self.num_players)]

    def check_deal(self, deal: Deal) -> None:
        """Set, seats, deal: every tile of the set is there once; every hand has its size."""
        dealt = [tile for hand in deal.hands for tile in hand]
        if sorted(dealt + list(deal.stock)) != self.tiles:
            raise ValueError("hands and stock are not exactly one full set")
        if len(deal.hands) != self.num_players:
            raise ValueError(f"{len(deal.hands)} hands for {self.num_players} seats")
        sizes = {len(set(hand)) for hand in deal.hands}
        if 0 in sizes or (self.hand_size is not None and sizes != {self.hand_size}):
            raise ValueError(f"hands of {sorted(sizes)} tiles, not of {self.hand_size}")

    def clockwise(self, seat: int) -> int:
        """Set, seats, deal: 'play goes clockwise, seat 0, 1, 2, ...'"""
        return (seat + 1) % self.num_players

    # ---- Who opens -------------------------------------------------------------------------------

    def first_opener(self, deal: Deal, how: str) -> int:
        """Who opens, Match: 'the first round's opener is drawn by a fair lot.' Single round: 'the
        holder of the highest double', or, when nobody holds a double, 'of the heaviest tile'.
        """
        if how == "lot":
            return deal.lot
        tile = opening_tile(tile for hand in deal.hands for tile in hand)
        return next(seat for seat, hand in enumerate(deal.hands) if tile in hand)

    def next_opener(self) -> int:
        """Who opens, Match: 'After every round the opening moves one seat clockwise from the last
        opener, whoever won, ties included.'
        """
        return self.clockwise(self.opener)

    def opening_tiles(self) -> set[Tile]:
        """Who opens: 'The opener may lay any tile'; `opener_plays_double` forces its own highest
        double, or its own heaviest tile.
        """
        hand = self.hands[self.to_play]
        return {opening_tile(hand)} if self.opener_plays_double else hand

    # ---- A turn ----------------------------------------------------------------------------------

    def legal(self) -> set[int]:
        """A turn: 'Whoever can lay must lay. Whoever cannot passes.' (In Draw the same action draws
        first.)

        DESIGN, Actions: 'The opening tile has one action, the left one. Equal ends: both are
        legal.'
        """
        if self.over:
            return set()
        if self.ends is None:
            return {self.tiles.index(tile) for tile in self.opening_tiles()}
        left, right = self.ends
        hand = self.hands[self.to_play]
        lays_left = {self.tiles.index(tile) for tile in hand if left in tile}
        lays_right = {len(self.tiles) + self.tiles.index(tile) for tile in hand if right in tile}
        return lays_left | lays_right or {self.pass_id}

    def step(self, action: int) -> list[float]:
        """One move of the seat to play, and all that follows at once from it. Returns this step's
        reward per seat.
        """
        if action not in self.legal():
            raise ValueError(f"seat {self.to_play}: {action} is not among {sorted(self.legal())}")
        result = self.draw_or_pass() if action == self.pass_id else self.lay(action)
        return [0.0] * self.num_players if result is None else self.end_round(result)

    def lay(self, action: int) -> RoundResult | None:
        """A turn: 'Lay one tile at one of the two open ends'. End of a round: it 'ends at once when
        a player lays the last tile of the hand'.
        """
        seat = self.to_play
        at_right, tile_id = divmod(action, len(self.tiles))
        tile = self.tiles[tile_id]
        self.hands[seat].remove(tile)
        self.join(tile, at_right=bool(at_right))
        self.history.append((seat, action, 0))
        self.passes = 0
        if not self.hands[seat]:
            return self.domino(seat)
        self.to_play = self.clockwise(seat)
        return None

    def join(self, tile: Tile, *, at_right: bool) -> None:
        """A turn: 'equal halves meet; the other half becomes the new end'. Two ends, no spinner;
        the opening tile lies as (low, high).
        """
        low, high = tile
        if self.ends is None:
            self.line = [tile]
        elif at_right:
            end = self.ends[1]
            self.line.append((low, high) if low == end else (high, low))
        else:
            end = self.ends[0]
            self.line.insert(0, (low, high) if high == end else (high, low))
        self.ends = (self.line[0][0], self.line[-1][1])

    def can_lay(self, seat: int) -> bool:
        """A turn: a tile fits if one of its halves equals an open end, blanks only blanks."""
        assert self.ends is not None
        return any(end in tile for tile in self.hands[seat] for end in self.ends)

    def draw_or_pass(self) -> RoundResult | None:
        """A turn: 'Whoever cannot passes.' Draw: 'who cannot lay draws from the stock until a tile
        fits or the stock is empty, and passes only when no tile fits and the stock is empty.'

        A tile that fits leaves the turn with the same seat, which has not passed. Otherwise the
        same step is the pass.
        """
        seat = self.to_play
        drawn = self.draw_tiles(seat) if self.draw else 0
        self.history.append((seat, self.pass_id, drawn))
        return None if self.can_lay(seat) else self.pass_turn(seat)

    def draw_tiles(self, seat: int) -> int:
        """Draw: one tile at a time, down to the reserve; 'what a seat has shown not to hold is true
        until it draws again.'
        """
        drawn = 0
        while not self.can_lay(seat) and len(self.stock) > self.stock_reserve:
            self.hands[seat].add(self.stock.pop(0))
            self.lacks[seat] = set()
            drawn += 1
        return drawn

    def pass_turn(self, seat: int) -> RoundResult | None:
        """A turn: a pass shows that the seat holds neither end. End of a round: it is blocked 'when
        all seats have passed one after another'.
        """
        assert self.ends is not None
        self.lacks[seat] |= set(self.ends)
        self.passes += 1
        if self.passes == self.num_players:
            return self.blocked()
        self.to_play = self.clockwise(seat)
        return None

    # ---- End of a round and its points -----------------------------------------------------------

    def side_of(self, seat: int) -> int:
        """End of a round: 'A side is one player, or the two partners (seats 0+2 against 1+3) in
        partnership.'
        """
        return seat % 2 if self.partnership else seat

    def hand_pips(self, seat: int) -> int:
        return sum(pips(tile) for tile in self.hands[seat])

    def seats_of(self, side: int) -> list[int]:
        return [seat for seat in range(self.num_players) if self.side_of(seat) == side]

    def side_total(self, side: int) -> int:
        """Blocked: 'In partnership a side's total is both hands together'."""
        return sum(self.hand_pips(seat) for seat in self.seats_of(side))

    def others_total(self, side: int) -> int:
        """All pips in the hands of the other sides; a partner's hand is not among them."""
        return sum(self.side_total(other) for other in range(self.num_sides) if other != side)

    def domino(self, seat: int) -> RoundResult:
        """Domino: 'the player who went out wins the round for their side, whatever the others hold
        ... Points: all pips left in the other sides' hands.'
        """
        side = self.side_of(seat)
        return self.result(side, self.others_total(side), "domino")

    def blocked(self) -> RoundResult:
        """Blocked: 'the side with the single lowest total wins ... A shared lowest total: no
        winner, no points.'
        """
        values = [self.blocked_value(side) for side in range(self.num_sides)]
        if values.count(min(values)) > 1:
            return self.result(None, 0, "blocked")
        side = values.index(min(values))
        return self.result(side, self.points_for_blocked(side), "blocked")

    def blocked_value(self, side: int) -> int:
        """Blocked: what is compared, the side's total; with `blocked_compare="hand"` its lowest
        single hand.
        """
        if self.blocked_compare == "hand":
            return min(self.hand_pips(seat) for seat in self.seats_of(side))
        return self.side_total(side)

    def points_for_blocked(self, side: int) -> int:
        """Blocked: 'the other sides' totals added up, minus its own total once'; `"opponents"` does
        not subtract. 'Nobody's score ever goes down': the lowest hand may stand beside a heavy one,
        so not below 0.
        """
        if self.blocked_points == "opponents":
            return self.others_total(side)
        return max(0, self.others_total(side) - self.side_total(side))

    def result(self, winner: int | None, points: int, reason: str) -> RoundResult:
        """End of a round: 'Then all hands are shown'."""
        return RoundResult(winner, points, reason, [set(hand) for hand in self.hands])

    # ---- End of a game ---------------------------------------------------------------------------

    def end_round(self, result: RoundResult) -> list[float]:
        """'The target is looked at only after a round is fully scored'; else 'deal again'."""
        self.last_round = result
        if result.winner is not None:
            self.scores[result.winner] += result.points
        self.look_at_the_target(result)
        rewards = self.rewards(result)
        if not self.over:
            self.round_number += 1
            self.start_round(self.next_deal(), self.next_opener())
        return rewards

    def look_at_the_target(self, result: RoundResult) -> None:
        """Single round: 'the round's winner wins; no winner is a draw.' Match: 'At least the target
        wins ... The highest score wins; a tie at the top once the target is reached ends the match
        as a draw'.
        """
        if self.target is None:
            self.over = True
            self.winner = result.winner
        elif max(self.scores) >= self.target:
            self.over = True
            best = [side for side, score in enumerate(self.scores) if score == max(self.scores)]
            self.winner = best[0] if len(best) == 1 else None

    def rewards(self, result: RoundResult) -> list[float]:
        """DESIGN, Rewards: `"points"` at the end of each round the winner's points; `"outcome"` at
        the end of the game one.
        """
        if self.reward == "points":
            return self.zero_sum(result.winner, result.points)
        return self.zero_sum(self.winner if self.over else None, 1)

    def zero_sum(self, winner: int | None, amount: int) -> list[float]:
        """DESIGN, Rewards: 'the winning side gets them, the other sides share the minus'; each
        partner gets the side's figure.
        """
        if winner is None:
            return [0.0] * self.num_players
        share = -amount / (self.num_sides - 1)
        sides = [self.side_of(seat) for seat in range(self.num_players)]
        return [float(amount) if side == winner else share for side in sides]

    # ---- Helpers ---------------------------------------------------------------------------------

    def copy(self) -> Reference:
        """An independent game in the same position. Both take their next deals from the same
        source.
        """
        other = copy.copy(self)
        other.hands = [set(hand) for hand in self.hands]
        other.stock = list(self.stock)
        other.line = list(self.line)
        other.history = list(self.history)
        other.lacks = [set(pips_) for pips_ in self.lacks]
        other.scores = list(self.scores)
        return other


# ---- Exhaustive counting, for tiny sets ----------------------------------------------------------


@dataclass
class TreeCount:
    """Sums over all deals: the deals, the histories (the empty one of each deal included), those
    that end a game.
    """

    deals: int
    nodes: int
    terminals: int


def all_deals(num_players: int, max_pip: int, hand_size: int) -> Iterator[Deal]:
    """Every way to give each seat its set of tiles, once; the order within hands and stock does not
    matter.
    """

    def hands_from(tiles: list[Tile], seats: int) -> Iterator[list[set[Tile]]]:
        if seats == 0:
            yield []
            return
        for hand in combinations(tiles, hand_size):
            rest = [tile for tile in tiles if tile not in hand]
            for others in hands_from(rest, seats - 1):
                yield [set(hand), *others]

    tiles = tile_order(max_pip)
    for hands in hands_from(tiles, num_players):
        yield Deal(hands, [tile for tile in tiles if not any(tile in hand for hand in hands)])


def histories(game: Reference) -> Iterator[Reference]:
    """The position after every possible continuation of this game, this one first."""
    yield game
    for action in sorted(game.legal()):
        child = game.copy()
        child.step(action)
        yield from histories(child)


def opened_games(num_players: int, max_pip: int, hand_size: int, options: dict[str, Any]) -> Iterator[Reference]:
    """A single round of Block from every deal, seat 0 opening."""
    assert not options.get("draw"), "the deals here do not tell orders of the stock apart"
    for deal in all_deals(num_players, max_pip, hand_size):
        yield Reference(
            [deal],
            num_players=num_players,
            max_pip=max_pip,
            hand_size=hand_size,
            opener=0,
            **options,
        )


def count_tree(*, num_players: int = 2, max_pip: int, hand_size: int, **options: Any) -> TreeCount:
    """Counts the whole game: every deal, seat 0 opening, every history from it. No draw, a single
    round.
    """
    count = TreeCount(0, 0, 0)
    for game in opened_games(num_players, max_pip, hand_size, options):
        count.deals += 1
        for position in histories(game):
            count.nodes += 1
            count.terminals += position.over
    return count


def information_sets(*, num_players: int = 2, max_pip: int, hand_size: int, **options: Any) -> int:
    """How many situations a seat to move can tell apart: its own hand as dealt and the public
    history.
    """
    seen = set()
    for game in opened_games(num_players, max_pip, hand_size, options):
        dealt = [frozenset(hand) for hand in game.hands]
        for position in histories(game):
            if not position.over:
                seat = position.to_play
                seen.add((seat, dealt[seat], tuple(position.history)))
    return len(seen)
