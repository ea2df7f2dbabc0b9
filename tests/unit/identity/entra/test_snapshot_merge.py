"""How what Graph told gets into a snapshot."""

import uuid
from typing import Any

import pytest

from core.risk.model import (
    Application,
    ApplicationKind,
    PrincipalKind,
    RiskEntry,
    RiskLevel,
    RiskSource,
    RiskState,
    identity_key,
)
from core.risk.snapshot import Coverage, Head, RiskSnapshot, SnapshotDraft
from identity.entra.application_ids import BY_CLIENT, BY_OBJECT, IdQuery, IdQueue
from identity.entra.graph_answers import GuestUser, RiskyPrincipal, ServicePrincipal
from identity.entra.graph_requests import PollIntervals, Resource
from identity.entra.snapshot_merge import (
    HeardPage,
    ListedPrincipals,
    bind_tenant,
    forget_unlisted,
    forget_unused,
    merge_page,
)
from identity.risk.entry_merge import MergeResult, merge_entry

NOW = 1_795_000_000
ONE, TWO, THREE = (str(uuid.UUID(int=each)) for each in (1, 2, 3))
ENTRA, CAEP = RiskSource.ENTRA, RiskSource.CAEP


def risky(
    object_id: str, updated: int, state: RiskState = RiskState.AT_RISK, **more: Any
) -> RiskyPrincipal:
    """Return a risky user, or what `more` says."""
    level = RiskLevel.HIGH if state is RiskState.AT_RISK else RiskLevel.NONE
    kind = more.pop("kind", PrincipalKind.USER)
    entry = RiskEntry(kind=kind, level=level, state=state, updated=updated)
    return RiskyPrincipal(identity_key(object_id), entry, "", object_id, **more)


def with_entries(*items: RiskyPrincipal) -> RiskSnapshot:
    """Return a snapshot that knows of these."""
    draft = SnapshotDraft.of(RiskSnapshot())
    merge_page(draft, HeardPage(Resource.USERS, items, NOW))
    return draft.finish(NOW)


def entry_of(draft: SnapshotDraft, object_id: str, family: RiskSource = ENTRA) -> RiskEntry | None:
    """Return what is known."""
    return draft.entry(family, identity_key(object_id))


def test_pages_are_merged_and_counted() -> None:
    """What is of the future is refused, and stops nothing."""
    draft = SnapshotDraft.of(RiskSnapshot())
    items = [risky(ONE, NOW + 1000), risky(TWO, NOW), risky(TWO, NOW - 5)]
    counts = merge_page(draft, HeardPage(Resource.USERS, items, NOW))
    assert counts == {MergeResult.FUTURE: 1, MergeResult.CHANGED: 1, MergeResult.OLDER: 1}
    assert entry_of(draft, ONE) is None
    assert entry_of(draft, TWO) is not None


def test_a_time_that_cannot_be_read_hides_nobody() -> None:
    """It counts as changed now, once; the same again changes nothing."""
    draft = SnapshotDraft.of(RiskSnapshot())
    merge_page(draft, HeardPage(Resource.USERS, [risky(ONE, 0)], NOW))
    first = entry_of(draft, ONE)
    assert first is not None
    assert (first.state, first.updated) == (RiskState.AT_RISK, NOW)
    counts = merge_page(draft, HeardPage(Resource.USERS, [risky(ONE, 0)], NOW + 100))
    assert counts == {MergeResult.SAME: 1}
    merge_page(draft, HeardPage(Resource.USERS, [risky(ONE, 0, RiskState.DISMISSED)], NOW + 200))
    last = entry_of(draft, ONE)
    assert last is not None
    assert (last.state, last.updated) == (RiskState.DISMISSED, NOW + 200)


def test_of_one_second_graphs_word_stands_once_it_is_settled() -> None:
    """A remediation of the very second of the detection is taken in a minute later."""
    draft = SnapshotDraft.of(with_entries(risky(ONE, NOW)))
    gone = risky(ONE, NOW, RiskState.REMEDIATED)
    merge_page(draft, HeardPage(Resource.USERS, [gone], NOW + 59))
    assert entry_of(draft, ONE) == entry_of(SnapshotDraft.of(draft.before), ONE)
    merge_page(draft, HeardPage(Resource.USERS, [gone], NOW + 61))
    entry = entry_of(draft, ONE)
    assert entry is not None
    assert entry.state is RiskState.REMEDIATED


@pytest.mark.parametrize(
    ("graph", "pushed"),
    [(RiskState.AT_RISK, RiskState.DISMISSED), (RiskState.DISMISSED, RiskState.AT_RISK)],
    ids=["clears somebody", "accuses somebody"],
)
def test_what_only_the_event_hub_told_does_not_last(graph: RiskState, pushed: RiskState) -> None:
    """Whoever may write there can be believed for hours; then Graph's word of now stands."""
    draft = SnapshotDraft.of(with_entries(risky(ONE, NOW, graph)))
    merge_entry(draft, ENTRA, identity_key(ONE), risky(ONE, NOW + 1, pushed).entry, NOW + 1)
    for passed, stands in ((6 * 3600, pushed), (6 * 3600 + 1, graph)):
        merge_page(draft, HeardPage(Resource.USERS, [risky(ONE, NOW, graph)], NOW + passed))
        entry = entry_of(draft, ONE)
        assert entry is not None
        assert entry.state is stands
    merge_entry(
        draft,
        ENTRA,
        identity_key(ONE),
        risky(ONE, NOW + 1, RiskState.DISMISSED).entry,
        NOW + 30_000,
    )
    assert entry_of(draft, ONE) == entry


LONG_AGO = NOW - 100_000


def listed(
    draft: SnapshotDraft, *ids: str, missed: frozenset[bytes] = frozenset()
) -> frozenset[bytes]:
    """Take in a pass over all users that told of these."""
    keys = frozenset(identity_key(each) for each in ids)
    return forget_unlisted(draft, ListedPrincipals(Resource.USERS, keys, NOW, missed))


def test_unlisted_identity_is_forgotten_once_two_passes_agree() -> None:
    """At once where there was no risk; one at risk only when two passes do not list them."""
    before = with_entries(risky(ONE, LONG_AGO, RiskState.REMEDIATED), risky(TWO, LONG_AGO))
    draft = SnapshotDraft.of(before)
    missed = listed(draft, THREE)
    assert entry_of(draft, ONE) is None
    assert entry_of(draft, TWO) is not None
    assert missed == {identity_key(TWO)}
    assert listed(draft, THREE, missed=missed) == frozenset()
    assert entry_of(draft, TWO) is None


@pytest.mark.parametrize("updated", [NOW - 299, NOW + 5])
def test_identity_that_changes_during_a_pass_is_kept(updated: int) -> None:
    """They may have moved to a page that was read before."""
    draft = SnapshotDraft.of(with_entries(risky(ONE, updated, RiskState.REMEDIATED)))
    listed(draft, THREE)
    assert entry_of(draft, ONE) is not None


def test_a_pass_over_users_forgets_users_of_entra_alone() -> None:
    """Not service principals, not what another transmitter said."""
    draft = SnapshotDraft.of(
        with_entries(risky(ONE, LONG_AGO, kind=PrincipalKind.SERVICE_PRINCIPAL))
    )
    draft.put(CAEP, identity_key(TWO), RiskEntry(updated=LONG_AGO))
    listed(draft, THREE, missed=frozenset({identity_key(ONE), identity_key(TWO)}))
    assert entry_of(draft, ONE) is not None
    assert entry_of(draft, TWO, CAEP) is not None


def test_guests_come_and_go_with_the_lists() -> None:
    """Who is not listed is no guest."""
    draft = SnapshotDraft.of(RiskSnapshot())
    merge_page(
        draft,
        HeardPage(
            Resource.GUESTS, [GuestUser(identity_key(ONE)), GuestUser(identity_key(TWO))], NOW
        ),
    )
    snapshot = draft.finish(NOW)
    draft = SnapshotDraft.of(snapshot)
    forget_unlisted(draft, ListedPrincipals(Resource.GUESTS, frozenset({identity_key(TWO)}), NOW))
    after = draft.finish(NOW)
    assert not after.is_guest(identity_key(ONE))
    assert after.is_guest(identity_key(TWO))


def test_applications_are_known_by_the_id_that_was_asked_for() -> None:
    """By client id, by object id; only what is neither is missing."""
    known = ServicePrincipal(ONE, Application(ApplicationKind.APPLICATION, TWO))
    draft = SnapshotDraft.of(RiskSnapshot())
    merge_page(
        draft, HeardPage(Resource.APPLICATIONS, [known], NOW, IdQuery(BY_CLIENT, (ONE, THREE)))
    )
    snapshot = draft.finish(NOW)
    assert snapshot.application(ONE) == known.application
    assert snapshot.application(THREE) is None
    merge_page(
        draft, HeardPage(Resource.APPLICATIONS, [known], NOW, IdQuery(BY_OBJECT, (TWO, THREE)))
    )
    snapshot = draft.finish(NOW)
    assert snapshot.application(TWO) == known.application
    assert snapshot.application(THREE) == Application(ApplicationKind.MISSING)


def test_a_service_principal_that_was_made_again_is_followed() -> None:
    """Its risk is looked up by the object id that it has now."""
    draft = SnapshotDraft.of(RiskSnapshot())
    draft.put_application(ONE, Application(ApplicationKind.APPLICATION, TWO))
    draft = SnapshotDraft.of(draft.finish(NOW))
    again = risky(THREE, NOW, kind=PrincipalKind.SERVICE_PRINCIPAL, client_id=ONE)
    merge_page(draft, HeardPage(Resource.SERVICE_PRINCIPALS, [again], NOW))
    assert draft.finish(NOW).application(ONE) == Application(ApplicationKind.APPLICATION, THREE)


def test_an_application_at_risk_is_known_before_anything_signs_in_as_it() -> None:
    """A Pod that is the first to name it is judged at once, for as long as the risk lasts."""
    service = {"kind": PrincipalKind.SERVICE_PRINCIPAL, "client_id": ONE}
    before = RiskSnapshot()
    nobody_uses_it = IdQueue(PollIntervals())
    for state, known in (
        (RiskState.REMEDIATED, None),
        (RiskState.AT_RISK, Application(ApplicationKind.APPLICATION, TWO)),
        (RiskState.REMEDIATED, None),
    ):
        draft = SnapshotDraft.of(before)
        item = risky(TWO, NOW + before.head.version, state, **service)
        merge_page(draft, HeardPage(Resource.SERVICE_PRINCIPALS, [item], NOW))
        forget_unused(draft, nobody_uses_it)
        before = draft.finish(NOW)
        draft = SnapshotDraft.of(before)
        forget_unused(draft, nobody_uses_it)
        assert draft.application(ONE) == known


def test_what_an_application_at_risk_is_stays_known() -> None:
    """Another tenant's stays so, though it is told of in the same write."""
    draft = SnapshotDraft.of(RiskSnapshot())
    foreign = Application(ApplicationKind.FOREIGN, TWO)
    merge_page(
        draft,
        HeardPage(
            Resource.APPLICATIONS, [ServicePrincipal(ONE, foreign)], NOW, IdQuery(BY_CLIENT, (ONE,))
        ),
    )
    service = risky(TWO, NOW, kind=PrincipalKind.SERVICE_PRINCIPAL, client_id=ONE)
    merge_page(draft, HeardPage(Resource.SERVICE_PRINCIPALS, [service], NOW))
    assert draft.application(ONE) == foreign


def test_ids_that_nobody_uses_are_forgotten() -> None:
    """The others stay."""
    draft = SnapshotDraft.of(RiskSnapshot())
    for each in (ONE, TWO):
        draft.put_application(each, Application(ApplicationKind.MISSING))
    draft = SnapshotDraft.of(draft.finish(NOW))
    waiting = IdQueue(PollIntervals())
    waiting.use([TWO], (), 0.0)
    forget_unused(draft, waiting)
    assert [each for each, _ in draft.finish(NOW).applications()] == [TWO]


def test_what_another_tenants_entra_said_is_forgotten() -> None:
    """What other transmitters said stays, and so does the site's table."""
    head = Head(tenant="old", users=Coverage(as_of=1.0, through="x", full=1.0), table="t")
    draft = SnapshotDraft.of(RiskSnapshot(head))
    merge_page(
        draft, HeardPage(Resource.USERS, [risky(ONE, NOW), GuestUser(identity_key(TWO))], NOW)
    )
    draft.put(CAEP, identity_key(ONE), RiskEntry(updated=NOW))
    draft.put_application(ONE, Application(ApplicationKind.MISSING))
    draft = SnapshotDraft.of(draft.finish(NOW))
    bind_tenant(draft, "new")
    after = draft.finish(NOW)
    assert after.entry(ENTRA, identity_key(ONE)) is None
    assert after.entry(CAEP, identity_key(ONE)) is not None
    assert not after.is_guest(identity_key(TWO))
    assert list(after.applications()) == []
    assert (after.head.tenant, after.head.users, after.head.table) == ("new", Coverage(), "t")


def test_the_same_tenant_changes_nothing() -> None:
    """At the beginning of each term it is looked at."""
    draft = SnapshotDraft.of(RiskSnapshot(Head(tenant="same")))
    bind_tenant(draft, "same")
    assert not draft.changed
