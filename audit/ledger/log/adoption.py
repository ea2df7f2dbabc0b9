"""The record of what was taken into the log that had been stored without one. Pure.

An earlier release had no log. Once, after the upgrade, its rows get their leaves: in each step such
a record comes first, and so many leaves follow it. The last one says that it is done. A verifier
takes it for an upgrade only where it stands in the log's first days.
"""

from typing import Final

import msgspec

from core.base.times import milli_text

FORMAT: Final = 1
"""Version of the record. Readers of release N read FORMAT - 1 and FORMAT + 1 as well."""

OPEN_DAYS: Final = 1
"""For so long after the upgrade an earlier release may go on writing beside the new one."""

MOST_OPEN_DAYS: Final = 6
"""After so many days nothing is taken in any more, also if it is not done."""

FIRST_DAYS: Final = 7
"""Days after the log's first head in which a verifier expects such records."""


class Adoption(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The next leaves were taken in, and not recorded when they say."""

    format: int
    id: str
    """UUIDv7 of `time`."""
    time: str
    """RFC 3339, UTC, milliseconds."""
    cluster: str = ""
    """Empty: it is the ledger's own."""
    records: int
    """Leaves that follow; they prove nothing about the time before this one's."""
    last: bool = False
    """Whether it is done: nothing is taken in ever after."""


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Adoption)


def adoption_of(identity: str, now_ms: int, records: int, *, last: bool = False) -> Adoption:
    """Give the record of a time (milliseconds since the epoch)."""
    time = milli_text(now_ms)
    return Adoption(format=FORMAT, id=identity, time=time, records=records, last=last)


def encode_adoption(adoption: Adoption) -> bytes:
    """Give the record as JSON."""
    return _ENCODER.encode(adoption)


def decode_adoption(content: bytes) -> Adoption:
    """Read a record.

    Raises:
        ValueError: it is none; the message names the field.
    """
    adoption = _DECODER.decode(content)
    if not FORMAT - 1 <= adoption.format <= FORMAT + 1:
        message = f"format {adoption.format}: this release reads {FORMAT - 1} to {FORMAT + 1}"
        raise ValueError(message)
    if adoption.records < 0:
        raise ValueError("records: there are no fewer than 0")
    return adoption
