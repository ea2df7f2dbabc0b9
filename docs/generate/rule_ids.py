"""Finds the ids of rules that are written in Python, and the module of each, for names.md."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]

_ROOMS: Final = ("admission", "core", "identity")
"""Rooms whose checks write rule ids."""

_ANSWERS: Final = "admission/answers.py"
"""It words what others find, and so names nearly every rule."""

_RULE_ID: Final = re.compile(
    r"(?:approvals|break-glass|egress|exceptions|field|grants|guards|identity|namespaces|notes|profiles"
    r"|sandbox|statements|weights)/[a-z][a-z-]*"
)


def find_rule_ids(root: Path = ROOT) -> Mapping[str, list[str]]:
    """Return the modules, as paths from the root, that write each rule id of two parts."""
    trees = {
        path.relative_to(root).as_posix(): ast.parse(path.read_text())
        for room in _ROOMS
        for path in sorted((root / room).rglob("*.py"))
    }
    prefixes = {name: area for tree in trees.values() for name, area in _makers(tree)}
    found = defaultdict(list)
    for module, tree in trees.items():
        for rule in sorted({*_constants(tree), *_made(tree, prefixes)}):
            found[rule].append(module)
    for modules in found.values():
        if len(modules) > 1:
            modules[:] = [module for module in modules if module != _ANSWERS]
    return dict(sorted(found.items()))


def _constants(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, str) and _RULE_ID.fullmatch(value):
            yield value


def _makers(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield each function that puts an area before its argument, `f"egress/{rule}"`, and the area."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                area = str(node.values[0].value)
                if len(node.values) > 1 and area.endswith("/") and _RULE_ID.fullmatch(f"{area}a"):
                    yield function.name, area


def _made(tree: ast.Module, prefixes: Mapping[str, str]) -> Iterator[str]:
    """Yield the ids that such functions are called with."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            first = node.args[0]
            rule = first.value if isinstance(first, ast.Constant) else None
            if isinstance(rule, str) and node.func.id in prefixes:
                yield f"{prefixes[node.func.id]}{rule}"
