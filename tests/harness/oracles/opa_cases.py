"""OPA's published cases, compiled to WebAssembly many at a time, and what comes of them."""

import functools
import json
import re
import subprocess
import tarfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from core.base.errors import PolicyError
from policies.builtins.registry import SUPPLIED
from policies.engine.wasm import Code, Instance
from tests.harness.published.go_modules import module_folder
from tests.tools.provide import provide

_MODULE: Final = "github.com/open-policy-agent/opa"
_CASES: Final = "v1/test/cases/testdata/v1"
_MEMORY_BYTES: Final = 64 * 1024 * 1024
_SECONDS: Final = 5
_SETS: Final = re.compile(
    r"\bcontains\b|\{[^:{}]*\||\bset\(|cidr_(merge|expand|contains_m)|_paths|jsonpatch/set"
)
"""What gives a set, which JSON has as an array in any order."""

_DECODER: Final = msgspec.json.Decoder(float_hook=Decimal)


@dataclass(frozen=True)
class Case:
    """One of OPA's."""

    number: int
    note: str
    builtins: tuple[str, ...]
    """Those of the host that it calls."""
    modules: tuple[str, ...]
    query: str
    data: Any
    document: Any
    wanted: list[dict[str, Any]] | None
    """The bindings; None where an error is wanted."""


@dataclass
class Compared:
    """What became of one case."""

    case: Case
    verdict: str
    """`agrees`, `stricter` (an error, where OPA's default leaves it undefined), `differs`, `left`
    (it does not compile by itself)."""
    why: str = ""
    builtins: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.builtins = self.case.builtins


@functools.cache
def capabilities() -> dict[str, Any]:
    """Return what OPA says of each of its built-in functions."""
    done = subprocess.run(
        [provide("opa"), "capabilities", "--current"], capture_output=True, check=True
    )
    return {each["name"]: each for each in json.loads(done.stdout)["builtins"]}


def source() -> Path:
    """Return the folder of OPA's source."""
    return module_folder("opa", _MODULE, "OPA's published cases")


@functools.cache
def native() -> dict[str, str]:
    """Return the functions that OPA compiles into WebAssembly, as its compiler lists them."""
    compiler = (source() / "internal/compiler/wasm/wasm.go").read_text()
    names = re.search(r"builtinsFunctions = map.*?\n}", compiler, re.DOTALL)
    declared = (source() / "v1/ast/builtins.go").read_text()
    rego = dict(re.findall(r'var (\w+) = &Builtin\{\s*Name:\s*"([^"]+)"', declared))
    assert names
    listed = re.findall(r'ast\.(\w+)\.Name: *"(\w+)"', names[0])
    return {rego[each]: function for each, function in listed}


def cases() -> list[Case]:
    """Return the cases that call what the host supplies, and nothing that is not there at all."""
    found: list[Case] = []
    for path in sorted((source() / _CASES).rglob("*.yaml")):
        for raw in yaml.load(path.read_text(), yaml.CSafeLoader).get("cases", []):
            made = _case(len(found), raw)
            if made:
                found.append(made)
    return found


def _case(number: int, raw: dict[str, Any]) -> Case | None:
    modules = tuple(raw.get("modules") or ())
    text = "\n".join([*modules, raw["query"]])
    called = {name for name in capabilities() if re.search(rf"(?<![\w.]){re.escape(name)}\(", text)}
    supplied = tuple(sorted(called & SUPPLIED.keys()))
    known = called <= native().keys() | SUPPLIED.keys() | {"print"}
    unsaid = not {"want_result", "want_error", "want_error_code"} & raw.keys()
    if not supplied or not known or unsaid or "env" in raw or "input_term" in raw:
        return None
    fails = "want_error" in raw or "want_error_code" in raw
    wanted = None if fails else (raw["want_result"] or [])
    return Case(
        number,
        raw["note"],
        supplied,
        modules,
        raw["query"],
        raw.get("data") or {},
        raw.get("input"),
        wanted,
    )


def compare(some: Sequence[Case], scratch: Path, batch: int = 40) -> list[Compared]:
    """Compile and evaluate cases, `batch` of them in one policy."""
    found: list[Compared] = []
    for start in range(0, len(some), batch):
        found += _batch(some[start : start + batch], scratch)
    return found


def _batch(some: Sequence[Case], scratch: Path) -> list[Compared]:
    wasm, problem = _compiled(some, scratch)
    if wasm is None:
        if len(some) == 1:
            # OPA's own suite takes such a mistake for one of the evaluation.
            return [Compared(some[0], "left" if some[0].wanted is not None else "agrees", problem)]
        half = len(some) // 2
        return [*_batch(some[:half], scratch), *_batch(some[half:], scratch)]
    code = Code(wasm)
    try:
        return [_compared(case, code, scratch) for case in some]
    finally:
        code.close()


def _compiled(some: Sequence[Case], scratch: Path) -> tuple[bytes | None, str]:
    folder = scratch / f"cases-{some[0].number}-{len(some)}"
    folder.mkdir(parents=True, exist_ok=True)
    entries: list[str] = []
    for case in some:
        for number, text in enumerate(_sources(case)):
            (folder / f"{case.number}_{number}.rego").write_text(text)
        entries += ["-e", f"case{case.number}/query/answers"]
    bundle = folder / "out.tar.gz"
    done = subprocess.run(
        [provide("opa"), "build", "-t", "wasm", *entries, "-o", bundle, folder],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return None, (done.stderr or done.stdout).strip()
    with tarfile.open(bundle) as archive:
        file = archive.extractfile("/policy.wasm")
        assert file
        return file.read(), ""


def _sources(case: Case) -> Iterable[str]:
    """Yield its modules, each in a package of its own, what data it has, and its query."""
    home = f"case{case.number}"
    for text in case.modules:
        yield _moved(re.sub(r"(?m)^(\s*package\s+)", rf"\1{home}.", text, count=1), home)
    for key, value in case.data.items():
        yield f"package {home}\n\n{key} := {json.dumps(value)}\n"
    names = sorted({name for binding in case.wanted or [{"x": 0}] for name in binding})
    bound = ", ".join(f'"{name}": {name}' for name in names)
    query = _moved(case.query, home)
    yield f"package {home}.query\n\nanswers contains {{{bound}}} if {{ {query} }}\n"


def _moved(text: str, home: str) -> str:
    return re.sub(r"(?<![\w.\"])data\.", f"data.{home}.", text)


def _compared(case: Case, code: Code, scratch: Path) -> Compared:
    instance = Instance(code, _MEMORY_BYTES, SUPPLIED)
    try:
        number = instance.entrypoints[f"case{case.number}/query/answers"]
        document = b"{}" if case.document is None else json.dumps(case.document).encode()
        answer = _DECODER.decode(instance.evaluate(number, document, _SECONDS))[0]["result"]
    except PolicyError as error:
        return _failed(case, str(error), scratch)
    finally:
        instance.close()
    if case.wanted is None:
        return Compared(case, "differs", f"gives {answer}, where an error is wanted")
    sets = _SETS.search("\n".join([case.note, *case.modules])) is not None
    if _same(answer, case.wanted, unordered=sets):
        return Compared(case, "agrees")
    return Compared(case, "differs", f"gives {answer}, wanted is {case.wanted}")


def _failed(case: Case, error: str, scratch: Path) -> Compared:
    if case.wanted is None:
        return Compared(case, "agrees")
    verdict = "stricter" if _strictly_fails(case, scratch) else "differs"
    return Compared(case, verdict, error)


def _strictly_fails(case: Case, scratch: Path) -> bool:
    """Return whether OPA itself gives an error, where it is told to be strict."""
    folder = scratch / f"strict-{case.number}"
    folder.mkdir(exist_ok=True)
    for number, text in enumerate(_sources(case)):
        (folder / f"{number}.rego").write_text(text)
    query = f"data.case{case.number}.query.answers"
    done = subprocess.run(
        [provide("opa"), "eval", "--strict-builtin-errors", "-I", "-d", folder, query],
        input=json.dumps({} if case.document is None else case.document).encode(),
        capture_output=True,
        check=False,
    )
    return done.returncode != 0


def _same(answer: Any, wanted: Any, *, unordered: bool) -> bool:
    plain = json.loads(json.dumps(wanted, default=str), parse_float=Decimal)
    ordered = sorted(map(_text, answer)) == sorted(map(_text, plain))
    return ordered or (unordered and _sorted(answer) == _sorted(plain))


def _text(value: Any) -> str:
    return json.dumps(_normal(value), sort_keys=True)


def _normal(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _normal(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_normal(each) for each in value]
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    return value


def _sorted(value: Any) -> str:
    """Return a value as text in which the order of arrays says nothing."""
    if isinstance(value, list):
        return "[" + ",".join(sorted(map(_sorted, value))) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_sorted(value[key])}" for key in sorted(value)) + "}"
    return _text(value)
