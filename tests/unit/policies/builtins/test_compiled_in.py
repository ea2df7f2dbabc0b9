"""Functions that OPA compiled in fail where OPA's strict built-in errors have them fail."""

import collections
import http.client
import itertools
import json
import random
import socket
import subprocess
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from core.base.errors import PolicyError
from policies.builtins.native import NATIVE
from policies.builtins.registry import SUPPLIED
from policies.engine.wasm import Code, Instance
from tests.harness.evidence import record
from tests.harness.oracles.opa_cases import capabilities
from tests.harness.programs.opa_server import OpaProgram
from tests.harness.sizes import PROOF, size
from tests.tools.provide import provide

_GLOBS: Final = [
    *["", "*", "**", "?", "a*", "*a", "*a*", "a?", "?*", "***", "*_by_lua*", "a**b", "é*", "?é"],
    *["a.*", "*.b", "**.b", "a/**", "*:*", "*.{com,org}", "{a,b}", "{a*,b}*", "{,a}", "{a,}", "{}"],
    *["a{b,c{d,e}}", "{a", "a}", "a,b", "}", "{a}}", "{{a}", "{(a),b}", "[a-c]", "[!a]", "[!a-c]*"],
    *[
        "[^a]",
        "[a",
        "[a-",
        "[]a]",
        "[]",
        "[!]",
        "[!!]",
        "[c-a]",
        "[a-c-e]",
        "[-a]",
        "[\\]]",
        "[--a]",
    ],
    *[
        "(a)",
        "a|b",
        "a+",
        "^a$",
        "$",
        "a.b",
        "\\*",
        "\\?",
        "a\\",
        "\\a",
        "\\{a\\}",
        "\x00*",
        "*\x00",
    ],
]
_MATCHED: Final = [
    *[
        "",
        "a",
        "b",
        "ab",
        "a.b",
        "a/b",
        "a:b",
        "a,b",
        "(a)",
        "a|b",
        "a+",
        "^a$",
        "^",
        "$",
        "*",
        "?",
    ],
    *[
        "a\nb",
        "\na",
        "a\n",
        "content_by_lua x\n",
        "content_by_lua\nx",
        "x\ny",
        "\n",
        "a\rb",
        "\x00",
    ],
    *[
        "a\x00b",
        "é",
        "aé",
        "😀",
        "a😀b",
        "x.com",
        "x.y.org",
        "{a",
        "{a}",
        "a}",
        "}",
        "[a",
        "]",
        "-",
        "!",
    ],
    *["\\", "a\\b", "abd", "acd", "ace", "aaa", "."],
]
_DELIMITERS: Final = [
    *[
        None,
        [],
        ["."],
        ["/"],
        ["/", "."],
        ["a"],
        ["\n"],
        ["^"],
        ["]", "-"],
        ["\\"],
        ["é"],
        ["\x00"],
    ],
    *[["ab"], [""], [1], "."],
]
_ADDRESSES: Final = [
    *[
        "10.0.0.1",
        "10.0.0.0/8",
        "10.0.0.1/8",
        "0.0.0.0/0",
        "169.254.0.0/16",
        "::/0",
        "::1",
        "::/80",
    ],
    *[
        "::ffff:169.254.169.254",
        "::ffff:a9fe:a9fe",
        "::ffff:10.0.0.0/104",
        "::ffff:0:0/96",
        "::/95",
    ],
    *["::fffe:0:0/95", "::10.0.0.1", "1:2:3:4:5:6:7::", "1::2:3:4:5:6:7:8", "2001:db8::/32", ""],
    *[
        "2001:DB8::1",
        "2001:db8:::1",
        "fe80::1%eth0",
        "010.0.0.1",
        "10.0.0.1 ",
        " 10.0.0.1",
        "10.0.0",
    ],
    *["10.0.0.1\n", "10.0.0.1\x00", "10.0.0.0/8\x00", "10.0.0.0/8a", "10.0.0.0/ 8", "10.0.0.0/8/8"],
    *[
        "10.0.0.0/+8",
        "10.0.0.0/-1",
        "10.0.0.0/08",
        "10.0.0.0/000008",
        "10.0.0.0/33",
        "10.0.0.0/",
        "/8",
    ],
    *["::/129", "::ffff:0:0/97", "0x0a.0.0.1", "167772161", "10.0.0.256", "[::1]", "１0.0.0.1"],
]
_EXPRESSIONS: Final = [
    *[
        "\x00",
        "a\x00",
        "\x00b",
        "a\x00b",
        "(\x00",
        "(\x00)|(b)",
        "[\x00]",
        "a|\x00",
        "\x00*",
        "\x00(",
    ],
    *["\\x00", "(a)?b"],
]
_SEARCHED: Final = ["", "a", "b", "ab", "x", "\x00", "a\x00b", "a\x00\x00", "\n"]
_NUMBERS: Final = [
    *[
        "-0",
        "-0.0",
        "0.0",
        "1e5",
        "1E+2",
        "12.50",
        "1e308",
        "1e400",
        "-1e309",
        "1.7976931348623159e308",
    ],
    *[
        "9" * 30,
        "9" * 309,
        "1e21",
        "NaN",
        "nan",
        "inf",
        "-Inf",
        "Infinity",
        "１",
        "1\n",
        "1\x00",
        " 1",
    ],
    *["0x", "0b1", "1n", "1e5e5", "1.2.3", "\ufeff1", "1 "],
    *["".join(each) for n in (1, 2, 3) for each in itertools.product("+-.e", repeat=n)],
    *[
        f"{before}1{after}"
        for before in ("", "-", "--", "e")
        for after in ("e", "e+", "e-", "x", "-")
    ],
]

_PLACES: Final[Mapping[str, Sequence[Sequence[Any]]]] = {
    "glob.match": [_GLOBS, _DELIMITERS, _MATCHED],
    "net.cidr_contains": [_ADDRESSES, _ADDRESSES],
    "net.cidr_intersects": [_ADDRESSES, _ADDRESSES],
    "net.cidr_overlap": [_ADDRESSES, _ADDRESSES],
    "re_match": [_EXPRESSIONS, _SEARCHED],
    "regex.find_all_string_submatch_n": [_EXPRESSIONS, _SEARCHED, [-1, 1, 0]],
    "regex.is_valid": [_EXPRESSIONS],
    "regex.match": [_EXPRESSIONS, _SEARCHED],
    "to_number": [_NUMBERS],
}
_ALWAYS: Final[Mapping[str, Sequence[Sequence[Any]]]] = {
    "glob.match": [
        *[("*_by_lua*", None, "content_by_lua x\n"), ("*_by_lua*", None, "content_by_lua\nx")],
        *[("(a)", None, "(a)"), ("(a)", None, "a"), ("^a$", None, "a"), ("{a", None, "a")],
        *[("*", ["\n"], "a\nb"), ("**", [], "a\n.b"), ("*", None, "a.b"), ("*", [], "a.b")],
    ],
    "net.cidr_contains": [
        *[("169.254.0.0/16", "::ffff:169.254.169.254"), ("::/0", "::ffff:169.254.169.254")],
        *[("10.0.0.0/8", "10.0.0.1\x00"), ("10.0.0.0/8a", "10.0.0.1"), ("::/80", "::/80")],
        *[("10.0.0.0/ 8", "10.0.0.1"), ("10.0.0.0/8/8", "10.0.0.1"), ("10.0.0.0/+8", "10.0.0.1")],
    ],
    "net.cidr_intersects": [
        *[("::/0", "::ffff:10.0.0.0/104"), ("10.0.0.0/8", "::ffff:10.0.0.0/104")],
        *[("10.0.0.0/8", "10.0.0.0/8\x00"), ("::/0", "10.0.0.0/8")],
    ],
}


def telling(name: str, most: int) -> Iterator[Sequence[Any]]:
    """Yield arguments of a function, the same in each run: known ones, then up to `most` of all."""
    yield from _ALWAYS.get(name, ())
    if name in _PLACES:
        every = list(itertools.product(*_PLACES[name]))
        rng = random.Random(name)  # noqa: S311  Not for secrets.
        yield from rng.sample(every, min(most, len(every)))


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


COUNT = size(ci=30, proof=500)

FAIL_HERE_ALONE = {
    "base64.decode": "what is no UTF-8",
    "base64url.decode": "what is no UTF-8",
    "format_int": "a number of more than 32 bits",
    "json.filter": "a path whose parts are no texts",
    "json.remove": "a path whose parts are no texts",
    "strings.replace_n": "an empty text in one with characters of more than a byte",
}
"""Never the other way round, but for what follows."""

ROUNDED = {"ceil", "floor"}
"""Of what lies between -1 and 0, OPA itself gives one more than its WebAssembly."""

SETS = {"object.keys", "walk"}
"""Whose answers have no order."""

HEAD = """
Calls made up for each of the {names} functions that OPA 1.22.0 compiles into WebAssembly, a third
of their arguments of any type, answered by an OPA server with `strict-builtin-errors` and by the
embedded engine: {calls} by each. Made by `tests/unit/policies/builtins/test_compiled_in.py`.
*Fails here alone*: what the engine refuses, though OPA goes on. *Silent*: what OPA refuses, and the
engine does not. Up to 400 more are of values that OPA's WebAssembly itself answers otherwise
(`tests/unit/policies/builtins/test_compiled_in.py`).

| Function | Calls | Failures of both | Fails here alone | Silent | Other answers |
|---|---|---|---|---|---|"""


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> list[Call]:
    """All calls, with what came of them."""
    return list(compare(COUNT, tmp_path_factory.mktemp("natives")))


def _is_known(call: Call) -> bool:
    """What docs/reference/builtins.md says is not found out."""
    return call.name == "internal.template_string"  # Only OPA's compiler calls it.


def _is_rounded(call: Call) -> bool:
    first = call.arguments[0].get("v")
    return call.name in ROUNDED and isinstance(first, int | float) and -1 < first < 0


def _is_silent(call: Call) -> bool:
    return call.opa == FAILED and call.ours != FAILED and not _is_known(call)


def _is_otherwise(call: Call) -> bool:
    if FAILED in {call.opa, call.ours} or _is_rounded(call):
        return False
    free = call.name in SETS or any("s" in each for each in call.arguments)
    theirs, ours = (_normal(json.loads(each), free=free) for each in (call.opa, call.ours))
    return bool(theirs != ours)


def _normal(value: Any, *, free: bool) -> Any:
    """Return a value with numbers to twelve places, and without order where it has none."""
    if isinstance(value, list):
        made = [_normal(each, free=free) for each in value]
        return sorted(made, key=repr) if free else made
    if isinstance(value, dict):
        return {key: _normal(each, free=free) for key, each in value.items()}
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:.12g}"
    return value


@pytest.mark.proof
def test_what_fails_in_opa_fails_here(calls: list[Call]) -> None:
    """Of arguments of the wrong type, and of bad ones: none is passed over in silence."""
    failing = {call.name for call in calls if call.opa == FAILED == call.ours}
    assert len(failing) > len(NATIVE) * 2 / 3
    if PROOF:
        record("compiled-in", _rows(calls))
    assert [call for call in calls if _is_silent(call)] == []


@pytest.mark.proof
def test_what_opa_answers_is_answered_alike(calls: list[Call]) -> None:
    """Or it is an error, of the functions that are known for that."""
    assert sum(call.opa == call.ours != FAILED for call in calls) > len(calls) / 3
    alone = {call.name for call in calls if call.ours == FAILED != call.opa}
    assert alone <= FAIL_HERE_ALONE.keys()
    assert [call for call in calls if _is_otherwise(call)] == []


def _rows(calls: list[Call]) -> list[str]:
    counts: dict[str, collections.Counter[str]] = {name: collections.Counter() for name in NATIVE}
    for call in calls:
        found = {
            "calls": True,
            "both": call.opa == FAILED == call.ours,
            "alone": call.ours == FAILED != call.opa,
            "silent": _is_silent(call),
            "otherwise": _is_otherwise(call),
        }
        counts[call.name].update(key for key, holds in found.items() if holds)
    kinds = ("calls", "both", "alone", "silent", "otherwise")
    rows = [
        f"| `{name}` | " + " | ".join(str(counts[name][kind]) for kind in kinds) + " |"
        for name in sorted(counts)
    ]
    head = HEAD.format(names=len(NATIVE), calls=len(calls))
    return [*head.splitlines(), *rows, "", *_known()]


def _known() -> list[str]:
    alone = "; ".join(f"`{name}`: {what}" for name, what in sorted(FAIL_HERE_ALONE.items()))
    return [
        f"What fails here alone: {alone}.",
        "",
        "Not counted: `floor` and `ceil` of what lies between -1 and 0; the order of sets; "
        "`internal.template_string`, which only OPA's compiler calls.",
    ]
