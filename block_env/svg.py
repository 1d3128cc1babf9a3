"""A picture as SVG, without fonts or files from elsewhere; the same picture always gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from block_env.picture import Circle, Picture, Plain, Polygon, Rect, Shape, Stamp, Text, symbols
from block_env.tiles import MAX_PIP

FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"


def tile_symbols(max_pip: int) -> str:
    """Definitions for ``<defs>``: a group ``t35`` for each tile, its low half to the left, and ``back``, face down.

    Each lies about (0, 0), 2 wide and 1 high (as in :mod:`block_env.line`): ``<use href="#t35"
    transform="translate(x y) rotate(angle)"/>`` places it.
    """
    return _definitions(symbols(max_pip))


def write(picture: Picture, words: str) -> str:
    """A whole SVG file; ``words`` describe the picture to those who do not see it."""
    used = {shape.symbol for shape in picture.shapes if isinstance(shape, Stamp)}
    known = {name: shapes for name, shapes in symbols(MAX_PIP).items() if name in used}
    lines = [
        _head(picture),
        f"<title>{escape(picture.title)}</title>",
        f"<desc>{escape(words)}</desc>",
        *([f"<defs>\n{_definitions(known)}\n</defs>"] if known else []),
        *map(_element, picture.shapes),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def write_plain(picture: Picture) -> str:
    """The same for programs that know neither text, which is left out, nor ``<use>``, which is written out."""
    known = {name: "".join(map(_element, shapes)) for name, shapes in symbols(MAX_PIP).items()}
    shapes = (
        f'<g transform="{_place(shape)}">{known[shape.symbol]}</g>' if isinstance(shape, Stamp) else _element(shape)
        for shape in picture.shapes
        if not isinstance(shape, Text)
    )
    return "".join([_head(picture), *shapes, "</svg>"])


def _head(picture: Picture) -> str:
    width, height = picture.width, picture.height
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{FONT}">'


def _definitions(known: Mapping[str, Iterable[Plain]]) -> str:
    return "\n".join(f'<g id="{name}">{"".join(map(_element, shapes))}</g>' for name, shapes in known.items())


def _element(shape: Shape) -> str:
    match shape:
        case Rect():
            return _rect(shape)
        case Circle(x, y, radius, fill):
            return f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}" fill="{fill}"/>'
        case Polygon(corners, fill):
            return f'<polygon points="{" ".join(f"{_n(x)},{_n(y)}" for x, y in corners)}" fill="{fill}"/>'
        case Stamp():
            return f'<use href="#{shape.symbol}" transform="{_place(shape)}"/>'
        case Text():
            return _text(shape)


def _rect(shape: Rect) -> str:
    corner = f' rx="{_n(shape.radius)}"' if shape.radius else ""
    line = f' stroke="{shape.stroke}" stroke-width="{_n(shape.line)}"' if shape.line else ""
    size = f'width="{_n(shape.width)}" height="{_n(shape.height)}"'
    return f'<rect x="{_n(shape.x)}" y="{_n(shape.y)}" {size}{corner} fill="{shape.fill}"{line}/>'


def _place(stamp: Stamp) -> str:
    return f"translate({_n(stamp.x)} {_n(stamp.y)}) rotate({stamp.angle}) scale({_n(stamp.scale)})"


def _text(shape: Text) -> str:
    anchor = f' text-anchor="{shape.anchor}"' if shape.anchor != "start" else ""
    weight = ' font-weight="bold"' if shape.bold else ""
    place = f'x="{_n(shape.x)}" y="{_n(shape.y)}" font-size="{_n(shape.size)}"'
    return f'<text {place}{anchor}{weight} fill="{shape.fill}">{escape(shape.words)}</text>'


def _n(number: float) -> str:
    """A number with at most three places and no more zeros than it needs."""
    return f"{round(number, 3) + 0.0:.3f}".rstrip("0").rstrip(".")
