"""Measures what each rule costs on the embedded engine, above a rule that does nothing.

The inputs are the authors' cases, and training Pods of 1, 10 and 100 containers.
"""

import re
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from core.base.errors import BundleRefusedError, PolicyError
from kube.manifests.reader import Manifest
from policies.authoring.cases import CaseFile, PolicyCase
from policies.authoring.compiled_policy import CompiledPolicy, compile_entries
from policies.authoring.workspace import Workspace
from policies.site.choices import Choices

SIZES: Final = (1, 10, 100)
"""Containers of the Pods by which growth is told."""

_PACKAGE: Final = "sallyport.bench"
_FILE: Final = "rego/bench.rego"
_NOTHING: Final = "nothing"
_SETS: Final = re.compile(r"data\.sallyport\.((?:rules|sandbox)\.\w+\.\w+)\.(deny|warn|signals)\b")
_SECONDS: Final = 30.0
"""Of one evaluation: what takes longer is not measured."""

_FASTER_THAN_LINEAR: Final = 40.0
"""From 10 to 100 containers a linear rule grows 10 times as much as from 1 to 10, a quadratic one
100 times."""

_WORTH_US: Final = 500.0
"""Of a Pod of 100 containers: below, growth does not matter."""

_FEW: Final = 2
"""Rules of which one must have the greater share."""

_LABELS: Final = {"app.kubernetes.io/name": "pretrain", "example.com/team": "research"}


class BenchmarkSample(msgspec.Struct, frozen=True):
    """One input of `judge`."""

    kind: str
    document: bytes
    containers: int = 0
    """Of the Pods by which growth is told; 0 of all others."""


class Cost(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What a rule costs, in microseconds above a rule that does nothing."""

    rule: str
    inputs: int
    """Of the kinds that it is asked about; nothing is known where there is none."""
    p50_us: float = 0.0
    """Of the inputs: half of them take less."""
    p99_us: float = 0.0
    share: float = 0.0
    """Of the sum of all rules, per cent."""
    by_containers: dict[str, float] = {}
    """For Pods of 1, 10 and 100 containers."""
    too_much: list[str] = []
    """Why it should cost less."""
    notes: list[str] = []


def measure(
    workspace: Workspace,
    samples: Sequence[BenchmarkSample],
    rounds: int,
    most_share: float,
    tell: Callable[[str], None],
) -> list[Cost]:
    """Measure each rule on the inputs of its kinds, the most expensive first.

    Each evaluation is paired with one of a rule that does nothing on the same input.

    Raises:
        BundleRefusedError: the rules cannot be compiled.
    """
    sets = _sets(workspace)
    entries = {rule: f"r{number}" for number, rule in enumerate(sets)}
    (workspace.folder / _FILE).write_text(_rego(sets, entries))
    kinds = {rule.id: set(rule.kinds) or {"Pod"} for rule in workspace.rules}
    names = [f"{_PACKAGE}.{name}" for name in (_NOTHING, *entries.values())]
    with compile_entries(workspace, names) as compiled:
        costs = []
        for number, (rule, entry) in enumerate(entries.items(), 1):
            tell(f"{number} of {len(entries)}: {rule}")
            wanted = [each for each in samples if each.kind in kinds[rule]]
            costs.append(_cost(compiled, rule, entry, wanted, rounds))
    total = sum(cost.p50_us for cost in costs) or 1.0
    shared = [_shared(cost, total, len(costs), most_share) for cost in costs]
    return sorted(shared, key=lambda cost: -cost.p50_us)


def _sets(workspace: Workspace) -> dict[str, list[str]]:
    """Return the sets of each rule, as the bundle asks for them."""
    found: dict[str, list[str]] = {}
    joined = workspace.bundle.sources[str(Path("rego/site.rego"))]
    for package, name in _SETS.findall(joined):
        found.setdefault(package.replace(".", "/"), []).append(name)
    return found


def _rego(sets: Mapping[str, Sequence[str]], entries: Mapping[str, str]) -> str:
    lines = [f"package {_PACKAGE}\n\n{_NOTHING} := {{}} if input.kind\n"]
    for rule, names in sets.items():
        refs = (f'"{name}": data.sallyport.{rule.replace("/", ".")}.{name}' for name in names)
        lines.append(f"\n{entries[rule]} := {{{', '.join(refs)}}} if input.kind\n")
    return "".join(lines)


def _cost(
    compiled: CompiledPolicy, rule: str, entry: str, samples: Sequence[BenchmarkSample], rounds: int
) -> Cost:
    times, sized, too_much = [], {}, []
    for each in samples:
        try:
            least = _least_us(compiled, entry, each.document, rounds)
        except PolicyError as error:
            what = f"a Pod of {each.containers} containers" if each.containers else "an input"
            too_much.append(f"{what} cannot be judged: {error}")
            continue
        if each.containers:
            sized[str(each.containers)] = round(least, 1)
        else:
            times.append(least)
    times.sort()
    return Cost(
        rule=rule,
        inputs=len(times),
        p50_us=round(statistics.median(times), 1) if times else 0.0,
        p99_us=round(times[min(len(times) - 1, round(0.99 * len(times)))], 1) if times else 0.0,
        by_containers=sized,
        too_much=[*too_much, *_grown(sized)],
    )


def _least_us(compiled: CompiledPolicy, entry: str, document: bytes, rounds: int) -> float:
    """Return the least time of an input, above the least of the rule that does nothing.

    The two take turns. What disturbs a machine only ever adds: the least is the rule's own.
    """
    nothing = rule = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        compiled.evaluate(f"{_PACKAGE}.{_NOTHING}", document, _SECONDS)
        between = time.perf_counter()
        compiled.evaluate(f"{_PACKAGE}.{entry}", document, _SECONDS)
        rule = min(rule, time.perf_counter() - between)
        nothing = min(nothing, between - start)
    return max(0.0, (rule - nothing) * 1e6)


def _grown(sized: Mapping[str, float]) -> list[str]:
    if len(sized) < len(SIZES):
        return []
    first, second, third = (sized[str(size)] for size in SIZES)
    if growth(first, second, third) <= _FASTER_THAN_LINEAR or third < _WORTH_US:
        return []
    return [
        f"grows faster than the Pod: {first:g}, {second:g} and {third:g} µs for "
        f"{', '.join(map(str, SIZES[:-1]))} and {SIZES[-1]} containers: walk over them once"
    ]


def growth(first: float, second: float, third: float) -> float:
    """Return how much more is added from 10 to 100 containers than from 1 to 10.

    A linear rule has 10, a quadratic one 100. Less than a microsecond is no measurement.
    """
    return (third - second) / max(second - first, 1.0)


def _shared(cost: Cost, total: float, count: int, most: float) -> Cost:
    share = round(100 * cost.p50_us / total, 1)
    too_much, notes = list(cost.too_much), []
    if count > _FEW and share > most:
        too_much.append(f"takes {share:g} % of the time of all rules, more than {most:g} %")
    if not cost.inputs:
        notes.append("nothing is known: no case has an object of a kind that it is asked about")
    return msgspec.structs.replace(cost, share=share, too_much=too_much, notes=notes)


def samples_of(
    documents: Mapping[str, Sequence[bytes]], sized: Mapping[str, int]
) -> list[BenchmarkSample]:
    """Make samples of what was asked about each object; `sized` has the containers of some.

    Raises:
        BundleRefusedError: what was asked is no input of `judge`.
    """
    found = []
    for about, asked in documents.items():
        for document in asked:
            try:
                kind = msgspec.json.decode(document, type=_Kinded).kind
            except msgspec.MsgspecError as error:
                raise BundleRefusedError(f"{about}: no input of judge: {error}") from error
            found.append(BenchmarkSample(kind, document, sized.get(about, 0)))
    return found


class _Kinded(msgspec.Struct):
    kind: str


def _container(number: int) -> dict[str, Any]:
    """Return a container of a training Pod; each differs in its name and port alone."""
    return {
        "name": f"trainer-{number}",
        "image": f"registry.example/train@sha256:{'0' * 64}",
        "env": [
            {"name": "RANK", "value": str(number)},
            {"name": "NCCL_DEBUG", "value": "WARN"},
            {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}},
        ],
        "ports": [{"name": f"p{number}", "containerPort": 20_000 + number}],
        "resources": {
            "limits": {"nvidia.com/gpu": "8", "memory": "900Gi"},
            "requests": {"cpu": "90", "memory": "900Gi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
    }


def training_pod(containers: int) -> dict[str, Any]:
    """Return a Pod that trains a model, with so many containers."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pretrain-0", "labels": _LABELS, "annotations": {"note": "bench"}},
        "spec": {
            "securityContext": {"runAsNonRoot": True, "runAsUser": 1000},
            "serviceAccountName": "trainer",
            "containers": [_container(number) for number in range(containers)],
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            "volumes": [{"name": "scratch", "emptyDir": {}}],
        },
    }


def _plain_pod(name: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "registry.example/app:1.0"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], **spec},
    }


_PODS: Final = (
    training_pod(2),
    _plain_pod("plain"),
    _plain_pod("node-agent", hostNetwork=True, hostPID=True),
    _plain_pod("sidecars", initContainers=[{"name": "init", "image": "registry.example/init:1"}]),
)


def ordinary_cases(choices: Choices) -> Iterator[PolicyCase]:
    """Yield Pods as a cluster sees them."""
    for pod in _PODS:
        yield _case(f"an example: {pod['metadata']['name']}", pod, choices)


def sized_cases(choices: Choices) -> dict[str, tuple[int, PolicyCase]]:
    """Return training Pods of 1, 10 and 100 containers, by the file that they are asked about."""
    made = ((size, _case(f"{size} containers", training_pod(size), choices)) for size in SIZES)
    return {case.file: (size, case) for size, case in made}


def _case(name: str, value: dict[str, Any], choices: Choices) -> PolicyCase:
    said = CaseFile(name=name, why="It is measured.", object=value, expect="allow")
    return PolicyCase(name, said, Manifest(name, name, value), None, choices, {})
