"""Reads flows from CSV with a header, as anybody can write it. Pure."""

import csv
import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from core.base.errors import InvalidObjectError
from core.base.networks import Address
from core.base.times import seconds_of
from core.egress.dns_names import check_dns_name
from core.egress.workload_names import WorkloadName
from egress.flows.pieces import TOO_LONG, bounded, lines_of
from egress.flows.records import Flow, FlowRecord, UnreadableRecord, Verdict, is_port, protocol_of

COLUMNS: Final = "namespace, service_account or pod or workload, destination, port, protocol"
"""That must be there; verdict, count and time may be. A workload is written `Job/fetch`."""

_COLUMNS: Final = frozenset(
    {
        "namespace",
        "service_account",
        "pod",
        "workload",
        "destination",
        "port",
        "protocol",
        "verdict",
        "count",
        "time",
    }
)
_SOURCES: Final = frozenset({"service_account", "pod", "workload"})
_NEEDED: Final = ("namespace", "destination", "port")
_VERDICTS: Final[dict[str, Verdict]] = {
    "": "unknown",
    "forwarded": "forwarded",
    "allowed": "forwarded",
    "dropped": "dropped",
    "denied": "dropped",
}


def read_csv(pieces: Iterable[str]) -> Iterator[FlowRecord]:
    """Read lines; `destination` is a DNS name, an address, or `pod/…` or `service/NS/NAME`."""
    too_long: list[int] = []
    reader = csv.DictReader(_lines(pieces, too_long), skipinitialspace=True)
    try:
        columns = set(reader.fieldnames or ())
        if not columns.issuperset(_NEEDED) or columns.isdisjoint(_SOURCES):
            yield UnreadableRecord(1, f"the header must have {COLUMNS}")
            return
        for row in reader:
            yield _read(reader.line_num, row)
            while too_long:
                yield UnreadableRecord(too_long.pop(), TOO_LONG)
    except csv.Error as error:
        yield UnreadableRecord(reader.line_num, str(error))
    for number in too_long:
        yield UnreadableRecord(number, TOO_LONG)


def _lines(pieces: Iterable[str], too_long: list[int]) -> Iterator[str]:
    for number, line in lines_of(pieces):
        if line is None:
            too_long.append(number)
        yield f"{line or ''}\n"


def _read(line: int, row: Mapping[str, str | None]) -> FlowRecord:
    row = {key: value for key, value in row.items() if key in _COLUMNS}
    cells = {key: bounded((value or "").strip()) for key, value in row.items()}
    protocol = protocol_of(cells.get("protocol") or "tcp")
    if protocol is None:
        return UnreadableRecord(line, f"protocol: {cells['protocol']!r} must be tcp, udp or sctp")
    try:
        port, count = int(cells["port"]), int(cells.get("count") or "1")
    except ValueError:
        return UnreadableRecord(line, "port and count must be numbers")
    if not is_port(port) or count < 0:
        return UnreadableRecord(line, f"port: {port} must be between 1 and 65535")
    verdict = _VERDICTS.get(cells.get("verdict", "").lower(), "unknown")
    try:
        time = _time(cells.get("time", ""))
        names, address, service, pod = _destination(cells["destination"])
    except ValueError as error:
        return UnreadableRecord(line, str(error))
    except InvalidObjectError as error:
        return UnreadableRecord(line, f"destination: {error.problem}")
    to_namespace = (service or pod or ("", ""))[0]
    return Flow(
        namespace=cells["namespace"],
        account=cells.get("service_account", ""),
        pod=cells.get("pod", ""),
        workload=_workload(cells.get("workload", "")),
        names=names,
        address=address,
        to_namespace=to_namespace,
        to_pod=pod[1] if pod else "",
        to_service=service[1] if service else "",
        protocol=protocol,
        port=port,
        verdict=verdict,
        first=time,
        last=time,
        count=count,
    )


def _workload(text: str) -> WorkloadName | None:
    kind, slash, name = text.partition("/")
    return WorkloadName(kind, name) if slash else None


_Key = tuple[str, str] | None


def _destination(text: str) -> tuple[tuple[str, ...], Address | None, _Key, _Key]:
    kind, _, key = text.partition("/")
    namespace, slash, name = key.partition("/")
    if kind in {"pod", "service"} and slash:
        found = (namespace, name)
        return (), None, found if kind == "service" else None, found if kind == "pod" else None
    try:
        return (), ipaddress.ip_address(text), None, None
    except ValueError:
        pass
    plain = text.rstrip(".").lower()
    check_dns_name(plain, field="", what="")
    return (plain,), None, None, None


def _time(text: str) -> float | None:
    if not text:
        return None
    if text.replace(".", "", 1).isdigit():
        return float(text)
    try:
        return seconds_of(text)
    except ValueError:
        raise ValueError(f"time: {text!r} must be RFC 3339 or Unix seconds") from None
