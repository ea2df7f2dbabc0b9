"""What the product's source says to others: texts, logged events, metrics, types that it reads.

One look at each file, for they are a thousand; no tree is kept.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any, Final

from tests.compat.product import decoded, files, modules
from tests.harness.evidence import ROOT

_LEVELS: Final = frozenset({"debug", "info", "warning", "error", "critical", "exception", "msg"})
_BINDS: Final = frozenset({"bind", "new", "bind_contextvars", "bound_contextvars"})
_WORD: Final = re.compile(r"[^\s]{2,120}")
_PYTHONS: Final = frozenset(
    "getattr setattr hasattr delattr attrgetter methodcaller TypeVar NewType ParamSpec".split()
)
"""Calls whose texts are names in the code, and seen by nobody else."""


@dataclass
class Source:
    """What all files say."""

    events: set[str] = field(default_factory=set)
    """Events that are logged: level, words and keys."""
    texts: set[str] = field(default_factory=set)
    """Texts without a space."""
    metrics: set[str] = field(default_factory=set)
    """Names of metrics, with their labels and buckets."""
    decoded: list[Any] = field(default_factory=list)
    """Types that are read."""


@cache
def source() -> Source:
    """Look at all files."""
    found = Source()
    for path in files():
        tree = ast.parse((ROOT / path).read_text())
        module = modules().get(path)
        found.texts.update(_Words().of(tree))
        found.events.update(_events(tree))
        if module is not None:
            found.metrics.update(_metrics(tree, module))
            found.decoded += decoded(tree, module)
    return found


def _calls(tree: ast.Module) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _events(tree: ast.Module) -> Iterator[str]:
    for node in _calls(tree):
        if not isinstance(node.func, ast.Attribute):
            continue
        called, on = node.func.attr, ast.unparse(node.func.value).lower()
        keys = ", ".join(sorted(each.arg or "**" for each in node.keywords))
        if called in _LEVELS and "log" in on and node.args:
            yield f"{called}: {' / '.join(_texts(node.args[0]))} | {keys}"
        elif called in _BINDS and "log" in on and keys:
            yield f"with | {keys}"


def _texts(node: ast.expr) -> Iterator[str]:
    """Yield the texts that an expression can be; what is put into one is `{}`."""
    if isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)
    elif isinstance(node, ast.JoinedStr):
        yield _joined(node)
    elif isinstance(node, ast.Constant):
        yield str(node.value)
    else:
        yield "{}"


def _joined(node: ast.JoinedStr) -> str:
    return "".join(
        str(each.value) if isinstance(each, ast.Constant) else "{}" for each in node.values
    )


class _Words(ast.NodeVisitor):
    def __init__(self) -> None:
        self._found: set[str] = set()

    def of(self, tree: ast.Module) -> set[str]:
        """Return the texts of a file."""
        self.visit(tree)
        return self._found

    def _take(self, text: str) -> None:
        if _WORD.fullmatch(text):
            self._found.add(text)

    def visit_Expr(self, node: ast.Expr) -> None:
        """Leave out docstrings."""
        if not isinstance(node.value, ast.Constant):
            self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Take a text."""
        if isinstance(node.value, str):
            self._take(node.value)
        elif isinstance(node.value, bytes):
            self._take(node.value.decode(errors="backslashreplace"))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Take a text with `{}` for what is put into it, and what that is made of."""
        self._take(_joined(node))
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                self.visit(each.value)

    def visit_Call(self, node: ast.Call) -> None:
        """Leave out names of attributes."""
        if ast.unparse(node.func).rpartition(".")[2] not in _PYTHONS:
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Leave out the annotation."""
        if node.value is not None:
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Leave out annotations."""
        defaults = [each for each in node.args.kw_defaults if each is not None]
        for each in [*node.decorator_list, *node.args.defaults, *defaults, *node.body]:
            self.visit(each)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815  ast's name.


def _metrics(tree: ast.Module, module: ModuleType) -> Iterator[str]:
    for node in _calls(tree):
        name = "/".join(_texts(node.args[0])) if node.args else ""
        if name.startswith("sallyport_"):
            said = [*node.args[2:], *(each.value for each in node.keywords)]
            labels = [each for one in said for each in _values(one, module)]
            yield f"{name} {labels}" if labels else name


def _values(node: ast.expr, module: ModuleType) -> Iterator[Any]:
    """Yield texts and numbers of an expression that is a list or the name of one."""
    if isinstance(node, ast.Name):
        value = vars(module).get(node.id)
        yield from value if isinstance(value, list | tuple) else ()
    elif isinstance(node, ast.List | ast.Tuple):
        yield from (each.value for each in node.elts if isinstance(each, ast.Constant))
