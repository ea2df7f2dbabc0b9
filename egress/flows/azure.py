"""Reads Azure's flow logs of virtual networks, version 4, and of network security groups. Pure.

Both are files `PT1H.json`. Sources, below https://learn.microsoft.com/azure/network-watcher/:
vnet-flow-logs-overview and nsg-flow-logs-overview (versions 1 and 2; no new ones can be made since
June 2025). They know addresses alone: where Pods leave by their nodes' addresses (overlay
networks), nothing tells which Pod it was, and such flows are counted as of nobody.
"""

import ipaddress
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from core.base.json_errors import DECODE_ERRORS
from egress.flows.pieces import BrokenArrayError, records_of
from egress.flows.records import (
    Flow,
    FlowRecord,
    SkippedRecord,
    UnreadableRecord,
    Verdict,
    is_port,
    protocol_of,
)

_VERSION: Final = 4
_FIELDS: Final = 8
"""Time, source, destination, both ports, protocol, direction, state; counts may follow."""

_LETTERS: Final = {"T": "6", "U": "17"}

_STATES: Final[dict[str, Verdict]] = {
    "B": "forwarded",
    "C": "forwarded",
    "E": "forwarded",
    "D": "dropped",
}


class _Group(msgspec.Struct, frozen=True, rename="camel"):
    flow_tuples: list[str] = []


class _Acl(msgspec.Struct, frozen=True, rename="camel"):
    flow_groups: list[_Group] = []


class _Records(msgspec.Struct, frozen=True):
    flows: list[_Acl] = []


class _Interface(msgspec.Struct, frozen=True, rename="camel"):
    flow_tuples: list[str] = []


class _Rule(msgspec.Struct, frozen=True):
    flows: list[_Interface] = []


class _Properties(msgspec.Struct, frozen=True):
    flows: list[_Rule] = []


class _Record(msgspec.Struct, frozen=True, rename="camel"):
    flow_log_version: int = 0
    flow_records: _Records = _Records()
    properties: _Properties | None = None
    """Of network security groups; those of virtual networks have none."""


def read_azure(pieces: Iterable[str]) -> Iterator[FlowRecord]:
    """Read a file of records; a record that is broken takes no other with it.

    `line` of what could not be read is the record's place, from 1.
    """
    number = 0
    try:
        for number, found in enumerate(records_of(pieces, ("records",)), start=1):
            yield from _read(found, number)
    except BrokenArrayError as error:
        yield UnreadableRecord(number, f"the file {error}")


def _read(found: object, number: int) -> Iterator[FlowRecord]:
    try:
        record = msgspec.convert(found, _Record)
    except DECODE_ERRORS as error:
        yield UnreadableRecord(number, str(error))
        return
    if record.properties is not None:
        for rule in record.properties.flows:
            for interface in rule.flows:
                for each in interface.flow_tuples:
                    yield _of_group(each, number)
        return
    if record.flow_log_version != _VERSION:
        why = f"flowLogVersion {record.flow_log_version}: only {_VERSION} is read"
        yield UnreadableRecord(number, why)
        return
    for acl in record.flow_records.flows:
        for group in acl.flow_groups:
            for each in group.flow_tuples:
                yield _flow_of(each, number)


def _of_group(text: str, number: int) -> FlowRecord:
    """Read a tuple of a network security group, by way of one of a virtual network.

    Its time has seconds, its protocol a letter, and the decision stands before the state.
    """
    parts = text.split(",")
    if len(parts) < _FIELDS:
        return UnreadableRecord(number, f"flowTuples: {len(parts)} fields, not {_FIELDS} or more")
    time, source, destination, origin, port, protocol, direction, decision = parts[:_FIELDS]
    state = "D" if decision == "D" else (parts[_FIELDS] if len(parts) > _FIELDS else "") or "B"
    number_of = _LETTERS.get(protocol, protocol)
    whole = (f"{time}000", source, destination, origin, port, number_of, direction, state)
    return _flow_of(",".join(whole), number)


def _flow_of(text: str, number: int) -> FlowRecord:
    parts = text.split(",")
    if len(parts) < _FIELDS:
        return UnreadableRecord(number, f"flowTuples: {len(parts)} fields, not {_FIELDS} or more")
    time, source, destination, _, port, protocol, direction, state = parts[:_FIELDS]
    if direction == "I":
        return SkippedRecord("came in")
    found = protocol_of(protocol)
    if found is None:
        return SkippedRecord("neither TCP, UDP nor SCTP")
    try:
        at = int(time) / 1000
        flow = Flow(
            source=ipaddress.ip_address(source),
            address=ipaddress.ip_address(destination),
            protocol=found,
            port=int(port),
            verdict=_STATES.get(state, "unknown"),
            first=at,
            last=at,
            count=0 if state in {"C", "E"} else 1,
        )
    except ValueError as error:
        return UnreadableRecord(number, f"flowTuples: {error}")
    return flow if is_port(flow.port) else UnreadableRecord(number, f"flowTuples: port {port}")
