"""The digest by which a Pod is known again."""

import hashlib

import msgspec
import pytest

from core.kubernetes.spec_digest import MOST_SPEC, spec_digest


def test_the_digest_is_of_the_spec_alone() -> None:
    """Whatever stands around it, and in whatever form the object comes."""
    spec = b'{"containers":[{"name":"a","image":"b"}],"nodeName":""}'
    expected = f"sha256:{hashlib.sha256(spec).hexdigest()}"
    before = b'{"kind":"Pod","metadata":{"name":"a"},"spec":' + spec + b"}"
    after = b'{"metadata":{"uid":"1"},"spec":' + spec + b',"status":{"phase":"Pending"}}'
    assert spec_digest(before) == spec_digest(msgspec.Raw(after)) == expected
    assert spec_digest(before.replace(b'"a","image"', b'"c","image"')) != expected


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        b'{"spec":"' + b"x" * MOST_SPEC + b'"}',
        b'{"metadata":"' + b"x" * 2 * MOST_SPEC + b'","spec":{}}',
    ],
    ids=["empty", "list", "none", "text", "deep", "large", "around"],
)
def test_what_has_none_or_too_much_has_no_digest(content: bytes) -> None:
    """It is confirmed by the audit log, or not at all."""
    assert spec_digest(content) == ""
