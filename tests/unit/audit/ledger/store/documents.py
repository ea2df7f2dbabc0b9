"""Documents as gates send them, of about 1.2 KB, and their frames."""

from typing import Any

import msgspec

from audit.ledger.records.frames import Frame, FrameKind, decision_frame_id
from core.base.ids import uuid7, uuid7_time
from core.decision.decision import Action, Finding, Need, Verdict
from core.decision.document import (
    FORMAT,
    AccessAnswer,
    Asked,
    DecisionDocument,
    Durations,
    Revisions,
    TriedProfile,
    encode_document,
)
from core.decision.sweep_document import SweepDocument

CLUSTER = "5f0c3c1e-6f0b-4c39-9d0e-2a5c7c4f9f10"
NOW_MS = 1_795_262_400_000
"""2026-11-21, 12:00 UTC."""

RULES = (
    "privileges/host/network",
    "privileges/run_as/root",
    "privileges/seccomp/unset",
    "privileges/capability/add",
    "privileges/volume/host_path",
)


def document(at_ms: int = NOW_MS, verdict: Verdict = Verdict.ALLOW, **changes: Any) -> Any:
    """Return a decision about a Pod; `changes` are fields of the document or of its request."""
    decision_id = changes.pop("id", None) or uuid7(at_ms)
    asked = {name: changes.pop(name) for name in Asked.__struct_fields__ if name in changes}
    made = DecisionDocument(
        format=FORMAT,
        id=decision_id,
        time=uuid7_time(decision_id),
        cluster=CLUSTER,
        source="validate",
        request=Asked(
            **{
                "uid": "0d6c6c5e-8a5b-4a0e-9a57-1f6d2c1b7a31",
                "operation": "CREATE",
                "kind": "Pod",
                "version": "v1",
                "namespace": "train",
                "name": "llm-pretrain-7f9c6-worker-0",
                **asked,
            }
        ),
        requester="system:serviceaccount:kube-system:job-controller",
        subjects=["system:serviceaccount:train:trainer"],
        verdict=verdict,
        allowed=verdict in {Verdict.ALLOW, Verdict.WARN},
        profile="pss-baseline",
        findings=[] if verdict is Verdict.ALLOW else [finding()],
        needs=[
            Need(rule, f"{rule.removeprefix('privileges/')}", "spec.containers[0]", "main")
            for rule in RULES[:3]
        ],
        tried=[
            TriedProfile(profile="pss-restricted", usable=True, lacks=["run-as/root"]),
            TriedProfile(profile="pss-baseline", usable=True),
        ],
        access_reviews=[
            AccessAnswer(
                subject="system:serviceaccount:train:trainer",
                profile=profile,
                namespace="train",
                allowed=True,
            )
            for profile in ("pss-restricted", "pss-baseline")
        ],
        revisions=Revisions(policy="3f5a9c1b2d4e", profiles="9b8c7d6e5f4a"),
        durations=Durations(total=0.412, evaluation=0.201, access=0.015),
        projection="sha256:" + "5e" * 32,
    )
    return msgspec.structs.replace(made, **changes)


def finding(rule: str = RULES[0], action: Action = Action.DENY) -> Finding:
    """Return what is wrong with a Pod."""
    return Finding(
        rule=rule,
        action=action,
        path="spec.hostNetwork",
        message="The Pod uses the network of its node.",
        remedy="Remove hostNetwork, or ask for a profile that covers host/network.",
        privilege="host/network",
        covered_by=["pss-privileged"],
    )


def frame(made: DecisionDocument) -> Frame:
    """Return the frame of a decision."""
    return Frame(FrameKind.DECISION, decision_frame_id(made.id), encode_document(made))


def sweep(at_ms: int = NOW_MS, **changes: Any) -> SweepDocument:
    """Return a finished sweep."""
    made = SweepDocument(
        format=FORMAT,
        id=uuid7(at_ms),
        cluster=CLUSTER,
        started="2026-11-21T12:00:00.000Z",
        finished="2026-11-21T12:05:00.000Z",
        objects=120,
        verdicts={"allow": 118, "deny": 2},
        namespaces=4,
    )
    return msgspec.structs.replace(made, **changes)


def sweep_frame(made: SweepDocument) -> Frame:
    """Return the frame of a sweep."""
    return Frame(FrameKind.SWEEP, decision_frame_id(made.id), msgspec.json.encode(made))
