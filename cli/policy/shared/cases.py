"""Judges the cases of policy authors, by the way that a review takes, and compares."""

import asyncio
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import msgspec
import yaml

from admission.fields.check import is_of_field
from admission.gather import Gatherer
from admission.judge import Judge
from cli.shared.judge import BUDGET, require_profile
from cli.shared.manifests import ReviewTerms, make_terms, prepare, read_manifest_facts
from core.base import names
from core.base.errors import BundleRefusedError, SallyportError
from core.decision.decision import Action, Decision, Finding, Verdict
from core.decision.request import Operation, Request
from core.people.subject import Subject
from core.profiles.container_profiles import ContainerProfile
from identity.subjects import parse_controllers
from kube.cluster.folder import FolderCluster, read_profiles
from kube.manifests.reader import Manifest
from policies import SHIPPED_PROFILES
from policies.authoring.cases import (
    ExpectedFinding,
    PolicyCase,
    diff_case,
    files_of_rules,
    find_unrelated_rules,
)
from policies.authoring.parity import RecordedQuestion, RecordingEngine
from policies.authoring.workspace import Workspace, open_workspace
from policies.bundle.format import Rule
from policies.engine.embedded_engine import EmbeddedEngine
from policies.site.choices import Choices
from sandbox.runtime_choice import SandboxSettings

_NEVER: Final = 1_000_000
"""Points that no Pod has: a case's signals are looked at, and no sandbox is chosen."""

_BY_RISK: Final = "by-risk"


class JudgedCase(msgspec.Struct, frozen=True):
    """What became of a case."""

    name: str
    place: str
    """File and line of what differs; of a case that holds, its file."""
    passed: bool
    expected: str
    got: str
    """The verdict; `error` where nobody could judge."""
    detail: str = ""
    """What differs, as lines of a diff, or why nobody could judge."""
    notes: list[str] = []
    """Fields of its object that no rule of the gate has judged; a case holds with them."""


@dataclass(frozen=True)
class Group:
    """Cases that were judged by the same bundle, and all that it was asked."""

    workspace: Workspace
    judged: list[JudgedCase]
    asked: list[RecordedQuestion]


def judge_cases(
    opa: Path,
    sites: Sequence[Path],
    choices: Choices,
    cases: Sequence[PolicyCase],
    examine: Callable[[Group], None],
) -> None:
    """Judge all cases, those with the same choices together; `examine` is given each such group.

    The first has the choices of --rules, and is there also where it has no case.

    Raises:
        BundleRefusedError: the sites' Rego is no bundle; the message has file, line and fix.
    """
    groups: dict[bytes, tuple[Choices, list[PolicyCase]]] = {key_of(choices): (choices, [])}
    for case in cases:
        groups.setdefault(key_of(case.choices), (case.choices, []))[1].append(case)
    for chosen, members in groups.values():
        try:
            with open_group(opa, sites, chosen, members) as group:
                examine(group)
        except BundleRefusedError as error:
            if chosen is choices:
                raise
            message = f"{members[0].place('rules')}: with what this case chooses: {error}"
            raise BundleRefusedError(message) from error


def key_of(choices: Choices) -> bytes:
    """Return a key that is the same for the same choices."""
    return msgspec.json.encode(choices, order="deterministic")


@contextmanager
def open_group(
    opa: Path, sites: Sequence[Path], choices: Choices, cases: Sequence[PolicyCase]
) -> Iterator[Group]:
    """Judge cases by the bundle of these choices; its workspace is open meanwhile.

    Raises:
        BundleRefusedError: see `judge_cases`.
    """
    with ExitStack() as stack:
        workspace = stack.enter_context(open_workspace(opa, sites, choices))
        engine = RecordingEngine(EmbeddedEngine(workspace.bundle))
        stack.callback(engine.close)
        files = files_of_rules(workspace.bundle)
        judged = [
            judge_case(case, engine, find_unrelated_rules(case.folder, sites, files))
            for case in cases
        ]
        yield Group(workspace, judged, engine.asked)


def judge_case(case: PolicyCase, engine: RecordingEngine, other: frozenset[str]) -> JudgedCase:
    """Judge a case; what the rules in `other` find does not count."""
    engine.about = case.file
    try:
        decision = asyncio.run(_decide(case, engine))
    except SallyportError as error:
        return _unjudged(case, str(error))
    if isinstance(decision, str):
        return _unjudged(case, decision)
    if decision.verdict is Verdict.ERROR:
        return _unjudged(case, decision.reason)
    return _compared(case, decision, engine.rules, other)


def _unjudged(case: PolicyCase, why: str) -> JudgedCase:
    got, place = Verdict.ERROR.value, case.place("object")
    return JudgedCase(
        case.said.name, place, passed=False, expected=case.said.expect, got=got, detail=why
    )


async def _decide(case: PolicyCase, engine: RecordingEngine) -> Decision | str:
    """Return the decision, or why the gate would not judge the object."""
    with tempfile.TemporaryDirectory(prefix="sallyport-case-") as scratch:
        judge = _judge_of(engine, _cluster(case, Path(scratch)))
    terms = _terms(case)
    if terms.profile is not None:
        require_profile(judge.gatherer.cluster, terms.profile, f"{case.place('profile')}: ")
    files = read_manifest_facts([case.manifest], judge, terms)
    judge = files.judge(judge)
    _, request = prepare(case.manifest, terms, files)
    if not isinstance(request, Request):
        return f"a {case.manifest.kind} is {request}"
    if case.old is not None:
        request = msgspec.structs.replace(
            request, operation=Operation.UPDATE, old_object=msgspec.Raw(case.old.raw)
        )
    return await judge.validate(request, budget=BUDGET)


def _terms(case: PolicyCase) -> ReviewTerms:
    said = case.said
    terms = make_terms(said.profile, said.user or None, tuple(said.groups), said.namespace.name)
    if (case.manifest.group, case.manifest.kind) == ("", "Namespace"):
        # Who changes a Namespace is asked for its marks, and no profile.
        return ReviewTerms(None, terms.subject or Subject(), terms.namespace)
    return terms


def _judge_of(engine: RecordingEngine, cluster: FolderCluster) -> Judge:
    return Judge(
        Gatherer(
            cluster,
            engine,
            parse_controllers([]),
            sandbox_settings=SandboxSettings(threshold=_NEVER),
        )
    )


@cache
def _profiles() -> tuple[ContainerProfile, ...]:
    return tuple(read_profiles([SHIPPED_PROFILES]))


def _cluster(case: PolicyCase, scratch: Path) -> FolderCluster:
    """Return a cluster that holds the case's namespace, and a sandbox where signals count."""
    place = case.said.namespace
    objects: list[dict[str, object]] = []
    labels = dict(place.labels)
    if case.said.signals is not None:
        labels.setdefault(names.SANDBOX_LABEL, _BY_RISK)
        handler = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": "runsc"}
        objects.append(handler | {"metadata": {"name": "gvisor"}})
    metadata = {"name": _namespace_of(case.manifest) or place.name, "labels": labels}
    objects.append({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    file = scratch / "cluster.yaml"
    file.write_text(yaml.safe_dump_all(objects))
    return FolderCluster(file, shipped=_profiles())


def _namespace_of(manifest: Manifest) -> str:
    metadata = manifest.value.get("metadata")
    return str(metadata.get("namespace") or "") if isinstance(metadata, dict) else ""


def _compared(
    case: PolicyCase, decision: Decision, rules: Mapping[str, Rule], other: frozenset[str]
) -> JudgedCase:
    """Compare what was found, without what rules have found that the case is not about."""
    said = case.said
    asked = {each.rule for each in said.findings}
    fields = [each for each in decision.findings if is_of_field(each) and each.rule not in asked]
    findings = [each for each in decision.findings if each.rule not in other and each not in fields]
    got = _verdict(findings)
    lines, field = [], ""
    if said.expect not in {got, _verdict(findings, case.softened)}:
        lines, field = [f"- expect: {said.expect}", f"+ expect: {got}"], "expect"
    found = [ExpectedFinding(each.rule, each.path, each.message) for each in findings]
    listed = said.findings or not case.example
    if listed and (more := diff_case(said.findings, found)):
        lines, field = [*lines, *more], field or "findings"
    if said.signals is not None:
        counted = decision.sandbox.signals if decision.sandbox else ()
        ours = [one for one in counted if one.rule in rules and rules[one.rule].site]
        signals = [ExpectedFinding(one.rule, one.path) for one in ours if one.rule not in other]
        if more := diff_case(said.signals, signals):
            lines, field = [*lines, *(f"{line} (signal)" for line in more)], field or "signals"
    place = case.place(field) if field else case.file
    detail = "\n".join(lines)
    notes = [f"{each.path}: {each.message} ({each.rule})" for each in fields]
    return JudgedCase(
        said.name,
        place,
        passed=not field,
        expected=said.expect,
        got=got,
        detail=detail,
        notes=notes,
    )


def _verdict(findings: Sequence[Finding], denying: frozenset[str] = frozenset()) -> str:
    """Return the verdict, as if the rules `denying` denied what they find."""
    actions = {Action.DENY if each.rule in denying else each.action for each in findings}
    if Action.DENY in actions:
        return str(Verdict.DENY.value)
    return str((Verdict.WARN if actions else Verdict.ALLOW).value)
