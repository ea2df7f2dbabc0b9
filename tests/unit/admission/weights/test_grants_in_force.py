"""Gate, control, the record of changes and the auditor agree on which AccessGrants are in force."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import msgspec
import pytest

from app.settings.root import Settings, read_settings
from app.wiring import make_approve, terms_of
from audit.access.attribution.candidates import attribute
from audit.access.attribution.grant_history import GrantHistory
from audit.access.attribution.grants import find_covering_grant
from control.weights.access.live_grants import LiveGrants
from control.weights.changes.loop import ChangeParts, Changes
from core.base.errors import InvalidObjectError, NotSyncedError
from core.base.sallyport_objects import read_object
from core.cluster import AccountSignIn, Cluster
from core.decision.decision import Verdict
from core.people.subject import Subject
from core.people.two_person import Consent, person_of, write_person
from core.weights.access_grants import KIND, AccessGrant, parse_grant
from core.weights.documents.object_change import ObjectChange
from kube.leader.lease import Leadership
from kube.weights.recorded_objects import RecordedObject, read_recorded
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.risk.cluster_at_risk import CAROL as AUTHOR
from tests.unit.admission.risk.cluster_at_risk import DAVE, snapshot
from tests.unit.admission.weights.weights_cluster import (
    ANN,
    BEN,
    NOW,
    Object,
    approval,
    grant,
    judge,
    signing_in,
    world,
)
from tests.unit.admission.world import ALICE, BOB, Folder, raw, request
from tests.unit.audit.access.attribution.cluster_history import (
    access,
    decision,
    history,
    life,
    text,
)

MADE = "2026-05-31T00:00:00Z"
BOTH = (ANN, BEN)


@dataclass(frozen=True)
class Case:
    """A grant as it is stored, who approved it, and whether it is in force at NOW."""

    in_force: bool = False
    spec: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    approvers: Sequence[Subject] = BOTH
    approved_spec: Mapping[str, Any] | None = None
    """What they approved, if it is not what is there."""
    author: Subject | None = AUTHOR
    at_risk: Sequence[Subject] = ()
    suspends: bool = False
    recorded: bool | None = None
    """Whether the record has it as approved, where that is not whether it is in force."""

    @property
    def grant(self) -> Object:
        """The grant."""
        return self._grant(self.spec)

    @property
    def approvals(self) -> list[Object]:
        """The approvals of it."""
        wanted = self._grant(self.spec if self.approved_spec is None else self.approved_spec)
        digest = read_object(raw(wanted), KIND).digest
        found = [approval(self._grant({}), who) for who in self.approvers]
        for each in found:
            each["metadata"]["creationTimestamp"] = MADE
            each["metadata"]["annotations"]["sallyport.dev/approved-digest"] = digest
        return found

    @property
    def read(self) -> AccessGrant | None:
        """The grant as a watch keeps it: what is broken is left out."""
        try:
            return parse_grant(raw(self.grant))
        except InvalidObjectError:
            return None

    def settings(self) -> Settings:
        """Return the installation's settings."""
        options = read_settings(None, {})
        identity = options.identity.model_copy(update={"suspend_exceptions": self.suspends})
        return options.model_copy(update={"identity": identity})

    def cluster(self, folder: Folder) -> Watched:
        """Return the cluster that has it."""
        items = [*([self.grant] if self.read else []), *self.approvals]
        made = world(folder, *items)
        for who in (AUTHOR, DAVE, ALICE):
            made.grant(f"User:{who.username}", "grants", verb="approve", resource="approvaltiers")
        known = snapshot(*self.at_risk) if self.at_risk else None
        return Watched(made.cluster(), snapshot=known)

    def _grant(self, spec: Mapping[str, Any]) -> Object:
        made = grant(**spec)
        author = write_person(person_of(self.author)) if self.author else ""
        made["metadata"]["annotations"] = {"sallyport.dev/author": author} if author else {}
        made["metadata"] |= {"creationTimestamp": MADE, **self.metadata}
        return made


CASES = {
    "approved by two": Case(in_force=True),
    "ends in the last moment": Case(in_force=True, spec={"expiresAt": "2026-06-01T00:00:01Z"}),
    "ends now": Case(spec={"expiresAt": "2026-06-01T00:00:00Z"}),
    "expired": Case(spec={"expiresAt": "2026-05-31T23:00:00Z"}),
    "begins now": Case(in_force=True, spec={"notBefore": "2026-06-01T00:00:00Z"}),
    "not begun": Case(spec={"notBefore": "2026-06-01T00:00:01Z"}, recorded=True),
    "longer than may be written now": Case(
        in_force=True, spec={"expiresAt": "2027-06-01T00:00:00Z"}
    ),
    "being deleted": Case(metadata={"deletionTimestamp": "2026-05-31T23:00:00Z"}),
    "not approved": Case(approvers=()),
    "approved by one": Case(approvers=(ANN,)),
    "approved by its author": Case(approvers=(ANN, AUTHOR)),
    "approved by somebody without the right": Case(approvers=(ANN, BOB)),
    "approved by whom it is for": Case(in_force=True, approvers=(ANN, ALICE)),
    "approved as it was before": Case(spec={"rights": ["read", "write"]}, approved_spec={}),
    "broken": Case(spec={"rights": ["own"]}),
    "without a recorded author": Case(author=None),
    "approver at risk": Case(approvers=(ANN, DAVE), at_risk=(DAVE,)),
    "author at risk": Case(in_force=True, at_risk=(AUTHOR,)),
    "author at risk, which suspends": Case(at_risk=(AUTHOR,), suspends=True),
}


@pytest.mark.parametrize("name", CASES)
async def test_all_agree_on_which_grants_are_in_force(
    engine: EmbeddedEngine, folder: Folder, name: str
) -> None:
    """The gate starts a Pod under it, control gives roles, the auditor finds an access granted.

    The record differs in one thing: it says that a grant is approved before its time has come.
    """
    case = CASES[name]
    cluster = case.cluster(folder)
    changes = await _recorded(case, cluster)
    approved = [each.event for each in changes if each.event in {"approved", "ended"}]
    said = {
        "gate": await _starts(engine, case, cluster),
        "control": await _lives(case, cluster),
        "auditor": _grants(changes),
    }
    assert said == dict.fromkeys(said, case.in_force)
    recorded = case.in_force if case.recorded is None else case.recorded
    assert (approved[-1:] == ["approved"]) is recorded


@pytest.mark.parametrize("name", ["being deleted", "author at risk, which suspends"])
async def test_the_record_ends_what_is_in_force_no_more(folder: Folder, name: str) -> None:
    """Else each access from then on would be found granted, whereas the gate refuses its Pods."""
    later = CASES[name]
    before = Case(in_force=True, suspends=later.suspends)
    kept = _Record(before)
    await kept.look(before, before.cluster(folder))
    assert _grants(kept.changes)
    folder.documents.clear()
    await kept.look(later, later.cluster(folder))
    assert kept.changes[-1].event == "ended"
    assert not _grants(kept.changes)


async def test_nothing_is_approved_before_risk_is_read(folder: Folder) -> None:
    """A control that starts knows of nobody at risk: it gives no role, and records no approval."""
    case = Case(in_force=True, suspends=True)
    starting = replace(case.cluster(folder), lost="risk snapshot")
    with pytest.raises(NotSyncedError, match="risk snapshot"):
        await _lives(case, starting)
    kept = _Record(case)
    with pytest.raises(NotSyncedError, match="risk snapshot"):
        await kept.look(case, starting)
    assert [each.event for each in kept.changes if each.kind == KIND] == ["there"]


async def test_what_is_changed_and_approved_between_two_looks_is_approved(folder: Folder) -> None:
    """The record says so of the new content: else accesses under it would be found ungranted."""
    before = Case(in_force=True)
    kept = _Record(before)
    await kept.look(before, before.cluster(folder))
    folder.documents.clear()
    later = Case(in_force=True, spec={"rights": ["read", "write"]})
    for _ in range(2):
        await kept.look(later, later.cluster(folder))
        folder.documents.clear()
    assert [each.event for each in kept.changes if each.kind == KIND] == [
        "there",
        "approved",
        "changed",
        "approved",
    ]
    assert _grants(kept.changes)


async def _starts(engine: EmbeddedEngine, case: Case, cluster: Cluster) -> bool:
    terms = terms_of(case.settings(), cluster)
    asked = request(signing_in(), ALICE)
    # Who asks is not at risk, and nothing else depends on it: the gate's terms alone know of risk.
    inner = cluster.inner if isinstance(cluster, Watched) else cluster
    decided = await judge(inner, engine, NOW, terms).validate(asked, budget=10)
    assert decided.verdict in {Verdict.ALLOW, Verdict.DENY}, decided.message
    return decided.verdict is Verdict.ALLOW


@dataclass(frozen=True)
class _Facts:
    """What control knows."""

    cluster: Cluster

    def grants(self) -> Sequence[AccessGrant]:
        """Return all grants."""
        return self.cluster.weights.grants("train")

    def consents(self, namespace: str, uid: str) -> tuple[Consent, ...]:
        """Return the approvals of one."""
        return tuple(self.cluster.exceptions.consents(namespace, uid))

    def sign_in(self, namespace: str, account: str) -> AccountSignIn | None:
        """Return whom a ServiceAccount signs in as."""
        raise NotSyncedError(f"service account {namespace}/{account}", "nobody asks", 0.0)


async def _lives(case: Case, cluster: Cluster) -> bool:
    approve = make_approve(case.settings(), cluster)
    return bool(await LiveGrants(_Facts(cluster), approve, lambda: NOW).living())


class _Record:
    """The loop that records changes, and what it has recorded."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.changes: list[ObjectChange] = []
        self._term = Leadership(1, 1.0, lambda: 0.0)
        self._cluster: Cluster | None = None
        self._loop = Changes(
            ChangeParts(
                "c1", self, cast("Any", self), cast("Any", self), cast("Any", self), self.approve,
                kept_until=lambda: 0.0, clock=lambda: NOW,
            )
        )  # fmt: skip

    kinds = (KIND, "Approval")

    def of(self, kind: str) -> Mapping[str, RecordedObject]:
        """Return the objects of a kind."""
        items = [self.case.grant] if kind == KIND else self.case.approvals
        found = [read_recorded(kind, raw(each)) for each in items]
        return {each.key: each for each in found if each}

    async def load(self, _: str = "") -> None:
        """Return that nothing is stored."""

    def record_change(self, change: ObjectChange) -> None:
        """Keep a change."""
        self.changes.append(change)

    def record_gap(self, _: object) -> None:
        """Nobody looks at gaps here."""

    async def approve(self, *asked: Any) -> Any:
        """Say whether two people have approved it, as control does."""
        assert self._cluster is not None
        return await make_approve(self.case.settings(), self._cluster)(*asked)

    async def look(self, case: Case, cluster: Cluster) -> None:
        """Look at the cluster once."""
        self.case, self._cluster = case, cluster
        await self._loop.run(self._term)


async def _recorded(case: Case, cluster: Cluster) -> list[ObjectChange]:
    kept = _Record(case)
    await kept.look(case, cluster)
    return kept.changes


def _grants(changes: Sequence[ObjectChange]) -> bool:
    """Return whether the auditor finds a grant of an access that is made now."""
    began = NOW - 60
    known = history(
        life(namespace="train", began=began),
        msgspec.json.encode(
            msgspec.json.decode(decision("uid-train-0", time=text(began)))
            | {"root": {"kind": "Job", "name": "train", "uid": "j", "requester": ALICE.label}}
        ),
    )
    grants = GrantHistory()
    for change in changes:
        grants.take(change)
    made = access(NOW, container="prod")
    return bool(find_covering_grant(made, attribute(made, known), known, grants).grant)
