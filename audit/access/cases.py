"""Puts findings that belong to one story together: one case with a timeline. Pure.

Findings belong together where, within some days, they are about the same principal and store, or
share a rare thread: a Pod, the human behind it, an address outside the operator's networks. What
happened to a whole account (keys listed, the log switched off) is part of every story there that
begins soon after. A case is made when it is read: findings are append-only, so the same findings
give the same case, and a later finding makes it longer. Its techniques come in the order of the
phases of an attack.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from audit.access.model.findings import LONGEST_TITLE
from core.base.ids import stable_id
from core.base.safe_text import shorten
from core.base.times import DAY_S, seconds_of
from core.weights.documents.events import Finding, Severity

MOST_SHARED: Final = 5
"""A Pod, human or address that findings about more principals share is no rare thread: a fleet, a
NAT gateway, a platform team. It joins nothing."""

PHASES: Final[tuple[str, ...]] = (
    "blinding",
    "access",
    "discovery",
    "collection",
    "exfiltration",
    "destruction",
)
"""Defence evasion first: who switches a log off does so before. Named for what is done to weights;
ATT&CK and ATLAS have more tactics, and the techniques of a finding name them."""

PHASE_OF: Final = {
    "log-gap": "blinding",
    "protection-off": "blinding",
    "keys-and-logging": "access",
    "federated-credential": "access",
    "role-assignment": "access",
    "delegation-key": "access",
    "sftp-or-local-users": "access",
    "private-endpoint": "access",
    "token-two-addresses": "access",
    "access-at-risk": "access",
    "no-live-pod": "access",
    "new-caller": "access",
    "enumeration": "discovery",
    "refused-burst": "discovery",
    "ungranted": "collection",
    "key-or-anonymous-read": "collection",
    "volume-above-baseline": "collection",
    "snapshot-read": "collection",
    "slow-exfiltration": "exfiltration",
    "copy-out": "exfiltration",
    "object-replication": "exfiltration",
    "create-read-delete": "destruction",
    "key-or-anonymous-change": "destruction",
    "mass-delete": "destruction",
    "overwritten-weights": "destruction",
    "customer-key": "destruction",
    "archived-weights": "destruction",
    "storage-deleted": "destruction",
    "lifecycle-deletion": "destruction",
    "encryption-key": "destruction",
    "other-tenant": "exfiltration",
    "transport-weakened": "access",
    "custom-role": "access",
    "log-target-deleted": "blinding",
    "cluster-credential": "access",
}

WITHIN_S: Final = 3.0 * DAY_S
"""Findings further apart are another story, unless others lie between: a weekend is bridged."""

MOST_FINDINGS: Final = 100_000
"""That are looked at together: the latest ones; `FindingCases.left_out` counts the others."""

MOST_STEPS: Final = 500
"""Of one case's timeline; the gravest and first are kept."""

_READS: Final = frozenset(
    {"new-caller", "ungranted", "no-live-pod", "volume-above-baseline", "snapshot-read"}
)
_BY_KEY: Final = frozenset({"key-or-anonymous-read", "key-or-anonymous-change"})

_HARM: Final = frozenset(
    {"key-or-anonymous-change", "mass-delete", "overwritten-weights", "customer-key"}
)

LEADS_TO: Final[Mapping[str, frozenset[str]]] = {
    "keys-and-logging": _BY_KEY | {"log-gap", "delegation-key"},
    "role-assignment": _READS | {"delegation-key", "copy-out"},
    "delegation-key": _READS,
    "private-endpoint": _READS | _BY_KEY,
    "sftp-or-local-users": _READS | _BY_KEY,
    "object-replication": frozenset({"copy-out"}),
    "protection-off": frozenset({"create-read-delete", "storage-deleted", *_HARM}),
    "other-tenant": frozenset({"copy-out", "object-replication"}),
    "transport-weakened": _BY_KEY,
}
"""What is done to a whole account, and what may come of it there, by whomever."""

_RARE: Final = frozenset({"pod", "human", "address"})
_MOST_WORDS: Final = 50
_RANK: Final = {each: number for number, each in enumerate(Severity)}


class CaseThread(NamedTuple):
    """Something that a finding may share with others."""

    key: tuple[str, str]
    why: str
    binds: bool = True
    """Whether later findings are joined to this one along it."""


def joining_threads(
    ordered: Sequence[Finding], networks: frozenset[str]
) -> Sequence[Sequence[CaseThread]]:
    """Return the threads of each finding, without those that too many share."""
    rows = [list(_threads(one, networks)) for one in ordered]
    holders: dict[tuple[str, str], set[str]] = {}
    for one, row in zip(ordered, rows, strict=True):
        for thread in row:
            if thread.key[0] in _RARE and one.who:
                holders.setdefault(thread.key, set()).add(one.who)
    shared = Counter({key: len(who) for key, who in holders.items()})
    return [
        [
            thread
            for thread in row
            if shared[thread.key] <= MOST_SHARED or thread.key[0] not in _RARE
        ]
        for row in rows
    ]


def _threads(one: Finding, networks: frozenset[str]) -> Iterator[CaseThread]:
    if one.who:
        yield CaseThread(
            ("who", f"{one.who} {one.store}"), f"{one.who} at {one.store or 'no store'}"
        )
        # Whoever is found as a principal may be another finding's human.
        yield CaseThread(("human", one.who), f"{one.who} is behind both")
    for name in one.requesters:
        if name != one.who:
            yield CaseThread(("human", name), f"{name} is behind both")
    for name in one.pods:
        yield CaseThread(("pod", name), f"the Pod {name}")
    for address in one.addresses:
        if address not in networks:
            yield CaseThread(("address", address), f"the address {address}")
    yield from _of_account(one)


def _of_account(one: Finding) -> Iterator[CaseThread]:
    """Yield the threads by which what was done to an account goes with what comes of it."""
    if not one.account:
        return
    done = f"what was done to the account {one.account}"
    if one.detection in LEADS_TO:
        yield CaseThread(("account", one.account), done)
    for follower in sorted(LEADS_TO.get(one.detection, ())):
        yield CaseThread(("leads-to", f"{one.account} {follower}"), done)
    yield CaseThread(("leads-to", f"{one.account} {one.detection}"), done, binds=False)
    if one.detection in _BY_KEY:
        yield CaseThread(
            ("unsigned", one.account), f"requests without a principal at {one.account}"
        )


def phase_of(detection: str) -> str:
    """Return the phase of a detection; what is not known collects."""
    return PHASE_OF.get(detection, "collection")


class CaseStep(msgspec.Struct, frozen=True, kw_only=True):
    """One finding in a case's timeline."""

    time: str
    finding: str
    """Its id."""
    detection: str
    severity: Severity
    phase: str
    """Of `audit.access.cases`."""
    title: str


class FindingCase(msgspec.Struct, frozen=True, kw_only=True):
    """A story that findings tell together."""

    id: str
    """UUIDv7 of its first finding; the same as long as that is in it."""
    begin: str
    end: str
    severity: Severity
    """The gravest of its findings; one more where they span three phases or more."""
    title: str
    summary: str
    stores: list[str]
    accounts: list[str]
    who: list[str]
    requesters: list[str]
    pods: list[str]
    addresses: list[str]
    detections: list[str]
    techniques: list[str]
    """In the order of the phases that they belong to."""
    phases: list[str]
    events: int
    """The most that one finding of each store, principal and day told, as for `bytes`."""
    bytes: int
    """The most that one finding of each detection, store, principal and day told, added up over
    days: several detections look at the same bytes."""
    findings: int
    members: list[str]
    """Where each of its findings is kept: `place_of`."""
    steps: list[CaseStep]
    more_steps: int = 0
    joined_by: list[str]
    """What makes it one story, for a person."""


class FindingCases(msgspec.Struct, frozen=True, kw_only=True):
    """All cases of some findings, the gravest and longest first."""

    cases: list[FindingCase]
    left_out: int = 0
    """Findings that were too many to be looked at."""


def place_of(finding: Finding) -> str:
    """Return what tells a finding from those of all clusters."""
    return f"{finding.cluster}/{finding.id}"


def build_cases(findings: Iterable[Finding], networks: Sequence[str] = ()) -> FindingCases:
    """Return the cases of findings, in whatever order these come.

    `networks` are addresses that many share (NAT, nodes) and that join nothing.
    """
    unique = {place_of(one): one for one in findings}
    ordered = sorted(unique.values(), key=lambda one: (seconds_of(one.time), one.id))
    left_out = max(0, len(ordered) - MOST_FINDINGS)
    ordered = ordered[left_out:]
    threads = joining_threads(ordered, frozenset(networks))
    groups = _groups(ordered, threads)
    cases = [_case(group, joined) for group, joined in groups]
    cases.sort(key=lambda case: (-_RANK[case.severity], -case.findings, case.begin, case.id))
    return FindingCases(cases=cases, left_out=left_out)


def _groups(
    ordered: Sequence[Finding], threads: Sequence[Sequence[CaseThread]]
) -> Iterator[tuple[list[Finding], list[str]]]:
    """Join findings along threads that were touched within some days; give them with why."""
    parent = list(range(len(ordered)))
    why: list[set[str]] = [set() for _ in ordered]
    last: dict[tuple[str, str], tuple[int, float]] = {}
    for index, one in enumerate(ordered):
        begin, end = seconds_of(one.first), seconds_of(one.time)
        for thread in threads[index]:
            before = last.get(thread.key)
            if before is not None and min(begin, end) <= before[1] + WITHIN_S:
                _join(parent, index, before[0])
                why[index].add(thread.why)
            if thread.binds:
                last[thread.key] = (index, max(end, before[1] if before else end))
    members: dict[int, list[int]] = {}
    for index in range(len(ordered)):
        members.setdefault(_root(parent, index), []).append(index)
    for indexes in members.values():
        joined = sorted(set().union(*(why[index] for index in indexes)))
        yield [ordered[index] for index in indexes], joined


def _root(parent: list[int], index: int) -> int:
    while parent[index] != index:
        parent[index] = parent[parent[index]]
        index = parent[index]
    return index


def _join(parent: list[int], one: int, other: int) -> None:
    first, second = sorted((_root(parent, one), _root(parent, other)))
    parent[second] = first


def _case(group: Sequence[Finding], joined: list[str]) -> FindingCase:
    phases = [phase for phase in PHASES if phase in {phase_of(one.detection) for one in group}]
    severity = max((one.severity for one in group), key=_RANK.__getitem__)
    if len(phases) > 2 and severity is not Severity.CRITICAL:  # noqa: PLR2004  three phases
        severity = list(Severity)[_RANK[severity] + 1]
    stores, who = _words(one.store for one in group), _words(one.who for one in group)
    begin = min(group, key=lambda one: (seconds_of(one.first), one.first)).first
    steps = _steps(group)
    return FindingCase(
        id=stable_id(round(seconds_of(group[0].time) * 1000), "case", group[0].id),
        begin=begin,
        end=group[-1].time,
        severity=severity,
        title=_title(group, stores, who),
        summary=f"{_some(len(group), 'finding')} of "
        f"{_some(len({one.detection for one in group}), 'detection')}. "
        f"Phases: {', '.join(phases)}.",
        stores=stores,
        accounts=_words(one.account for one in group),
        who=who,
        requesters=_words(name for one in group for name in one.requesters),
        pods=_words(name for one in group for name in one.pods),
        addresses=_words(name for one in group for name in one.addresses),
        detections=_words(one.detection for one in group),
        techniques=_techniques(group),
        phases=phases,
        events=_told(group, lambda one: one.events),
        bytes=_told(group, lambda one: one.bytes),
        findings=len(group),
        members=[place_of(one) for one in group],
        steps=steps,
        more_steps=len(group) - len(steps),
        joined_by=joined,
    )


def _some(count: int, what: str) -> str:
    return f"{count} {what if count == 1 else what + 's'}"


def _title(group: Sequence[Finding], stores: Sequence[str], who: Sequence[str]) -> str:
    if len(group) == 1:
        return group[0].title
    gravest = max(group, key=lambda one: (_RANK[one.severity], -seconds_of(one.time), one.id))
    more = f" and {len(who) - 1} more" if len(who) > 1 else ""
    whom = f"{who[0]}{more}" if who else "nobody known"
    where = f"{', '.join(stores[:2])}" if stores else "the logs"
    title = f"{whom} at {where}: {gravest.detection} and {_some(len(group) - 1, 'more finding')}"
    return shorten(title, LONGEST_TITLE)


def _steps(group: Sequence[Finding]) -> list[CaseStep]:
    kept = set(range(len(group)))
    if len(group) > MOST_STEPS:
        ranked = sorted(kept, key=lambda at: (-_RANK[group[at].severity], at))
        kept = set(ranked[:MOST_STEPS])
    return [
        CaseStep(
            time=one.time,
            finding=one.id,
            detection=one.detection,
            severity=one.severity,
            phase=phase_of(one.detection),
            title=one.title,
        )
        for index, one in enumerate(group)
        if index in kept
    ]


def _techniques(group: Sequence[Finding]) -> list[str]:
    found: dict[str, int] = {}
    for one in group:
        place = PHASES.index(phase_of(one.detection))
        for technique in one.techniques:
            found[technique] = min(place, found.get(technique, place))
    return sorted(found, key=lambda technique: (found[technique], technique))


def _told(group: Sequence[Finding], amount: Callable[[Finding], int]) -> int:
    """Add up what findings told, the most of each store, principal and day."""
    days: dict[tuple[str, str, str], int] = {}
    for one in group:
        key = (one.store, one.who, one.time[:10])
        days[key] = max(days.get(key, 0), amount(one))
    return sum(days.values())


def _words(words: Iterable[str]) -> list[str]:
    """Return words once, in the order in which they come, the first of many."""
    return [word for word in dict.fromkeys(words) if word][:_MOST_WORDS]
