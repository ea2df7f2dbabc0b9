"""Both engines say the same of everything: in CI of a thousand, in a proof of tens of thousands."""

import asyncio
import copy
import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final

import jsonschema
import msgspec
import pytest
import yaml
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from core.base.errors import EvaluationError, InvalidObjectError
from core.kubernetes.pod import decode_pod
from policies import BUILT_IN_REGO, LIBRARY
from policies.build.builder import build
from policies.build.site_rego import list_library_rules
from policies.bundle.format import Bundle, read_bundle
from policies.clients.opa_server.engine import OpaServerEngine
from policies.engine.embedded_engine import EmbeddedEngine, EvaluationLimits
from policies.engine.interface import A_POD, Engine, Judgement, PolicyAnswer, ShownFields
from policies.engine.opa_endpoint import OpaServer
from policies.projection.model import NO_POD, Context, encode, encode_context
from policies.projection.pods import project
from policies.site.choices import Choice, Choices
from policies.site.fields import DeclaredFields, steps_of
from tests.harness.evidence import ROOT, record
from tests.harness.programs.opa_server import OpaProgram
from tests.harness.sizes import PROOF, size
from tests.harness.worlds.pods import pods
from tests.tools.provide import provide
from tests.unit.policies.library.library_rules import choice
from tests.unit.policies.projection.contexts import CONTEXTS
from tests.unit.policies.rego.rego_folder import REGO, load, projection_of
from tests.unit.policies.rego.test_rego_wasm import projections

SITES: Final = (ROOT / "examples/site-rules/acme", ROOT / "examples/site-signals/customer_data")
_ODD: Final = (None, True, 0, -1, 2**31 - 1, "", "a/b:c@d", "*", "é\u4e00", "1Gi")
_EXAMPLE: Final = {"string": "a", "integer": 1, "number": 1, "boolean": True, "object": {}}


@dataclass(frozen=True)
class Case:
    """One object in one context."""

    group: str
    projection: bytes
    context: bytes
    shown: ShownFields = A_POD


@dataclass
class Tally:
    """What came of it."""

    evaluations: Counter[str] = field(default_factory=Counter)
    """By group: answers of either entry point, each by both engines."""
    findings: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    """Where both engines fail."""
    differences: list[str] = field(default_factory=list)


async def compare(first: Engine, second: Engine, cases: Sequence[Case]) -> Tally:
    """Ask both of each case; an error of one alone is a difference."""
    tally = Tally()
    for case in cases:
        answers = [await _asked(each.ask(case.projection)) for each in (first, second)]
        _count(tally, case, answers)
        if not all(isinstance(each, PolicyAnswer) for each in answers):
            continue
        answer = answers[0]
        assert isinstance(answer, PolicyAnswer)
        judged = (
            each.judge(case.projection, answer, case.context, case.shown)
            for each in (first, second)
        )
        _count(tally, case, [await _asked(each) for each in judged])
    return tally


async def _asked(asking: Any) -> PolicyAnswer | Judgement | None:
    try:
        found: PolicyAnswer | Judgement = await asking
    except EvaluationError:
        return None
    return found


def _count(tally: Tally, case: Case, said: Sequence[PolicyAnswer | Judgement | None]) -> None:
    first, second = said
    tally.evaluations[case.group] += 1
    if first != second:
        tally.differences.append(f"{case}: {first} and {second}")
    elif first is None:
        tally.errors[case.group] += 1
    else:
        tally.findings[case.group] += sum(
            len(found) for found in msgspec.structs.astuple(first) if isinstance(found, tuple)
        )


def run(first: Engine, second: Engine, cases: Sequence[Case]) -> Tally:
    """Compare in a loop of its own."""
    return asyncio.run(compare(first, second, cases))


def build_all(folder: Path) -> Path:
    """Build a bundle of the built-in policies, the sites of the examples and all of the library."""
    rules = {
        rule.removeprefix("rules/"): Choice(parameters=_given(rule))
        for rule in list_library_rules()
    }
    rules["acme/hosts"] = Choice(parameters={"domains": [".example.com"]})
    bundle = folder / "all.tar.gz"
    build(provide("opa"), BUILT_IN_REGO, bundle, SITES, Choices(rules))
    return bundle


def _given(rule: str) -> dict[str, Any]:
    """Return what a rule's parameters without a default must have."""
    (path,) = (
        path
        for path in (LIBRARY / rule.removeprefix("rules/")).glob("*.rego")
        if not path.stem.endswith("_test")
    )
    comments = re.match(r"(?:#.*\n)+", path.read_text())
    assert comments, path
    text = re.sub(r"^# ?", "", comments[0], flags=re.MULTILINE).partition("METADATA\n")[2]
    declared = yaml.safe_load(text)["custom"].get("parameters", {})
    written = choice(rule.removeprefix("rules/")).parameters
    return {
        name: made if _is_valid(made := _of(schema), schema) else written[name]
        for name, schema in declared.items()
        if "default" not in schema
    }


def _is_valid(value: Any, schema: dict[str, Any]) -> bool:
    return jsonschema.Draft202012Validator(schema).is_valid(value)


def _of(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "array":
        return [_of(schema.get("items", {"type": "string"}))]
    required = schema.get("required", ())
    if required:
        return {name: _of(schema["properties"][name]) for name in required}
    return _EXAMPLE[schema.get("type", "string")]


def examples() -> Iterator[Case]:
    """Yield the examples of the built-in rules and signals, each in a context of its own."""
    found = [*REGO.glob("*/*/*/*.yaml"), *REGO.glob("*/*/*.yaml")]
    contexts = _drawn(CONTEXTS, len(found))
    for path, context in zip(sorted(found), contexts, strict=True):
        made = load(path.relative_to(REGO).as_posix())
        if made["kind"] == "Context":
            own = msgspec.convert(made["context"], Context)
            yield Case("examples of built-in rules", NO_POD, encode_context(own))
        else:
            projection = json.dumps(projection_of(made), ensure_ascii=False).encode()
            yield Case("examples of built-in rules", projection, encode_context(context))


def generated(count: int) -> Iterator[Case]:
    """Yield projections that no Pod need have, in contexts that no request need have."""
    for projection, context in _drawn(st.tuples(projections(), CONTEXTS), count):
        for container in projection["containers"]:
            for port in container.get("hostPorts", ()):
                # A port; to write a number beyond 32 bits fails in OPA's WebAssembly (format_int).
                port["port"] %= 65536
        document = msgspec.json.encode(projection)
        yield Case("generated projections", document, encode_context(context))


def generated_pods(count: int, reads: DeclaredFields) -> Iterator[Case]:
    """Yield Pods that the API takes, each changed in one or two ways."""
    contexts = _drawn(CONTEXTS, min(count, 200))
    for number, (_, pod) in zip(range(count), pods(0), strict=False):
        context = encode_context(contexts[number % len(contexts)])
        yield _of_pod("generated Pods", pod, reads, context)


def of_library(count: int, reads: DeclaredFields) -> Iterator[Case]:
    """Yield the examples of the library's rules and of a site's, then these with odd values."""
    found = [
        made
        for folder in (LIBRARY, ROOT / "examples/pods", ROOT / "examples/public")
        for path in sorted(folder.rglob("*.yaml"))
        for made in yaml.safe_load_all(path.read_text())
        if isinstance(made, dict) and isinstance(made.get("kind"), str)
    ]
    for made in found:
        yield from _of_object("examples for a site's rules", made, reads)
    rng = random.Random(0)  # noqa: S311 -- must repeat, need not be secret
    library = [made for made in found if _kind(made) in reads.kinds or _template(made)]
    for _ in range(count):
        made = copy.deepcopy(rng.choice(library))
        for _ in range(rng.randint(1, 3)):
            _change(made, rng)
        try:
            yield from _of_object("odd objects for a site's rules", made, reads)
        except (InvalidObjectError, EvaluationError):
            continue  # No Pod: a review of it ends before the engine.


def _of_object(group: str, made: dict[str, Any], reads: DeclaredFields) -> Iterator[Case]:
    metadata = made.get("metadata")
    namespace = metadata.get("namespace") if isinstance(metadata, dict) else ""
    named = namespace if isinstance(namespace, str) else ""
    context = encode_context(Context("CREATE", namespace=named, requester="human"))
    kind = _kind(made)
    if kind != "Pod" and kind in reads.kinds:
        yield Case(group, NO_POD, context, ShownFields(kind, reads.fields(kind, made)))
    template = made if kind == "Pod" else _template(made)
    if template is not None:
        yield _of_pod(group, template, reads, context)


def _of_pod(group: str, pod: dict[str, Any], reads: DeclaredFields, context: bytes) -> Case:
    projection = encode(project(decode_pod(json.dumps(pod).encode())))
    return Case(group, projection, context, ShownFields(fields=reads.fields("Pod", pod)))


def _kind(made: dict[str, Any]) -> str:
    group, _, _ = str(made.get("apiVersion", "")).rpartition("/")
    return f"{group}/{made['kind']}" if group else str(made["kind"])


def _template(made: dict[str, Any]) -> dict[str, Any] | None:
    spec = made.get("spec")
    for step in ("jobTemplate", "spec"):
        spec = spec[step] if isinstance(spec, dict) and step in spec else spec
    found = spec.get("template") if isinstance(spec, dict) else None
    inside = isinstance(found, dict) and isinstance(found.get("spec"), dict)
    return found if inside and "containers" in found["spec"] else None  # type: ignore[index]


def _change(made: dict[str, Any], rng: random.Random) -> None:
    """Take something away, or put something odd in its place.

    What is no value stays an object or a list, as kube-apiserver would have it of these kinds.
    """
    parent: Any = made.get("spec") if rng.random() < 0.7 else made.get("metadata")
    while isinstance(parent, dict | list) and parent:
        key = rng.choice(list(parent) if isinstance(parent, dict) else range(len(parent)))
        child = parent[key]
        if isinstance(child, dict | list) and child and rng.random() < 0.8:
            parent = child
        elif rng.random() < 0.3:
            del parent[key]
            return
        else:
            parent[key] = type(child)() if isinstance(child, dict | list) else rng.choice(_ODD)
            return


def _drawn(strategy: st.SearchStrategy[Any], count: int) -> list[Any]:
    drawn: list[Any] = []

    @settings(
        max_examples=count, database=None, derandomize=True, phases=[Phase.generate], deadline=None
    )
    @given(one=strategy)
    def collect(one: Any) -> None:
        drawn.append(one)

    collect()
    while len(drawn) < count:  # Where there are no more that differ.
        drawn += drawn[: count - len(drawn)]
    return drawn[:count]


WRONG: Final = (None, True, -1.5, "junk", ["junk"], {"junk": "junk"})
"""Of each type one."""

_ITEMS: Final = "[]"

Place = tuple[str | int, ...]


def in_fields(reads: DeclaredFields, each: int, count: int) -> Iterator[Case]:
    """Yield an object of each kind with wrong values at each declared field, and on its way.

    `each` is how many of `WRONG` a field gets. Then come `count` examples with one of them anywhere
    in what rules see of them.
    """
    found = [*of_library(0, reads)]
    first = {case.shown.kind: case for case in reversed(found)}
    for kind in sorted(reads.kinds):
        case = first.get(kind) or replace(found[0], projection=NO_POD, shown=ShownFields(kind))
        for number, steps in enumerate(_on_the_way(reads, kind)):
            for wrong in islice(cycle(WRONG), number % len(WRONG), number % len(WRONG) + each):
                yield _with(case, _put(json.loads(case.shown.fields), steps, wrong))
    rng = random.Random(0)  # noqa: S311  Must repeat, need not be secret.
    for _ in range(count):
        case = rng.choice(found)
        yield _with(case, _changed(json.loads(case.shown.fields), rng))


def in_projections(count: int) -> Iterator[Case]:
    """Yield examples of the built-in rules with one of `WRONG` anywhere in their projections."""
    rng = random.Random(0)  # noqa: S311  As above.
    found = list(examples())
    for _ in range(count):
        case = rng.choice(found)
        projection = json.dumps(_changed(json.loads(case.projection), rng)).encode()
        yield replace(case, group="wrong types in projections", projection=projection)


def _with(case: Case, fields: Any) -> Case:
    shown = ShownFields(case.shown.kind, json.dumps(fields).encode())
    return replace(case, group="wrong types in declared fields", shown=shown)


def _on_the_way(reads: DeclaredFields, kind: str) -> list[tuple[str, ...]]:
    """Return the steps of each declared field of a kind, and of what it lies in."""
    declared = [tuple(steps_of(field)) for field in json.loads(reads.declared(kind))]
    return sorted({steps[:end] for steps in declared for end in range(1, len(steps) + 1)})


def _put(value: Any, steps: tuple[str, ...], wrong: Any) -> Any:
    """Return a value with a wrong one in all places of a field; what is not there yet is made."""
    if not steps:
        return copy.deepcopy(wrong)
    step, *rest = steps
    if step == _ITEMS:
        items = value if isinstance(value, list) and value else [{}]
        return [_put(item, tuple(rest), wrong) for item in items]
    inside = value if isinstance(value, dict) else {}
    return inside | {step: _put(inside.get(step), tuple(rest), wrong)}


def _changed(value: Any, rng: random.Random) -> Any:
    places = [*_places(value)]
    if not places:
        return value
    place = rng.choice(places)
    inside = value
    for step in place[:-1]:
        inside = inside[step]
    inside[place[-1]] = copy.deepcopy(rng.choice(WRONG))
    return value


def _places(value: Any, place: Place = ()) -> Iterator[Place]:
    if place:
        yield place
    if isinstance(value, dict | list):
        for step in value if isinstance(value, dict) else range(len(value)):
            yield from _places(value[step], (*place, step))


LIMITS = EvaluationLimits(seconds=10)
"""A busy machine is no difference."""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """All there is: built-in, the sites of the examples, the library."""
    return read_bundle(build_all(tmp_path_factory.mktemp("all")))


@pytest.fixture(scope="module")
def embedded(bundle: Bundle) -> Iterator[EmbeddedEngine]:
    """The embedded engine on it."""
    engine = EmbeddedEngine(bundle, LIMITS)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def opa(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpaServerEngine]:
    """An OPA server that the same bundle was put on."""
    with OpaProgram(tmp_path_factory.mktemp("opa")) as server:
        engine = OpaServerEngine(bundle, OpaServer(server.url), LIMITS)
        yield engine
        engine.close()


@pytest.mark.proof
def test_both_engines_say_the_same(embedded: EmbeddedEngine, opa: OpaServerEngine) -> None:
    """Of each example, of generated Pods, and of wrong types in all fields that rules declare."""
    reads = embedded.reads
    cases = [
        *examples(),
        *generated(size(100, 3000)),
        *generated_pods(size(100, 4000), reads),
        *of_library(size(100, 4000), reads),
        *in_fields(reads, size(1, len(WRONG)), size(50, 6000)),
        *in_projections(size(100, 4000)),
    ]
    start = time.monotonic()
    tally = run(embedded, opa, cases)
    assert tally.differences == []
    assert tally.evaluations.total() >= size(1000, 20_000)
    assert min(tally.findings[group] for group in tally.evaluations) > 0
    if PROOF:
        _record(tally, time.monotonic() - start)


def _record(tally: Tally, seconds: float) -> None:
    rows = [
        f"| {group} | {count} | {tally.findings[group]} | {tally.errors[group]} | 0 |"
        for group, count in tally.evaluations.items()
    ]
    record(
        "engine-parity",
        [
            "- The embedded engine and an OPA server (1.22.0, `strict-builtin-errors`), asked the "
            "same: the built-in policies, the sites of `examples/` and every rule of the library "
            "in one bundle",
            f"- {tally.evaluations.total()} evaluations by each, in {seconds:.0f} s; "
            f"{len(tally.differences)} differences",
            "- Wrong types: each of null, true, -1.5, a text, a list and an object at each field "
            "that a rule declares and at each that it lies in, then anywhere in examples and in "
            "projections",
            "",
            "| Group | Evaluations | Findings | Errors of both | Differences |",
            "| --- | --- | --- | --- | --- |",
            *rows,
        ],
    )
