"""Where in its file a field stands, found in libyaml's events without building values."""

import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import yaml

from kube.manifests.strict_yaml import MAX_DEPTH

Steps = tuple[str | int, ...]
"""A way into a stream: the document's number from 1, then keys and indices."""

_ITEMS: Final = re.compile(r":items\[(\d+)\]")
_STEP: Final = re.compile(r"\['([^']*)'\]|\[([^\]]*)\]|([^.\[\]]+)")


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a text; both count from 1, columns in code points, lines by line feeds."""

    line: int
    column: int


def steps_to(part: str, path: str) -> Steps:
    """Return the way to a field of an object.

    `part` is what `Manifest.source` says after the file (`#2:items[3]`), `path` a finding's.

    >>> steps_to("#2:items[3]", "metadata.annotations['a.b/c']")
    (2, 'items', 3, 'metadata', 'annotations', 'a.b/c')
    """
    number, _, _ = part.removeprefix("#").partition(":")
    items = [step for index in _ITEMS.findall(part) for step in ("items", int(index))]
    return (int(number), *items, *_steps(path))


def _steps(path: str) -> Iterator[str | int]:
    for quoted, bracketed, name in _STEP.findall(path):
        yield int(bracketed) if bracketed.isdecimal() else quoted or bracketed or name


def find_positions(text: str, wanted: Collection[Steps]) -> dict[Steps, Position]:
    """Return the place of each field; of one that is absent, that of what should hold it.

    Text that is broken is read as far as it goes: what stands behind has no place.
    """
    root = _Node()
    for steps in wanted:
        root.grow(steps)
    stream = _Open(root, mapping=False, count=1)
    with suppress(yaml.YAMLError):
        _walk(text, stream, max((int(steps[0]) for steps in wanted), default=0))
    found = {steps: index for steps in wanted if (index := root.deepest(steps)) >= 0}
    places = dict(_places(text, sorted(set(found.values()))))
    return {steps: places[index] for steps, index in found.items()}


class _Node:
    """A step that is wanted, and where it was seen (an index into the text; -1: nowhere)."""

    __slots__ = ("children", "index")

    def __init__(self) -> None:
        self.children: dict[str | int, _Node] = {}
        self.index = -1

    def grow(self, steps: Steps) -> None:
        node = self
        for step in steps:
            node = node.children.setdefault(step, _Node())

    def deepest(self, steps: Steps) -> int:
        node, index = self, -1
        for step in steps:
            node = node.children[step]
            if node.index < 0:
                break
            index = node.index
        return index


class _Open:
    """A collection of which the end is not read yet; the stream is one of documents."""

    __slots__ = ("count", "key", "mapping", "node", "wants_key")

    def __init__(self, node: _Node | None, *, mapping: bool, count: int = 0) -> None:
        self.node = node
        self.mapping = self.wants_key = mapping
        self.count = count
        self.key: _Node | None = None

    def take(self, event: yaml.NodeEvent) -> _Node | None:
        """Take a key or a value that begins; give the value's node, if it is wanted."""
        if not self.mapping:
            self.count += 1
            return self._see(self.count - 1, event)
        if self.wants_key:
            name = event.value if isinstance(event, yaml.ScalarEvent) else None
            self.key = None if name is None else self._see(name, event)
        self.wants_key = not self.wants_key
        return self.key if self.wants_key else None

    def _see(self, step: str | int, event: yaml.NodeEvent) -> _Node | None:
        node = self.node.children.get(step) if self.node else None
        if node and event.start_mark:
            node.index = event.start_mark.index
        return node


def _walk(text: str, stream: _Open, last: int) -> None:
    """Note where the wanted nodes stand, as deep as objects are read: libyaml slows with depth."""
    levels = [stream]
    deepest = MAX_DEPTH + len(levels)
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionEndEvent):
            levels.pop()
        elif isinstance(event, yaml.NodeEvent):
            node = levels[-1].take(event)
            if isinstance(event, yaml.CollectionStartEvent):
                levels.append(_Open(node, mapping=isinstance(event, yaml.MappingStartEvent)))
        if len(levels) > deepest or (len(levels) == 1 and stream.count > last):
            return


def _places(text: str, indices: list[int]) -> Iterator[tuple[int, Position]]:
    line, before = 1, 0
    for index in indices:
        line += text.count("\n", before, index)
        before = index
        yield index, Position(line, index - text.rfind("\n", 0, index))
