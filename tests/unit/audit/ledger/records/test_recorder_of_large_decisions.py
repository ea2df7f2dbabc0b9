"""No Pod makes a decision that cannot be recorded."""

import uuid
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.ledger.records.document_bounds import bound_document
from audit.ledger.records.frames import MAX_BODY, FrameKind, encode_frame
from audit.ledger.records.recorder import MAX_DOCUMENT, LedgerRecorder
from core.base.ids import uuid7
from core.decision.decision import (
    AccessReview,
    Action,
    Decision,
    Evidence,
    Finding,
    Named,
    Need,
    Patch,
    ProfileAttempt,
    Verdict,
)
from core.decision.document import (
    MOST_ACCESS,
    MOST_TEXT,
    DecisionDocument,
    TriedProfile,
    decode_document,
    encode_document,
)
from tests.unit.audit.ledger.records.test_recorder import REQUEST, Spool


def recorded(decision: Decision, patches: Sequence[Patch] = ()) -> DecisionDocument:
    """Return the document that is recorded of a decision; it must fit into a frame."""
    spool = Spool()
    recorder = LedgerRecorder(spool, lambda: "c", lambda subject: subject.label)
    recorder.record("sweep", REQUEST, decision, patches, 0.0)
    ((kind, frame_id, payload),) = spool.frames
    assert len(encode_frame(kind, frame_id, payload)) <= MAX_BODY
    assert kind == FrameKind.DECISION
    return decode_document(payload)


def decision(count: int, length: int, covered_by: int) -> Decision:
    """Return a denial of `count` findings, each about a path of `length` characters."""
    privileges = [f"volume/hostPath:rw/{number}{'%C3%A9' * length}" for number in range(count)]
    evidence = Evidence(
        needs=tuple(Need("privileges/volume/hostPath", p, "spec.volumes") for p in privileges),
        tried=tuple(ProfileAttempt(f"p-{n}", frozenset(privileges)) for n in range(16)),
    )
    names = [f"profile-{number}" for number in range(covered_by)]
    findings = [
        Finding("r", Action.DENY, "spec.volumes", "m", "r", privilege=p, covered_by=names)
        for p in privileges
    ]
    return Decision(
        id=uuid7(0), verdict=Verdict.DENY, allowed=False, findings=findings, evidence=evidence
    )


@pytest.mark.parametrize(
    ("count", "length", "covered_by"),
    [(1, 1, 1), (256, 10, 10), (300, 4096, 1), (256, 1, 5000), (1, 200_000, 0)],
)
def test_a_large_decision_is_recorded_short(count: int, length: int, covered_by: int) -> None:
    """It says how much it leaves out; verdict, ids and times are never left out."""
    made = decision(count, length, covered_by)
    document = recorded(made)
    assert (document.id, document.verdict) == (made.id, Verdict.DENY)
    assert len(document.needs) + document.more_needs == count
    assert len(document.findings) + document.more_findings == count
    assert document.findings
    assert document.needs
    assert all(len(t.lacks) + t.more_lacks == count for t in document.tried)
    assert all(t.lacks for t in document.tried), "it would look as if it covered all"
    assert [tried.profile for tried in document.tried] == [f"p-{n}" for n in range(16)]


def test_fields_by_which_the_auditor_knows_the_writer_are_never_cut() -> None:
    """It would take the decision for another writer's, and set it aside."""
    names = [f"{number}{'n' * 4096}" for number in range(300)]
    whole = msgspec.structs.replace(
        recorded(decision(300, 4096, 1)),
        instance="sallyport-gate-6f7d8c9b5-abcde",
        sweep=uuid7(1),
        request=msgspec.structs.replace(
            recorded(decision(1, 1, 1)).request, object_uid=str(uuid.uuid4())
        ),
        **dict.fromkeys(LISTS, names),
    )
    kept = decode_document(bound_document(whole, 4096))
    assert kept.cut["texts"]
    assert (kept.instance, kept.sweep) == (whole.instance, whole.sweep)
    assert kept.request.object_uid == whole.request.object_uid


def test_what_is_filled_into_a_thousand_containers_is_recorded_short() -> None:
    """The first patches are kept, and how many there were."""
    patches: list[Patch] = [
        {"op": "add", "path": f"/spec/containers/{index}/env", "value": [{"value": 300 * "v"}]}
        for index in range(1024)
    ]
    document = recorded(decision(1, 1, 1), patches)
    assert document.patches == patches[: len(document.patches)]
    assert document.patches
    assert len(document.patches) + document.more_patches == len(patches)


def test_an_ordinary_decision_is_recorded_whole() -> None:
    """What fits is left alone."""
    made = decision(8, 10, 5)
    assert recorded(made).findings == made.findings
    assert recorded(made).needs == list(made.evidence.needs)
    assert msgspec.json.encode(recorded(made).tried)
    assert not recorded(made).cut


def test_texts_that_a_request_chooses_are_cut() -> None:
    """An annotation may have 256 KiB, and on its way to the mutating webhook nothing bounds it."""
    huge = "x" * 200_000
    evidence = Evidence(named=Named(huge, "metadata.annotations"), object_uid=huge)
    made = Decision(
        id=uuid7(0),
        verdict=Verdict.ERROR,
        allowed=False,
        profile=huge,
        reason=huge,
        field=huge,
        evidence=evidence,
    )
    document = recorded(made)
    assert document.named is not None
    texts = (document.named.profile, document.request.object_uid, document.profile)
    assert {len(text or "") for text in (*texts, document.reason, document.field)} == {MOST_TEXT}
    assert len(encode_document(document)) < MAX_DOCUMENT


def test_answers_of_access_reviews_are_bounded_and_counted() -> None:
    """Profiles without end, each of which somebody was asked for."""
    asked = tuple(
        AccessReview(REQUEST.subject, f"p-{number}", allowed=False) for number in range(5000)
    )
    made = Decision(
        id=uuid7(0), verdict=Verdict.DENY, allowed=False, evidence=Evidence(access=asked)
    )
    document = recorded(made)
    assert [answer.profile for answer in document.access_reviews[:2]] == ["p-0", "p-1"]
    assert 0 < len(document.access_reviews) <= MOST_ACCESS
    assert len(document.access_reviews) + document.more_access_reviews == len(asked)


TEXTS = st.text(max_size=20) | st.sampled_from(["é" * 2000, "\x00" * 4000, "x" * 4000, "𝕏" * 1000])
LISTS = ["subjects", "exceptions", "break_glass", "ceiling", "behaviour", "weight_stores", "grants"]
NAMES = st.lists(TEXTS, max_size=300)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), text=TEXTS, count=st.integers(0, 300))
def test_no_document_is_larger_than_a_record(data: st.DataObject, text: str, count: int) -> None:
    """Whatever stands in whichever field, and also in one that a later release adds."""
    names = data.draw(NAMES)
    rule = data.draw(st.sampled_from(["privileges/volume/host_path", "rules/site/r-{}"]))
    findings = [
        Finding(rule.format(n), Action.DENY, text, text, text, text, text, names[:20])
        for n in range(count)
    ]
    needs = [Need(rule.format(n), text, text, text) for n in range(count)]
    lists: dict[str, Any] = dict.fromkeys(data.draw(st.sets(st.sampled_from(LISTS))), names)
    whole = msgspec.structs.replace(
        recorded(decision(1, 1, 1)),
        findings=findings,
        needs=needs,
        tried=[TriedProfile(profile=text, lacks=names) for _ in range(16)],
        patches=[{"op": "add", "path": text, "value": names}],
        reason=text,
        profile=text,
        requester=text,
        **lists,
    )
    content = bound_document(whole, MAX_DOCUMENT)
    assert len(content) <= MAX_DOCUMENT
    kept = decode_document(content)
    assert (kept.id, kept.verdict, kept.projection) == (whole.id, whole.verdict, whole.projection)
    assert len(kept.findings) + kept.more_findings == count
    assert bool(kept.findings) == bool(count)
    if len(encode_document(whole)) <= MAX_DOCUMENT:
        assert kept == whole
    else:
        assert kept.cut or kept.more_findings or kept.more_needs
