"""Identities and snapshots to try standings and decisions on."""

from collections.abc import Mapping

import msgspec
from hypothesis import strategies as st

from core.people.subject import Subject
from core.risk.model import (
    Application,
    ApplicationKind,
    PrincipalKind,
    RiskEntry,
    RiskLevel,
    RiskSource,
    RiskState,
    Role,
    identity_key,
)
from core.risk.snapshot import Coverage, Head, RiskSnapshot, SnapshotDraft
from identity.risk.principals import (
    Principal,
    PrincipalNature,
    principal_of_client,
    principal_of_note,
)
from identity.risk.standings import Freshness

NOW = 1_795_000_000.0
TENANT = "aaaaaaaa-0000-4000-8000-000000000001"
ELSEWHERE = "aaaaaaaa-0000-4000-8000-000000000002"
PERSON = "00000000-0000-4000-8000-00000000000a"
OTHER = "00000000-0000-4000-8000-00000000000b"
CLIENT = "00000000-0000-4000-8000-00000000000c"
PRINCIPAL = "00000000-0000-4000-8000-00000000000d"
"""Object id of the service principal of CLIENT."""

FRESH = Coverage(as_of=NOW - 10)
FRESHNESS = Freshness(tenant=TENANT)


def person(oid: str = PERSON, role: Role = Role.REQUESTER, **other: object) -> Principal:
    """Return a member of the tenant, who asks or who is noted."""
    found = Principal(
        role=role, who=f"oid:{oid}", key=identity_key(oid), nature=PrincipalNature.PERSON
    )
    return msgspec.structs.replace(found, **other)


def application_that_asks(oid: str = PRINCIPAL) -> Principal:
    """Return a service principal that asks kube-apiserver itself."""
    return person(oid, nature=PrincipalNature.APPLICATION)


def author(label: str = f"oid:{PERSON}") -> Principal:
    """Return whom a requester note names."""
    found = principal_of_note(label)
    assert found is not None
    return found


def workload(client_id: str = CLIENT, tenant: str = "") -> Principal:
    """Return what a Pod signs in as."""
    return principal_of_client(client_id, tenant)


def outside() -> Principal:
    """Return somebody with a certificate."""
    return person("", who=Subject("local").label, key=b"o" * 16, nature=PrincipalNature.OUTSIDE)


def entry(
    level: RiskLevel = RiskLevel.NONE, state: RiskState = RiskState.NONE, **other: object
) -> RiskEntry:
    """Return what a family says, as of an hour ago."""
    found = RiskEntry(level=level, state=state, updated=int(NOW) - 3600)
    return msgspec.structs.replace(found, **other)


def head(users: Coverage = FRESH, service_principals: Coverage = FRESH) -> Head:
    """Return the head of a snapshot that is kept up."""
    return Head(tenant=TENANT, users=users, service_principals=service_principals)


def snapshot(
    entries: Mapping[tuple[RiskSource, str], RiskEntry] | None = None,
    applications: Mapping[str, Application] | None = None,
    guests: frozenset[str] = frozenset(),
    of: Head | None = None,
) -> RiskSnapshot:
    """Return a snapshot that says this, by family and object id, and nothing else."""
    draft = SnapshotDraft.of(RiskSnapshot())
    draft.head = of or head()
    for (family, oid), each in (entries or {}).items():
        draft.put(family, identity_key(oid), each)
    for client_id, application in (applications or {}).items():
        draft.put_application(client_id, application)
    for oid in guests:
        draft.put_guest(identity_key(oid), is_guest=True)
    return draft.finish(NOW)


REGISTERED = {CLIENT: Application(ApplicationKind.APPLICATION, PRINCIPAL)}
"""CLIENT is of an app registration of this tenant."""

coverages = st.builds(
    Coverage,
    as_of=st.none() | st.floats(NOW - 10_000, NOW + 1000),
    unlicensed=st.booleans(),
)

entries = st.builds(
    RiskEntry,
    kind=st.sampled_from(PrincipalKind),
    level=st.sampled_from(RiskLevel),
    state=st.sampled_from(RiskState),
    deleted=st.booleans(),
    updated=st.integers(int(NOW) - 10_000, int(NOW)),
    since=st.sampled_from([0, int(NOW) - 100]),
    revoked=st.sampled_from([0, int(NOW) - 60, int(NOW) - 6000]),
    event_id=st.sampled_from(["", "a" * 64]),
    event_type=st.sampled_from(["", "leakedCredentials"]),
)

applications = st.dictionaries(
    st.sampled_from([CLIENT, PRINCIPAL, PERSON]),
    st.builds(Application, st.sampled_from(ApplicationKind), st.sampled_from(["", PRINCIPAL])),
    max_size=2,
)

snapshots = st.builds(
    snapshot,
    st.dictionaries(
        st.tuples(st.sampled_from(RiskSource), st.sampled_from([PERSON, OTHER, CLIENT, PRINCIPAL])),
        entries,
        max_size=5,
    ),
    applications,
    st.frozensets(st.sampled_from([PERSON, OTHER]), max_size=2),
    st.builds(head, coverages, coverages),
)

principals = st.sampled_from(
    [
        person(),
        person(OTHER),
        person(is_guest=True),
        person(groups=frozenset({PRINCIPAL})),
        application_that_asks(),
        author(),
        author(f"oid:{PRINCIPAL}"),
        author("user:0123456789abcdef"),
        workload(),
        workload(CLIENT, TENANT),
        workload(CLIENT, ELSEWHERE),
        workload(""),
        workload(OTHER),
        outside(),
    ]
)
