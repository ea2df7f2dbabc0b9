"""`sallyport egress enrol` and `release NAMESPACE`: close a namespace step by step, and open it."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
from rich.console import Console

from app.settings.egress import enrolment_of, target_of
from app.settings.root import Settings
from cli import exits
from cli.egress.flags import FlowFormat
from cli.egress.lines import print_indented, print_line
from cli.egress.status import EgressStatus, NamespaceStatus, StatusQuestion, read_status
from core.base import names
from core.base.errors import NamespaceMarkError, SettingsError
from core.decision.namespaces import Namespace
from core.egress.enrolment import (
    AUDIT,
    MOST_WORKLOADS,
    OPEN,
    Closure,
    closed_workloads,
)
from core.egress.pod_labels import workload_label
from core.kubernetes.names import is_subdomain
from egress.analysis.coverage import ClosedDestination
from egress.render.generated_objects import DEFAULT_DENY
from kube.client.objects import Objects, list_objects, open_objects
from kube.egress.network_policies import PLURALS, POLICY_PATHS
from kube.egress.pods import EgressPod, read_egress_pod
from kube.resources.namespaces import parse_namespace
from kube.resources.paths import NAMESPACES_PATH

FORMAT: Final = 1

_DENY: Final = "deny"
_SHOWN: Final = 5


class EnrolmentStep(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What `-o json` prints."""

    format: int = FORMAT
    namespace: str
    before: str
    """What the label `sallyport.dev/egress` was; empty where there was none."""
    after: str
    """What it is now."""
    closed: list[str]
    """Workloads that are closed while the rest is audited: `Deployment/web`."""
    changed: bool
    hindrances: list[str]
    """What speaks against the step: it was not taken, unless it was forced."""
    next: str
    """What to do then."""


class EnrolQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for."""

    namespace: str
    flows: Sequence[str] = ()
    form: FlowFormat = FlowFormat.AUTO
    close: Sequence[str] = ()
    """Workloads to close: `Deployment/web`, or several with commas."""
    whole: bool = False
    """Whether to close all of it."""
    force: bool = False
    """Whether to go on whatever speaks against it."""


class _Marks(msgspec.Struct, frozen=True):
    """What a namespace's marks say of its enrolment."""

    label: str
    workloads: tuple[str, ...]


async def enrol(settings: Settings, asked: EnrolQuestion) -> EnrolmentStep:
    """Take the next step of enrolling a namespace, unless something speaks against it.

    Raises:
        SettingsError: there is no such namespace, or what is asked for cannot be.
        NamespaceMarkError: the namespace's list of workloads cannot be read.
        ClusterError: kube-apiserver does not answer, or refuses.
    """
    _require_cluster(settings)
    close = [part.strip() for each in asked.close for part in each.split(",")]
    asked = msgspec.structs.replace(asked, close=close)
    async with open_objects(settings.kubeconfig) as objects:
        raw = await _namespace(objects, asked.namespace)
        before = _marks(raw)
        closure = enrolment_of(settings.egress, settings.namespace).closure(_parsed(raw))
        if not closure.closes and not before.label:
            await _require_open(objects, asked.namespace)
        after = _wanted(before, closure, asked)
        hindrances: list[str] = []
        if after != before and (asked.close or asked.whole):
            status = await read_status(
                settings, StatusQuestion(asked.namespace, asked.flows, asked.form, ())
            )
            pods = await _running(objects, asked.namespace)
            hindrances = [*_of_ranges(settings, pods), *_hindrances(asked, closure, status, pods)]
        taken = after != before and (asked.force or not hindrances)
        if taken:
            await _write(objects, asked.namespace, raw, after)
    return _step(asked.namespace, before, after if taken else before, hindrances)


async def release_namespace(settings: Settings, namespace: str, *, to_open: bool) -> EnrolmentStep:
    """Open what is closed of a namespace: back to `audit`, or out of egress altogether.

    Raises:
        SettingsError: there is no such namespace, or a folder stands in for the cluster.
        ClusterError: kube-apiserver does not answer, or refuses.
    """
    _require_cluster(settings)
    async with open_objects(settings.kubeconfig) as objects:
        raw = await _namespace(objects, namespace)
        found = _parsed(raw)
        listed = found.annotations.get(names.EGRESS_WORKLOADS_ANNOTATION, "")
        before = _Marks(found.labels.get(names.EGRESS_LABEL, ""), (listed,) if listed else ())
        after = _Marks(OPEN if to_open else AUDIT, ())
        if after != before:
            await _write(objects, namespace, raw, after)
    return _step(namespace, before, after, [])


def _require_cluster(settings: Settings) -> None:
    if settings.cluster is not None:
        raise SettingsError("a folder cannot be changed: give --kubeconfig FILE")


async def _namespace(objects: Objects, name: str) -> dict[str, Any]:
    found = await objects.get(f"{NAMESPACES_PATH}/{name}") if is_subdomain(name) else None
    if found is None:
        raise SettingsError(f"there is no namespace {name}")
    return found


async def _require_open(objects: Objects, namespace: str) -> None:
    """Refuse to go on where the cluster's default closes a namespace, which these settings lack.

    Raises:
        SettingsError: it is closed already.
    """
    for kind in ("NetworkPolicy", "CiliumNetworkPolicy"):
        path = f"{POLICY_PATHS[kind]}/namespaces/{namespace}/{PLURALS[kind]}/{DEFAULT_DENY}"
        if await objects.get(path) is not None:
            raise SettingsError(
                f"{namespace} has no label, and is closed ({kind} {DEFAULT_DENY}): here "
                "egress.default is deny; give the controller's settings with --config"
            )


def _parsed(raw: dict[str, Any]) -> Namespace:
    return parse_namespace(msgspec.json.encode(raw))


def _marks(raw: dict[str, Any]) -> _Marks:
    namespace = _parsed(raw)
    label = namespace.labels.get(names.EGRESS_LABEL, "")
    listed = (f"{kind}/{name}" for kind, name in closed_workloads(namespace))
    return _Marks(label, tuple(listed))


def _wanted(before: _Marks, closure: Closure, asked: EnrolQuestion) -> _Marks:
    """Return the marks after the step; the same where nothing is asked for that is not so yet.

    Raises:
        SettingsError: a workload is none, they are too many, or all of it is closed already.
    """
    if asked.whole:
        return _Marks(_DENY, ()) if not closure.is_whole else before
    if asked.close:
        if closure.is_whole:
            raise SettingsError(f"all of {asked.namespace} is closed already: --close adds nothing")
        workloads = tuple(dict.fromkeys((*before.workloads, *asked.close)))
        _check_workloads(asked.namespace, workloads)
        return _Marks(AUDIT, workloads)
    return before if closure.labels_pods else _Marks(AUDIT, ())


def _check_workloads(namespace: str, workloads: Sequence[str]) -> None:
    listed = {names.EGRESS_WORKLOADS_ANNOTATION: ",".join(workloads)}
    try:
        found = closed_workloads(Namespace(namespace, annotations=listed))
    except NamespaceMarkError:
        found = ()
    if len(found) != len(workloads):
        message = f"write KIND/NAME, such as Deployment/web, and at most {MOST_WORKLOADS} of them"
        raise SettingsError(f"--close: {message}")


async def _running(objects: Objects, namespace: str) -> list[EgressPod]:
    path = f"/api/v1/namespaces/{namespace}/pods"
    found = [read_egress_pod(raw) async for raw in list_objects(objects, path)]
    return [each for each in found if each is not None]


def _of_ranges(settings: Settings, pods: Sequence[EgressPod]) -> Iterator[str]:
    """Yield in which families Services would stay closed: no address of their Pods counts."""
    ranges = target_of(settings.egress).backend_ranges
    if ranges is None:
        return
    known = {each.version for each in ranges}
    used = {one.version for each in pods if not each.host_network for one in each.addresses}
    lacking = " or ".join(f"IPv{version}" for version in sorted(used - known))
    if not known or lacking:
        what = f"has no {lacking} network" if known else "is not set"
        yield (
            f"egress.ranges.pods {what}: Services would stay closed. Set it for the cluster "
            "(sallyport egress doctor shows the networks) and give those settings with --config"
        )


def _hindrances(
    asked: EnrolQuestion, closure: Closure, status: EgressStatus, pods: Sequence[EgressPod]
) -> Iterator[str]:
    """Yield what would break, or what nobody knows, once the step is taken."""
    if not closure.labels_pods:
        yield "the namespace is not audited yet: run this without --close and --all first"
    old = [
        each.name
        for each in pods
        if not each.host_network and names.EGRESS_ACCOUNT_LABEL not in each.labels
    ]
    if old:
        what = "be closed entirely" if asked.whole else "stay open, if they are of the workload"
        yield (
            f"{_few(old)} lack the gate's labels, being older than the audit, and would {what}: "
            "restart their workloads"
        )
    (found,) = status.namespaces
    yield from _of_workloads(asked, found, pods)
    yield from _of_flows(asked, found)
    if not status.whole:
        yield f"not every flow or object could be read: {'; '.join(status.notes[:_SHOWN])}"


def _of_workloads(
    asked: EnrolQuestion, found: NamespaceStatus, pods: Sequence[EgressPod]
) -> Iterator[str]:
    """Yield workloads to close of which nothing runs, or nothing was seen."""
    running = {each.labels.get(names.EGRESS_WORKLOAD_LABEL) for each in pods}
    of_flows = found.coverage.workloads if found.coverage else []
    seen = {f"{each.kind}/{each.name}" for each in of_flows}
    for each in asked.close:
        kind, _, name = each.partition("/")
        if each not in seen and workload_label(kind, name) not in running:
            yield f"no Pod of {each} runs with its label, and no flow of it was seen: is it right?"
        elif found.coverage and each not in seen:
            yield f"no flow of {each} was seen: nobody knows what it would close"
    if asked.whole and found.coverage and found.coverage.silent:
        shown = _few(found.coverage.silent_pods)
        yield f"no flow was seen of {shown} (of {found.coverage.silent} that run)"


def _of_flows(asked: EnrolQuestion, found: NamespaceStatus) -> Iterator[str]:
    if found.coverage is None:
        yield "nobody knows what it would close: give flows of the last days with --flows"
        return
    for each in found.coverage.closes:
        if _is_concerned(each, asked):
            whose = f" of {each.workload.kind} {each.workload.name}" if each.workload else ""
            yield f"it would close {each.to} {each.ports}{whose}: {each.why}"
    if found.coverage.more:
        yield f"it would close {found.coverage.more:,} destinations more"
    for job in found.coverage.cron_jobs:
        if asked.whole or f"CronJob/{job.name}" in asked.close:
            yield f"CronJob {job.name} was not seen: {job.why}"
    if not found.coverage.share.flows:
        yield "the flows have none that was let through from this namespace"


def _is_concerned(each: ClosedDestination, asked: EnrolQuestion) -> bool:
    """Return whether a destination may be closed by the step; of an unknown workload it may."""
    known = each.workload
    return asked.whole or known is None or f"{known.kind}/{known.name}" in asked.close


async def _write(objects: Objects, name: str, raw: dict[str, Any], after: _Marks) -> None:
    """Set the marks, if nobody has changed the namespace meanwhile."""
    listed = ",".join(after.workloads)
    metadata = {
        "resourceVersion": raw["metadata"]["resourceVersion"],
        "labels": {names.EGRESS_LABEL: after.label or None},
        "annotations": {names.EGRESS_WORKLOADS_ANNOTATION: listed or None},
    }
    await objects.merge(f"{NAMESPACES_PATH}/{name}", {"metadata": metadata})


def _step(
    namespace: str, before: _Marks, after: _Marks, hindrances: Sequence[str]
) -> EnrolmentStep:
    return EnrolmentStep(
        namespace=namespace,
        before=before.label,
        after=after.label,
        closed=list(after.workloads),
        changed=after != before,
        hindrances=list(hindrances),
        next=_next(namespace, after),
    )


def _next(namespace: str, after: _Marks) -> str:
    command = f"sallyport egress enrol {namespace}"
    if after.label == AUDIT:
        return (
            f"restart workloads whose Pods are older than the audit, gather flows for some days, "
            f"write allowlists (sallyport egress suggest), then close one workload: {command} "
            "--flows FILE --close KIND/NAME; and all: --all"
        )
    if after.label in {"", OPEN}:
        return f"all is open; to begin: {command}"
    return f"all is closed but for what allowlists open; back: sallyport egress release {namespace}"


def _few(some: Sequence[str]) -> str:
    more = len(some) - _SHOWN
    word = "Pod" if len(some) == 1 else "Pods"
    return f"{word} {', '.join(some[:_SHOWN])}" + (f" and {more} more" if more > 0 else "")


def exit_code(step: EnrolmentStep) -> int:
    """Return the exit code: whether something spoke against the step, and it was not taken."""
    return exits.REFUSED if step.hindrances and not step.changed else exits.ADMITTED


def print_step(step: EnrolmentStep, console: Console) -> None:
    """Print how the namespace stands, what speaks against the step, and what comes next."""
    how = f"{step.before or 'no label'} → {step.after or 'no label'}"
    closed = f", closed: {', '.join(step.closed)}" if step.closed else ""
    if step.changed:
        print_line(console, f"{step.namespace}: {how}{closed}", "green")
    else:
        print_line(console, f"{step.namespace}: {step.after or 'no label'}{closed}, not changed")
    if step.hindrances:
        taken = "Taken all the same, though:" if step.changed else "Not taken:"
        print_line(console, taken, "yellow" if step.changed else "red")
    for each in step.hindrances:
        print_indented(console, each, 2, "yellow" if step.changed else "red")
    if step.hindrances and not step.changed:
        print_indented(console, "see to it, or say --force", 2)
    print_indented(console, f"next: {step.next}", 0)
