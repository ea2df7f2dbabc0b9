"""Who is at risk among the people who approve: from the snapshot of the moment, however old."""

import msgspec
import pytest

from core.people.two_person import AtRisk
from core.risk.model import (
    LATEST_DETECTION_S,
    RiskEntry,
    RiskLevel,
    RiskSource,
    RiskState,
    identity_key,
)
from core.risk.snapshot import RiskSnapshot, SnapshotDraft
from identity.risk.standings import PeopleAtRisk

OID = "6e4b8f0a-1c2d-4e5f-8a9b-0c1d2e3f4a5b"
SINCE = 1_790_000_000
RISKY = RiskEntry(level=RiskLevel.LOW, state=RiskState.AT_RISK, updated=SINCE, since=SINCE)


def with_entries(**entries: RiskEntry) -> RiskSnapshot:
    """Return a snapshot in which families (`entra`, `caep`) say this of one person."""
    draft = SnapshotDraft.of(RiskSnapshot())
    for family, entry in entries.items():
        draft.put(RiskSource[family.upper()], identity_key(OID), entry)
    return draft.finish(SINCE)


def ask(snapshot: RiskSnapshot | None, *marks: str) -> AtRisk | None:
    """Ask about a person."""
    return PeopleAtRisk(lambda: snapshot)(marks or (f"oid:{OID}", "user:0123456789abcdef"))


def test_no_approver_is_at_risk_without_identity() -> None:
    """There is no snapshot."""
    assert ask(None) is None


def test_a_person_is_known_by_any_mark() -> None:
    """In any case of letters; a stranger is not."""
    snapshot = with_entries(entra=RISKY)
    assert ask(snapshot) is not None
    assert ask(snapshot, f"oid:{OID.upper()}") is not None
    assert ask(snapshot, "user:0123456789abcdef") is None


@pytest.mark.parametrize(
    "level", [RiskLevel.LOW, RiskLevel.MEDIUM, RiskLevel.HIGH, RiskLevel.HIDDEN]
)
def test_any_level_counts_and_no_age_takes_it_away(level: RiskLevel) -> None:
    """The snapshot was never complete: whoever was last known at risk stays so."""
    snapshot = with_entries(entra=msgspec.structs.replace(RISKY, level=level))
    assert snapshot.head.users.as_of is None
    assert ask(snapshot) is not None


@pytest.mark.parametrize(
    "state", [RiskState.REMEDIATED, RiskState.DISMISSED, RiskState.CONFIRMED_SAFE]
)
def test_a_risk_that_is_gone_is_gone(state: RiskState) -> None:
    """Unless another family says otherwise."""
    gone = msgspec.structs.replace(RISKY, state=state, since=0)
    assert ask(with_entries(entra=gone)) is None
    assert ask(with_entries(entra=gone, caep=RISKY)) is not None


def test_what_was_done_48_hours_before_is_sure() -> None:
    """Before the risk arose, or before what it rests on, if that is earlier."""
    active = msgspec.structs.replace(RISKY, active=SINCE - 3600)
    for entry, earliest in ((RISKY, SINCE), (active, SINCE - 3600)):
        assert ask(with_entries(entra=entry)) == AtRisk(float(earliest - LATEST_DETECTION_S))
    late = msgspec.structs.replace(RISKY, since=SINCE + 9)
    assert ask(with_entries(entra=late, caep=RISKY)) == AtRisk(float(SINCE - LATEST_DETECTION_S))


def test_a_revocation_later_than_the_risk_takes_nothing_back() -> None:
    """A family that says nothing of risk does not count."""
    clean = RiskEntry(updated=SINCE, active=5, revoked=SINCE)
    assert ask(with_entries(entra=RISKY, caep=clean)) == AtRisk(float(SINCE - LATEST_DETECTION_S))


@pytest.mark.parametrize(
    "entry",
    [
        msgspec.structs.replace(RISKY, state=RiskState.CONFIRMED_COMPROMISED),
        msgspec.structs.replace(RISKY, since=0),
    ],
    ids=["confirmed to be compromised", "nobody knows since when"],
)
def test_otherwise_nothing_is_sure(entry: RiskEntry) -> None:
    """An administrator says so, who knows more than a detection does; or there is no time."""
    assert ask(with_entries(entra=entry)) == AtRisk(0.0)
