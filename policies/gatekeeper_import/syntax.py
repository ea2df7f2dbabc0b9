"""The syntax tree of the Rego of a template, whose reads `input_reads` follows."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from core.base.errors import BundleRefusedError
from policies.bundle.opa_runner import PARSE

Term = dict[str, Any]
Expression = dict[str, Any]
Rule = dict[str, Any]
Tree = dict[str, Any]

_LEGACY: Final = "--v0-compatible"


class Mistake(msgspec.Struct, frozen=True):
    """What OPA says against a place."""

    message: str
    row: int
    column: int
    file: str = ""


def parse_rego(opa: Path, text: str, *, legacy: bool = False) -> Tree | Mistake:
    """Return the tree of a text, or the first mistake in it."""
    flags = [_LEGACY] if legacy else []
    command: list[str | Path] = [opa, *PARSE, *flags, "/dev/stdin"]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
    if done.returncode == 0:
        return msgspec.json.decode(done.stdout, type=dict)
    return next(iter(read_mistakes(done.stdout or done.stderr)))


def read_mistakes(printed: bytes) -> list[Mistake]:
    """Return the mistakes that OPA printed; never none."""
    try:
        errors = msgspec.json.decode(printed)["errors"]
        return [
            Mistake(
                str(each["message"]),
                each.get("location", {}).get("row", 1),
                each.get("location", {}).get("col", 1),
                each.get("location", {}).get("file", ""),
            )
            for each in errors
        ]
    except (msgspec.MsgspecError, KeyError, TypeError):
        return [Mistake(printed.decode(errors="replace").strip() or "no reason given", 1, 1)]


def require_parsed(found: Tree | Mistake, at: str) -> Tree:
    """Return the tree.

    Raises:
        BundleRefusedError: there is a mistake; `at` says where the text begins.
    """
    if isinstance(found, Mistake):
        raise BundleRefusedError(f"{at}: the Rego cannot be read: {found.message}")
    return found


def package_of(tree: Tree) -> tuple[str, ...]:
    """Return the package's name, in parts."""
    return tuple(str(each["value"]) for each in tree["package"]["path"][1:])


def rules_of(tree: Tree) -> Iterator[Rule]:
    """Yield each rule, and those that stand behind an `else`."""
    for rule in tree.get("rules") or []:
        one: Rule | None = rule
        while one is not None:
            yield one
            one = one.get("else")


def references(node: Any) -> Iterator[list[Term]]:
    """Yield the parts of each reference in a tree, without the variables that stand alone."""
    if isinstance(node, list):
        for each in node:
            yield from references(each)
    elif isinstance(node, dict):
        if node.get("type") == "ref":
            yield node["value"]
        for key, each in node.items():
            if key != "location":
                yield from references(each)


def constant_path(parts: list[Term]) -> str:
    """Return the parts of a reference as far as they are constant: `data.lib.exempt`."""
    names: list[str] = []
    for part in parts:
        if names and part["type"] != "string":
            break
        names.append(str(part["value"]))
    return ".".join(names)
