"""Draws the egress graph as SVG: three columns, light and dark, without scripts. Pure."""

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from core.base.safe_text import replace_unprintable, shorten
from core.base.svg import element, picture, text_element
from egress.analysis.graph import DNS, EVERYWHERE, Edge, EgressGraph, Node

_WIDE: Final = frozenset("mwMW@%")
_NARROW: Final = frozenset("iljtfrI.,:;/'|()[] ")
_EM: Final = 13.0
_MOST_CHARS: Final = 52
"""Of a text as it is drawn; the whole is in the node's title."""

_MARGIN: Final = 24.0
_HEAD: Final = 92.0
_ROW: Final = 44.0
_BOX: Final = 38.0
_GROUP: Final = 34.0
"""Above a group, with its name."""
_BETWEEN: Final = 14.0
_GAP: Final = 150.0
"""Between columns, for the edges."""
_LEGEND: Final = 64.0
_PAD: Final = 12.0
_LEAST: Final = 150.0

_LIGHT: Final = ("#ffffff", "#1d2530", "#5b6673", "#f3f6f9", "#b9c4cf", "#2563a8", "#b4541a")
_DARK: Final = ("#14191f", "#e6ebf0", "#9aa6b2", "#1e252d", "#4a5663", "#74b0ee", "#f0a067")
"""Back, ink, faint ink, boxes, lines, what intents say, what comes with it."""

_SHAPES: Final = """
text { font-size: 13px;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif; }
.head { font-size: 19px; font-weight: 600; }
.column { font-size: 14px; font-weight: 600; }
.group, .below, .small { font-size: 11px; }
.group { font-weight: 600; }
rect.closed { stroke-dasharray: 3 3; }
path { fill: none; stroke-width: 1.6; opacity: 0.75; }
path.around { stroke-dasharray: 6 4; }
path.faint { stroke-dasharray: 1 4; }
path:hover { stroke-width: 4; opacity: 1; }
"""

_COLUMNS: Final = ("Who connects", "Where intents say", "What comes with it")


def _colours(back: str, ink: str, faint: str, box: str, line: str, say: str, around: str) -> str:  # noqa: PLR0913, PLR0917 (a palette)
    """Return the rules of a palette; without variables, which not every viewer knows."""
    return f"""text {{ fill: {ink}; }} .group, .below, .small {{ fill: {faint}; }}
rect {{ fill: {box}; stroke: {line}; }} rect.back {{ fill: {back}; stroke: none; }}
rect.name, rect.network, rect.inside, rect.subject {{ stroke: {say}; }}
rect.beside, rect.everywhere, rect.dns {{ stroke: {around}; }}
path.said {{ stroke: {say}; }} path.around {{ stroke: {around}; }} path.faint {{ stroke: {faint}; }}
"""


@dataclass(frozen=True)
class _NodeBox:
    x: float
    y: float
    width: float

    @property
    def middle(self) -> float:
        return self.y + _BOX / 2


@dataclass(frozen=True)
class _Layout:
    places: Mapping[str, _NodeBox]
    groups: Sequence[tuple[float, float, str]]
    columns: Sequence[float]
    width: float
    height: float


def render_svg(graph: EgressGraph) -> str:
    """Return the SVG; the same graph gives the same text."""
    layout = _lay_out(graph)
    parts = [*_head(graph, layout), *_edges(graph.edges, layout)]
    parts += _nodes(graph.nodes, layout)
    parts += _legend(layout)
    width, height = f"{layout.width:.0f}", f"{layout.height:.0f}"
    drawn = picture(
        *(f"\n{part}" for part in parts),
        "\n",
        role="img",
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
    )
    return f"{drawn}\n"


def width_of(text: str, size: float = _EM) -> float:
    """Estimate how wide a text is, in pixels: fonts differ, so a little too much."""
    units = sum(
        0.95 if char in _WIDE else 0.36 if char in _NARROW else 0.62 if char.isascii() else 1.0
        for char in text
    )
    return units * size


def _lay_out(graph: EgressGraph) -> _Layout:
    columns: list[list[Node]] = [[], [], []]
    for node in graph.nodes:
        columns[node.column].append(node)
    groups: list[tuple[float, float, str]] = []
    places: dict[str, _NodeBox] = {}
    xs: list[float] = []
    x, lowest = _MARGIN, _HEAD + _ROW
    for index, column in enumerate(columns):
        width = max([_LEAST, width_of(_COLUMNS[index], 14), *map(_box_width, column)])
        xs.append(x)
        y = _HEAD
        for group, nodes in _grouped(column, graph.edges, places):
            if group:
                groups.append((x, y + _GROUP - 10, group))
                y += _GROUP
            for node in nodes:
                places[node.id] = _NodeBox(x, y, width)
                y += _ROW
            y += _BETWEEN
        lowest = max(lowest, y)
        x += width + _GAP
    if EVERYWHERE in places:
        old = places[EVERYWHERE]
        places[EVERYWHERE] = _NodeBox(old.x, (_HEAD + lowest) / 2 - _BOX, old.width)
    width = max(x - _GAP + _MARGIN, 640.0)
    return _Layout(places, groups, xs, width, lowest + _LEGEND)


def _grouped(
    column: Sequence[Node], edges: Iterable[Edge], places: Mapping[str, _NodeBox]
) -> list[tuple[str, list[Node]]]:
    """Order a column: groups as they come, in each who is reached from above first."""
    sources: dict[str, list[float]] = {}
    for edge in edges:
        if edge.source in places and edge.target != DNS:
            sources.setdefault(edge.target, []).append(places[edge.source].y)
    groups: dict[str, list[Node]] = {}
    for node in column:
        groups.setdefault(node.group, []).append(node)

    def weight(node: Node) -> tuple[float, str]:
        ys = sources.get(node.id, [0.0])
        return sum(ys) / len(ys), node.id

    return [
        (group, sorted(nodes, key=weight) if nodes[0].column else nodes)
        for group, nodes in groups.items()
    ]


def _box_width(node: Node) -> float:
    return max(width_of(shorten(node.text, _MOST_CHARS)), width_of(node.below, 11)) + 2 * _PAD


def _head(graph: EgressGraph, layout: _Layout) -> Iterator[str]:
    yield text_element("title", "Who may reach what")
    dark = f"@media (prefers-color-scheme: dark) {{\n{_colours(*_DARK)}}}\n"
    yield text_element("style", f"{_SHAPES}{_colours(*_LIGHT)}{dark}")
    yield element("rect", class_="back", width="100%", height="100%")
    yield _text(_MARGIN, 36, "Who may reach what", "head")
    by = f"by the intents of the cluster, with the engine {graph.engine}"
    yield _text(_MARGIN, 56, by, "small")
    for x, title in zip(layout.columns, _COLUMNS, strict=True):
        yield _text(x, _HEAD - 12, title, "column")
    for x, y, group in layout.groups:
        yield _text(x, y, group, "group")


def _edges(edges: Sequence[Edge], layout: _Layout) -> Iterator[str]:
    out = _ends([(edge.source, edge.target) for edge in edges], layout)
    into = _ends([(edge.target, edge.source) for edge in edges], layout)
    for index, edge in enumerate(edges):
        source, target = layout.places[edge.source], layout.places[edge.target]
        x1, x2 = source.x + source.width, target.x
        y1, y2 = out[index], into[index]
        bend = max(60.0, (x2 - x1) * 0.45)
        kind = "said" if edge.said else "faint" if edge.target == DNS else "around"
        bends = f"{x1 + bend:.1f} {y1:.1f} {x2 - bend:.1f} {y2:.1f}"
        curve = f"M{x1:.1f} {y1:.1f} C{bends} {x2:.1f} {y2:.1f}"
        yield element("path", text_element("title", _safe(edge.why)), class_=kind, d=curve)


def _ends(edges: Sequence[tuple[str, str]], layout: _Layout) -> list[float]:
    """Spread the edges of each node over its height, in the order of their other ends."""
    of: dict[str, list[int]] = {}
    for index, (node, _) in enumerate(edges):
        of.setdefault(node, []).append(index)
    found = [0.0] * len(edges)
    for node, mine in of.items():
        mine.sort(key=lambda index: (layout.places[edges[index][1]].y, index))
        for place, index in enumerate(mine, start=1):
            found[index] = layout.places[node].y + _BOX * place / (len(mine) + 1)
    return found


def _nodes(nodes: Sequence[Node], layout: _Layout) -> Iterator[str]:
    for node in nodes:
        place = layout.places[node.id]
        box = {"x": f"{place.x:.1f}", "y": f"{place.y:.1f}", "width": f"{place.width:.1f}"}
        whole = f"{node.text}\n{node.below}" if node.below else node.text
        parts = (
            text_element("title", _safe(whole)),
            element("rect", class_=node.kind, rx=6, **box, height=f"{_BOX:.0f}"),
            _text(place.x + _PAD, place.y + 16, shorten(node.text, _MOST_CHARS)),
            _text(place.x + _PAD, place.y + 31, node.below, "below"),
        )
        yield element("g", "\n".join(parts), "\n")


def _legend(layout: _Layout) -> Iterator[str]:
    y = layout.height - 34
    x = _MARGIN
    for kind, text in (
        ("said", "an intent says so"),
        ("around", "reach that comes with it, or around it"),
        ("faint", "DNS, for all of them"),
    ):
        yield element("path", class_=kind, d=f"M{x:.0f} {y:.0f} h34")
        yield _text(x + 42, y + 4, text, "small")
        x += 42 + width_of(text, 11) + 28


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    style = {"class_": kind} if kind else {}
    return text_element("text", _safe(text), x=f"{x:.1f}", y=f"{y:.1f}", **style)


def _safe(text: str) -> str:
    """Return text that XML may hold: control characters cannot be escaped in it."""
    return html.escape(replace_unprintable(text, "\ufffd", kept="\n"))
