"""What is read from an AdmissionReview, and what is refused as none."""

import copy
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from admission.objects.size_limits import MAX_SKIPPED_VALUES
from core.base.errors import InvalidReviewError
from core.decision.request import Kind, Operation
from tests.unit.webhooks.reviews import encode, review
from webhooks.review_decoder import decode_review


def changed(path: str, value: Any) -> bytes:
    """Return a review in which one field is another; `...` takes it out."""
    document: Any = copy.deepcopy(review())
    node, keys = document, path.split(".")
    for key in keys[:-1]:
        node = node[key]
    if value is ...:
        del node[keys[-1]]
    else:
        node[keys[-1]] = value
    return encode(document)


def test_a_review_of_kube_apiserver_is_read_whole() -> None:
    """Every field that a decision may need arrives, and the object stays as it was written."""
    document = review(subResource="ephemeralcontainers", dryRun=True)
    request = decode_review(encode(document))
    assert request.uid == "705ab4f5-6393-11e8-b7cc-42010a800002"
    assert request.kind == Kind("Pod", "v1", "")
    assert (request.operation, request.dry_run) == (Operation.CREATE, True)
    assert (request.namespace, request.name) == ("train", "llama-0")
    assert request.subresource == "ephemeralcontainers"
    assert request.subject.username == "canary-user@example.com"
    assert request.subject.uid == "canary-uid"
    assert request.subject.groups == ["canary-group", "system:authenticated"]
    assert request.subject.extra == {"canary-key": ["canary-extra"]}
    assert request.object is not None
    assert json.loads(bytes(request.object)) == document["request"]["object"]
    assert request.old_object is None


def test_the_kind_is_the_objects_and_not_the_requested_one() -> None:
    """With matchPolicy Equivalent the object is converted; `requestKind` is what was sent."""
    asked = {"group": "apps", "version": "v1beta1", "kind": "Deployment"}
    given_kind = {"group": "apps", "version": "v1", "kind": "Deployment"}
    request = decode_review(encode(review(kind=given_kind, requestKind=asked)))
    assert request.kind == Kind("Deployment", "v1", "apps")


@pytest.mark.parametrize("patched", [False, True])
def test_what_has_no_name_yet_has_what_it_begins_with(*, patched: bool) -> None:
    """On the way to its final state: who is refused then must know which Pod it was."""
    pod = {"metadata": {"generateName": "llama-"}}
    unnamed = review(name=None, object=pod)
    assert decode_review(encode(unnamed), patched=patched).name == "llama-*"
    long = {"metadata": {"generateName": 254 * "a"}}
    for odd in (long, {"metadata": {"generateName": 5}}, {"metadata": None}, {}):
        assert not decode_review(encode(review(name=None, object=odd)), patched=True).name


def test_a_delete_has_only_the_old_object() -> None:
    """DELETE comes with `object: null`; the old object is what is judged."""
    request = decode_review(encode(review(operation="DELETE", object=None, oldObject={"a": 1})))
    assert request.object is None
    assert request.old_object is not None
    assert bytes(request.old_object) == b'{"a": 1}'


def test_a_generated_name_is_empty() -> None:
    """With generateName there is no name yet at mutation."""
    document = review()
    del document["request"]["name"]
    assert decode_review(encode(document)).name == ""


def test_unknown_fields_are_skipped() -> None:
    """A newer kube-apiserver may say more; nothing is lost by that."""
    document = review(fromTheFuture={"deep": [1, 2, {"x": None}]})
    document["alsoNew"] = True
    assert decode_review(encode(document)).name == "llama-0"


@pytest.mark.parametrize("field", ["namespace", "name", "subResource", "dryRun", "oldObject"])
def test_a_null_is_an_absent_field(field: str) -> None:
    """Go reads null as the zero value, and writes a nil slice as null."""
    document = review()
    document["request"].pop(field, None)
    absent = decode_review(encode(document))
    null = decode_review(changed(f"request.{field}", None))
    assert structs.replace(null, submitted=None) == structs.replace(absent, submitted=None)


def test_null_groups_and_extra_are_none() -> None:
    """A nil slice inside `extra` is an empty list."""
    user = {"username": "a", "groups": None, "extra": {"scopes": None}}
    subject = decode_review(encode(review(userInfo=user))).subject
    assert (subject.groups, subject.extra) == ([], {"scopes": []})


def test_the_longest_names_of_kubernetes_are_read() -> None:
    """253 characters of a DNS name, 63 of a label (RFC 1123)."""
    kind = {"kind": "K" * 63, "version": "v" * 63, "group": "g" * 253}
    names: dict[str, Any] = {"namespace": "n" * 253, "name": "n" * 253, "subResource": "s" * 253}
    request = decode_review(encode(review(kind=kind, **names)))
    assert request.kind == Kind("K" * 63, "v" * 63, "g" * 253)
    assert {len(request.namespace), len(request.name), len(request.subresource)} == {253}


MANY_KEYS: dict[str, list[str]] = {f"key-{number}": [] for number in range(101)}
LARGE_VALUES = {"a": ["v"] * 600, "b": ["v"] * 401}


def test_the_largest_identity_is_read() -> None:
    """More than any identity provider sends through kube-apiserver."""
    extra = {f"key-{number}": ["v" * 5_000] * 10 for number in range(100)}
    user = {"username": "u" * 1024, "uid": "u" * 1024, "groups": ["g" * 1024] * 1000}
    subject = decode_review(encode(review(userInfo=user | {"extra": extra}))).subject
    assert (len(subject.groups), len(subject.extra)) == (1000, 100)


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("apiVersion", "admission.k8s.io/v1beta1", "apiVersion: must be admission.k8s.io/v1"),
        ("apiVersion", ..., "apiVersion: is missing"),
        ("kind", "Pod", "kind: must be AdmissionReview"),
        ("request", ..., "request: is missing"),
        ("request", None, "request: Expected object, got null"),
        ("request.uid", ..., "request.uid: is missing"),
        ("request.uid", "", "request.uid: Expected str of length >= 1"),
        ("request.uid", "u" * 129, "request.uid: Expected str of length <= 128"),
        ("request.uid", 7, "request.uid: Expected str, got int"),
        ("request.operation", ..., "request.operation: is missing"),
        ("request.operation", "canary", "request.operation: must be one of CREATE, UPDATE"),
        ("request.kind", ..., "request.kind: is missing"),
        ("request.kind", {"version": "v1"}, "request.kind.kind: is missing"),
        ("request.kind", {"version": "v1", "kind": ""}, "request.kind: kind and version"),
        ("request.userInfo", ..., "request.userInfo: is missing"),
        ("request.userInfo", {}, "request.userInfo.username: is missing"),
        ("request.userInfo.groups", ["a", 4], "request.userInfo.groups[1]: Expected str"),
        ("request.userInfo.extra", {"canary": 4}, "request.userInfo.extra[...]: Expected array"),
        ("request.userInfo.username", "u" * 1025, "request.userInfo.username: Expected str of"),
        ("request.userInfo.uid", "u" * 1025, "request.userInfo.uid: Expected str of length"),
        ("request.userInfo.groups", ["g"] * 1001, "request.userInfo.groups: Expected array of"),
        ("request.userInfo.groups", ["g" * 1025], "request.userInfo.groups[0]: Expected str of"),
        ("request.userInfo.extra", MANY_KEYS, "request.userInfo.extra: Expected object of"),
        ("request.userInfo.extra", {"a": ["v"] * 1001}, "request.userInfo.extra[...]: Expected"),
        ("request.userInfo.extra", LARGE_VALUES, "request.userInfo.extra: has more than 1,000"),
        ("request.object", 5, "request.object: must be an object or null"),
        ("request.object", ["canary"], "request.object: must be an object or null"),
        ("request.object", None, "request.object: is missing for CREATE"),
        ("request.oldObject", "canary", "request.oldObject: must be an object or null"),
        ("request.dryRun", "true", "request.dryRun: Expected bool | null, got str"),
        ("request.namespace", "n" * 254, "request.namespace: Expected str of length <= 253"),
        ("request.name", "n" * 900_000, "request.name: Expected str of length <= 253"),
        ("request.subResource", "n" * 254, "request.subResource: Expected str of length <= 253"),
        ("request.kind.kind", "K" * 64, "request.kind.kind: Expected str of length <= 63"),
        ("request.kind.version", "v" * 64, "request.kind.version: Expected str of length <= 63"),
        ("request.kind.group", "g" * 254, "request.kind.group: Expected str of length <= 253"),
    ],
)
def test_what_is_wrong_is_named_by_its_field(path: str, value: Any, says: str) -> None:
    """The message names the field and what it must be, and repeats no value."""
    with pytest.raises(InvalidReviewError) as caught:
        decode_review(changed(path, value))
    assert str(caught.value).startswith(says)
    assert "canary" not in str(caught.value)
    assert caught.value.status == 400


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "the body is empty"),
        (b"{", "the body: Input data was truncated"),
        (b"[]", "the body: Expected object, got array"),
        (b"null", "the body: Expected object, got null"),
        (b"\xff\xfe{}", "the body is not UTF-8 at byte 0"),
        (b'{"a":' + b"[" * 100_000, "the body is nested too deeply"),
        (encode(review()) + b"x", "the body: JSON is malformed: trailing characters"),
        (encode(review())[:-3], "the body: Input data was truncated"),
        (encode(review()).replace(b"llama-0", b"llama-\xe9"), "the body is not UTF-8"),
        (encode(review()).replace(b"train:1", b"train:\x01"), "the body: JSON is malformed"),
    ],
)
def test_what_is_no_json_is_refused(body: bytes, says: str) -> None:
    """Also where the fault is inside the object, which is kept as it came."""
    with pytest.raises(InvalidReviewError) as caught:
        decode_review(body)
    assert str(caught.value).startswith(says)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    """No input whatsoever ends in another exception."""
    with pytest.raises(InvalidReviewError):
        decode_review(body)


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(field=st.sampled_from(sorted(review()["request"])), value=_JSON)
def test_any_value_of_any_field_is_read_or_refused(field: str, value: Any) -> None:
    """A mistyped field is refused by name; one that is fine, or not read, is read."""
    try:
        request = decode_review(changed(f"request.{field}", value))
    except InvalidReviewError as error:
        assert str(error).startswith(f"request.{field}")  # noqa: PT017  Either end is right.
    else:
        assert request.kind.kind


@given(st.integers(min_value=0, max_value=len(encode(review())) - 1))
def test_every_truncation_is_refused(length: int) -> None:
    """A body cut anywhere is no review."""
    with pytest.raises(InvalidReviewError):
        decode_review(encode(review())[:length])


def of_values(count: int, **changes: Any) -> bytes:
    """Return a review whose object holds about so many values, as kube-apiserver writes it."""
    made = {"metadata": {"name": "x"}, "spec": {"containers": [{}], "extra": [{}] * (count // 2)}}
    return json.dumps(review(object=made, **changes), separators=(",", ":")).encode()


@pytest.mark.parametrize("count", [40_000, MAX_SKIPPED_VALUES - 1000])
def test_the_values_of_a_large_review_are_counted(count: int) -> None:
    """Not to the last one: the review has some besides its objects."""
    request = decode_review(of_values(count))
    assert count <= request.value_count <= count + 100
    assert request.object is not None
    assert len(bytes(request.object)) > count


def test_the_values_of_a_small_review_are_not_counted() -> None:
    """It is read before that would be done."""
    assert decode_review(encode(review(padding=20_000))).value_count == 0


@pytest.mark.parametrize("operation", ["CREATE", "UPDATE", "DELETE"])
def test_objects_of_too_many_values_are_not_even_looked_for(operation: str) -> None:
    """All that stands before them is there, for the error that names the object."""
    large: Any = {"spec": [{}] * MAX_SKIPPED_VALUES}
    old = None if operation == "CREATE" else large
    made: Any = None if operation == "DELETE" else {"metadata": {}}
    request = decode_review(
        of_values(MAX_SKIPPED_VALUES * 2, operation=operation)
        if operation == "CREATE"
        else json.dumps(
            review(object=made, oldObject=old, operation=operation), separators=(",", ":")
        ).encode()
    )
    assert request.value_count > MAX_SKIPPED_VALUES
    assert (request.namespace, request.name) == ("train", "llama-0")
    assert request.operation is Operation(operation)
    assert request.subject.username == "canary-user@example.com"
    assert request.object == msgspec.Raw(b"{}")
    assert request.old_object is None


def test_a_review_that_kube_apiserver_did_not_write_is_refused_for_its_size() -> None:
    """Where its objects are cannot be told without reading them."""
    document = review(object={"spec": [{}] * MAX_SKIPPED_VALUES})
    spaced = json.dumps(document).encode()
    with pytest.raises(InvalidReviewError, match="the body holds more than 250,000 values"):
        decode_review(spaced)


@pytest.mark.parametrize(
    ("changes", "dry_run"),
    [
        ({"dryRun": True}, True),
        ({"dryRun": False}, False),
        ({"dryRun": True, "options": None}, True),
        ({"dryRun": False, "options": {"kind": "CreateOptions", "fieldManager": "a}"}}, False),
        ({"dryRun": False, "options": {"fieldManager": ',"dryRun":true}}'}}, False),
        ({"dryRun": False, "options": {"dryRun": True}}, False),
    ],
)
def test_a_dry_run_of_what_is_not_read_stays_one(changes: Any, *, dry_run: bool) -> None:
    """It is said after the objects; nothing in them, or in the options, says it in its place."""
    request = decode_review(of_values(MAX_SKIPPED_VALUES * 2, **changes))
    assert request.dry_run is dry_run
    hidden: Any = {"spec": [{}] * MAX_SKIPPED_VALUES, "z": {"a": 1, "dryRun": True}}
    text = json.dumps(review(object=hidden, **changes), separators=(",", ":")).encode()
    assert decode_review(text).dry_run is dry_run
