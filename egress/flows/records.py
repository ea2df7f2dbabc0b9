"""Records of observed connections, whatever observed them. Pure.

A module beside this one for each format reads them. A flow is one
that a Pod began: answers, and what others send to it, are left out as they are read.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Literal

import msgspec

from core.base.networks import Address
from core.egress.destinations import MAX_PORT, Protocol
from core.egress.workload_names import WorkloadName

LOST: Final = "events that the observer lost: what it saw then is not here"
"""Why a record is passed over that tells of others that are missing."""

Verdict = Literal["forwarded", "audited", "dropped", "unknown"]
"""`audited`: let through, and a policy that only looks on (Cilium's audit mode, Calico's staged
policies) would drop it."""

_PROTOCOLS: Final[dict[str, Protocol]] = {
    "tcp": "TCP",
    "udp": "UDP",
    "sctp": "SCTP",
    "6": "TCP",
    "17": "UDP",
    "132": "SCTP",
}
"""By name, and by IANA's number."""


class Flow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Connections of one source to one destination, on one port."""

    namespace: str = ""
    account: str = ""
    """The service account; empty where it is not known."""
    pod: str = ""
    workload: WorkloadName | None = None
    """What the Pod is of, as far as the log says it."""
    stem: str = ""
    """What the Pod's name begins with, where the log has no more (Calico's aggregated names)."""
    gang: str = ""
    """What Pods of the same run share: `LABEL=VALUE`; empty where nothing says so."""
    source: Address | None = None
    """For sources that are not named."""
    names: tuple[str, ...] = ()
    """DNS names that the source resolved to the destination."""
    address: Address | None = None
    to_namespace: str = ""
    to_pod: str = ""
    to_account: str = ""
    to_workload: WorkloadName | None = None
    to_stem: str = ""
    to_gang: str = ""
    to_service: str = ""
    to_reserved: str = ""
    """What else the destination is to the engine: `host`, `kube-apiserver`, `remote-node` …"""
    protocol: Protocol
    port: int
    """Of the Service, where `to_service` is one; else of the destination itself."""
    verdict: Verdict = "unknown"
    first: float | None = None
    """Unix seconds."""
    last: float | None = None
    count: int = 1
    ended: int = 0
    """Of one that was dropped: how many of its namespace's allowlists had ended by then. So flows
    of before and after an end are not summed up together."""


class DnsAnswer(msgspec.Struct, frozen=True):
    """What the DNS said to a Pod."""

    namespace: str
    pod: str
    """The Pod that asked; where the log has no Pods, empty."""
    name: str
    addresses: tuple[Address, ...]
    workload: WorkloadName | None = None


class SkippedRecord(msgspec.Struct, frozen=True):
    """A record that is no connection that a Pod began."""

    why: str


class UnreadableRecord(msgspec.Struct, frozen=True):
    """A record that could not be read."""

    line: int
    why: str


FlowRecord = Flow | DnsAnswer | SkippedRecord | UnreadableRecord
FlowReader = Callable[[Iterable[str]], Iterator[FlowRecord]]
"""Reads a text that comes in pieces of any length."""


def protocol_of(text: str) -> Protocol | None:
    """Return a protocol by its name or number; None for one that allowlists do not know."""
    return _PROTOCOLS.get(text.strip().lower())


def is_port(number: int) -> bool:
    """Return whether it can be a port."""
    return 1 <= number <= MAX_PORT
