"""What kube-apiserver is told: verdicts, patches, warnings, audit annotations."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InvalidReviewError
from core.decision.decision import Action, Decision, Finding, Verdict
from core.decision.request import Request
from tests.unit.webhooks.judge import DECISION_ID, approval, refusal
from tests.unit.webhooks.reviews import encode, review
from webhooks.review_decoder import decode_review
from webhooks.review_encoder import (
    encode_answer,
    encode_failure,
    fit_warnings,
    mutation_patches,
    no_patches,
)


def request(metadata: Any = None, **changes: Any) -> Request:
    """Return a request whose object has this metadata."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata or {}, "spec": {}}
    return decode_review(encode(review(**({"object": pod} | changes))))


def mutated(asked: Request, decision: Decision) -> bytes:
    """Return the body that answers `/mutate`."""
    return encode_answer(asked, decision, mutation_patches(asked, decision))


def patch_of(body: bytes) -> Any:
    """Return the JSONPatch of a response, decoded; None without one."""
    response = json.loads(body)["response"]
    assert ("patch" in response) == ("patchType" in response)
    if "patch" not in response:
        return None
    assert response["patchType"] == "JSONPatch"
    return json.loads(base64.b64decode(response["patch"]))


def test_an_admission_is_answered_exactly() -> None:
    """The uid is echoed, and no status is needed."""
    assert json.loads(encode_answer(request(), approval(), [])) == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "allowed": True,
            "auditAnnotations": {
                "decision": DECISION_ID,
                "verdict": "allow",
                "mode": "enforce",
                "profile": "restricted",
                "policy": "4f0c2a9e11aa",
                "profiles": "77aa01b2c3d4",
            },
        },
    }


def test_a_denial_is_a_403_forbidden() -> None:
    """The message is the decision's, and the finding is in the audit annotations."""
    response = json.loads(encode_answer(request(), refusal(), []))["response"]
    assert response["allowed"] is False
    assert response["status"] == {
        "code": 403,
        "message": f"Pod train/llama-0: 1 finding (decision {DECISION_ID})",
        "reason": "Forbidden",
    }
    assert response["auditAnnotations"]["findings"] == "privileges/host/privileged=host/privileged"


def test_an_error_is_told_apart_from_a_denial() -> None:
    """Nobody could judge: code 500, reason InternalError, and refused all the same."""
    decision = refusal(verdict=Verdict.ERROR, error_kind="evaluation", message="cannot judge")
    response = json.loads(encode_answer(request(), decision, []))["response"]
    assert response["allowed"] is False
    assert response["status"] == {
        "code": 500,
        "message": "cannot judge",
        "reason": "InternalError",
    }


def test_a_failure_without_a_decision_refuses() -> None:
    """The last resort is an AdmissionReview that refuses."""
    response = json.loads(encode_failure(request(), "it broke"))["response"]
    assert (response["allowed"], response["status"]["code"]) == (False, 500)
    assert response["auditAnnotations"] == {"verdict": "error"}


def test_a_denial_admitted_by_mode_has_no_status() -> None:
    """A namespace in mode `warn` admits: the author is warned and nothing is refused."""
    decision = refusal(allowed=True, mode="warn", warnings=["would be refused"])
    response = json.loads(encode_answer(request(), decision, []))["response"]
    assert response["allowed"] is True
    assert "status" not in response
    assert response["warnings"] == ["would be refused"]
    assert response["auditAnnotations"]["verdict"] == "deny"


def test_validation_never_has_a_patch() -> None:
    """kube-apiserver fails a validating response with one."""
    noting = approval(recorded={"sallyport.dev/profile": "restricted"})
    assert no_patches(request(), noting) == []
    assert patch_of(encode_answer(request(), noting, [])) is None


@pytest.mark.parametrize(
    ("metadata", "patch"),
    [
        ({"name": "a"}, ("/metadata/annotations", {"sallyport.dev/profile": "restricted"})),
        ({"annotations": {}}, ("/metadata/annotations", {"sallyport.dev/profile": "restricted"})),
        ({"annotations": None}, ("/metadata/annotations", {"sallyport.dev/profile": "restricted"})),
        (
            {"annotations": {"a": "b"}},
            ("/metadata/annotations/sallyport.dev~1profile", "restricted"),
        ),
        (
            {"annotations": {"sallyport.dev/profile": "baseline"}},
            ("/metadata/annotations/sallyport.dev~1profile", "restricted"),
        ),
    ],
)
def test_the_profile_is_noted_without_losing_annotations(
    metadata: Any, patch: tuple[str, Any]
) -> None:
    """The map is added only where there is none; else only the one key."""
    path, value = patch
    body = mutated(request(metadata), approval(recorded={"sallyport.dev/profile": "restricted"}))
    assert patch_of(body) == [{"op": "add", "path": path, "value": value}]


def test_an_object_without_metadata_gets_it() -> None:
    """JSONPatch cannot add below what is not there."""
    body = mutated(
        request(object={"kind": "Pod"}), approval(recorded={"sallyport.dev/profile": "restricted"})
    )
    value = {"annotations": {"sallyport.dev/profile": "restricted"}}
    assert patch_of(body) == [{"op": "add", "path": "/metadata", "value": value}]


@pytest.mark.parametrize(
    ("changes", "decision"),
    [
        ({}, approval()),
        ({}, approval(recorded={"sallyport.dev/profile": ""})),
        ({}, refusal(recorded={"sallyport.dev/profile": "restricted"})),
        (
            {"operation": "DELETE", "object": None},
            approval(recorded={"sallyport.dev/profile": "restricted"}),
        ),
    ],
)
def test_nothing_else_is_patched(changes: Any, decision: Any) -> None:
    """No patch without a note, on a refusal, or on DELETE."""
    assert patch_of(mutated(request(**changes), decision)) is None


def test_noting_twice_changes_nothing() -> None:
    """A reinvoked webhook is idempotent."""
    noted = request({"annotations": {"sallyport.dev/profile": "restricted"}})
    assert (
        patch_of(mutated(noted, approval(recorded={"sallyport.dev/profile": "restricted"}))) is None
    )


@pytest.mark.parametrize("metadata", [5, {"annotations": ["a"]}, {"annotations": {"a": 1}}])
def test_mistyped_metadata_is_an_invalid_review(metadata: Any) -> None:
    """kube-apiserver never sends it."""
    with pytest.raises(InvalidReviewError, match="metadata: must be an object"):
        mutated(
            request(object={"metadata": metadata}),
            approval(recorded={"sallyport.dev/profile": "restricted"}),
        )


def test_findings_stay_under_ten_kibibytes_and_are_counted() -> None:
    """What does not fit is counted; the value stays a valid annotation."""
    findings = [
        Finding(f"privileges/rule-{i}", Action.DENY, "", "", "", "é" * 40) for i in range(1000)
    ]
    body = encode_answer(request(), refusal(findings=findings), [])
    value = json.loads(body)["response"]["auditAnnotations"]["findings"]
    assert len(value.encode()) < 10 * 1024
    shown = value.split(",")
    assert shown[-1] == f"… and {1000 - (len(shown) - 1)} more"


def test_a_long_warning_is_wrapped_at_words() -> None:
    """Each line has at most 120 characters, and no word is lost."""
    text = " ".join(f"word{i}" for i in range(60))
    lines = fit_warnings([text])
    assert all(len(line) <= 120 for line in lines)
    assert " ".join(line.removeprefix("… ") for line in lines) == text


def test_too_many_warnings_are_cut_with_a_count() -> None:
    """Past 4,096 characters kube-apiserver would cut each one."""
    lines = fit_warnings([f"{i} " + "x" * 100 for i in range(100)])
    assert sum(map(len, lines)) <= 4096
    assert lines[-1] == f"… and {100 - (len(lines) - 1)} more lines of warnings"


@given(st.lists(st.text(max_size=2000), max_size=20))
def test_any_warnings_fit_a_header(texts: list[str]) -> None:
    """No control characters, no duplicates, none empty, 120 each, 4,096 in all."""
    lines = fit_warnings(texts)
    assert all(0 < len(line) <= 120 and line.isprintable() for line in lines)
    assert len(lines) == len(set(lines))
    assert sum(map(len, lines)) <= 4096
