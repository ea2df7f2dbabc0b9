"""What the cluster recorded in the sample month: stores, grants, Pods, decisions, changes."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from audit.ledger.records.frames import Frame, FrameKind, decision_frame_id
from audit.reports.periods import Period
from audit.reports.sample.cast import (
    CLUSTER,
    HANDS,
    PEOPLE,
    SCANNER,
    SHELVES,
    TENANT,
    WORKERS,
    Worker,
    draw,
    sample_id,
)
from audit.reports.sample.jobs import HOLDOUT_ENDS, HOUR_MS, Job, list_jobs
from core.base.ids import stable_id, uuid7_time
from core.base.times import DAY_MS, milli_text, time_text
from core.decision.decision import Action, Finding, Verdict
from core.decision.document import (
    FORMAT,
    Asked,
    DecisionDocument,
    encode_document,
    projection_digest,
)
from core.weights.documents.object_change import ObjectChange, encode_change
from core.weights.documents.pod_life import FORMAT as LIFE_FORMAT
from core.weights.documents.pod_life import LifeEvent, PodLife, encode_life

_APPROVERS: Final = list(PEOPLE[-2:])
_REFUSED: Final = (
    ("train", "privileges/host/network", "host/network", "set hostNetwork to false"),
    ("evals", "privileges/run-as/root", "run-as/root", "set runAsNonRoot to true"),
    ("notebooks", "privileges/volume/host-path", "volume/hostPath:rw/", "mount a claim instead"),
)


def sample_frames(month: Period) -> Iterator[Frame]:
    """Yield all that the cluster recorded, in the order of time, as it comes in life."""
    pods = list_jobs(month)
    yield from _projections(pods)
    documents = [
        *_framed(FrameKind.CHANGE, _changes(month), encode_change),
        *_framed(FrameKind.DECISION, _decisions(month, pods), encode_document),
        *_framed(FrameKind.POD_LIFE, _lives(month, pods), encode_life),
    ]
    yield from sorted(documents, key=lambda frame: frame.id)


def _framed(kind: FrameKind, documents: Iterable[Any], encode: Any) -> Iterator[Frame]:
    for document in documents:
        yield Frame(kind, decision_frame_id(document.id), encode(document))


def _image(worker: Worker) -> str:
    name = f"registry.example/{worker.namespace}/{worker.name.rpartition('-')[0]}"
    return f"{name}@sha256:{hashlib.sha256(name.encode()).hexdigest()}"


def _projection(worker: Worker) -> bytes:
    return msgspec.json.encode(
        {"spec": {"containers": [{"name": "main", "image": _image(worker)}]}}
    )


def _projections(pods: Iterable[Job]) -> Iterator[Frame]:
    for content in sorted({_projection(job.worker) for job in pods}):
        yield Frame(FrameKind.PROJECTION, hashlib.sha256(content).digest(), content)


def _lives(month: Period, pods: Iterable[Job]) -> Iterator[PodLife]:
    for job in pods:
        yield _life(job, LifeEvent.SEEN, job.began_ms)
        yield _life(job, LifeEvent.ADDRESSED, job.began_ms + 20_000)
        if job.ended_ms < month.end_ms:
            yield _life(job, LifeEvent.ENDED, job.ended_ms)


def _life(job: Job, event: LifeEvent, at: int) -> PodLife:
    worker = job.worker
    placed = event is not LifeEvent.SEEN
    return PodLife(
        format=LIFE_FORMAT,
        id=stable_id(at, "life", CLUSTER, job.uid, event.value),
        time=milli_text(at),
        cluster=CLUSTER,
        event=event,
        uid=job.uid,
        namespace=worker.namespace,
        name=job.name,
        service_account=worker.name,
        node=job.node if placed else "",
        addresses=[job.address] if placed else [],
        node_addresses=[job.node_address] if placed else [],
        began=milli_text(job.began_ms),
        ended=milli_text(job.ended_ms) if event is LifeEvent.ENDED else "",
        client_ids=[worker.client],
        decision=job.decision,
    )


def _decisions(month: Period, pods: Iterable[Job]) -> Iterator[DecisionDocument]:
    for job in pods:
        worker = job.worker
        yield _decision(
            id=job.decision,
            request=_asked(worker.namespace, job.name, job.uid),
            requester=worker.person,
            verdict=Verdict.ALLOW,
            allowed=True,
            profile=worker.profile,
            sandbox=worker.sandbox,
            projection=projection_digest(_projection(worker)),
        )
    for day in range(month.days):
        namespace, rule, privilege, remedy = _REFUSED[draw(3, "refused", day)]
        at = month.begin_ms + day * DAY_MS + 10 * HOUR_MS + draw(6 * HOUR_MS, "refused", day)
        for turn in range(draw(4, "turns", day)):
            finding = Finding(
                rule, Action.DENY, "spec", f"needs {privilege}", remedy, privilege=privilege
            )
            yield _decision(
                id=stable_id(at + turn * 1000, "sample decision", CLUSTER, str(day), str(turn)),
                request=_asked(namespace, f"attempt-{day:02d}-{turn}", ""),
                requester=PEOPLE[draw(10, "refused", day, turn)],
                verdict=Verdict.DENY,
                allowed=False,
                findings=[finding],
            )


def _decision(**fields: Any) -> DecisionDocument:
    moment = uuid7_time(fields["id"])
    return DecisionDocument(
        format=FORMAT,
        time=moment,
        cluster=CLUSTER,
        source="validate",
        requester_kind="entra-human",
        **fields,
    )


def _asked(namespace: str, name: str, uid: str) -> Asked:
    return Asked(
        uid=sample_id("review", namespace, name),
        operation="CREATE",
        kind="Pod",
        version="v1",
        namespace=namespace,
        name=name,
        object_uid=uid,
    )


def _changes(month: Period) -> Iterator[ObjectChange]:
    before = month.begin_ms - 6 * DAY_MS
    for shelf in SHELVES:
        spec = {
            "account": shelf.account,
            "containers": [{"name": shelf.container}],
            "owner": PEOPLE[-1],
            "checkpointSize": shelf.checkpoint,
            "privateEndpoints": [f"10.30.0.{SHELVES.index(shelf) + 4}/32"],
            "identities": [
                {"clientId": worker.client, "objectId": worker.principal, "rights": ["read"]}
                for worker in WORKERS
                if worker.shelf is shelf
            ],
        }
        yield _change(before, "there", "WeightStore", "", shelf.name, spec=spec)
    for worker in WORKERS:
        spec = {"clientId": worker.client, "tenant": TENANT}
        yield _change(before, "there", "ServiceAccount", worker.namespace, worker.name, spec=spec)
    yield from _grants(month, before)
    yield from _policies(month)


def _grants(month: Period, before: int) -> Iterator[ObjectChange]:
    teams: dict[tuple[str, str], list[Worker]] = {}
    for worker in WORKERS:
        teams.setdefault((worker.namespace, worker.grant), []).append(worker)
    for (namespace, name), members in teams.items():
        holdout = name.endswith("holdout")
        ends = month.begin_ms + HOLDOUT_ENDS * DAY_MS if holdout else month.end_ms + 20 * DAY_MS
        spec = _grant(members[0].shelf.name, ends, f"{name}: planned runs of this quarter")
        spec["serviceAccounts"] = [worker.name for worker in members]
        spec["people"] = sorted({worker.person for worker in members})
        if namespace == "train":
            spec["rights"] = ["read", "write"]
        yield from _given(before + 2 * HOUR_MS, namespace, name, spec)
        if holdout:
            yield _change(
                ends, "ended", "AccessGrant", namespace, name, spec=spec, why="it expired"
            )
    scan = _grant("distilled", month.end_ms + 20 * DAY_MS, "inventory of both stores")
    scan["serviceAccounts"], scan["people"] = [SCANNER.name], [SCANNER.person]
    yield from _given(before + 3 * HOUR_MS, "ops", "distilled-inventory", scan)
    hands = _grant("distilled", month.end_ms + 3 * DAY_MS, "look at single shards by hand")
    hands["people"] = list(HANDS)
    yield from _given(before + 3 * HOUR_MS, "research", "by-hand", hands)
    unused = _grant("frontier", month.end_ms + 9 * DAY_MS, "red team exercise, postponed")
    unused["people"] = [PEOPLE[7]]
    yield from _given(month.begin_ms + 4 * DAY_MS, "research", "red-team", unused)


def _grant(store: str, ends: int, reason: str) -> dict[str, Any]:
    return {
        "store": store,
        "rights": ["read"],
        "reason": reason,
        "expiresAt": time_text(ends // 1000),
    }


def _given(at: int, namespace: str, name: str, spec: dict[str, Any]) -> Iterator[ObjectChange]:
    yield _change(at, "there", "AccessGrant", namespace, name, spec=spec, by=[PEOPLE[9]])
    approved = at + 5 * HOUR_MS
    yield _change(
        approved, "approved", "AccessGrant", namespace, name, spec=spec, approvers=_APPROVERS
    )


def _policies(month: Period) -> Iterator[ObjectChange]:
    days = month.begin_ms
    spec: dict[str, Any] = {"reason": "driver needs a raised memlock limit", "rank": 150}
    yield _change(
        days + 2 * DAY_MS, "changed", "ContainerProfile", "", "rdma-training", spec=spec,
        by=[PEOPLE[8]], approvers=_APPROVERS,
    )  # fmt: skip
    ends = time_text((days + 24 * DAY_MS) // 1000)
    spec = {"reason": "vendor image runs as root until its next release", "expiresAt": ends}
    yield _change(
        days + 6 * DAY_MS, "approved", "PolicyException", "serve", "vendor-sidecar", spec=spec,
        by=[PEOPLE[5]], approvers=_APPROVERS,
    )  # fmt: skip
    spec = {"reason": "new package mirror", "owner": PEOPLE[2]}
    yield _change(
        days + 9 * DAY_MS, "approved", "EgressAllowlist", "train", "packages", spec=spec,
        by=[PEOPLE[2]], approvers=_APPROVERS,
    )  # fmt: skip
    spec = {"revision": f"sha256:{hashlib.sha256(b'bundle').hexdigest()}"}
    yield _change(days + 15 * DAY_MS, "changed", "Bundle", "", "builtin", spec=spec, by=[PEOPLE[8]])


def _change(
    at: int, event: str, kind: str, namespace: str, name: str, **fields: Any
) -> ObjectChange:
    digest = hashlib.sha256(msgspec.json.encode(fields.get("spec"))).hexdigest()
    return ObjectChange(
        format=LIFE_FORMAT,
        id=stable_id(at, "change", CLUSTER, kind, namespace, name, event),
        time=milli_text(at),
        cluster=CLUSTER,
        event=event,
        kind=kind,
        namespace=namespace,
        name=name,
        uid=sample_id("object", kind, namespace, name),
        digest=f"sha256:{digest}",
        **fields,
    )
