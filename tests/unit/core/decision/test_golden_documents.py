"""Documents of every release stay readable: `golden/decision-N.json` is one of format N."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from core.decision.decision import Action, AssessedRisk, Finding, Named, Need, Running, Verdict
from core.decision.document import (
    FORMAT,
    AccessAnswer,
    Asked,
    CountedSignal,
    DecisionDocument,
    Durations,
    Isolated,
    Revisions,
    TracedRoot,
    TriedProfile,
    decode_document,
    encode_document,
    recorded_sandbox,
)
from core.sandbox.decision import ModeSource, SandboxMode

GOLDEN = Path(__file__).parent / "golden"

FIRST = DecisionDocument(
    format=1,
    id="01a1fdfa-4600-741a-844b-d5e85b7c5f0f",
    time="2026-11-21T12:00:00.000Z",
    cluster="5f0c3c1e-6f0b-4c39-9d0e-2a5c7c4f9f10",
    source="validate",
    request=Asked(
        uid="0d6c6c5e-8a5b-4a0e-9a57-1f6d2c1b7a31",
        operation="CREATE",
        kind="Pod",
        version="v1",
        group="apps",
        namespace="train",
        name="llm-pretrain-7f9c6-worker-0",
        subresource="ephemeralcontainers",
        object_uid="c7d3f5a0-1b8e-4f0a-8a57-70f86f3c2b11",
        digest=f"sha256:{'8' * 64}",
        dry_run=True,
    ),
    requester="user:2bd806c97f0e00af",
    verdict=Verdict.DENY,
    allowed=False,
    instance="sallyport-gate-6d5f7c9b8-x2x4z",
    caller_known=True,
    requester_kind="human",
    root=TracedRoot(
        kind="Deployment",
        name="llm-pretrain",
        uid="8a0f3f52-6c39-4a6d-b4ab-7f3bd3a4f001",
        requester="user:2bd806c97f0e00af",
        profile="pss-baseline",
    ),
    traced="noted",
    subjects=["user:2bd806c97f0e00af", "system:serviceaccount:train:trainer"],
    mode="warn",
    if_enforced="refused",
    profile="pss-baseline",
    named=Named("pss-baseline", "metadata.annotations[sallyport.dev/profile]"),
    exceptions=["rdma@2d1f6d0e-3f0b-4c8a-9a52-0c9f5f6b7d33"],
    break_glass=["fabric-down@6f1f0c2e-0b8b-4a53-8f50-3b1d2f7a9c44"],
    ceiling=["pss-baseline", "pss-restricted"],
    left_alone="it is being deleted",
    error_kind="deadline",
    reason="time ran out",
    field="spec.containers",
    findings=[
        Finding(
            rule="privileges/host/network",
            action=Action.DENY,
            path="spec.hostNetwork",
            message="The Pod uses the network of its node.",
            remedy="Remove hostNetwork.",
            privilege="host/network",
            container="main",
            covered_by=["pss-privileged"],
        )
    ],
    more_findings=3,
    needs=[Need("privileges/host/network", "host/network", "spec.hostNetwork")],
    more_needs=4,
    tried=[
        TriedProfile(profile="pss-baseline", usable=True, lacks=["host/network"]),
        TriedProfile(profile="pss-restricted"),
    ],
    more_tried=5,
    access_reviews=[
        AccessAnswer(
            subject="user:2bd806c97f0e00af",
            profile="pss-baseline",
            namespace="train",
            allowed=True,
        )
    ],
    more_access_reviews=6,
    patches=[
        {
            "op": "add",
            "path": "/metadata/annotations",
            "value": {"sallyport.dev/profile": "pss-baseline"},
        }
    ],
    more_patches=7,
    sandbox="gvisor",
    isolation=Isolated(
        mode="by-risk",
        mode_by=ModeSource(kind="profile", name="notebook"),
        score=70,
        threshold=50,
        asked=True,
        excused=True,
        identity=True,
        signals=[
            CountedSignal(
                rule="sandbox/code/notebook",
                points=70,
                path="spec.containers[0].image",
                reason="runs a notebook",
            )
        ],
    ),
    risk=[
        AssessedRisk(
            role="author",
            who="oid:4f9a2c1e-8b7d-4e6f-9a0b-1c2d3e4f5a6b",
            standing="medium",
            effect="sandbox",
            row="shipped/medium",
            events=["6a5874ca-abcd-9d82-5ad39bd71600"],
            event_types=["unfamiliarFeatures"],
            age_s=12.5,
            since="2026-11-22T08:00:00Z",
        )
    ],
    more_risk=8,
    behaviour=["unusual-hour"],
    running=Running("Deployment/llm-pretrain", "gvisor"),
    sweep="019aa68f-4b3b-7000-8000-000000000001",
    revisions=Revisions(
        policy="3f5a9c1b2d4e",
        profiles="9b8c7d6e5f4a",
        risk=41,
        risk_table="sha256:" + "7d" * 32,
    ),
    durations=Durations(total=0.412, evaluation=0.201, access=0.015),
    projection="sha256:" + "5e" * 32,
    context="sha256:" + "c0" * 32,
    fields="sha256:" + "f1" * 32,
)


def changed(**fields: Any) -> bytes:
    """Return the first format's document with some fields of its JSON set."""
    return json.dumps({**json.loads(golden(1)), **fields}).encode()


def golden(number: int) -> bytes:
    """Return the document of a format, as a release of that format wrote it."""
    return (GOLDEN / f"decision-{number}.json").read_bytes()


def test_the_first_format_is_read_as_it_was_meant() -> None:
    """Every field of it, by the names it had."""
    assert decode_document(golden(1)) == FIRST


def test_the_golden_document_has_every_field() -> None:
    """A field that is not in it could change unnoticed."""
    defaults = msgspec.structs.fields(DecisionDocument)
    unset = [each.name for each in defaults if getattr(FIRST, each.name) == each.default]
    assert unset == []


def test_there_is_a_golden_document_of_each_format() -> None:
    """A new format brings its own, and the old ones stay."""
    assert {path.name for path in GOLDEN.glob("decision-*.json")} == {
        f"decision-{number}.json" for number in range(1, FORMAT + 1)
    }


def test_what_is_written_can_be_read() -> None:
    """The same document comes back."""
    assert decode_document(encode_document(FIRST)) == FIRST


@pytest.mark.parametrize("number", [FORMAT - 1, FORMAT + 1])
def test_neighbouring_formats_are_read(number: int) -> None:
    """Fields that this release does not know are passed over."""
    read = decode_document(changed(format=number, later={"a": 1}))
    assert read == msgspec.structs.replace(FIRST, format=number)


@pytest.mark.parametrize("number", [FORMAT - 2, FORMAT + 2])
def test_other_formats_are_refused(number: int) -> None:
    """The message says which it reads."""
    message = f"format {number}: this release reads {FORMAT - 1} to {FORMAT + 1}"
    with pytest.raises(ValueError, match=message):
        decode_document(changed(format=number))


@pytest.mark.parametrize(
    ("mode", "read"), [("never", SandboxMode.NEVER), ("of-a-later-release", SandboxMode.REQUIRED)]
)
def test_the_sandbox_is_read_of_other_releases_too(mode: str, read: SandboxMode) -> None:
    """One before did not say who set the mode; one after may have a mode that nobody knows here."""
    isolation = {"mode": mode, "score": 3}
    decided = recorded_sandbox(decode_document(changed(isolation=isolation)))
    assert decided is not None
    assert (decided.mode, decided.mode_by, decided.score) == (read, None, 3)
    assert recorded_sandbox(decode_document(changed(isolation=None))) is None
