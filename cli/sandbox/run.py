"""What runs outside the sandbox that it should be in: read from the ledger, by the last sweep.

The sweep knows no roots (docs/adr/0013). Who asked for a Pod stands in the gate's decision on its
creation, if there is one; it is found by the Pod's UID.
"""

import shlex
from collections.abc import AsyncIterator, Iterable
from typing import Final

import msgspec

from admission.sandbox.messages import why_with_signals
from app.records.ledger import open_ledger
from app.settings.root import Settings
from audit.ledger.store.decisions import MOST_ROWS, DecisionQuery
from audit.ledger.store.store import Store
from cli import exits
from core.base.errors import LedgerError
from core.base.ids import uuid7_unix_ms
from core.decision.decision import Finding, Running
from core.decision.document import (
    CountedSignal,
    DecisionDocument,
    decode_document,
    recorded_sandbox,
)
from core.decision.namespaces import Mode
from core.people.subject import Subject
from core.sandbox.decision import (
    INCOMPATIBLE,
    REQUIRED,
    RUNTIME,
    SandboxDecision,
    lacks_sandbox,
)

FORMAT: Final = 1

_RULES: Final = (REQUIRED, INCOMPATIBLE, RUNTIME)
_SWEEPS: Final = 1000
"""Looked at for the last one of each cluster: six weeks of one cluster's."""

_MOST_ASKED: Final = 20
"""Decisions on one Pod that are looked through for that on its creation, the first ones first."""

_MOST_SIGNALS: Final = 3
"""Named in a reason."""

_LABELS: Final = ("oid:", "user:", "system:")
_RESTARTED: Final = frozenset({"Deployment", "StatefulSet", "DaemonSet"})
"""What `kubectl rollout restart` takes."""

_REPLACED: Final = frozenset({"ReplicaSet", "ReplicationController"})
"""What makes anew each Pod that is deleted, and knows no restart."""


class LastSweep(msgspec.Struct, frozen=True, rename="camel"):
    """The last finished sweep of a cluster."""

    cluster: str
    sweep: str
    finished: str
    """RFC 3339."""
    pods: int
    """That were judged, in the whole cluster."""
    not_judged: int
    """Of these, that ended in an error: some may lack a sandbox as well."""


class Unsandboxed(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A Pod that should run in a sandbox and does not."""

    cluster: str
    namespace: str
    pod: str
    uid: str
    decision: str
    """Of the sweep; `sallyport explain` says more of it."""
    workload: str
    """Where it comes from, `Deployment/web`; empty where nothing made it."""
    requester: str | None
    """Who asked for that: an object id or a digest; None where nothing was recorded of it."""
    why: str
    """`risk`, `required` (by a profile or the namespace), `asked` (by its author) or `identity`."""
    reason: str
    """The same in words, with who requires it and the heaviest signals."""
    score: int
    threshold: int
    signals: list[CountedSignal]
    """The heaviest first."""
    runtime: str | None
    """The RuntimeClass that it runs with."""
    sandbox: str
    """The one that it should have."""
    first: list[Finding]
    """What must be changed before: without that it would be refused when it is created anew."""
    also: list[str]
    """Other rules by which the sweep would refuse it."""
    excused_by: list[str]
    """`name@uid` of the PolicyExceptions that excused it when it was created."""
    recreate: str
    """What to do."""


class Report(msgspec.Struct, frozen=True):
    """`sallyport sandbox report -o json` (docs/reference/sandbox-report.schema.json)."""

    format: int
    sweeps: list[LastSweep]
    """One of each cluster."""
    pods: list[Unsandboxed]
    """The riskiest first, then by cluster, namespace and name."""


async def read_report(settings: Settings, cluster: str | None, namespace: str | None) -> Report:
    """Read what the last sweep of each cluster found; None stands for all.

    Raises:
        LedgerError: there is no ledger, it cannot be read, or no sweep of it has ended.
    """
    async with open_ledger(settings) as store:
        sweeps = await _last_sweeps(store, cluster)
        if not sweeps:
            of_it = f" of the cluster {cluster}" if cluster is not None else ""
            raise LedgerError(
                f"no finished sweep{of_it} is in the ledger: "
                "`sallyport control` sweeps, and ships what it finds"
            )
        found = [
            unsandboxed(document, await _made(store, document))
            for sweep in sweeps
            async for document in _found_in(store, sweep, namespace)
        ]
    return Report(FORMAT, sweeps, sorted(found, key=_order))


def exit_code(report: Report) -> int:
    """Return the exit code: whether something lacks its sandbox."""
    return exits.REFUSED if report.pods else exits.ADMITTED


def unsandboxed(document: DecisionDocument, made: DecisionDocument | None) -> Unsandboxed:
    """Return the row of a Pod by the sweep's decision and the gate's on its creation. Pure."""
    decided = recorded_sandbox(document) or SandboxDecision()
    running = document.running or Running()
    root = made.root if made else None
    workload = f"{root.kind}/{root.name}" if root else running.workload
    first = [each for each in document.findings if _is_first(each, running)]
    others = dict.fromkeys(each.rule for each in document.findings if each.rule not in _RULES)
    asked = document.request
    return Unsandboxed(
        cluster=document.cluster,
        namespace=asked.namespace,
        pod=asked.name,
        uid=asked.object_uid,
        decision=document.id,
        workload=workload,
        requester=_requester(made),
        why=decided.decided_by or "risk",
        reason=why_with_signals(decided, _MOST_SIGNALS),
        score=decided.score,
        threshold=decided.threshold,
        signals=document.isolation.signals if document.isolation else [],
        runtime=running.runtime or None,
        sandbox=document.sandbox or "",
        first=first,
        also=list(others),
        excused_by=made.exceptions if made and made.isolation and made.isolation.excused else [],
        recreate=recreate(workload, running.workload, asked.namespace, asked.name),
    )


def recreate(workload: str, owner: str, namespace: str, pod: str) -> str:
    """Say how Pods of a workload are made anew; `owner` is what made the Pod itself. Pure.

    A Pod's author may write any owner into it, so what goes into a command is quoted.
    """
    kind, _, name = workload.partition("/")
    if kind in _RESTARTED:
        return _command("rollout restart", f"{kind.lower()}/{name}", namespace)
    if kind in _REPLACED:
        return f"delete its Pods, and {workload} makes new ones"
    if kind == "Node":
        return f"it is a static Pod: set runtimeClassName in its file on the node {name}"
    if kind == "CronJob" and owner.startswith("Job/"):
        end = _command("delete", f"job/{owner.removeprefix('Job/')}", namespace)
        return f"{end} (the next run has its sandbox)"
    if kind in {"", "Job"}:
        what = f"job/{name}" if kind else f"pod/{pod}"
        return f"{_command('delete', what, namespace)}, and create it anew"
    return f"delete {workload}, and create it anew"


def _command(verb: str, what: str, namespace: str) -> str:
    return f"kubectl {verb} {shlex.quote(what)} -n {shlex.quote(namespace)}"


def _order(row: Unsandboxed) -> tuple[int, str, str, str, str]:
    return -row.score, row.cluster, row.namespace, row.pod, row.uid


def _is_first(finding: Finding, running: Running) -> bool:
    """Return whether something but the missing class is wrong with its sandbox."""
    return finding.rule in {INCOMPATIBLE, RUNTIME} or (
        finding.rule == REQUIRED and bool(running.runtime)
    )


def _requester(made: DecisionDocument | None) -> str | None:
    """Return the label of who asked; operators may have chosen to keep names, which stay there."""
    if made is None:
        return None
    if made.root:
        return made.root.requester or None
    kept = made.requester
    return kept if kept.startswith(_LABELS) else Subject(username=kept).label


async def _last_sweeps(store: Store, cluster: str | None) -> list[LastSweep]:
    last: dict[str, LastSweep] = {}
    for each in await store.sweeps(_SWEEPS):
        if cluster in {None, each.cluster} and each.cluster not in last:
            errors = each.verdicts.get("error", 0)
            last[each.cluster] = LastSweep(
                each.cluster, each.id, each.finished, each.objects, errors
            )
    return sorted(last.values(), key=lambda each: each.cluster)


async def _found_in(
    store: Store, sweep: LastSweep, namespace: str | None
) -> AsyncIterator[DecisionDocument]:
    """Yield a sweep's decisions on Pods that lack their sandbox, each once."""
    at_ms, seen = uuid7_unix_ms(sweep.sweep), set[str]()
    for rule in _RULES:
        query = DecisionQuery(
            cluster=sweep.cluster,
            namespace=namespace,
            source="sweep",
            rule=rule,
            since_ms=at_ms,  # All that a sweep decides has the time of its beginning.
            until_ms=at_ms + 1,
            limit=MOST_ROWS,
        )
        while page := await store.find(query):
            documents = list(map(decode_document, page))
            for document in documents:
                if document.id not in seen and _lacks(document):
                    seen.add(document.id)
                    yield document
            query = msgspec.structs.replace(query, before=documents[-1].id)


def _lacks(document: DecisionDocument) -> bool:
    rules = {finding.rule for finding in document.findings}
    runtime = document.running.runtime if document.running else ""
    enforces = document.mode == Mode.ENFORCE.value
    return enforces and lacks_sandbox(rules, document.sandbox or "", runtime)


async def _made(store: Store, document: DecisionDocument) -> DecisionDocument | None:
    """Return the gate's decision on the creation of the Pod of a sweep's."""
    uid = document.request.object_uid
    if not uid:
        return None
    query = DecisionQuery(
        cluster=document.cluster,
        object_uid=uid,
        source="validate",
        oldest_first=True,
        limit=_MOST_ASKED,
    )
    return _creation(map(decode_document, await store.find(query)))


def _creation(documents: Iterable[DecisionDocument]) -> DecisionDocument | None:
    return next(
        (each for each in documents if each.request.operation == "CREATE" and each.allowed), None
    )
