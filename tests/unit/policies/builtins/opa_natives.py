"""Made-up calls of functions that OPA compiles in, answered by an OPA server and by a policy."""

import http.client
import json
import random
import socket
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from core.base.errors import PolicyError
from policies.builtins.native import NATIVE
from policies.builtins.registry import SUPPLIED
from policies.engine.wasm import Code, Instance
from tests.harness.oracles.opa_cases import capabilities
from tests.harness.programs.opa_server import OpaProgram
from tests.tools.provide import provide
from tests.unit.policies.builtins.opa_native_values import telling

FAILED: Final = "failed"
_TEXTS: Final = [
    *[
        "",
        "a",
        "ab",
        "aba",
        "é",
        "😀b",
        "a b",
        "%",
        "/",
        "10",
        "1.5",
        "x",
        "-1",
        "0x1",
        " a ",
        "ABC",
    ],
    *["(", "[a-z]+", "10.0.0.1", "10.0.0.0/8", "::1/64", "300.1.1.1/8", "{", '{"a":1}', "[1,2]"],
    *["YWI=", "YQ", "*", "a.b.c", "*.b", "1e400", "9" * 20, "YWI=YQ==", "1 2", "<&>"],
]
_ANY_NUMBERS: Final = [0, 1, 2, -1, 3, 10, 16, 8, 1.5, -0.5, 2**31, 2**53, 2**63, 1e-7, 100, 0.1]
_VALUES: Final = [
    *[None, True, False, *_TEXTS[:8], *_ANY_NUMBERS, [], {}],
    *[[1, "a", None], ["a", "b"], [1, 2, 3], [[1], [2, [3]]], [True, False], [{"a": 1}, {"b": 2}]],
    *[{"a": 1}, {"a": {"b": [1, 2]}}, {"a": ["b"], "b": []}],
]
_GROWS: Final = frozenset({"bits.lsh", "bits.rsh", "numbers.range"})
"""With a large number, OPA itself runs out of memory."""

_TELLING: Final = 400
"""Calls of each function that OPA compiles in otherwise than its own is."""

_MEMORY_BYTES: Final = 64 * 1024 * 1024
_SECONDS: Final = 2.0


@dataclass(frozen=True)
class Call:
    """One call, and what came of it: `failed`, or JSON of a list of its value or of none."""

    name: str
    arguments: Sequence[Any]
    """Each `{"v": value}`, or `{"s": [member, …]}` for a set."""
    opa: str
    ours: str


def compare(count: int, folder: Path) -> Iterator[Call]:
    """Make `count` calls of each function and the telling ones, the same in each run."""
    (folder / "natives.rego").write_text(_policy())
    code = Code(_compiled(folder))
    instance = Instance(code, _MEMORY_BYTES, SUPPLIED)
    try:
        with OpaProgram(folder, "--v0-compatible", loads=[folder / "natives.rego"]) as server:
            for name in NATIVE:
                for arguments in _calls(name, count):
                    document = json.dumps({"a": arguments})
                    ours = _ours(instance, name, document.encode())
                    if ours == FAILED:
                        instance.close()
                        instance = Instance(code, _MEMORY_BYTES, SUPPLIED)
                    yield Call(name, arguments, _theirs(server.url, name, document), ours)
    finally:
        instance.close()
        code.close()


def _rule(name: str) -> str:
    return f"f_{name.replace('.', '_')}"


def _takes(name: str) -> list[Any]:
    found: list[Any] = capabilities()[name]["decl"].get("args", [])
    return found


def _policy() -> str:
    lines = ["package natives", "arg(x) = y { y := x.v } else = y { y := {e | e := x.s[_]} }"]
    for name in NATIVE:
        given = ", ".join(f"arg(input.a[{number}])" for number in range(len(_takes(name))))
        lines.append(f"{_rule(name)} = [y | y := {name}({given})]")
    return "\n".join(lines) + "\n"


def _compiled(folder: Path) -> bytes:
    entries = [each for name in NATIVE for each in ("-e", f"natives/{_rule(name)}")]
    # Deprecated functions are Rego of before 1.0.
    flags = ["--v0-compatible", "-t", "wasm", *entries, "-o", "out.tar.gz"]
    subprocess.run([provide("opa"), "build", *flags, "natives.rego"], cwd=folder, check=True)
    with tarfile.open(folder / "out.tar.gz") as archive:
        file = archive.extractfile("/policy.wasm")
        assert file
        return file.read()


def _calls(name: str, count: int) -> Iterator[list[dict[str, Any]]]:
    for values in telling(name, _TELLING):
        yield [{"v": value} for value in values]
    rng = random.Random(name)  # noqa: S311  Not for secrets.
    for _ in range(count):
        arguments = [_argument(kind, rng) for kind in _takes(name)]
        large = any(_is_large(each.get("v")) for each in arguments)
        if not (name in _GROWS and large):
            yield arguments


def _is_large(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) > 100


def _argument(kind: Any, rng: random.Random) -> dict[str, Any]:
    """Make one up: of the type that the function takes, or, one in three, of any."""
    if kind["type"] == "any" and kind.get("of"):
        kind = rng.choice(kind["of"])
    if rng.random() < 1 / 3:
        value = rng.choice(_VALUES)
        return {"s" if isinstance(value, list) and rng.random() < 0.5 else "v": value}
    return {"s" if kind["type"] == "set" else "v": _of(kind, rng)}


def _of(kind: Any, rng: random.Random) -> Any:
    if kind["type"] == "string":
        return rng.choice(_TEXTS)
    if kind["type"] == "number":
        return rng.choice(_ANY_NUMBERS)
    if kind["type"] in {"array", "set"}:
        inside = kind.get("dynamic") or kind.get("of") or {"type": "any"}
        return [_of(inside, rng) for _ in range(rng.randrange(4))]
    if kind["type"] == "object":
        inside = (kind.get("dynamic") or {"value": {"type": "any"}})["value"]
        return {rng.choice(_TEXTS): _of(inside, rng) for _ in range(rng.randrange(4))}
    return _of(rng.choice(kind["of"]), rng) if kind.get("of") else rng.choice(_VALUES)


def _ours(instance: Instance, name: str, document: bytes) -> str:
    number = instance.entrypoints[f"natives/{_rule(name)}"]
    try:
        answer = json.loads(instance.evaluate(number, document, _SECONDS).decode())
    except (PolicyError, UnicodeDecodeError):  # The engine's readers take neither.
        return FAILED
    return json.dumps(answer[0]["result"])


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("opa")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self._path)


def _theirs(url: str, name: str, document: str) -> str:
    connection = _Connection(url.removeprefix("unix://"))
    try:
        path = f"/v1/data/natives/{_rule(name)}?strict-builtin-errors=true"
        connection.request("POST", path, f'{{"input": {document}}}')
        answer = connection.getresponse()
        body = json.loads(answer.read())
    finally:
        connection.close()
    return json.dumps(body["result"]) if answer.status == http.HTTPStatus.OK else FAILED
