"""A picture as pixels, and the window that shows them: by pygame-ce, which the extra ``block-env[render]`` installs.

Pixels need no display and start no video driver; only the window does.
"""

from __future__ import annotations

import io
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from block_env.keywords import check_pygame, is_whole
from block_env.picture import Picture, Text
from block_env.svg import write_plain


def _pygame(asked: str) -> Any:
    check_pygame(asked)
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # it would print to the standard output
    import pygame

    return pygame


def paint(picture: Picture, width: int | None = None) -> NDArray[np.uint8]:
    """The picture as uint8 [H, W, 3]; H follows from ``width`` (None: the picture's own), and is even as it is.

    Raises:
        PygameNotInstalledError: pygame-ce is not installed.
        ValueError: the width is no even number from 2.
    """
    if width is not None and (not is_whole(width) or width < 2 or width % 2):
        raise ValueError(f"width: takes None or an even number from 2, got {width!r}")
    pygame = _pygame("render_rgb")
    surface = _surface(pygame, picture, width or picture.width)
    pixels = np.frombuffer(pygame.image.tobytes(surface, "RGB"), np.uint8)
    return pixels.reshape(surface.get_height(), surface.get_width(), 3).copy()


class Window:
    """A window that shows one picture after the other. Its copies (copy, pickle) are windows still to be opened.

    Once somebody closes it, it stays closed, and what is to be shown is not.
    """

    def __init__(self) -> None:
        self._window: Any = None
        self._clock: Any = None
        self._shown: Picture | None = None
        self._dismissed = False

    def __reduce__(self) -> tuple[type[Window], tuple[()]]:
        return type(self), ()

    def show(self, picture: Picture, fps: float) -> None:
        """Show the picture; of two that differ the second at the earliest 1 / ``fps`` seconds after the first.

        Raises:
            PygameNotInstalledError: pygame-ce is not installed.
        """
        if self._dismissed:
            return
        pygame = _pygame('render_mode="human"')
        if picture != self._shown:
            self._open(pygame, picture)
            self._clock.tick(fps)
            self._window.get_surface().blit(_surface(pygame, picture, picture.width), (0, 0))
            self._window.flip()
            self._shown = picture
        self._listen(pygame)

    def close(self) -> None:
        """Close the window; again does nothing."""
        if self._window is not None:
            self._window.destroy()
            self._window = None

    def _open(self, pygame: Any, picture: Picture) -> None:
        if self._window is None:
            pygame.display.init()
            self._window = pygame.Window("Block", (picture.width, picture.height))
            self._clock = pygame.time.Clock()

    def _listen(self, pygame: Any) -> None:
        """Take what has happened to the windows from the queue, and leave to each the call to close it."""
        pygame.event.get(exclude=pygame.WINDOWCLOSE)
        for event in pygame.event.get(pygame.WINDOWCLOSE):
            if event.window == self._window:
                self._dismissed = True
                self.close()
            else:
                pygame.event.post(event)


def _surface(pygame: Any, picture: Picture, width: int) -> Any:
    scale = width / picture.width
    size = (width, max(2, 2 * round(picture.height * scale / 2)))
    surface = pygame.image.load_sized_svg(io.BytesIO(write_plain(picture).encode()), size)
    pygame.font.init()
    for shape in picture.shapes:
        if isinstance(shape, Text):
            _write(pygame, surface, shape, scale)
    return surface


_FINER = 4  # letters are drawn so much larger and made small again: as such they stand where they should


def _write(pygame: Any, surface: Any, text: Text, scale: float) -> None:
    font = pygame.font.Font(pygame.font.get_default_font(), max(_FINER, round(text.size * scale * _FINER)))
    large = font.render(text.words, True, text.fill)
    words = pygame.transform.smoothscale(large, [-(-side // _FINER) for side in large.get_size()])
    shift = {"start": 0.0, "middle": 0.5, "end": 1.0}[text.anchor] * words.get_width()
    surface.blit(words, (round(text.x * scale - shift), round(text.y * scale - font.get_ascent() / _FINER)))
