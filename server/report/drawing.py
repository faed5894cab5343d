"""A drawing of a few shapes that becomes SVG in a page, an SVG file, or PNG.

Colours are roles (``ink``, ``accent``, ...). In a page a role is a CSS variable, so that one picture suits the light
and the dark scheme; in files it is the colour of the light scheme.
"""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup, escape

__all__ = ["DARK", "LIGHT", "SERIES", "Drawing"]

# Of lines that have to be told apart, also by people who do not see all colours (Okabe and Ito 2008).
_LINES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b5b00", "#7a7a7a")
SERIES = tuple(f"series-{i}" for i in range(1, len(_LINES) + 1))
LIGHT = {
    "ink": "#1a202c",
    "muted": "#4a5568",
    "grid": "#d5dbe3",
    "surface": "#ffffff",
    "panel": "#f4f6f9",
    "accent": "#2b6cb0",
    "warn": "#c53030",
    "caution": "#b7791f",
    **dict(zip(SERIES, _LINES, strict=True)),
}
DARK = {
    "ink": "#e6edf3",
    "muted": "#a9b4c2",
    "grid": "#36414f",
    "surface": "#11161d",
    "panel": "#1a212b",
    "accent": "#6aa9ea",
    "warn": "#f58a8a",
    "caution": "#e0b04a",
    **dict(zip(SERIES, _LINES, strict=True)),
}
_FONT = "system-ui, sans-serif"
_PNG_SCALE = 2  # pixels a unit
Point = tuple[float, float]
Colour = Callable[[str], str]


@dataclass(frozen=True)
class _Shape:
    """A polygon, polyline, disc or text; which one is decided by what is given."""

    points: tuple[Point, ...]
    fill: str = ""
    stroke: str = ""
    width: float = 1.0
    opacity: float = 1.0
    dashed: bool = False
    radius: float = 0.0
    text: str = ""
    size: float = 12.0
    anchor: str = "start"
    upright: bool = True

    def svg(self, colour: Colour) -> str:
        """Return the element."""
        x, y = self.points[0]
        paint = f' fill="{colour(self.fill) if self.fill else "none"}"'
        paint += f' stroke="{colour(self.stroke)}" stroke-width="{_n(self.width)}"' if self.stroke else ""
        paint += f' opacity="{_n(self.opacity)}"' if self.opacity < 1 else ""
        paint += ' stroke-dasharray="4 3"' if self.dashed else ""
        if self.text:
            turn = "" if self.upright else f' transform="rotate(-90 {_n(x)} {_n(y)})"'
            place = f'x="{_n(x)}" y="{_n(y)}" font-size="{_n(self.size)}" text-anchor="{self.anchor}"'
            return f"<text {place}{turn}{paint}>{escape(self.text)}</text>"
        if self.radius:
            return f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(self.radius)}"{paint}/>'
        if self.fill:
            (x1, y1) = self.points[2]
            return f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(x1 - x)}" height="{_n(y1 - y)}"{paint}/>'
        listed = " ".join(f"{_n(px)},{_n(py)}" for px, py in self.points)
        return f'<polyline points="{listed}" stroke-linejoin="round"{paint}/>'

    def on(self, axes: Any, colour: Colour) -> None:
        """Draw on matplotlib axes whose unit is this drawing's."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Circle, Rectangle

        points_a_unit = 0.72  # a unit is 1/100 inch, a point 1/72
        width = self.width * points_a_unit
        x, y = self.points[0]
        edge = colour(self.stroke) if self.stroke else "none"
        if self.text:
            align = {"start": "left", "middle": "center", "end": "right"}[self.anchor]
            # A text is no formula, whatever dollar signs a name holds.
            axes.text(
                *(x, y, self.text),
                fontsize=self.size * points_a_unit,
                color=colour(self.fill),
                ha=align,
                va="baseline",
                rotation=0 if self.upright else 90,
                rotation_mode="anchor",
                parse_math=False,
            )
        elif self.radius:
            face = colour(self.fill) if self.fill else "none"
            axes.add_patch(Circle((x, y), self.radius, facecolor=face, edgecolor=edge, linewidth=width))
        elif self.fill:
            (x1, y1) = self.points[2]
            box: dict[str, Any] = {"facecolor": colour(self.fill), "edgecolor": edge, "alpha": self.opacity}
            axes.add_patch(Rectangle((x, y), x1 - x, y1 - y, linewidth=width if self.stroke else 0, **box))
        else:
            xs, ys = zip(*self.points, strict=True)
            line = Line2D(xs, ys, color=edge, linewidth=width, alpha=self.opacity)
            line.set_linestyle("dashed" if self.dashed else "solid")
            axes.add_line(line)


class Drawing:
    """Shapes on a canvas, in the order of their drawing; the origin is at the upper left.

    Parameters
    ----------
    width, height : float
        In CSS pixels; a page may stretch the picture.
    label : str
        What a person who cannot see the picture is told.
    """

    def __init__(self, width: float, height: float, label: str) -> None:
        self.width, self.height, self.label = width, height, label
        self._shapes: list[_Shape] = []

    def rect(self, x: float, y: float, width: float, height: float, fill: str, **paint: Any) -> None:
        """A filled rectangle; `paint` may hold ``stroke``, ``width`` (of the stroke) and ``opacity``."""
        corners = ((x, y), (x + width, y), (x + width, y + height), (x, y + height))
        self._shapes.append(_Shape(corners, fill=fill, **paint))

    def line(self, points: Sequence[Point], stroke: str, **paint: Any) -> None:
        """A polyline; `paint` may hold ``width``, ``opacity`` and ``dashed``."""
        self._shapes.append(_Shape(tuple(points), stroke=stroke, **paint))

    def dot(self, x: float, y: float, radius: float, fill: str = "", stroke: str = "") -> None:
        """A disc, or a ring where there is no fill."""
        self._shapes.append(_Shape(((x, y),), radius=radius, fill=fill, stroke=stroke, width=1.5))

    def text(self, x: float, y: float, text: str, **look: Any) -> None:
        """A line of text; `look` may hold ``fill``, ``size``, ``anchor`` (start, middle, end) and ``upright``."""
        if text:
            self._shapes.append(_Shape(((x, y),), text=text, **{"fill": "muted"} | look))

    def place(self, other: "Drawing", x: float, y: float) -> None:
        """Put another drawing's shapes at an offset."""
        for shape in other._shapes:  # noqa: SLF001 (of this class)
            self._shapes.append(replace(shape, points=tuple((px + x, py + y) for px, py in shape.points)))

    def inline_svg(self) -> Markup:
        """Return the picture for a page that has the roles as CSS variables; all texts in it are escaped."""
        return Markup(self._svg("", lambda role: f"var(--{role})"))

    def svg_file(self) -> str:
        """Return the picture as a file of its own, on the light scheme's ground."""
        space = ' xmlns="http://www.w3.org/2000/svg"'
        ground = _Shape(((0, 0), (0, 0), (self.width, self.height)), fill="surface")
        return self._svg(space, LIGHT.__getitem__, ground) + "\n"

    def png(self) -> bytes:
        """Return the picture as PNG, on the light scheme's ground."""
        # A Figure without pyplot draws through Agg, needs no display and leaves no global state.
        from matplotlib.figure import Figure

        figure = Figure(figsize=(self.width / 100, self.height / 100), dpi=100 * _PNG_SCALE, facecolor=LIGHT["surface"])
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, self.width), ylim=(self.height, 0))
        axes.axis("off")
        for shape in self._shapes:
            shape.on(axes, LIGHT.__getitem__)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png")
        return buffer.getvalue()

    def _svg(self, space: str, colour: Colour, *under: _Shape) -> str:
        box = f'viewBox="0 0 {_n(self.width)} {_n(self.height)}" width="{_n(self.width)}" height="{_n(self.height)}"'
        head = f'<svg{space} {box} role="img" aria-label="{escape(self.label)}" font-family="{_FONT}">'
        return head + "".join(shape.svg(colour) for shape in (*under, *self._shapes)) + "</svg>"


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
