"""A Pod that is read together with its review is what reading it afterwards would give."""

import copy
from itertools import islice
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InvalidReviewError
from core.decision.request import DecodedPod, Request
from core.kubernetes.pod import decode_pod
from tests.harness.worlds.pods import pods
from tests.unit.webhooks.reviews import review
from webhooks.review_decoder import decode_review

PLACES = (
    ("apiVersion",),
    ("request",),
    ("request", "kind"),
    ("request", "kind", "kind"),
    ("request", "kind", "group"),
    ("request", "operation"),
    ("request", "object"),
    ("request", "object", "metadata"),
    ("request", "object", "metadata", "annotations"),
    ("request", "object", "spec"),
    ("request", "object", "spec", "containers"),
    ("request", "object", "spec", "volumes"),
    ("request", "oldObject"),
)
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(max_size=4),
    st.just([]),
    st.just({}),
    st.just([{"name": "é"}]),
    st.just({"name": "Pod"}),
)


def as_sent(document: object) -> bytes:
    """Return JSON as kube-apiserver writes it: without spaces."""
    return msgspec.json.encode(document)


def outcome(body: bytes, *, patched: bool) -> Request | str:
    """Return what is read, its Pod as JSON; or what is said against it."""
    try:
        request = decode_review(body, patched=patched)
    except InvalidReviewError as error:
        return str(error)
    return msgspec.structs.replace(request, submitted=request.object)


def test_a_pod_is_read_together_with_its_review() -> None:
    """Its JSON is the very part of the body; a body to be patched is read as all others."""
    body = as_sent(review())
    request = decode_review(body)
    assert isinstance(request.submitted, DecodedPod)
    assert request.object is not None
    assert bytes(request.object) in body
    assert request.submitted.pod == decode_pod(request.object)
    assert isinstance(decode_review(body, patched=True).submitted, msgspec.Raw)


@pytest.mark.parametrize("pod", [pod for _, pod in islice(pods(seed=7), 200)])
def test_both_ways_give_the_same_pod(pod: Any) -> None:
    """Whatever the Pod holds."""
    body = as_sent(review(object=pod))
    request = decode_review(body)
    assert isinstance(request.submitted, DecodedPod)
    assert request.submitted.pod == decode_pod(as_sent(pod))
    assert bytes(request.submitted.spec()) == as_sent(pod["spec"])
    assert outcome(body, patched=False) == outcome(body, patched=True)


@given(place=st.sampled_from(PLACES), value=VALUES)
def test_both_ways_say_the_same_of_anything_else(place: tuple[str, ...], value: object) -> None:
    """A review that is wrong somewhere is refused in the same words, or left to be judged."""
    document: Any = copy.deepcopy(review())
    node = document
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = value
    body = as_sent(document)
    assert outcome(body, patched=False) == outcome(body, patched=True)


@pytest.mark.parametrize(
    "object_twice",
    [b'"object":{"spec":{"hostNetwork":true}},', b'"object":null,', b'"object":[],'],
    ids=["another", "none", "no object"],
)
def test_of_two_objects_the_last_counts(object_twice: bytes) -> None:
    """As for kube-apiserver's own reader: no second reading finds another Pod."""
    body = as_sent(review())
    first = body.replace(b'"object":{', object_twice + b'"object":{', 1)
    last = body.replace(b',"oldObject"', b"," + object_twice + b'"oldObject"', 1)
    for twice in (first, last):
        assert twice != body
        assert outcome(twice, patched=False) == outcome(twice, patched=True)
    assert decode_review(first).object == decode_review(body).object


def test_spec_of_a_pod_after_a_null_object_is_found() -> None:
    """The digest by which its decision is confirmed is of the object that counts."""
    body = as_sent(review()).replace(b'"object":{', b'"object":null,"object":{', 1)
    request = decode_review(body)
    assert isinstance(request.submitted, DecodedPod)
    assert request.object is not None
    assert bytes(request.submitted.spec()) == as_sent(msgspec.json.decode(request.object)["spec"])


def test_text_that_is_no_utf8_is_refused_either_way() -> None:
    """In a field that no one reads as well: what is recorded would else be no text."""
    body = as_sent(review()).replace(b"canary-value", b"canary-\xff")
    assert "not UTF-8" in str(outcome(body, patched=False))
    assert outcome(body, patched=False) == outcome(body, patched=True)
