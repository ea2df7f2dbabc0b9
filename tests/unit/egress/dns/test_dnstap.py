"""What is read of a DNS server's log, and that nothing is read of what is no log."""

import struct
from collections.abc import Iterable

import dns.flags
import dns.message
import dns.rrset
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import DnsLogError
from egress.dns.dnstap import (
    ACCEPT,
    CONTENT_TYPE,
    READY,
    START,
    STOP,
    answered_addresses,
    asked_name,
    control_frame,
    read_client_answer,
    read_control,
)

CLIENT_QUERY, CLIENT_RESPONSE = 5, 6


def varint(value: int) -> bytes:
    """Encode a number as protobuf does."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: int | bytes, *, fixed: int = 0) -> bytes:
    """Encode a field; a number as varint, or in so many bytes."""
    if fixed:
        assert isinstance(value, int)
        return varint(number << 3 | {4: 5, 8: 1}[fixed]) + value.to_bytes(fixed, "little")
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def answer(name: str, *records: str, kind: str = "A", class_: str = "IN") -> bytes:
    """Return a DNS answer; records as `name ttl class type data`."""
    response = dns.message.make_response(dns.message.make_query(name, kind, class_))
    for record in records:
        owner, ttl, rdclass, rdtype, data = record.split(maxsplit=4)
        response.answer.append(dns.rrset.from_text(owner, int(ttl), rdclass, rdtype, data))
    return response.to_wire()


def name_of(log_frame: bytes) -> str | None:
    """Return the name that is read of a message."""
    found = read_client_answer(log_frame)
    return asked_name(found.response) if found else None


def frame(kind: int, parts: Iterable[bytes]) -> bytes:
    """Return a dnstap message by `dnstap.proto`, with what else a server writes of itself."""
    inner = field(1, kind) + b"".join(parts)
    return field(1, b"coredns-1") + field(2, b"CoreDNS-1.15.0") + field(15, 1) + field(14, inner)


others = st.one_of(
    st.builds(field, st.sampled_from([2, 3, 6, 7, 8, 12]), st.integers(0, 2**63)),
    st.builds(field, st.sampled_from([4, 5, 10, 11]), st.binary(max_size=40)),
    st.builds(lambda value: field(9, value, fixed=4), st.integers(0, 2**32 - 1)),
    st.builds(lambda value: field(99, value, fixed=8), st.integers(0, 2**64 - 1)),
)
labels = st.from_regex(r"[A-Za-z0-9_]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)
hosts = st.lists(labels, min_size=1, max_size=6).map(".".join)


@given(hosts, st.lists(others, max_size=6), st.lists(others, max_size=6))
def test_the_name_is_read_among_all_other_fields(
    host: str, before: list[bytes], after: list[bytes]
) -> None:
    """In whatever order, with fields that nobody knows, in lower case."""
    response = field(14, answer(host))
    assert name_of(frame(CLIENT_RESPONSE, [*before, response, *after])) == host.lower()
    assert name_of(frame(CLIENT_QUERY, [*before, response, *after])) is None
    assert name_of(frame(CLIENT_RESPONSE, before)) is None


@given(st.binary(max_size=300))
def test_strangers_bytes_are_no_log_or_say_nothing(raw: bytes) -> None:
    """They raise nothing else, whether they stand for a message, a control frame or an answer."""
    for read in (name_of, read_control, asked_name, answered_addresses):
        try:
            read(raw)
        except DnsLogError:
            continue


@given(hosts, st.data())
def test_a_message_cut_short_is_told(host: str, data: st.DataObject) -> None:
    """A log never says half a name."""
    whole = frame(CLIENT_RESPONSE, [field(14, answer(host))])
    cut = data.draw(st.integers(whole.index(b"CoreDNS") + 15, len(whole) - 1))
    try:
        assert name_of(whole[:cut]) is None
    except DnsLogError:
        return


@given(hosts)
def test_names_are_read_as_a_dns_library_reads_them(host: str) -> None:
    """In lower case; the cheap reading has no other opinion than the careful one."""
    response = answer(host)
    parsed = dns.message.from_wire(response).question[0].name
    assert asked_name(response) == parsed.to_text(omit_final_dot=True).lower()


def test_a_dot_within_a_label_makes_no_other_name() -> None:
    r"""`a\.example.com` is a name of com's owner: it must not be taken for `a.example.com`."""
    assert asked_name(answer(r"a\.example.com.")) is None
    assert asked_name(answer("a.example.com.")) == "a.example.com"


def _with_flags(response: bytes, flags: int, questions: int = 1) -> bytes:
    return response[:2] + struct.pack(">HH", flags, questions) + response[6:]


_HEADER = b"\0\0\x80\0\0\1\0\0\0\0\0\0"
OTHERS = {
    "text": answer("a.example.com", kind="TXT"),
    "HTTPS": answer("a.example.com", kind="HTTPS"),
    "another class": answer("a.example.com", class_="CH"),
    "the root": answer("."),
    "a space": answer("a b.example.com"),
    "a question": dns.message.make_query("a.example.com", "A").to_wire(),
    "an update (RFC 2136)": _with_flags(answer("a.example.com"), dns.flags.QR | 0x2800),
    "two questions": _with_flags(answer("a.example.com"), dns.flags.QR, questions=2),
    "no question": _with_flags(answer("a.example.com"), dns.flags.QR, questions=0),
    "a name that leads to itself": _HEADER + b"\xc0\x0c\0\1\0\1",
    "a name without an end": _HEADER + b"\x3f" + b"a" * 63 * 5,
    "a name that is too long": _HEADER + (b"\x3f" + b"a" * 63) * 5 + b"\0\0\1\0\1",
    "one that is cut short": answer("a.example.com")[:-1],
}


@pytest.mark.parametrize("response", OTHERS.values(), ids=OTHERS)
def test_other_questions_name_nothing(response: bytes) -> None:
    """Neither those that ask for no address, nor those that no host name is asked by."""
    assert asked_name(response) is None


def test_addresses_are_those_at_the_end_of_the_chain() -> None:
    """An address that the answer holds beside its own chain of names is none of the name's."""
    found = answered_addresses(
        answer(
            "a.example.com.",
            "a.example.com. 60 IN CNAME b.example.net.",
            "b.example.net. 60 IN A 192.0.2.7",
            "victim.example.org. 60 IN A 192.0.2.66",
        )
    )
    assert [str(each) for each in found] == ["192.0.2.7"]
    six = answer("a.example.com.", "a.example.com. 60 IN AAAA 2001:db8::7", kind="AAAA")
    assert [str(each) for each in answered_addresses(six)] == ["2001:db8::7"]
    assert answered_addresses(answer("a.example.com.")) == ()


def test_a_chain_that_leads_in_a_circle_is_no_answer() -> None:
    """It is told, and costs no more than another one."""
    circle = answer(
        "a.example.com.",
        "a.example.com. 60 IN CNAME b.example.com.",
        "b.example.com. 60 IN CNAME a.example.com.",
    )
    with pytest.raises(DnsLogError, match="has an answer that is none"):
        answered_addresses(circle)


def test_the_client_is_read_with_the_answer() -> None:
    """By `query_address` of dnstap.proto, and empty where the log leaves it out."""
    response = answer("a.example.com")
    told = read_client_answer(
        frame(CLIENT_RESPONSE, [field(4, bytes((10, 0, 0, 7))), field(14, response)])
    )
    silent = read_client_answer(frame(CLIENT_RESPONSE, [field(14, response)]))
    assert told == (bytes((10, 0, 0, 7)), response)
    assert silent == (b"", response)


def test_an_answer_that_the_log_lacks_is_an_empty_one() -> None:
    """CoreDNS without `full` writes neither `query_message` nor `response_message`."""
    client = field(4, bytes((10, 0, 0, 7)))
    assert read_client_answer(frame(CLIENT_RESPONSE, [client])) == (bytes((10, 0, 0, 7)), b"")
    assert read_client_answer(frame(CLIENT_RESPONSE, [field(14, 7)])) == (b"", b"")
    assert read_client_answer(frame(CLIENT_QUERY, [client])) is None


@pytest.mark.parametrize("kind", [ACCEPT, START, READY, STOP])
def test_control_frames_come_back(kind: int) -> None:
    """With the content type where `fstrm/control.h` has it, after an escape and a length."""
    sent = control_frame(kind)
    escape, size = struct.unpack_from(">II", sent)
    assert (escape, size) == (0, len(sent) - 8)
    assert read_control(sent[8:]) == kind
    assert (CONTENT_TYPE in sent) == (kind != STOP)


def test_a_stream_of_another_kind_is_refused() -> None:
    """It would be read as something that it is not."""
    body = struct.pack(">III", READY, 1, 9) + b"text/html"
    with pytest.raises(DnsLogError, match="of another kind"):
        read_control(body)
