"""The product's own code, whatever its rooms are called: its files, its modules, its types."""

import ast
import importlib
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import msgspec

from tests.harness.evidence import ROOT

_OTHERS: Final = ("tests/", "bench/", "docs/", "examples/")
"""Folders whose Python is no part of the product."""

_PROGRAMS: Final = ("__main__", "env")
"""Modules that do something as they are imported."""

_PACKAGE: Final = ".__init__"

_LISTED: Final = ("ls-files", "--cached", "--others", "--exclude-standard", "*.py")
_DECODERS: Final = (msgspec.json.Decoder, msgspec.msgpack.Decoder)


def files() -> Iterator[Path]:
    """Yield each Python file of the product, from the root."""
    listed = subprocess.run(
        ["git", "-C", ROOT, *_LISTED],  # noqa: S607
        capture_output=True,
        check=True,
        text=True,
    ).stdout.split()
    for name in sorted(set(listed)):
        if not name.startswith(_OTHERS) and (ROOT / name).exists():
            yield Path(name)


@cache
def modules() -> Mapping[Path, ModuleType]:
    """Import each module of the product, by its file."""
    return {
        path: importlib.import_module(".".join(path.with_suffix("").parts).removesuffix(_PACKAGE))
        for path in files()
        if path.stem not in _PROGRAMS
    }


def structs() -> set[type[msgspec.Struct]]:
    """Return each msgspec Struct that the product has, also those inside of functions."""
    own = {module.__name__ for module in modules().values()}
    return {each for each in _below(msgspec.Struct) if each.__module__ in own}


def _below(kind: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


def decoders() -> Iterator[Any]:
    """Yield what each decoder reads that is made once, as its module is imported."""
    for module in modules().values():
        for value in vars(module).values():
            if isinstance(value, _DECODERS):
                yield value.type


def decoded(tree: ast.Module, module: ModuleType) -> Iterator[Any]:
    """Yield each type that a file says it reads from bytes or plain values."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (named := _named_type(node)) is not None:
            try:
                yield eval(ast.unparse(named), vars(module))  # noqa: S307  Of our own code.
            except (NameError, AttributeError):
                continue  # An argument of the function around it: whoever calls it names it.


def _named_type(call: ast.Call) -> ast.expr | None:
    called = ast.unparse(call.func)
    if called.endswith(("Decoder", "decode_json_as")):
        return call.args[0] if call.args else None
    if not called.startswith("msgspec."):
        return None
    if called.endswith("convert") and len(call.args) > 1:
        return call.args[1]
    if called.endswith(("decode", "convert")):
        return next((each.value for each in call.keywords if each.arg == "type"), None)
    return None
