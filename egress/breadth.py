"""Says which destinations are so broad that two people must approve them. Pure.

What counts is what entries reach together: two halves of the Internet are the Internet.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from core.destinations import Destination
from core.dns_names import ANY, WILDCARD
from core.networks import (
    Network,
    Span,
    any_holds,
    merged,
    network_at,
    network_of,
    span_of,
    spans_without,
)
from egress.carving import ALWAYS_RESERVED
from egress.known import TagSource

_BITS: Final = {4: 32, 6: 128}


@dataclass(frozen=True)
class Limits:
    """How broad destinations may be without approval; the operator sets it (`egress.limits`)."""

    ipv4_prefix: int = 16
    """All of an object's IPv4 networks together hold at most as many addresses as one of these."""
    ipv6_prefix: int = 48
    """The same of IPv6: what one site usually has (RFC 6177)."""
    wildcard_labels: int = 2
    """A wildcard has at least so many labels after it: `*.example.com` has two."""
    service_tags: frozenset[str] = frozenset({"AzureCloud", "Internet"})
    """Tags that always need approval, whatever the file says of their size."""

    def prefix(self, version: int) -> int:
        """Give the limit of an IP version, 4 or 6."""
        return {4: self.ipv4_prefix, 6: self.ipv6_prefix}[version]


def breadth(entries: Iterable[Destination], limits: Limits, tags: TagSource) -> tuple[str, ...]:
    """Say for a person what of entries is broader than the limits; empty if nothing is.

    What a set that they refer to holds is the set's: it is approved by itself.
    """
    entries = tuple(entries)
    named = [reason for entry in entries if (reason := _by_name(entry, limits))]
    reserved = (reason for entry in entries for reason in _reserved(entry))
    return (*named, *reserved, *too_many(addresses_of(entries, tags), limits))


def addresses_of(entries: Iterable[Destination], tags: TagSource) -> list[Span]:
    """Give the addresses that entries name by CIDR and by service tag, merged.

    Reserved ranges count too: what is carved out of them is the cluster's choice, not the intent's.
    """
    return merged(span for entry in entries for span in _spans(entry, tags))


def _spans(entry: Destination, tags: TagSource) -> Iterable[Span]:
    if entry.cidr is not None:
        holes = (span_of(network_of(text)) for text in entry.except_ or ())
        return spans_without(span_of(network_of(entry.cidr)), holes)
    if entry.service_tag is not None:
        found = tags.networks(entry.service_tag)
        return () if isinstance(found, str) else map(span_of, found)
    return ()


def _by_name(entry: Destination, limits: Limits) -> str:
    if entry.service_tag is not None:
        listed = {tag.lower() for tag in limits.service_tags}
        broad = entry.service_tag.lower() in listed
        return f"service tag {entry.service_tag}" if broad else ""
    name = entry.dns_name or ""
    if name == ANY:
        return "every DNS name (*)"
    after = name.removeprefix(WILDCARD)
    short = after != name and after.count(".") + 1 < limits.wildcard_labels
    return f"{name}: fewer than {limits.wildcard_labels} labels after its wildcard" if short else ""


def _reserved(entry: Destination) -> Iterator[str]:
    """Say which networks are reserved on every cluster: behind metadata is the node's identity."""
    for text in (*filter(None, (entry.cidr,)), *(entry.within or ())):
        if any_holds(ALWAYS_RESERVED, network_of(text)):
            yield f"{text} lies in a reserved range, such as that of metadata"


def too_many(spans: Sequence[Span], limits: Limits) -> Iterator[str]:
    """Say for a person why addresses are too many; `spans` are merged."""
    for version, bits in _BITS.items():
        of_version = [each for each in spans if each.version == version]
        prefix = limits.prefix(version)
        if sum(each.size for each in of_version) <= 2 ** (bits - prefix):
            continue
        widest = min(map(_widest, of_version), key=lambda each: each.prefixlen)
        if widest.prefixlen < prefix:
            yield f"{widest} is broader than /{prefix}"
        else:
            yield f"its {len(of_version)} IPv{version} networks are together more than a /{prefix}"


def _widest(span: Span) -> Network:
    """Give the first of the largest networks that lie in a span."""
    for free in range(span.size.bit_length() - 1, 0, -1):
        size = 1 << free
        first = -(-span.first // size) * size
        if first + size - 1 <= span.last:
            return network_at(span.version, first, free)
    return network_at(span.version, span.first, 0)
