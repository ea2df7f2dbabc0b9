"""Reads Calico's flow logs: Whisker's of Calico 3.30, those of Calico Enterprise and Cloud. Pure.

Whisker: github.com/projectcalico/calico whisker-backend/pkg/apis/v1/flows.go; names and meaning in
goldmane/proto/api.proto (https://docs.tigera.io/calico/latest/observability/flow-logs-api).
Enterprise and Cloud: https://docs.tigera.io/calico-enterprise/latest/observability/elastic/flow/datatypes.
Names that end in `*` stand for Pods with the same `generateName`. Whisker has no addresses and no
names of the DNS: of a destination outside of the cluster it says `pub` or `pvt`.

What staged policies would deny is in `pending` or `pending_policies` of a flow's policies: such a
flow counts as audited.
"""

from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from typing import Final

import msgspec

from core.base.json_errors import DECODE_ERRORS
from core.base.times import seconds_of
from core.egress.workload_names import gang_of
from egress.flows.pieces import TOO_LONG, BrokenArrayError, bounded, lines_of, peek, records_of
from egress.flows.records import (
    Flow,
    FlowRecord,
    SkippedRecord,
    UnreadableRecord,
    Verdict,
    is_port,
    protocol_of,
)

_NONE: Final = "-"
_ANY: Final = "-*"
_OUTSIDE: Final = frozenset({"pub", "pvt", "net", "hep"})
_MOST_NAMES: Final = 16
_DENY: Final = "deny"


class _Hit(msgspec.Struct, frozen=True):
    action: str = ""


class _Trace(msgspec.Struct, frozen=True):
    pending: list[_Hit] | None = None
    pending_policies: list[str] | None = None


class _Labels(msgspec.Struct, frozen=True):
    labels: list[str] | None = None


class _Log(msgspec.Struct, frozen=True):
    start_time: int | float | str | None = None
    end_time: int | float | str | None = None
    action: str = ""
    reporter: str = ""
    proto: str = ""
    protocol: str = ""
    source_type: str = ""
    source_name: str = ""
    source_name_aggr: str = ""
    source_namespace: str = ""
    source_labels: _Labels | str | None = None
    dest_type: str = ""
    dest_name: str = ""
    dest_name_aggr: str = ""
    dest_namespace: str = ""
    dest_labels: _Labels | str | None = None
    dest_ip: str | None = None
    dest_port: int | None = None
    dest_service_name: str = ""
    dest_service_namespace: str = ""
    dest_service_port_num: int | None = None
    dest_domains: list[str] | None = None
    num_flows_started: int | None = None
    policies: _Trace | None = None


def read_calico(pieces: Iterable[str]) -> Iterator[FlowRecord]:
    """Read an array (also in `items`, as Whisker answers) or lines of JSON."""
    first, whole = peek(pieces)
    head = "".join(first[:80].split())
    if head.startswith(("[", '{"items":')):
        yield from _of_array(whole)
        return
    for number, line in lines_of(whole):
        if line is None:
            yield UnreadableRecord(number, TOO_LONG)
        elif line.strip():
            try:
                yield _read(msgspec.json.decode(line), number)
            except DECODE_ERRORS as error:
                yield UnreadableRecord(number, str(error))


def _of_array(pieces: Iterable[str]) -> Iterator[FlowRecord]:
    number = 0
    try:
        for number, found in enumerate(records_of(pieces, ("items",)), start=1):
            yield _read(found, number)
    except BrokenArrayError as error:
        yield UnreadableRecord(number, f"the file {error}")


def _read(found: object, number: int) -> FlowRecord:
    try:
        log = msgspec.convert(found, _Log)
        return _flow_of(log, number)
    except DECODE_ERRORS as error:
        return UnreadableRecord(number, str(error))
    except ValueError as error:
        return UnreadableRecord(number, str(error))


def _flow_of(log: _Log, number: int) -> FlowRecord:
    if log.reporter.lower() != "src":
        return SkippedRecord("an answer, or seen where it arrives")
    namespace = _plain(log.source_namespace)
    if not namespace or log.source_type in {"hep", "ns", "net"}:
        return SkippedRecord("not of a Pod")
    protocol = protocol_of(log.proto or log.protocol)
    if protocol is None:
        return SkippedRecord("neither TCP, UDP nor SCTP")
    service, port = _plain(log.dest_service_name), log.dest_port or 0
    if service and log.dest_service_port_num:
        port = log.dest_service_port_num
    else:
        service = ""
    if not is_port(port):
        return UnreadableRecord(number, f"dest_port: {port} must be between 1 and 65535")
    outside = (log.dest_type or log.dest_name_aggr or log.dest_name) in _OUTSIDE
    there = "" if outside else _plain(log.dest_namespace)
    return Flow(
        namespace=namespace,
        pod=_pod(log.source_name),
        stem=_stem(log.source_name_aggr or log.source_name),
        gang=gang_of(_labels(log.source_labels)),
        names=tuple(sorted({_name(each) for each in (log.dest_domains or [])[:_MOST_NAMES]})),
        address=ip_address(log.dest_ip) if log.dest_ip and log.dest_ip != _NONE else None,
        to_namespace=_plain(log.dest_service_namespace) if service else there,
        to_pod=_pod(log.dest_name) if there else "",
        to_stem=_stem(log.dest_name_aggr or log.dest_name) if there else "",
        to_service=service,
        to_gang=gang_of(_labels(log.dest_labels)),
        protocol=protocol,
        port=port,
        verdict=_verdict(log),
        first=_time(log.start_time),
        last=_time(log.end_time),
        count=max(log.num_flows_started if log.num_flows_started is not None else 1, 0),
    )


def _verdict(log: _Log) -> Verdict:
    if log.action.lower() != "allow":
        return "dropped" if log.action.lower() == _DENY else "unknown"
    trace = log.policies or _Trace()
    said = [each.action.lower() for each in trace.pending or ()]
    said += [_action(each) for each in trace.pending_policies or ()]
    return "audited" if _DENY in said else "forwarded"


def _action(hit: str) -> str:
    """Return the action of a policy as Enterprise writes it: `0|tier|namespace/policy|deny|1`."""
    parts = hit.split("|")
    return parts[3].lower() if len(parts) > 3 else ""  # noqa: PLR2004 (its place)


def _pod(name: str) -> str:
    return "" if name.endswith("*") else _plain(name)


def _stem(name: str) -> str:
    return bounded(name.removesuffix(_ANY)) if name.endswith(_ANY) else ""


def _plain(name: str) -> str:
    return "" if name == _NONE else bounded(name)


def _name(name: str) -> str:
    return bounded(name.rstrip(".").lower())


def _labels(found: _Labels | str | None) -> dict[str, str]:
    """Return labels, which Whisker writes as one text: `a=b | c=d`."""
    listed = (found.labels if isinstance(found, _Labels) else None) or []
    texts = found.split("|") if isinstance(found, str) else listed
    pairs = (text.strip().partition("=") for text in texts)
    return {bounded(key): bounded(value) for key, _, value in pairs}


def _time(found: float | str | None) -> float | None:
    return seconds_of(found) if isinstance(found, str) else found
