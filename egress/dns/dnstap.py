"""Names that a DNS server has answered, read from its dnstap log. Pure.

A log is a Frame Stream (farsightsec.github.io/fstrm, `fstrm/control.h`) of dnstap messages
(dnstap.info, `dnstap.proto`), of which only `CLIENT_RESPONSE`s are read. They teach no address: a
name that is answered with one that is not known yet is a hint to ask one's own servers for it.
"""

import struct
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final, NamedTuple

import dns.exception
import dns.message
import dns.rdtypes.IN.A
import dns.rdtypes.IN.AAAA

from core.base.errors import DnsLogError
from core.base.networks import Address

CONTENT_TYPE: Final = b"protobuf:dnstap.Dnstap"
MOST_CONTROL_BYTES: Final = 512
"""Of a control frame: `FSTRM_CONTROL_FRAME_LENGTH_MAX` of `fstrm/control.h`."""
MOST_BYTES: Final = 128 * 1024
"""Of a data frame: a DNS message has 64 KiB at most, twice with its question's."""

ACCEPT: Final = 1
START: Final = 2
STOP: Final = 3
READY: Final = 4
FINISH: Final = 5
_CONTENT_TYPE_FIELD: Final = 1

_MESSAGE: Final = 14
"""Field `message` of `Dnstap`."""
_TYPE: Final = 1
"""Field `type` of `Message`."""
_QUERY_ADDRESS: Final = 4
"""Field `query_address` of `Message`."""
_RESPONSE: Final = 14
"""Field `response_message` of `Message`."""
_CLIENT_RESPONSE: Final = 6

_HEADER: Final = struct.Struct(">6H")
"""Of a DNS message (RFC 1035, 4.1.1): id, flags, and how many of four things follow."""
_QR: Final = 0x8000
_QR_AND_OPCODE: Final = 0xF800
_MOST_LABEL: Final = 63
_MOST_NAME: Final = 255
_LETTERS: Final = b"abcdefghijklmnopqrstuvwxyz0123456789-_"
_ADDRESS_QUESTIONS: Final = (b"\0\1\0\1", b"\0\x1c\0\1")
"""A and AAAA of the class IN."""
_ADDRESSES: Final = (dns.rdtypes.IN.A.A, dns.rdtypes.IN.AAAA.AAAA)

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
"""Wire types (protobuf.dev/programming-guides/encoding)."""
_FIXED_SIZES: Final = {_FIXED64: 8, _FIXED32: 4}
_MOST_VARINT_BYTES: Final = 10


def control_frame(kind: int) -> bytes:
    """Return a control frame as it is sent; `ACCEPT` and `READY` name dnstap's content type."""
    body = struct.pack(">I", kind)
    if kind in {ACCEPT, READY, START}:
        body += struct.pack(">II", _CONTENT_TYPE_FIELD, len(CONTENT_TYPE)) + CONTENT_TYPE
    return struct.pack(">II", 0, len(body)) + body


def read_control(body: bytes) -> int:
    """Return the kind of a control frame, without its length.

    Raises:
        DnsLogError: it is none, or of another content type.
    """
    if len(body) < 4:  # noqa: PLR2004
        raise DnsLogError("a control frame of the DNS log is cut short")
    (kind,) = struct.unpack_from(">I", body)
    at, types = 4, []
    while at < len(body):
        if len(body) - at < 8:  # noqa: PLR2004
            raise DnsLogError("a control frame of the DNS log is cut short")
        field, size = struct.unpack_from(">II", body, at)
        at += 8 + size
        if field != _CONTENT_TYPE_FIELD or at > len(body):
            raise DnsLogError("a control frame of the DNS log has a field that is none")
        types.append(body[at - size : at])
    if types and CONTENT_TYPE not in types:
        raise DnsLogError(f"the DNS log is of another kind: {types[0][:64]!r}")
    return int(kind)


class ClientAnswer(NamedTuple):
    """A message of the log that says what a client was answered."""

    client: bytes
    """Its address, of 4 or 16 bytes; empty where the log does not say it."""
    response: bytes
    """The DNS message; empty where the log lacks it (`dnstap … full` has it)."""


def read_client_answer(frame: bytes) -> ClientAnswer | None:
    """Return what a client was answered.

    None for a message of another kind.

    Raises:
        DnsLogError: it is no dnstap message.
    """
    message = dict(_fields(frame)).get(_MESSAGE)
    if not isinstance(message, bytes):
        return None
    found = dict(_fields(message))
    if found.get(_TYPE) != _CLIENT_RESPONSE:
        return None
    client, response = found.get(_QUERY_ADDRESS), found.get(_RESPONSE)
    return ClientAnswer(
        client if isinstance(client, bytes) else b"",
        response if isinstance(response, bytes) else b"",
    )


def asked_name(response: bytes) -> str | None:
    """Return for which name addresses were asked, in lower case, without a last dot.

    None for anything but an answer to one question for A or AAAA, and for names with other letters
    than host names have: a dot may be part of a label, and such a name is no allowlist's. Cheap, so
    that a flood of names that nobody has allowed costs little.
    """
    if len(response) < _HEADER.size:
        return None
    flags, questions = _HEADER.unpack_from(response)[1:3]
    if flags & _QR_AND_OPCODE != _QR or questions != 1:
        return None
    labels, at = [], _HEADER.size
    while size := response[at] if at < len(response) else _MOST_LABEL + 1:
        label = response[at + 1 : at + 1 + size].lower()
        if size > _MOST_LABEL or len(label) != size or label.translate(None, _LETTERS):
            return None
        labels.append(label)
        at += 1 + size
        if at > _MOST_NAME + _HEADER.size:
            return None
    kind = response[at + 1 : at + 5]
    return b".".join(labels).decode("ascii") if labels and kind in _ADDRESS_QUESTIONS else None


def answered_addresses(response: bytes) -> tuple[Address, ...]:
    """Return the addresses that a question was answered with, at the end of its chain of names.

    Raises:
        DnsLogError: it is no DNS message, or contradicts itself.
    """
    try:
        parsed = dns.message.from_wire(response)
        chain = parsed.resolve_chaining() if isinstance(parsed, dns.message.QueryMessage) else None
    except dns.exception.DNSException as error:
        problem = type(error).__name__
        raise DnsLogError(f"the DNS log has an answer that is none ({problem})") from error
    records = chain.answer or () if chain else ()
    return tuple(ip_address(each.address) for each in records if isinstance(each, _ADDRESSES))


def _fields(raw: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a protobuf message; of fixed size ones, their bytes.

    Raises:
        DnsLogError: it is none.
    """
    at = 0
    while at < len(raw):
        key, at = _varint(raw, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _varint(raw, at)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            size, at = _varint(raw, at)
        elif kind in _FIXED_SIZES:
            size = _FIXED_SIZES[kind]
        else:
            raise DnsLogError(f"the DNS log has a field of the unknown wire type {kind}")
        if size > len(raw) - at:
            raise DnsLogError("a message of the DNS log is cut short")
        yield key >> 3, raw[at : at + size]
        at += size


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = 0
    for index in range(_MOST_VARINT_BYTES):
        if at + index >= len(raw):
            break
        byte = raw[at + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:  # noqa: PLR2004
            return value, at + index + 1
    raise DnsLogError("a number of the DNS log is cut short, or too long")
