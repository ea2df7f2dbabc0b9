"""What people say of findings counts only as far as they may say it."""

from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.access.progress import (
    MOST_PEOPLE,
    MOST_STATEMENTS,
    FindingProgress,
    Statements,
    read_statement,
)
from core.base.ids import stable_id
from core.base.times import milliseconds_of, time_text
from core.weights.documents.events import Finding, Severity
from core.weights.documents.object_change import ObjectChange

AT = milliseconds_of("2026-05-11T09:00:00Z")
FINDING = "01a1630d-b1e7-7505-9713-fbe309e7a0ca"
SUBJECT = "oid:11111111-1111-4111-8111-111111111111"
READER = "oid:22222222-2222-4222-8222-222222222222"
ANN = ("oid:00000000-0000-4000-8000-00000000000a", "user:aaaaaaaaaaaaaaaa")
BEN = ("oid:00000000-0000-4000-8000-00000000000b", "user:bbbbbbbbbbbbbbbb")
ANN_ELSEWHERE = ("user:aaaaaaaaaaaaaaaa",)
CLOSED = {"state": "falseAlarm", "note": "a drill"}
UNTIL = "2026-09-01T00:00:00Z"


def finding(severity: Severity = Severity.HIGH) -> Finding:
    """Return a finding about READER, behind whom SUBJECT is."""
    return Finding(
        format=1,
        id=FINDING,
        detection="ungranted",
        time=time_text(AT // 1000),
        first=time_text(AT // 1000),
        cluster="c",
        severity=severity,
        store="frontier",
        who=READER,
        title="read without a grant",
        detail="16 reads",
        remedy="ask",
        requesters=[SUBJECT],
    )


def statement(by: tuple[str, ...], number: int = 1, **spec: Any) -> ObjectChange:
    """Return a statement as the ledger has it, `number` minutes after the finding."""
    at = AT + number * 60_000
    return ObjectChange(
        format=1,
        id=stable_id(at, "change", "c", "AuditStatement", str(number), "there"),
        time=time_text(at // 1000),
        cluster="c",
        event="there",
        kind="AuditStatement",
        name=f"finding-{number}",
        uid=f"uid-{number}",
        by=list(by),
        spec={"finding": FINDING, **spec},
    )


def judged(
    *made: tuple[tuple[str, ...], dict[str, Any]],
    severity: Severity = Severity.HIGH,
    now: str = "2026-06-01T00:00:00Z",
) -> FindingProgress:
    """Return what statements come to, each a minute after the one before."""
    all_of_it = Statements()
    for number, (by, spec) in enumerate(made, 1):
        all_of_it.add(statement(by, number, **spec))
    return all_of_it.of_finding(finding(severity), milliseconds_of(now))


def test_nobody_said_anything() -> None:
    """Then it is new."""
    assert judged() == FindingProgress(state="new")


def test_one_person_says_how_far_it_is_and_whose() -> None:
    """`self` is whoever says it; a note alone changes nothing."""
    progress = judged(
        (ANN, {"state": "investigating", "owner": "self"}), (BEN, {"note": "key rotated"})
    )
    assert (progress.state, progress.owner) == ("investigating", ANN[0])
    assert progress.since == "2026-05-11T09:01:00Z"
    assert [(one.by, one.note, one.counts) for one in progress.statements] == [
        (ANN[0], "", True),
        (BEN[0], "key rotated", True),
    ]


@pytest.mark.parametrize("severity", [Severity.LOW, Severity.MEDIUM])
def test_one_person_closes_what_is_not_grave(severity: Severity) -> None:
    """Low and medium findings."""
    assert judged((ANN, CLOSED), severity=severity).is_closed


@pytest.mark.parametrize("severity", [Severity.HIGH, Severity.CRITICAL])
def test_two_people_close_what_is_grave(severity: Severity) -> None:
    """The first asks, and that is told; the second closes it."""
    asked = judged((ANN, CLOSED), severity=severity)
    assert (asked.state, asked.is_closed) == ("new", False)
    assert asked.waiting.startswith(f"false alarm, asked for by {ANN[0]}")
    closed = judged((ANN, CLOSED), (BEN, CLOSED), severity=severity)
    assert (closed.state, closed.waiting) == ("falseAlarm", "")


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ([(ANN, CLOSED), (ANN, CLOSED)], "one person twice"),
        ([(ANN, CLOSED), (ANN_ELSEWHERE, CLOSED)], "one person with two accounts"),
        (
            [(("oid:x",), CLOSED), (("user:y",), CLOSED), (("oid:x", "user:y"), {"note": "n"})],
            "two accounts that a third one links",
        ),
        ([(ANN, CLOSED), ((), CLOSED)], "somebody whom nobody recorded"),
        ([(ANN, CLOSED), ((SUBJECT,), CLOSED)], "the human behind it"),
        ([(ANN, CLOSED), ((READER,), CLOSED)], "its principal"),
        ([(ANN, CLOSED), ((READER.upper().replace("OID", "oid"),), CLOSED)], "its id in capitals"),
        ([(ANN, CLOSED), ((SUBJECT, *BEN), CLOSED)], "the human behind it, under another name too"),
        (
            [(ANN, CLOSED), (BEN, {"state": "accepted", "acceptedUntil": UNTIL, "note": "n"})],
            "another thing",
        ),
        (
            [(ANN, CLOSED), (BEN, {"state": "investigating"}), (BEN, CLOSED)],
            "another state between",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_grave_findings_stay_open(made: list[tuple[tuple[str, ...], Any]], why: str) -> None:
    """Unless two people say the same of one, neither of whom it is about."""
    assert not judged(*made).is_closed, why


def test_subject_keeps_only_the_note() -> None:
    """Neither state nor owner is theirs to set; what they asked for is told, with the reason."""
    progress = judged(((SUBJECT,), {"state": "contained", "owner": "self", "note": "it was me"}))
    assert (progress.state, progress.owner) == ("new", "")
    (said,) = progress.statements
    assert (said.counts, said.note) == (False, "it was me")
    assert "whom the finding is about" in said.why


def test_one_person_reopens() -> None:
    """What two have closed one opens again."""
    assert judged((ANN, CLOSED), (BEN, CLOSED), (ANN, {"state": "new"})).state == "new"


def test_accepted_ends_at_the_earlier_time() -> None:
    """Then the finding is new again."""
    later = {"state": "accepted", "acceptedUntil": "2026-12-01T00:00:00Z", "note": "n"}
    sooner = {**later, "acceptedUntil": UNTIL}
    for made in ([(ANN, later), (BEN, sooner)], [(ANN, sooner), (BEN, later)]):
        assert judged(*made).accepted_until == UNTIL
        assert judged(*made, now="2026-08-31T23:59:59Z").is_closed
        ended = judged(*made, now=UNTIL)
        assert (ended.state, ended.since) == ("new", UNTIL)


def test_what_is_no_statement_is_left_out() -> None:
    """Another kind, an end of one, one that a later release wrote, one about another cluster's."""
    made = statement(ANN, state="contained")
    for other in (
        msgspec.structs.replace(made, kind="AccessGrant"),
        msgspec.structs.replace(made, event="deleted"),
        msgspec.structs.replace(made, spec={"finding": FINDING, "mood": "good"}),
        msgspec.structs.replace(made, spec=None),
    ):
        assert read_statement(other) is None
    all_of_it = Statements()
    all_of_it.add(msgspec.structs.replace(made, cluster="other"))
    assert all_of_it.of_finding(finding(), AT).statements == []


def test_nobody_pushes_out_what_others_said() -> None:
    """Of one person the last ones count, of the others all."""
    flood = [((SUBJECT,), {"note": str(number)}) for number in range(3 * MOST_STATEMENTS)]
    progress = judged((ANN, CLOSED), (BEN, CLOSED), *flood)
    assert (progress.state, progress.more_statements) == ("falseAlarm", 2 * MOST_STATEMENTS)
    own = [(ANN, {"note": str(number)}) for number in range(MOST_STATEMENTS)]
    progress = judged((ANN, CLOSED), (BEN, CLOSED), *own)
    assert (progress.state, progress.asked) == ("new", "falseAlarm")
    crowd = [((f"oid:{number}",), {"note": "n"}) for number in range(MOST_PEOPLE + 5)]
    assert judged(*crowd).more_statements == 5


def test_nobody_without_an_object_id_closes_what_is_about_one() -> None:
    """A certificate may be the subject's: nothing says that it is not."""
    progress = judged((("user:cccccccccccccccc",), CLOSED), severity=Severity.LOW)
    assert (progress.state, progress.statements[0].counts) == ("new", False)
    assert "object id" in progress.statements[0].why
    said = judged((("user:cccccccccccccccc",), {"state": "investigating"}))
    assert said.state == "investigating"


def test_a_third_person_who_says_the_same_changes_nothing() -> None:
    """A finding that is closed waits for nobody."""
    progress = judged((ANN, CLOSED), (BEN, CLOSED), (("oid:carl",), CLOSED))
    assert (progress.state, progress.waiting) == ("falseAlarm", "")


def test_the_deciding_note_is_of_who_decided() -> None:
    """What the subject says after it is their own."""
    closed = {"state": "falseAlarm", "note": "a drill"}
    progress = judged((ANN, CLOSED), (BEN, closed), ((SUBJECT,), {"note": "seen by the CISO"}))
    assert progress.deciding_note == "a drill"


def test_people_of_two_clusters_do_not_sign_together() -> None:
    """Whoever administers one cluster may be anybody there."""
    all_of_it = Statements()
    for number, (cluster, by) in enumerate((("c", ANN), ("other", BEN)), 1):
        change = msgspec.structs.replace(statement(by, number), cluster=cluster)
        change.spec.pop("finding")
        change.spec["report"] = f"sha256:{64 * 'a'}"
        all_of_it.add(change)
    assert [(one.cluster, one.is_complete) for one in all_of_it.signed_off()] == [
        ("other", False),
        ("c", False),
    ]


_PEOPLE = st.sampled_from([ANN, ANN_ELSEWHERE, BEN, (SUBJECT,), ("user:c",), ()])
_SAID = st.sampled_from(
    [
        CLOSED,
        {"state": "accepted", "acceptedUntil": UNTIL, "note": "n"},
        {"state": "new"},
        {"state": "contained"},
        {"owner": "self"},
        {"note": "n"},
    ]
)


@given(st.lists(st.tuples(_PEOPLE, _SAID), max_size=8))
def test_a_grave_finding_is_closed_by_two_people_in_a_row(
    made: list[tuple[tuple[str, ...], dict[str, Any]]],
) -> None:
    """Whatever is said: the last two states that anybody may set are the same, of two people."""
    closed = judged(*made).is_closed
    humans = [
        (by[-1].removeprefix("oid:"), spec["state"])
        for by, spec in made
        if by and by != (SUBJECT,) and "state" in spec
    ]
    agree = any(
        one[0] != other[0] and one[1] == other[1] and one[1] in {"falseAlarm", "accepted"}
        for one, other in pairwise(humans)
    )
    assert agree or not closed


def test_statements_come_in_the_order_of_their_times() -> None:
    """That of the ledger does not matter."""
    made = [statement(ANN, 1, **CLOSED), statement(BEN, 2, state="new")]
    states = []
    for order in (made, made[::-1]):
        all_of_it = Statements()
        for one in order:
            all_of_it.add(one)
        states.append(all_of_it.of_finding(finding(), AT))
    assert states[0] == states[1]


def test_reports_are_signed_off_by_two_people() -> None:
    """Each person once."""
    digest = f"sha256:{64 * 'a'}"
    all_of_it = Statements()
    for number, by in enumerate((ANN, ANN_ELSEWHERE, BEN), 1):
        change = statement(by, number)
        change.spec.pop("finding")
        change.spec.update(report=digest, note=f"read {number}")
        all_of_it.add(change)
        (signed,) = all_of_it.signed_off()
        assert signed.is_complete is (number == 3)
    assert signed.by == [ANN[0], BEN[0]]
    assert signed.notes == ["read 1", "read 3"]
