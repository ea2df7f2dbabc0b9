"""`sallyport egress status`: which namespaces are enrolled, and what closing them would close."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Final, Literal

import msgspec
from rich.console import Console

from app.settings.root import Settings
from cli import exits
from cli.egress.flags import FlowFormat
from cli.egress.flow_files import observe_files, read_workloads, unread_lines
from cli.egress.inputs import (
    ClusterSource,
    look,
    make_world,
    open_source,
    read_intents,
    site_of,
)
from cli.egress.lines import print_indented, print_line
from core.base.errors import ClusterError, InvalidObjectError, SettingsError
from core.base.times import DAY_S, time_text
from core.egress.allowlists import EgressAllowlist
from core.egress.enrolment import closed_workloads
from egress.analysis.cluster_egress import ClusterEgress
from egress.analysis.coverage import (
    ClosedDestination,
    FlowWindow,
    NamespaceCoverage,
    RefusedSinceEnd,
    State,
    UnseenCronJob,
    cover,
    is_whole,
    refused_since_end,
    silent_namespaces,
    state_of,
    window_of,
)
from egress.analysis.observed_flows import ObservedFlows
from egress.analysis.overlay import overlay_intents
from egress.model.openings import Problem
from kube.client.objects import Objects, list_objects
from kube.egress.watch import ALLOWLISTS_PATH, Intent, read_intent
from kube.manifests.reader import read_each

FORMAT: Final = 1
SOON_S: Final = 14 * DAY_S
"""An allowlist that ends within two weeks is told."""
_SHOWN: Final = 20
_STATE_COLOURS: Final[Mapping[State, str]] = {
    "not enrolled": "yellow",
    "audit": "cyan",
    "enforced": "green",
}
_KIND: Final = "EgressAllowlist"
_LONGEST_S: Final = 3660 * DAY_S
"""No log is longer: one that seems so has times that are none."""
_NO_DATES: Final = "flows that say no time"


class AllowlistStatus(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """How an allowlist stands."""

    name: str
    ready: Literal["True", "False", ""]
    """The condition `Ready` as control wrote it; empty where it wrote none."""
    reason: str
    """Of that condition."""
    expires_at: str
    ends_in_days: float | None
    """None where it lies more than two weeks ahead; below 0 once it has ended."""
    closed: list[str]
    """What of it stays closed once the namespace is enrolled, and why."""
    refused: RefusedSinceEnd | None = None
    """Of one that has ended: what was dropped since, by the flows; None where none were given."""


class NamespaceStatus(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """How a namespace stands."""

    name: str
    state: State
    closed: list[str]
    """Of one that is audited: the workloads that are closed, `Deployment/web`."""
    allowlists: list[AllowlistStatus]
    coverage: NamespaceCoverage | None
    """None where no flows were given."""
    beside: list[str]
    """Pods that no policy holds: on their node's network."""
    opened: list[str] = []
    """By which BreakGlasses it is open, until when, and of which workloads alone."""


class EgressStatus(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What `-o json` prints."""

    format: int = FORMAT
    window: FlowWindow | None
    namespaces: list[NamespaceStatus]
    silent_namespaces: list[str]
    """Where Pods run and no flow was seen."""
    whole: bool
    """Whether every flow was read, kept and is of a known namespace, and no object is broken."""
    notes: list[str]
    """What could not be read, kept or listed."""


class StatusQuestion(msgspec.Struct, frozen=True):
    """What is asked for."""

    namespace: str | None
    flows: Sequence[str]
    form: FlowFormat
    allowlists: Sequence[str]


async def read_status(settings: Settings, asked: StatusQuestion) -> EgressStatus:
    """Look at a cluster, and hold flows against its allowlists.

    Raises:
        SettingsError: no cluster is named, a file cannot be read, or there is no such namespace.
        ClusterError, AccessReviewError: the cluster does not answer.
    """
    if settings.cluster is None and settings.kubeconfig is None and not asked.allowlists:
        message = "say in which cluster: give --cluster DIR, --kubeconfig FILE or --allowlists"
        raise SettingsError(message)
    intents = read_intents(asked.allowlists)
    async with open_source(settings) as source:
        seen = await look(settings, source, None, intents)
        stored = await _stored(settings, source)
        then = overlay_intents(seen, intents)
        world = await make_world(then, site_of(settings), source.ask, intents.allowlists)
        workloads = await read_workloads(settings, source)
    observed = observe_files(asked.flows, asked.form, world, workloads) if asked.flows else None
    if asked.namespace is not None and not _is_known(asked.namespace, world, observed):
        raise SettingsError(f"there is no namespace {asked.namespace}, and no flow of one")
    found = _status(world, observed, stored, asked.namespace)
    if not seen.broken:
        return found
    left_out = [f"left out: {each}" for each in seen.broken]
    return msgspec.structs.replace(found, whole=False, notes=[*found.notes, *left_out])


def _is_known(namespace: str, world: ClusterEgress, observed: ObservedFlows | None) -> bool:
    of_flows = {each.namespace for each in observed.flows} if observed else set()
    of_allowlists = {each.meta.namespace for each in world.snapshot.allowlists.values()}
    return namespace in world.snapshot.namespaces or namespace in of_flows | of_allowlists


async def _stored(settings: Settings, source: ClusterSource) -> dict[str, Intent]:
    """Return the allowlists as they lie in the cluster, by `namespace/name`, with conditions."""
    if source.objects is None:
        found = [
            read_intent(each.raw)
            for each in read_each([settings.cluster] if settings.cluster else [])
            if not isinstance(each, InvalidObjectError) and each.kind == _KIND
        ]
    else:
        found = [each async for each in _listed(source.objects)]
    return {f"{each.namespace or 'default'}/{each.name}": each for each in found}


async def _listed(objects: Objects) -> AsyncIterator[Intent]:
    """Yield the allowlists of a cluster; none where their kind is not installed yet."""
    try:
        async for raw in list_objects(objects, ALLOWLISTS_PATH):
            yield read_intent(raw)
    except ClusterError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise


def _status(
    world: ClusterEgress,
    observed: ObservedFlows | None,
    stored: Mapping[str, Intent],
    namespace: str | None,
) -> EgressStatus:
    chosen = [namespace] if namespace else _namespaces(world, observed)
    closed = world.with_all_enrolled()
    silent = silent_namespaces(observed) if observed else []
    return EgressStatus(
        window=window_of((*observed.flows, *observed.nobodys)) if observed else None,
        namespaces=[_of_namespace(each, world, closed, observed, stored) for each in chosen],
        silent_namespaces=[each for each in silent if namespace in {None, each}],
        whole=is_whole(observed) if observed else True,
        notes=list(unread_lines(observed)) if observed else [],
    )


def _namespaces(world: ClusterEgress, observed: ObservedFlows | None) -> list[str]:
    """Return the namespaces that are enrolled or watched, have allowlists, or have flows."""
    found = {each.meta.namespace for each in world.snapshot.allowlists.values()}
    found |= {each for each in world.snapshot.namespaces if state_of(world, each) != "not enrolled"}
    if observed:
        found |= {each.namespace for each in (*observed.flows, *observed.nobodys)}
    return sorted(found - {""})


def _of_namespace(
    namespace: str,
    world: ClusterEgress,
    closed: ClusterEgress,
    observed: ObservedFlows | None,
    stored: Mapping[str, Intent],
) -> NamespaceStatus:
    problems = closed.problems(namespace)
    here = [
        _of_allowlist(each, problems, stored.get(each.key), world.site.now, observed)
        for each in world.allowlists(namespace)
    ]
    known = {each.name for each in here}
    here += (
        _of_broken(each)
        for each in stored.values()
        if (each.namespace or "default") == namespace and each.name not in known
    )
    beside = (
        each.name
        for each in world.snapshot.pods
        if each.namespace == namespace and each.host_network
    )
    return NamespaceStatus(
        name=namespace,
        state=state_of(world, namespace),
        closed=_closed(world, namespace),
        allowlists=sorted(here, key=lambda each: each.name),
        coverage=cover(observed, namespace) if observed else None,
        beside=sorted(beside),
        opened=[str(each) for each in world.opened(namespace)],
    )


def _closed(world: ClusterEgress, namespace: str) -> list[str]:
    found = world.snapshot.namespaces.get(namespace)
    if found is None or world.closure(namespace).is_whole:
        return []
    return [f"{kind}/{name}" for kind, name in closed_workloads(found)]


def _of_allowlist(
    allowlist: EgressAllowlist,
    problems: Iterable[Problem],
    stored: Intent | None,
    now: float,
    observed: ObservedFlows | None,
) -> AllowlistStatus:
    ready = stored.status.condition("Ready") if stored else None
    left = allowlist.expires - now
    return AllowlistStatus(
        name=allowlist.meta.name,
        ready="True" if ready and ready.status == "True" else "False" if ready else "",
        reason=ready.reason if ready else "",
        expires_at=allowlist.spec.expires_at,
        ends_in_days=round(left / DAY_S, 2) if left < SOON_S else None,
        closed=[
            f"{each.path}: {each.message}" if each.path else each.message
            for each in problems
            if each.allowlist == allowlist.meta.name and each.closes
        ],
        refused=refused_since_end(observed, allowlist) if observed and left <= 0 else None,
    )


def _of_broken(intent: Intent) -> AllowlistStatus:
    return AllowlistStatus(
        name=intent.name,
        ready="False",
        reason="Invalid",
        expires_at="",
        ends_in_days=None,
        closed=[intent.problem],
    )


def exit_code(status: EgressStatus) -> int:
    """Return the exit code: whether flows that were let through would be closed.

    Without flows nothing is said of that; where none was let through, nothing is known of it.
    """
    if any(each.coverage and each.coverage.closes for each in status.namespaces):
        return exits.REFUSED
    seen = [each.coverage.share.flows for each in status.namespaces if each.coverage]
    is_empty = bool(seen) and not any(seen)
    return exits.ADMITTED if status.whole and not is_empty else exits.NOT_JUDGED


def print_status(status: EgressStatus, console: Console, now: float) -> None:
    """Print each namespace: its state, what would be closed, and its allowlists."""
    if not status.namespaces:
        print_line(console, "No namespace is enrolled, and none has an allowlist.")
    for place, each in enumerate(status.namespaces):
        if place:
            console.print()
        closed = f", closed: {', '.join(each.closed)}" if each.closed else ""
        print_line(
            console, f"{each.name}: {each.state}{closed}", f"bold {_STATE_COLOURS[each.state]}"
        )
        for glass in each.opened:
            print_indented(console, glass, 2, "bold red")
        if each.coverage is None:
            print_indented(console, "coverage is not known: give flows with --flows", 2)
        else:
            _print_coverage(each.coverage, _shown_window(status.window, now), console)
        for pod in each.beside[:_SHOWN]:
            what = f"Pod {pod} is on its node's network: no policy holds it"
            print_indented(console, what, 2, "yellow")
        _print_allowlists(each.allowlists, console)
    if status.silent_namespaces:
        console.print()
        shown = _few(status.silent_namespaces)
        print_line(console, f"No flow was seen of namespaces: {shown}", "yellow")
    for note in status.notes:
        print_indented(console, f"note: {note}", 0, "yellow")
    if not status.whole:
        text = "Something is missing here, so more may be closed than is told."
        print_line(console, text, "yellow")


def _shown_window(window: FlowWindow | None, now: float) -> str:
    """Return the time of the flows in words: the last days, or from when to when."""
    if window is None:
        return _NO_DATES
    days = round(window.days) if window.last - window.first < _LONGEST_S else 0
    if days >= 1 and 0 <= now - window.last < DAY_S:
        return f"flows of the last {days} day{'' if days == 1 else 's'}"
    first, last = _time(window.first), _time(window.last)
    return f"flows from {first} to {last}"


def _time(seconds: float) -> str:
    try:
        return time_text(seconds)
    except (OverflowError, ValueError, OSError):  # Beyond what a date can be.
        return "a time that is no date"


def percent(part: int, whole: int) -> str:
    """Return a share, never rounded up: 100 % is all of it."""
    if not whole:
        return "none"
    tenths = part * 1000 // whole
    return f"{tenths // 10}.{tenths % 10} %" if part < whole else "100 %"


def _print_coverage(found: NamespaceCoverage, window: str, console: Console) -> None:
    share = found.share
    if not share.flows:
        print_indented(console, f"none of its flows was let through ({window})", 2, "yellow")
    else:
        whole = share.allowed_flows == share.flows
        flows = f"{percent(share.allowed_flows, share.flows)} of {window} are allowed"
        counts = f"{share.allowed_flows:,} of {share.flows:,}"
        pairs = (
            f"{percent(share.allowed_pairs, share.pairs)} of pairs of workload and destination "
            f"({share.allowed_pairs:,} of {share.pairs:,})"
        )
        text = f"{flows} ({counts}), {pairs}{'' if whole else '; the rest would be closed:'}"
        print_indented(console, text, 2, "green" if whole else "red")
    for each in found.closes[:_SHOWN]:
        _print_closed(each, console, "red")
    more = len(found.closes) - _SHOWN + found.more
    if more > 0:
        print_indented(console, f"and {more:,} more: -o json has {len(found.closes):,}", 4, "red")
    if found.dropped:
        print_indented(console, "dropped already, each time:", 2)
    for each in found.dropped[:_SHOWN]:
        _print_closed(each, console, "yellow")
    _print_unseen(found, console)


def _print_closed(each: ClosedDestination, console: Console, style: str) -> None:
    workload = f" ({each.workload.kind} {each.workload.name})" if each.workload else ""
    who = f"{each.service_account or 'unknown service account'}{workload}"
    print_indented(console, f"{who} → {each.to} {each.ports}", 4, style)
    evidence = each.evidence
    pods = f", by {_few(evidence.pods, 3)}" if evidence.pods else ""
    count = f"{evidence.flows:,} flow{'' if evidence.flows == 1 else 's'}"
    last = f", last {_time(evidence.last)}" if evidence.last is not None else ""
    print_indented(console, f"{count}{last}{pods}: {each.why}", 6)


def _print_unseen(found: NamespaceCoverage, console: Console) -> None:
    if found.cron_jobs:
        print_indented(console, "CronJobs of which no flow was seen:", 2, "yellow")
    for job in found.cron_jobs[:_SHOWN]:
        print_indented(console, _cron_job(job), 4, "yellow")
    if found.silent:
        shown = _few(found.silent_pods, 5, found.silent)
        print_indented(console, f"no flow was seen of Pods: {shown}", 2, "yellow")


def _cron_job(job: UnseenCronJob) -> str:
    last = f" ({_time(job.last_schedule)})" if job.last_schedule is not None else ""
    return f"{job.name}, {job.schedule}: {job.why}{last}"


def _print_allowlists(found: Sequence[AllowlistStatus], console: Console) -> None:
    if not found:
        print_indented(console, "no allowlist", 2)
    for each in found:
        said = each.reason or ("not all of it opens" if each.closed else "opens all it names")
        style = "yellow" if each.closed or each.ends_in_days is not None else ""
        text = f"allowlist {each.name}: {said}{_end(each)}"
        print_indented(console, text, 2, style)
        for problem in each.closed[:_SHOWN]:
            print_indented(console, f"closed: {problem}", 4, "yellow")
        if each.refused is not None:
            _print_refused(each.refused, console)


def _print_refused(refused: RefusedSinceEnd, console: Console) -> None:
    if not refused.flows:
        print_indented(console, "refused since its end: nothing that these flows show", 4)
        return
    count = f"{refused.flows:,} flow{'' if refused.flows == 1 else 's'}"
    text = f"refused since its end: {count}, last {_time(refused.last)}"
    print_indented(console, text, 4, "red")


def _end(each: AllowlistStatus) -> str:
    if each.ends_in_days is None:
        return f", until {each.expires_at}" if each.expires_at else ""
    if each.ends_in_days < 0:
        return f", ended {each.expires_at}"
    days = int(each.ends_in_days)
    left = f"{days} day{'' if days == 1 else 's'}" if days else "less than a day"
    return f", ends in {left} ({each.expires_at})"


def _few(names: Sequence[str], most: int = _SHOWN, whole: int | None = None) -> str:
    more = (len(names) if whole is None else whole) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
