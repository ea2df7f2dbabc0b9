"""What is known of an identity: each standing, how long it lasts, and what joins it."""

import pytest
from hypothesis import given

from core.risk.model import (
    AT_RISK,
    Application,
    ApplicationKind,
    RiskEntry,
    RiskLevel,
    RiskSource,
    RiskState,
    Standing,
    identity_key,
)
from core.risk.snapshot import Coverage, RiskSnapshot, SnapshotDraft
from identity.risk.principals import Principal
from identity.risk.standings import AHEAD_S, Freshness, is_at_risk, standing_of
from tests.unit.identity.risk.identities import (
    CLIENT,
    ELSEWHERE,
    FRESHNESS,
    NOW,
    PERSON,
    PRINCIPAL,
    REGISTERED,
    TENANT,
    application_that_asks,
    author,
    entries,
    entry,
    head,
    outside,
    person,
    principals,
    snapshot,
    snapshots,
    workload,
)

ENTRA = (RiskSource.ENTRA, PERSON)
CAEP = (RiskSource.CAEP, PERSON)


def _of(principal: Principal, found: RiskSnapshot, now: float = NOW) -> tuple[Standing, ...]:
    return standing_of(principal, found, FRESHNESS, now).standings


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (entry(), Standing.CLEAN),
        (entry(RiskLevel.LOW, RiskState.AT_RISK), Standing.LOW),
        (entry(RiskLevel.MEDIUM, RiskState.AT_RISK), Standing.MEDIUM),
        (entry(RiskLevel.HIGH, RiskState.AT_RISK), Standing.HIGH),
        (entry(RiskLevel.HIDDEN, RiskState.AT_RISK), Standing.HIDDEN),
        (entry(RiskLevel.HIDDEN), Standing.HIDDEN),
        (entry(RiskLevel.UNKNOWN, RiskState.AT_RISK), Standing.UNKNOWN),
        (entry(RiskLevel.NONE, RiskState.AT_RISK), Standing.UNKNOWN),
        (entry(RiskLevel.LOW, RiskState.UNKNOWN), Standing.UNKNOWN),
        (entry(RiskLevel.HIGH), Standing.HIGH),
        (entry(RiskLevel.NONE, RiskState.CONFIRMED_SAFE), Standing.CONFIRMED_SAFE),
        (entry(RiskLevel.NONE, RiskState.REMEDIATED), Standing.REMEDIATED),
        (entry(RiskLevel.NONE, RiskState.DISMISSED), Standing.DISMISSED),
        (entry(RiskLevel.HIGH, RiskState.CONFIRMED_COMPROMISED), Standing.COMPROMISED),
        (entry(RiskLevel.NONE, RiskState.CONFIRMED_COMPROMISED), Standing.COMPROMISED),
        (entry(deleted=True), Standing.DELETED),
    ],
)
def test_each_level_and_state_has_a_standing(said: RiskEntry, expected: Standing) -> None:
    """What Entra decided of a risk counts before its level; a level without a state counts."""
    assert _of(person(), snapshot({ENTRA: said})) == (expected,)


@given(said=entries)
def test_identity_is_clean_only_without_level_and_state(said: RiskEntry) -> None:
    """Only no level with no state, or nothing at all, comes to clean."""
    clean = (said.level, said.state, said.deleted) == (RiskLevel.NONE, RiskState.NONE, False)
    revoked = said.revoked > NOW - FRESHNESS.revoked_s
    found = _of(person(), snapshot({ENTRA: said}))
    assert (found == (Standing.CLEAN,)) == (clean and not revoked)


def test_unlisted_identity_is_clean_while_lists_are_complete() -> None:
    """Graph lists only who has, or had, a risk."""
    assert _of(person(), snapshot()) == (Standing.CLEAN,)
    assert _of(workload(), snapshot(applications=REGISTERED)) == (Standing.CLEAN,)


@pytest.mark.parametrize(
    ("as_of", "stale"),
    [
        (None, True),
        (NOW - FRESHNESS.max_age_s, False),
        (NOW - FRESHNESS.max_age_s - 1, True),
        (NOW + AHEAD_S, False),
        (NOW + AHEAD_S + 1, True),
    ],
)
def test_what_is_too_old_or_never_was_is_stale(as_of: float | None, *, stale: bool) -> None:
    """Also what claims to be of later than now: a clock that was wrong must not keep it fresh."""
    standing = Standing.STALE if stale else Standing.CLEAN
    found = snapshot(of=head(users=Coverage(as_of=as_of)))
    assert _of(person(), found) == (standing,)
    found = snapshot(applications=REGISTERED, of=head(service_principals=Coverage(as_of=as_of)))
    assert _of(workload(), found) == (standing,)


def test_an_empty_snapshot_makes_everybody_stale() -> None:
    """A gate that has loaded nothing knows nobody."""
    assert _of(person(), RiskSnapshot()) == (Standing.STALE,)
    assert _of(author(), RiskSnapshot()) == (Standing.STALE,)
    assert _of(workload(), RiskSnapshot()) == (Standing.STALE, Standing.UNIDENTIFIED)


def test_stale_data_clears_nobody_at_risk() -> None:
    """That Graph cannot be reached must not clear anybody."""
    said = {ENTRA: entry(RiskLevel.HIGH, RiskState.AT_RISK)}
    found = snapshot(said, of=head(users=Coverage(as_of=NOW - 10**6)))
    assert _of(person(), found) == (Standing.HIGH, Standing.STALE)


def test_without_a_licence_nobody_is_clean() -> None:
    """Nothing is assessed, and it never grows stale; another family's word counts all the same."""
    of = head(users=Coverage(unlicensed=True), service_principals=Coverage(unlicensed=True))
    assert _of(person(), snapshot(of=of)) == (Standing.HIDDEN,)
    assert _of(workload(), snapshot(applications=REGISTERED, of=of)) == (Standing.HIDDEN,)
    found = snapshot({CAEP: entry(RiskLevel.HIGH, RiskState.AT_RISK)}, of=of)
    assert _of(person(), found) == (Standing.HIGH, Standing.HIDDEN)


def test_a_revocation_counts_until_old_tokens_have_ended() -> None:
    """For `revoked_s` seconds, and not from then on; a risk besides stays."""
    said = {CAEP: entry(revoked=int(NOW)), ENTRA: entry(RiskLevel.LOW, RiskState.AT_RISK)}
    found, end = snapshot(said), int(NOW) + FRESHNESS.revoked_s
    fresh = Freshness(max_age_s=10**6, tenant=TENANT)
    before = standing_of(person(), found, fresh, end - 1).standings
    after = standing_of(person(), found, fresh, end).standings
    assert (before, after) == ((Standing.REVOKED, Standing.LOW), (Standing.LOW,))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (ApplicationKind.APPLICATION, Standing.CLEAN),
        (ApplicationKind.MANAGED_IDENTITY, Standing.MANAGED_IDENTITY),
        (ApplicationKind.FOREIGN, Standing.FOREIGN),
        (ApplicationKind.MISSING, Standing.UNIDENTIFIED),
    ],
)
@pytest.mark.parametrize(
    "principal", [workload(), application_that_asks(), author(f"oid:{PRINCIPAL}")], ids=str
)
def test_only_app_registrations_of_the_tenant_are_assessed(
    principal: Principal, kind: ApplicationKind, expected: Standing
) -> None:
    """A managed identity is never clean, and neither is what Entra does not know, or not here.

    That holds for what a Pod signs in as, for a pipeline that asks, and for one that asked first.
    """
    known = {CLIENT: Application(kind, PRINCIPAL), PRINCIPAL: Application(kind, PRINCIPAL)}
    assert _of(principal, snapshot(applications=known)) == (expected,)


def test_an_application_that_nobody_has_looked_up_is_unidentified() -> None:
    """It may be a managed identity: nothing is said of it before Entra is asked."""
    for principal in (workload(), workload(""), application_that_asks()):
        assert _of(principal, snapshot()) == (Standing.UNIDENTIFIED,)


def test_a_service_principals_risk_is_found_by_its_client_id() -> None:
    """Client id, service principal's object id, risky service principal."""
    said = {(RiskSource.ENTRA, PRINCIPAL): entry(RiskLevel.HIGH, RiskState.AT_RISK, event_id="e")}
    found = snapshot(said, REGISTERED)
    known = standing_of(workload(), found, FRESHNESS, NOW)
    assert (known.standings, known.events) == ((Standing.HIGH,), ("e",))
    managed = {CLIENT: Application(ApplicationKind.MANAGED_IDENTITY, PRINCIPAL)}
    expected = (Standing.HIGH, Standing.MANAGED_IDENTITY)
    assert _of(workload(), snapshot(said, managed)) == expected


@pytest.mark.parametrize(("tenant", "foreign"), [("", False), (TENANT, False), (ELSEWHERE, True)])
def test_another_tenant_is_foreign_and_hides_nothing(tenant: str, *, foreign: bool) -> None:
    """Whoever names another tenant keeps every standing that they had without it."""
    said = {(RiskSource.ENTRA, PRINCIPAL): entry(RiskLevel.HIGH, RiskState.AT_RISK)}
    old = head(service_principals=Coverage(as_of=1.0))
    for found in (snapshot(said, REGISTERED), snapshot(applications=REGISTERED, of=old)):
        without = set(_of(workload(), found))
        added = {Standing.FOREIGN} if foreign else set()
        assert set(_of(workload(CLIENT, tenant), found)) == without | added


def test_guests_are_known_by_their_name_or_from_the_tenants_list() -> None:
    """Their risk is told elsewhere, so how old ours is does not matter; an entry still counts."""
    of = head(users=Coverage(as_of=1.0))
    assert _of(person(is_guest=True), snapshot(of=of)) == (Standing.GUEST,)
    listed = snapshot(guests=frozenset({PERSON}), of=of)
    for principal in (person(), author(), application_that_asks(PERSON)):
        assert _of(principal, listed) == (Standing.GUEST,)
    said = {ENTRA: entry(RiskLevel.LOW, RiskState.AT_RISK)}
    found = _of(person(is_guest=True), snapshot(said))
    assert found == (Standing.LOW, Standing.GUEST)


def test_outside_entra_nothing_is_known_and_nothing_grows_old() -> None:
    """A certificate's holder is outside, also while nothing is loaded."""
    for found in (snapshot(), RiskSnapshot()):
        assert standing_of(outside(), found, FRESHNESS, NOW).standings == (Standing.OUTSIDE,)


def test_what_it_rests_on_is_told() -> None:
    """The events of both families, their types, the age, and since when."""
    said = {
        ENTRA: entry(RiskLevel.LOW, RiskState.AT_RISK, event_id="a", event_type="x", since=50),
        CAEP: entry(RiskLevel.HIGH, RiskState.AT_RISK, event_id="b", since=40),
    }
    known = standing_of(person(), snapshot(said), FRESHNESS, NOW)
    assert (known.standing, known.events) == (Standing.HIGH, ("a", "b"))
    assert (known.event_types, known.age_s, known.since) == (("x",), 10.0, 40)


@given(found=snapshots, principal=principals, said=entries)
def test_one_family_takes_nothing_back_that_another_says(
    found: RiskSnapshot, principal: Principal, said: RiskEntry
) -> None:
    """What holds by one family's word holds whatever the other one says; clean alone gives way."""
    before = set(standing_of(principal, found, FRESHNESS, NOW).standings) - {Standing.CLEAN}
    silent = [
        oid for oid in (PERSON, PRINCIPAL) if not found.entry(RiskSource.CAEP, identity_key(oid))
    ]
    draft_of = {(RiskSource.CAEP, oid): said for oid in silent}
    merged = _with(found, draft_of)
    assert before <= set(standing_of(principal, merged, FRESHNESS, NOW).standings)


@given(found=snapshots, principal=principals)
def test_to_know_less_takes_nothing_back(found: RiskSnapshot, principal: Principal) -> None:
    """With the same entries and nothing fresh, all that held still holds, but for clean."""
    before = set(standing_of(principal, found, FRESHNESS, NOW).standings) - {Standing.CLEAN}
    later = NOW + 10**9
    old = set(standing_of(principal, found, Freshness(0, 2 * 10**9, TENANT), later).standings)
    assert before <= old


@given(found=snapshots)
def test_at_risk_is_whoever_a_standing_calls_so(found: RiskSnapshot) -> None:
    """Everybody of a standing in AT_RISK, by the key of the label; also whose level is hidden."""
    key = identity_key(f"oid:{PERSON}")
    standings = standing_of(person(), found, FRESHNESS, NOW).standings
    said = [found.entry(family, key) for family in RiskSource]
    states = {each.state for each in said if each}
    if AT_RISK.intersection(standings):
        assert is_at_risk(found, key)
    elif states.isdisjoint({RiskState.AT_RISK, RiskState.UNKNOWN}):
        assert not is_at_risk(found, key)
    assert is_at_risk(found, key) or RiskState.AT_RISK not in states


def _with(found: RiskSnapshot, said: dict[tuple[RiskSource, str], RiskEntry]) -> RiskSnapshot:
    draft = SnapshotDraft.of(found)
    for (family, oid), each in said.items():
        draft.put(family, identity_key(oid), each)
    return draft.finish(NOW)
