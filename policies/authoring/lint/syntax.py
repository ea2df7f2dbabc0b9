"""The syntax tree of a file of Rego, and how the linter's checks walk it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import msgspec

from core.base.errors import BundleRefusedError
from policies.authoring.lint.problems import Level, Problem
from policies.authoring.workspace import TEST_SUFFIX
from policies.bundle.opa_runner import parse_file

Node = Mapping[str, Any]
Steps = tuple[str | None, ...]
"""The parts of a reference; None for what is a variable."""

_IGNORE: Final = re.compile(r"#\s*lint:ignore\s+([\w-]+)")


@dataclass(frozen=True)
class RegoSource:
    """One file of Rego."""

    file: str
    """By its path in the workspace."""
    tree: Node
    text: str

    @property
    def is_test(self) -> bool:
        """Whether it holds tests."""
        return Path(self.file).stem.endswith(TEST_SUFFIX)

    @property
    def package(self) -> tuple[str, ...]:
        """The package's parts, without `data`."""
        return tuple(str(term["value"]) for term in self.tree["package"]["path"][1:])

    @property
    def rules(self) -> Sequence[Node]:
        """The rules of the file."""
        return self.tree.get("rules") or ()

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of its rules."""
        return frozenset(str(rule["head"]["ref"][0]["value"]) for rule in self.rules)

    @cached_property
    def imports(self) -> Mapping[str, Steps]:
        """What each imported name stands for."""
        found = {}
        for each in self.tree.get("imports") or ():
            steps = _written(each["path"])
            found[str(each.get("alias") or steps[-1])] = steps
        return found

    @property
    def annotations(self) -> Node:
        """The METADATA of the package; empty without."""
        packages = (it for it in self.tree.get("annotations") or () if it["scope"] == "package")
        return next(packages, {})

    def steps(self, ref: Node) -> Steps:
        """Return the parts of a reference, with imported names replaced."""
        head, *rest = _written(ref)
        return (*self.imports.get(str(head), (head,)), *rest)

    def problem(self, node: Node, id_: str, what: str, hint: str) -> Problem:
        """Make the finding about a node."""
        at = node.get("location") or {}
        line, column = at.get("row", 1), at.get("col", 1)
        return Problem(self.file, line, column, id_, Level.ERROR, what, hint)

    def warning(self, node: Node, id_: str, what: str, hint: str) -> Problem:
        """Make the finding about a node that may well be right."""
        found = self.problem(node, id_, what, hint)
        return msgspec.structs.replace(found, level=Level.WARNING)

    def ignores(self, problem: Problem) -> bool:
        """Return whether the author has said that it is meant."""
        lines = self.text.splitlines()[max(0, problem.line - 2) : problem.line]
        return any(problem.id in _IGNORE.findall(line) for line in lines)


def _written(ref: Node) -> Steps:
    head, *rest = ref["value"]
    return (
        str(head["value"]),
        *(str(each["value"]) if each["type"] == "string" else None for each in rest),
    )


def parse_source(opa: Path, folder: Path, file: str) -> RegoSource:
    """Read a file by its path below `folder`.

    Raises:
        BundleRefusedError: OPA cannot; the message has file and line.
    """
    printed = parse_file(opa, folder, file)
    try:
        tree = msgspec.json.decode(printed)
    except msgspec.DecodeError as error:
        raise BundleRefusedError(f"{file}:1: opa parse prints what is no JSON: {error}") from error
    return RegoSource(file, tree, (folder / file).read_text(errors="replace"))


def walk(node: Any) -> Iterator[Node]:
    """Yield all nodes below one, and itself, outer ones first."""
    if isinstance(node, Mapping):
        yield node
        for key, inner in node.items():
            if key not in {"location", "annotations"}:
                yield from walk(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from walk(inner)


def refs(node: Any) -> Iterator[Node]:
    """Yield the references in a node, without the names of what is called."""
    if isinstance(node, list):
        for inner in node:
            yield from refs(inner)
        return
    if not isinstance(node, Mapping):
        return
    if node.get("type") == "ref":
        yield node
        for inner in node["value"][1:]:
            yield from refs(inner)
    elif node.get("type") == "call":
        yield from refs(node["value"][1:])
    elif isinstance(node.get("terms"), list):
        yield from refs(node["terms"][1:])
        yield from refs(node.get("with"))
    else:
        for key, inner in node.items():
            if key not in {"location", "annotations"}:
                yield from refs(inner)


def calls(node: Any) -> Iterator[tuple[Node, Sequence[Node]]]:
    """Yield the name of what is called, and its arguments."""
    for each in walk(node):
        called = each.get("value") if each.get("type") == "call" else each.get("terms")
        if isinstance(called, list) and called and called[0].get("type") == "ref":
            yield called[0], called[1:]


def bodies(node: Any) -> Iterator[Sequence[Node]]:
    """Yield each list of expressions: of rules, comprehensions and `every`."""
    for each in walk(node):
        for inner in (each, each.get("value")):
            body = inner.get("body") if isinstance(inner, Mapping) else None
            if isinstance(body, list):
                yield body
