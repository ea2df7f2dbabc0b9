"""The protocol of `POST /v1/frames`, which gates and the auditor speak.

The body is frames, one after the other; the answer, `Acknowledged` as JSON. Over mutual TLS: the
client's certificate carries the URI of one of the cluster's processes
(`core.base.process_names.process_uri`).
"""

from typing import Final

import msgspec

FORMAT: Final = 1
"""Version of the request and of the answer; both sides know FORMAT - 1 and FORMAT + 1 as well."""

PATH: Final = "/v1/frames"
CONTENT_TYPE: Final = "application/vnd.sallyport.frames"
FORMAT_HEADER: Final = "Sallyport-Format"
CLUSTER_HEADER: Final = "Sallyport-Cluster"


class Acknowledged(msgspec.Struct, frozen=True, kw_only=True):
    """All frames of a request are kept."""

    format: int
    acknowledged: list[str]
    """The id of each, in hexadecimal."""
    stored: int
    known: int
    quarantined: int
