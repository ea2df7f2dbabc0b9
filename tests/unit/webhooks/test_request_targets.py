"""A request's target means the same whole and in pieces, past ASGI and through it."""

from typing import Final

import pytest

from tests.fuzz.targets import check_http

TARGETS: Final = (
    *(b"/validate", b"/validate/", b"//validate", b"//", b"/./validate", b"/x/../validate"),
    *(b"/VALIDATE", b"/Validate", b"/validate;x", b"/validate\\", b'/"<>', b"*", b"validate"),
    *(b"/validate?", b"/validate??a", b"/validate?timeout=%31s", b"?a", b"#"),
    *(b"/validate#f", b"/validate?a#b", b"/validate%23f", b"/validate%3Fa=b"),
    *(b"/v%61lidate", b"/%76alidate", b"/validate%2F", b"/%2Fvalidate", b"%2Fvalidate"),
    *(b"/%2e%2e/validate", b"/v%2561lidate", b"/validate%00", b"/validate%0d%0aX", b"/%", b"/%6"),
    *(b"/%zz", b"/%ff", b"/%c3%a9", b"/\xc3\xa9", b"/v\xe9lidate", b"/validate?\xff", b"/\x7f"),
    *(b"http://gate/validate", b"HTTP://gate/v%61lidate", b"ftp://gate/validate", b"gate:443"),
    *(b"https://u:p@gate:443/validate?timeout=3s", b"http://[::1]/validate"),
    *(b"http://gate", b"http:///validate", b"http://[::1/validate", b"http://gate:99999/validate"),
)


def post(target: bytes, version: bytes = b"1.1", more: bytes = b"") -> bytes:
    """Return a request whose second half is of its body."""
    head = b"POST %b HTTP/%b\r\nHost: gate\r\n%bContent-Length: 512\r\n\r\n"
    return head % (target, version, more) + b"[]".ljust(512)


@pytest.mark.parametrize("pieces", [1, 2])
@pytest.mark.parametrize("target", TARGETS)
def test_a_target_is_read_alike_past_asgi_and_through_it(target: bytes, pieces: int) -> None:
    """Escapes are never decoded, and what is no target gets a 400 whenever its body comes."""
    check_http(bytes([pieces - 1]) + post(target))


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
@pytest.mark.parametrize("asked", [b"", b"keep-alive", b"close", b"keep-alive, close"])
def test_a_connection_is_kept_alike_past_asgi_and_through_it(version: bytes, asked: bytes) -> None:
    """Also of HTTP/1.0, whose connections uvicorn closes always."""
    more = b"Connection: " + asked + b"\r\n" if asked else b""
    check_http(b"\0" + post(b"/validate", version, more))
