"""Records of games while they are played: what a batch of games tells about itself, and the file that it goes to."""

from __future__ import annotations

import contextlib
import os
import shutil
import warnings
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from numpy.typing import NDArray

from block_env.actions import decode_action
from block_env.notation import UNFINISHED, Record, RoundRecord, Turn, read, result_words, write
from block_env.state import REASONS
from block_env.tiles import Tile, tiles, tiles_in
from block_env.variants import Rules

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

PathLike = str | os.PathLike[str]
_SMALL = 1 << 20
_SHARE = 16


# The file -------------------------------------------------------------------------------------------------------------


class RecordFile:
    """A file of records that holds whole games only, at any moment and however the program ends.

    Games are written into a journal beside it. A copy of that takes the file's place after each game; once it is large,
    whenever a sixteenth is new, so that the copying does not cost more than the writing; and at the end. An older file
    of the name is there until the first game is written.

    Args:
        path: the file.
        add: whether an older file's games are kept, and new ones written after them.

    Raises:
        ValueError: the file cannot be written there, another environment is writing it, or what is there to be added to
            holds no records.
    """

    def __init__(self, path: PathLike, add: bool = False) -> None:
        file = _checked(path)
        self._journal = _Journal(file, _records_in(file) if add else b"")
        self._close = weakref.finalize(self, self._journal.close)

    @property
    def is_foreign(self) -> bool:
        """Whether this is a forked child: the file is its parent's."""
        return self._journal.is_foreign

    def write(self, record: Record) -> None:
        """Add a game."""
        self._journal.add(write(record).encode())

    def close(self) -> None:
        """Put the last games into the file. Also done when the program ends."""
        self._close()


def _checked(path: PathLike) -> Path:
    takes = "record: takes the name of a file in a folder that can be written"
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(name, str) or not name or "\0" in name:
        raise ValueError(f"{takes}, got {path!r}")
    file = Path(os.path.realpath(name))  # behind a link: what is replaced is the file, not the link
    if (os.path.exists(file) and not os.path.isfile(file)) or not os.access(file.parent, os.W_OK | os.X_OK):
        raise ValueError(f"{takes}, got {name!r}")
    return file


def _records_in(file: Path) -> bytes:
    """What is in a file of records, nothing where there is none."""
    try:
        content = file.read_bytes() if file.exists() else b""
        if content:
            read(content.decode())
    except OSError as error:
        raise ValueError(f"record: {file} cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise ValueError(f"record: {file} is there already, and holds no records to add to ({error})") from None
    return content


class _Journal:
    """All games so far, in a file beside the one that is asked for; its lock says that somebody is writing."""

    def __init__(self, path: Path, before: bytes) -> None:
        self._path, self._beside = path, path.with_name(f".{path.name}.part")
        self._size = self._pending = 0
        self._process = os.getpid()
        try:
            self._file: BinaryIO = open(self._beside, "ab")  # noqa: SIM115 - open as long as the environment
        except OSError as error:
            raise ValueError(f"record: {path} cannot be written ({error.strerror})") from None
        try:
            if fcntl is not None:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise ValueError(f"record: {path} is being written by another environment") from None
        self._file.truncate(0)
        self._file.write(before)
        self._size = len(before)

    def add(self, game: bytes) -> None:
        if self.is_foreign:
            warnings.warn(
                f"{self._path}: a forked copy of an environment records nothing", RuntimeWarning, stacklevel=2
            )
            return
        text = b"\n" + game if self._size else game
        self._file.write(text)
        self._file.flush()
        self._size += len(text)
        self._pending += len(text)
        if self._size < _SMALL or self._pending * _SHARE >= self._size:
            self._publish()

    def _publish(self) -> None:
        copy = self._path.with_name(f".{self._path.name}.new")
        shutil.copyfile(self._beside, copy)
        os.replace(copy, self._path)
        self._pending = 0

    def close(self) -> None:
        if self.is_foreign:
            return
        if self._pending:
            self._publish()
        with contextlib.suppress(OSError):
            self._beside.unlink()
        self._file.close()

    @property
    def is_foreign(self) -> bool:
        return os.getpid() != self._process


# The games ------------------------------------------------------------------------------------------------------------


@dataclass
class _Round:
    """The round on the table: its opener, hands and shuffle, and the turns so far."""

    opener: int
    hands: list[int]
    order: list[int]
    drawn: int = 0
    turns: list[Turn] = field(default_factory=list)


@dataclass
class _Game:
    """A game that is being played."""

    names: tuple[str, ...]
    start_scores: tuple[int, ...]
    seed: int | None
    set_up: bool
    mover: int
    table: _Round
    rounds: list[RoundRecord] = field(default_factory=list)


class Recorder:
    """Follows N games on their state records and writes each as it ends.

    Games that nobody ends are written as unfinished when the recorder is closed or forgotten, or the program ends.
    A copy or a pickle of an environment records nothing: there a recorder becomes None.

    Args:
        file: where to write them; or its path, and the file is closed with the recorder.
        rules: what is played.
        names: who sits where in the game of a row, asked for when it starts; they may be of any kind of text. None:
            ``player_0``, …
        add: to a path, whether games that are there already are kept.
    """

    def __init__(
        self,
        file: RecordFile | PathLike,
        rules: Rules,
        names: Callable[[int], Sequence[str]] | None = None,
        add: bool = False,
    ) -> None:
        own = not isinstance(file, RecordFile)
        self._file = file if isinstance(file, RecordFile) else RecordFile(file, add)
        self._rules, self._names = rules, names or _Players(rules)
        self._games: dict[int, _Game] = {}
        self._close = weakref.finalize(self, _close, self._file, own, rules, self._games)

    def __reduce__(self) -> tuple[Any, ...]:
        return _nothing, ()

    def begin(
        self, states: NDArray[Any], rows: Any, seeds: Sequence[int | None] | None = None, set_up: bool = False
    ) -> None:
        """New games lie in these rows. A game that was being played there ends unfinished.

        ``seeds``: what the streams were started with just now, one a row.
        """
        for k, row in enumerate(rows):
            self.leave([row])
            self._games[int(row)] = _Game(
                names=tuple(_one_line(name) for name in self._names(int(row))),
                start_scores=self._scores(states, row),
                seed=None if seeds is None else seeds[k],
                set_up=set_up,
                mover=int(states["to_play"][row]),
                table=self._table(states, row),
            )

    def turn(self, states: NDArray[Any], rows: Any, actions: Any, reasons: Any) -> None:
        """In these rows an action each has been played; ``reasons`` (index into REASONS) is how it ended a round."""
        for row, action, reason in zip(map(int, rows), actions, reasons, strict=True):
            game = self._games.get(row)
            if game is None:
                continue
            self._note(game, states, row, int(action), int(reason))
            if reason:
                self._end_round(game, states, row, int(reason))
            game.mover = int(states["to_play"][row])

    def leave(self, rows: Any) -> None:
        """The games in these rows are not played on: they are written as unfinished, if there was a turn."""
        for row in rows:
            game = self._games.pop(int(row), None)
            if game is not None:
                _write_unfinished(self._file, self._rules, game)

    def close(self) -> None:
        """Leave all games, and close the file."""
        self._close()

    def illegal(self, row: int, action: int) -> None:
        """The game in this row has ended by an illegal action of the seat to move."""
        game = self._games.pop(row, None)
        if game is not None:
            _write(self._file, self._rules, game, f"illegal action {action} by P{game.mover}", show_table=True)

    def _note(self, game: _Game, states: NDArray[Any], row: int, action: int, reason: int) -> None:
        """Write down a turn; the tiles drawn in it are the next of the shuffle."""
        table, move = game.table, decode_action(action, self._rules.max_pip)
        hand = int(states["shown" if reason else "hands"][row, game.mover])
        count = hand.bit_count() - table.hands[game.mover].bit_count() if move.tile is None else 0
        drawn = _tiles_at(self._rules, table.order[table.drawn : table.drawn + count])
        passed = move.tile is None and (reason > 0 or int(states["to_play"][row]) != game.mover)
        table.turns.append(Turn(game.mover, move, drawn, passed))
        table.drawn += count
        table.hands[game.mover] = hand

    def _end_round(self, game: _Game, states: NDArray[Any], row: int, reason: int) -> None:
        winner = int(states["last_winner"][row])
        shown = tuple(tuple(tiles_in(hand, self._rules.max_pip)) for hand in self._hands(states, row, "shown"))
        ended = _round(self._rules, game.table)
        game.rounds.append(
            RoundRecord(
                opener=ended.opener,
                hands=ended.hands,
                turns=ended.turns,
                reason=REASONS[reason],
                winner=None if winner < 0 else winner,
                points=int(states["last_points"][row]),
                shown=shown,
                scores=self._scores(states, row),
            )
        )
        if not states["over"][row]:
            game.table = self._table(states, row)
            return
        won = int(states["winner"][row])
        _write(
            self._file,
            self._rules,
            self._games.pop(row),
            result_words(self._rules, None if won < 0 else won),
            show_table=False,
        )

    def _table(self, states: NDArray[Any], row: int) -> _Round:
        order = states["order"][row, : self._rules.num_tiles].tolist()
        dealt = int(states["stock_next"][row])
        return _Round(int(states["opener"][row]), self._hands(states, row, "hands"), order, dealt)

    def _hands(self, states: NDArray[Any], row: int, name: str) -> list[int]:
        hands: list[int] = states[name][row, : self._rules.num_players].tolist()
        return hands

    def _scores(self, states: NDArray[Any], row: int) -> tuple[int, ...]:
        return tuple(states["scores"][row, : self._rules.num_sides].tolist())


def _close(file: RecordFile, own: bool, rules: Rules, games: dict[int, _Game]) -> None:
    for game in games.values() if not file.is_foreign else ():
        _write_unfinished(file, rules, game)
    games.clear()
    if own:
        file.close()


def _write_unfinished(file: RecordFile, rules: Rules, game: _Game) -> None:
    """Write a game that is not played on, if there was a turn."""
    if game.rounds or game.table.turns:
        _write(file, rules, game, UNFINISHED, show_table=bool(game.table.turns))


def _write(file: RecordFile, rules: Rules, game: _Game, result: str, show_table: bool) -> None:
    rounds = game.rounds + ([_round(rules, game.table)] if show_table else [])
    file.write(
        Record(
            rules=rules,
            names=game.names,
            start_scores=game.start_scores,
            rounds=tuple(rounds),
            result=result,
            seed=game.seed,
            set_up=game.set_up,
        )
    )


def _round(rules: Rules, table: _Round) -> RoundRecord:
    size = rules.hand_size
    assert size is not None
    hands = [table.order[seat * size : (seat + 1) * size] for seat in range(rules.num_players)]
    return RoundRecord(table.opener, tuple(_tiles_at(rules, sorted(hand)) for hand in hands), tuple(table.turns))


def _tiles_at(rules: Rules, ids: Sequence[int]) -> tuple[Tile, ...]:
    every = tiles(rules.max_pip)
    return tuple(every[index] for index in ids)


def _nothing() -> None:
    return None


def _one_line(name: str) -> str:
    """The name as a record can hold it."""
    return "".join(letter if letter.isprintable() else "?" for letter in str(name)).strip() or "?"


class _Players:
    """The names of seats whose players nobody has named, in every game."""

    def __init__(self, rules: Rules) -> None:
        self._names = [f"player_{seat}" for seat in range(rules.num_players)]

    def __call__(self, row: int) -> list[str]:
        return self._names
