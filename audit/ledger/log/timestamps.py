"""Timestamps of heads by an authority (RFC 3161): what is asked, and what a reply must be.

A timestamp is over the text of a head (`heads.signed_bytes`). Timestamps are lines of JSON:

    {"format", "head", "reply"}   `reply` is the authority's TimeStampResp in base64 (DER)
"""

import base64
import binascii
import datetime as dt
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
from cryptography import x509
from rfc3161_client import (
    HashAlgorithm,
    TimestampRequestBuilder,
    TimeStampResponse,
    VerifierBuilder,
    decode_timestamp_response,
)

from audit.ledger.log.anchor_check import AnchorReading
from audit.ledger.log.anchors import FORMAT as ANCHOR_FORMAT
from audit.ledger.log.anchors import AnchorLine
from audit.ledger.log.heads import TreeHead, encode_head, signed_bytes
from audit.ledger.log.heads import decode_head as _decode_head
from audit.ledger.log.problems import Flaw, make_problem
from core.base.document_part import require_format
from core.base.times import milli_text, milliseconds_of

FORMAT: Final = 1
"""Version of a line. Readers of release N read FORMAT - 1 and FORMAT + 1 as well."""

MOST_REPLY: Final = 64 * 1024
"""Bytes of a reply: with a chain of certificates it has some 8 kB."""

MOST_LINE: Final = 128 * 1024

MOST_AHEAD_MS: Final = 3_600_000
"""A head's own time may be so much later than its timestamp: clocks differ."""

_OPENSSL: Final = re.compile(r'data: "Verify error: ([^"]+)"')


class TimestampError(ValueError):
    """A reply is no timestamp of a head by an authority that is trusted."""


@dataclass(frozen=True)
class TimestampTrust:
    """Whose timestamps are believed."""

    roots: Sequence[x509.Certificate]
    policy: str = ""
    """Dotted; empty: any policy of the authority."""


@dataclass(frozen=True, slots=True)
class TimestampQuery:
    """What an authority is asked."""

    content: bytes
    """TimeStampReq (DER)."""
    nonce: int


class TimestampLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of the file."""

    format: int
    head: TreeHead
    reply: str


def make_query(head: TreeHead) -> TimestampQuery:
    """Return the question for a timestamp of a head: a new nonce, and the certificates."""
    builder = TimestampRequestBuilder(hash_algorithm=HashAlgorithm.SHA256)
    request = builder.data(signed_bytes(head)).cert_request(cert_request=True).build()
    assert request.nonce is not None  # noqa: S101  The builder makes one.
    return TimestampQuery(request.as_bytes(), request.nonce)


def read_trust(pem: bytes, policy: str = "") -> TimestampTrust:
    """Return the trust in the certificates of an authority's CA.

    Raises:
        ValueError: it holds none, or the policy is no object identifier.
    """
    try:
        roots = x509.load_pem_x509_certificates(pem)
    except Exception as error:  # noqa: BLE001  As in `verify_reply`.
        raise ValueError(_describe(error)) from None
    if policy:
        x509.ObjectIdentifier(policy)
    return TimestampTrust(roots, policy)


def verify_reply(
    reply: bytes, head: TreeHead, trust: TimestampTrust, nonce: int | None = None
) -> dt.datetime:
    """Return the time at which an authority says that it saw a head.

    Raises:
        TimestampError: it is no such timestamp: of another text, nonce, policy, chain or purpose.
    """
    try:
        builder = VerifierBuilder(roots=list(trust.roots), nonce=nonce)
        if trust.policy:
            builder = builder.policy_id(x509.ObjectIdentifier(trust.policy))
        response = _decode(reply)
        builder.build().verify_message(response, signed_bytes(head))
        return response.tst_info.gen_time.replace(tzinfo=dt.UTC)
    except Exception as error:  # noqa: BLE001  The libraries raise plain ones, too (InvalidVersion).
        raise TimestampError(_describe(error)) from None


def _describe(error: Exception) -> str:
    """Return what is wrong; of OpenSSL's own words the last, which says it."""
    found = _OPENSSL.findall(str(error))
    return found[-1] if found else str(error) or "it cannot be verified"


def _decode(reply: bytes) -> TimeStampResponse:
    if len(reply) > MOST_REPLY:
        raise TimestampError(f"it has more than {MOST_REPLY:,} bytes")
    response = decode_timestamp_response(reply)
    if response.as_bytes() != reply:
        raise TimestampError("other bytes follow it")
    return response


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(TimestampLine)


def encode_timestamp(head: TreeHead, reply: bytes) -> bytes:
    """Return the line of a timestamp, with its end."""
    coded = base64.b64encode(reply).decode()
    return _ENCODER.encode(TimestampLine(format=FORMAT, head=head, reply=coded)) + b"\n"


def read_timestamps(
    lines: Iterable[bytes], trust: TimestampTrust
) -> Iterator[tuple[TreeHead, int]]:
    """Yield heads that were timestamped, and when (milliseconds since the epoch).

    Raises:
        TimestampError: a line is none, or its timestamp is not to be believed; it names the line.
    """
    for number, line in enumerate(lines, 1):
        if not line.rstrip(b"\n").endswith(b"}"):
            continue  # A crash cut it short; it is tried again then.
        try:
            found = _DECODER.decode(line)
            require_format(found.format, FORMAT)
            head = _decode_head(encode_head(found.head))
            reply = base64.b64decode(found.reply, validate=True)
            time = verify_reply(reply, head, trust)
        except (binascii.Error, RecursionError, ValueError) as error:
            raise TimestampError(f"line {number}: {error}") from None
        yield head, int(time.timestamp() * 1000)


class TimestampedHeads(AnchorReading):
    """What an authority timestamped of a log, as an anchor without marks.

    An authority timestamps what anybody sends it. So the heads keep their signatures, which the
    verifier judges, and they vouch for no key.
    """

    vouches = False

    def __init__(self, found: Iterable[tuple[TreeHead, int]]) -> None:
        """Take heads with the times of their timestamps (milliseconds since the epoch)."""
        times: dict[TreeHead, int] = {}
        for head, time_ms in found:  # A head may be timestamped again: the first time counts.
            times[head] = min(times.get(head, time_ms), time_ms)
        self._heads = sorted(times, key=lambda head: (head.size, head.time))
        if self._heads:
            self.timestamped = milli_text(times[self._heads[-1]])
        super().__init__(f"of what was timestamped until {self.timestamped or 'never'}", ())
        delays = {head: time_ms - milliseconds_of(head.time) for head, time_ms in times.items()}
        self.most_delay_seconds = max([*delays.values(), 0]) // 1000
        first = min(delays, key=delays.__getitem__, default=None)
        if first is not None and delays[first] < -MOST_AHEAD_MS:
            says = f"the head of {first.size:,} records says that it is of {first.time}"
            says += f", and it was timestamped at {milli_text(times[first])}"
            self.problems.append(make_problem(Flaw.AHEAD, says))

    def __iter__(self) -> Iterator[AnchorLine]:
        """Yield each head."""
        for head in self._heads:
            yield AnchorLine(format=ANCHOR_FORMAT, before="", first=head.size, head=head)
