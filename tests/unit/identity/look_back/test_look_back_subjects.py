"""Whom to look back on, how far, and what of their acts counts."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.ids import uuid7
from core.base.times import DAY_S
from core.risk.look_back import RecordedAct, Sort
from core.risk.model import (
    LATEST_DETECTION_S,
    Application,
    ApplicationKind,
    PrincipalKind,
    RiskEntry,
    RiskLevel,
    RiskSource,
    RiskState,
    Standing,
    identity_key,
)
from core.risk.snapshot import RiskSnapshot, SnapshotDraft
from identity.look_back.subjects import (
    MARGIN_S,
    IdentityAtRisk,
    clients_of,
    describe_act,
    due_identities,
    identity_at_risk,
    keys_at_risk,
    labels_of,
    parse_subject,
    standing_of_entry,
    target_of,
    window_begin,
)
from identity.risk import standings

NOW = 1_795_000_000
LATELY = NOW - LATEST_DETECTION_S
HOUR_S = 3600
ALICE = "oid:11111111-2222-4333-8444-555555555501"
CLIENT = "99999999-2222-4333-8444-555555555501"


def snapshot_of(*entries: tuple[str, RiskSource, RiskEntry]) -> RiskSnapshot:
    """Return a snapshot of these entries."""
    draft = SnapshotDraft.of(RiskSnapshot())
    for label, family, entry in entries:
        draft.put(family, identity_key(label), entry)
    return draft.finish(NOW)


def risky(level: RiskLevel = RiskLevel.MEDIUM, since: int = NOW, **more: object) -> RiskEntry:
    """Return an entry that says at risk."""
    fields = {"level": level, "state": RiskState.AT_RISK, "updated": since, "since": since, **more}
    return RiskEntry(**fields)  # type: ignore[arg-type]


def act(
    kind: str, operation: str = "CREATE", group: str = "", subresource: str = ""
) -> RecordedAct:
    """Return an act on an object."""
    return RecordedAct(
        id=uuid7(NOW * 1000),
        operation=operation,
        kind=kind,
        group=group,
        namespace="train",
        name="x",
        subresource=subresource,
    )


def risen(
    since: int = NOW, level: Standing = Standing.MEDIUM, begin: int = LATELY
) -> IdentityAtRisk:
    """Return somebody at risk."""
    return IdentityAtRisk(identity_key(ALICE), (ALICE,), level, since, begin)


def test_a_detection_that_is_47_hours_late_reaches_46_hours_back() -> None:
    """What was done after the activity that made it risky lies in the window."""
    begin = window_begin(NOW - 47 * HOUR_S, NOW, NOW, 14)
    assert begin <= NOW - 47 * HOUR_S - MARGIN_S
    assert begin <= NOW - 46 * HOUR_S


@given(st.integers(0, 60 * DAY_S), st.integers(0, 60 * DAY_S), st.integers(3, 90), st.booleans())
def test_the_window_covers_late_detections_and_has_its_limit(
    activity: int,
    ago: int,
    days: int,
    known: bool,  # noqa: FBT001 (hypothesis)
) -> None:
    """It begins before activity and 48 hours before the risk, but never more than `days` ago."""
    active, since = (NOW - activity if known else 0), NOW - ago
    begin = window_begin(active, since, NOW, days)
    limit = NOW - days * DAY_S
    assert limit <= begin <= NOW
    assert begin <= max(since - LATEST_DETECTION_S - MARGIN_S, limit)
    assert not active or begin <= max(active - MARGIN_S, limit)


@given(st.sampled_from(RiskLevel), st.sampled_from(RiskState))
def test_whoever_counts_as_at_risk_is_looked_back_on(level: RiskLevel, state: RiskState) -> None:
    """The same identities whose approvals do not count (`identity.risk.standings.is_at_risk`)."""
    entry = RiskEntry(level=level, state=state, updated=NOW, since=NOW)
    snapshot = snapshot_of((ALICE, RiskSource.ENTRA, entry))
    expected = standings.is_at_risk(snapshot, identity_key(ALICE))
    assert (standing_of_entry(entry) is not None) is expected
    assert (identity_key(ALICE) in list(keys_at_risk(snapshot))) is expected


def test_families_are_joined_the_worse_level_the_earlier_risk() -> None:
    """One that knows less takes nothing back."""
    snapshot = snapshot_of(
        (
            ALICE,
            RiskSource.ENTRA,
            risky(RiskLevel.LOW, NOW - 5000, event_id="a", event_type="riskyIP"),
        ),
        (
            ALICE,
            RiskSource.CAEP,
            risky(RiskLevel.HIGH, NOW - 100, event_id="b", active=NOW - 9 * DAY_S),
        ),
    )
    found = identity_at_risk(snapshot, identity_key(ALICE), NOW, 14, {})
    assert found == IdentityAtRisk(
        key=identity_key(ALICE),
        labels=labels_of(identity_key(ALICE)),
        standing=Standing.HIGH,
        since=NOW - 5000,
        begin=NOW - 9 * DAY_S - MARGIN_S,
        events=("a", "b"),
        event_types=("riskyIP",),
    )


def test_a_service_principal_has_its_client_ids() -> None:
    """So Pods that can sign in as it are found."""
    service = "oid:aaaaaaaa-2222-4333-8444-555555555501"
    draft = SnapshotDraft.of(RiskSnapshot())
    draft.put(RiskSource.ENTRA, identity_key(service), risky(kind=PrincipalKind.SERVICE_PRINCIPAL))
    application = Application(ApplicationKind.APPLICATION, service.removeprefix("oid:"))
    draft.put_application(CLIENT, application)
    snapshot = draft.finish(NOW)
    found = identity_at_risk(snapshot, identity_key(service), NOW, 14, clients_of(snapshot))
    assert found is not None
    assert found.client_ids == {CLIENT}
    assert found.kind is PrincipalKind.SERVICE_PRINCIPAL


def test_an_application_asks_under_its_object_id_as_a_user_name_too() -> None:
    """Where kube-apiserver is told no `oid`, the user name's digest is what is recorded."""
    labels = labels_of(identity_key(ALICE))
    assert labels[0] == ALICE
    assert labels[1].startswith("user:")


@pytest.mark.parametrize(
    ("what", "sort", "kind"),
    [
        (act("PodExecOptions", "CONNECT", subresource="exec"), Sort.ENTERED, ("", "Pod")),
        (act("NodeProxyOptions", "CONNECT", subresource="proxy"), Sort.ENTERED, ("", "Node")),
        (act("Pod", "UPDATE", subresource="ephemeralcontainers"), Sort.ENTERED, ("", "Pod")),
        (act("Pod"), Sort.WORKLOAD, ("", "Pod")),
        (act("Deployment", group="apps"), Sort.WORKLOAD, ("apps", "Deployment")),
        (act("Widget", group="example.com"), Sort.WORKLOAD, ("example.com", "Widget")),
        (
            act("TokenRequest", group="authentication.k8s.io", subresource="token"),
            Sort.CREDENTIAL,
            ("", "ServiceAccount"),
        ),
        (
            act("RoleBinding", group="rbac.authorization.k8s.io"),
            Sort.RIGHTS,
            ("rbac.authorization.k8s.io", "RoleBinding"),
        ),
        (
            act("PolicyException", group="sallyport.dev"),
            Sort.OPENING,
            ("sallyport.dev", "PolicyException"),
        ),
        (act("Approval", group="sallyport.dev"), Sort.APPROVAL, ("sallyport.dev", "Approval")),
    ],
)
def test_acts_are_told_apart(what: RecordedAct, sort: Sort, kind: tuple[str, str]) -> None:
    """By what they left behind, and of which kind that is."""
    assert target_of(what) == (sort, kind)


@pytest.mark.parametrize(
    "what",
    [
        act("Pod", "DELETE"),
        act("Pod", "UPDATE", subresource="status"),
        act("Scale", "UPDATE", group="autoscaling", subresource="scale"),
        act("SomethingOptions", "CONNECT"),
    ],
)
def test_what_leaves_nothing_behind_is_left_out(what: RecordedAct) -> None:
    """Deletions, reports of status, scaling."""
    assert target_of(what) is None


def test_words_say_what_was_done() -> None:
    """Who reads the list need not know operations of admission."""
    assert describe_act(Sort.ENTERED, "UPDATE") == "entered"
    assert describe_act(Sort.APPROVAL, "CREATE") == "approved"
    assert describe_act(Sort.RIGHTS, "CREATE") == "started"
    assert describe_act(Sort.WORKLOAD, "UPDATE") == "changed"


def test_once_for_each_rise() -> None:
    """A later risk, a higher level, an earlier beginning are due; all else is not."""
    was = {risen().key: (NOW, risen().level, LATELY)}
    assert due_identities([risen()], {}) == [risen()]
    assert due_identities([risen()], was) == []
    assert due_identities([risen(level=Standing.LOW)], was) == []
    assert due_identities([risen(since=NOW - 5)], was) == []
    for again in (
        risen(since=NOW + 1),
        risen(level=Standing.HIGH),
        risen(begin=NOW - 5 * DAY_S),
    ):
        assert due_identities([again], was) == [again]


def test_the_worst_come_first() -> None:
    """Where many become risky at once, who is compromised waits for nobody."""
    low, bad = risen(level=Standing.LOW), risen(level=Standing.COMPROMISED)
    assert due_identities([low, bad], {}) == [bad, low]


@pytest.mark.parametrize("typed", [ALICE, ALICE.upper().replace("OID", "oid"), ALICE[4:]])
def test_an_object_id_is_taken_however_it_is_typed(typed: str) -> None:
    """With or without `oid:`, in either case."""
    asked = parse_subject(typed)
    assert asked is not None
    assert asked(None).labels[0] == ALICE


def test_a_client_id_leads_to_its_service_principal() -> None:
    """By the snapshot; without one the client id alone is looked for."""
    service = str(uuid.uuid4())
    draft = SnapshotDraft.of(RiskSnapshot())
    draft.put_application(CLIENT, Application(ApplicationKind.APPLICATION, service))
    asked = parse_subject(f"client:{CLIENT.upper()}")
    assert asked is not None
    found = asked(draft.finish(NOW))
    assert found.labels[:2] == (f"client:{CLIENT}", f"oid:{service}")
    assert found.key == identity_key(service)
    assert asked(None).labels == (f"client:{CLIENT}",)
    assert asked(None).client_ids == {CLIENT}


@pytest.mark.parametrize("typed", ["", "alice@example.com", "oid:", "client:x", "user:xyz", "a/b"])
def test_a_name_is_no_subject(typed: str) -> None:
    """Names are nowhere kept, so nothing could be found under one."""
    assert parse_subject(typed) is None
