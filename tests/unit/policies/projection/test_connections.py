"""What the names and paths of proxied requests say, read as kube-apiserver and nodes read them."""

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InvalidObjectError
from core.people.subject import Subject
from policies.projection.connections import (
    CONNECTION_KINDS,
    first_part,
    project_connection,
    split_target,
)
from policies.projection.credentials import project_credential

PARTS = st.lists(st.sampled_from(["metrics", "exec", "..", ".", "", "a b", "%2e%2e"]), max_size=8)
WORDS = st.text(st.characters(exclude_characters=":"), min_size=1, max_size=20)


@given(PARTS)
def test_the_first_part_is_that_of_the_clean_path(parts: list[str]) -> None:
    """No `.`, no `..`, nothing empty: what is sent on to the node begins with it."""
    walked: list[str] = []
    for part in "/".join(parts).split("/"):
        if part == "..":
            walked = walked[:-1]
        elif part not in {"", "."}:
            walked.append(part)
    assert first_part("/".join(parts)) == (walked[0] if walked else "")


@pytest.mark.parametrize(
    ("path", "first"),
    [
        ("/metrics", "metrics"),
        ("metrics/cadvisor", "metrics"),
        ("/metrics/../exec/a", "exec"),
        ("//exec//a", "exec"),
        ("/./run", "run"),
        ("/../../run", "run"),
        ("/", ""),
        ("", ""),
        ("/metrics%2F..%2Fexec", "metrics%2F..%2Fexec"),
    ],
)
def test_paths_are_cleaned_as_kube_apiserver_cleans_them(path: str, first: str) -> None:
    """It decodes once, then joins; what is still encoded stays so on the wire."""
    assert first_part(path) == first


@given(WORDS, WORDS, st.sampled_from(["", "http", "https"]))
def test_all_three_forms_name_the_same(name: str, port: str, scheme: str) -> None:
    """NAME, NAME:PORT and SCHEME:NAME:PORT."""
    assert split_target("PodProxyOptions", name) == (name, "")
    assert split_target("PodProxyOptions", f"{name}:{port}") == (name, port)
    assert split_target("PodProxyOptions", f"{scheme}:{name}:{port}") == (name, port)


@pytest.mark.parametrize("name", ["", ":1", "ftp:a:1", "a:b:c:d", "http::1"])
def test_any_other_form_is_refused_with_the_field(name: str) -> None:
    """As kube-apiserver does."""
    with pytest.raises(InvalidObjectError, match="name: must be NAME"):
        split_target("PodProxyOptions", name)


@pytest.mark.parametrize("kind", sorted(CONNECTION_KINDS))
def test_options_of_another_shape_are_refused(kind: str) -> None:
    """Never read as options that ask for nothing."""
    for broken in (b"[]", b'"a"', b"nonsense"):
        with pytest.raises(InvalidObjectError):
            project_connection(kind, "a", broken)


def test_a_command_longer_than_any_is_refused() -> None:
    """With the field's name."""
    options = msgspec.json.encode({"command": ["a" * 2000]})
    with pytest.raises(InvalidObjectError, match=r"command\[0\]"):
        project_connection("PodExecOptions", "a", options)


def test_arguments_stay_out() -> None:
    """They may hold secrets; that there are some is all that is kept."""
    options = msgspec.json.encode({"command": ["curl", "-H", "Authorization: s3cret"]})
    projection = project_connection("PodExecOptions", "a", options)
    assert projection.object is not None
    assert projection.object.arguments
    assert b"s3cret" not in msgspec.json.encode(projection)


def _pem(name: str) -> bytes:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject)
    made = request.sign(ed25519.Ed25519PrivateKey.generate(), None)
    return made.public_bytes(serialization.Encoding.PEM)


_MINE, _OTHERS = _pem("robot"), _pem("root")
_UNREADABLE = (
    b"",
    b"nonsense",
    b"-----",
    # kube-apiserver reads the second of these, other parsers the first.
    _MINE.rstrip() + b" more\n" + _OTHERS,
    b"x" + _MINE + _OTHERS,
    _MINE + _OTHERS,
    b"-----BEGIN X-----\n!\n-----END X-----\n" + _OTHERS,
    _MINE.replace(b"REQUEST-----\n", b"REQUEST-----\na: b\n\n", 1),
)


@pytest.mark.parametrize("request_", _UNREADABLE)
def test_a_certificate_request_that_cannot_surely_be_read_names_nobody(request_: bytes) -> None:
    """The rule makes findings of that: a user and a group that nobody knows."""
    spec = {"signerName": "kubernetes.io/kube-apiserver-client", "request": request_}
    raw = msgspec.json.encode({"spec": spec})
    projection = project_credential("CertificateSigningRequest", "a", raw)
    assert projection.object is not None
    assert projection.object.common_name == ""
    assert projection.object.organisations == [""]
    assert projection.object.signer == "kubernetes.io/kube-apiserver-client"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("ada@example.com", Subject("ada@example.com").label),
        ("user:fdee430d40bd57de", Subject("user:fdee430d40bd57de").label),
        ("system:node:gpu-7", "system:node:gpu-7"),
        ("0b1f6471-1bf0-4dda-aec3-111122223333", "0b1f6471-1bf0-4dda-aec3-111122223333"),
    ],
)
def test_a_certificates_user_has_no_name_unless_it_is_no_persons(name: str, shown: str) -> None:
    """Whatever the signer: a projection is kept, and so are privileges."""
    for signer in ("kubernetes.io/kube-apiserver-client", "example.com/mesh"):
        raw = msgspec.json.encode({"spec": {"signerName": signer, "request": _pem(name)}})
        projection = project_credential("CertificateSigningRequest", "a", raw)
        assert projection.object is not None
        assert projection.object.common_name == shown


def test_a_signers_name_makes_no_further_segments_than_it_has() -> None:
    """What is not plain is encoded, so that no pattern is spelled by a signer."""
    raw = msgspec.json.encode({"spec": {"signerName": "a b/*/../c", "request": ""}})
    projection = project_credential("CertificateApproval", "a", raw)
    assert projection.object is not None
    assert projection.object.signer == "a%20b/%2A/%2E%2E/c"
