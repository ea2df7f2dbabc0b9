"""Flows of files and of standard input, read piece by piece."""

import codecs
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final

from app.settings.root import Settings
from cli.egress.flags import FlowFormat
from cli.egress.inputs import ClusterSource
from cli.output import STANDARD_INPUT, display_file
from core.base.errors import SettingsError
from egress.analysis.cluster_egress import ClusterEgress
from egress.analysis.observed_flows import ObservedFlows, observe
from egress.flows.acns import read_acns
from egress.flows.azure import read_azure
from egress.flows.calico import read_calico
from egress.flows.csv_file import read_csv
from egress.flows.hubble import read_hubble
from egress.flows.records import FlowReader, FlowRecord
from kube.egress.workloads import (
    WorkloadSnapshot,
    read_cluster_workloads,
    read_folder_workloads,
)

_PIECE: Final = 1024 * 1024
_SHOWN: Final = 5
_HEAD: Final = 8192
"""Characters by which a format is known."""

_READERS: Final[Mapping[FlowFormat, FlowReader]] = {
    FlowFormat.HUBBLE: read_hubble,
    FlowFormat.AZURE: read_azure,
    FlowFormat.ACNS: read_acns,
    FlowFormat.CALICO: read_calico,
    FlowFormat.CSV: read_csv,
}


def observe_files(
    files: Sequence[str], form: FlowFormat, world: ClusterEgress, workloads: WorkloadSnapshot
) -> ObservedFlows:
    """Read flows, each file once, and put them together with a cluster.

    Raises:
        SettingsError: a file cannot be read.
    """
    records = ((file, each) for file in files for each in _read(file, form))
    return observe(records, world, workloads)


async def read_workloads(settings: Settings, source: ClusterSource) -> WorkloadSnapshot:
    """Look at the workloads of a cluster, or of the folder that stands in for it.

    Raises:
        SettingsError, InvalidObjectError: the folder cannot be read.
        ClusterError: the cluster does not answer.
    """
    if source.objects is None:
        return read_folder_workloads(settings.cluster)
    return await read_cluster_workloads(source.objects)


def _read(file: str, form: FlowFormat) -> Iterator[FlowRecord]:
    try:
        if file == STANDARD_INPUT:
            yield from _records(sys.stdin.buffer, form)
        elif Path(file).is_file():
            with Path(file).open("rb") as stream:
                yield from _records(stream, form)
        else:
            raise SettingsError(f"{file}: is no regular file: name a file, or - for standard input")
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}") from error


def _records(stream: BinaryIO, form: FlowFormat) -> Iterator[FlowRecord]:
    pieces = _pieces(stream)
    first = next(pieces, "")
    chosen = _form(first) if form is FlowFormat.AUTO else form
    yield from _READERS[chosen](chain([first], pieces))


def _pieces(stream: BinaryIO) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
    while raw := stream.read(_PIECE):
        yield decoder.decode(raw)
    yield decoder.decode(b"", final=True)


def _form(text: str) -> FlowFormat:
    """Return the format of a text by how it begins: what wraps it, and the names of its fields."""
    head = text.lstrip()[:_HEAD]
    close = "".join(head[:200].split())
    if not head.startswith(("{", "[")):
        return FlowFormat.ACNS if "SourceNamespace" in head.split("\n")[0] else FlowFormat.CSV
    if close.startswith('{"records":'):
        return FlowFormat.AZURE
    if close.startswith('{"tables":') or '"SourceNamespace"' in head:
        return FlowFormat.ACNS
    if close.startswith('{"items":') or '"source_namespace"' in head:
        return FlowFormat.CALICO
    return FlowFormat.HUBBLE


def unread_lines(observed: ObservedFlows) -> Iterator[str]:
    """Say what could not be read, was passed over or left out, or is of nobody."""
    for file, each in observed.unread[:_SHOWN]:
        yield f"{display_file(file)}: record {each.line}: {each.why}"
    if observed.unread_count:
        count = observed.unread_count
        yield f"{count} record{'' if count == 1 else 's'} could not be read, and left out"
    for why, count in sorted(observed.passed.items()):
        yield f"{count} passed over: {why}"
    if observed.left_out:
        of = ", ".join(observed.left_out_of[:_SHOWN])
        yield (
            f"{observed.left_out} flows left out: more distinct ones than are kept of one source, "
            f"or of all ({of}); give fewer files at once"
        )
    for kind in observed.index.seen.unlisted:
        yield f"may not be listed, so fewer flows have a service account: {kind}"
    if observed.unknown:
        yield from _unknown_lines(observed)


def _unknown_lines(observed: ObservedFlows) -> Iterable[str]:
    sources = observed.unknown_sources
    shown = "; ".join(f"{who} ({count})" for who, count in sources[:_SHOWN])
    more = f"; {len(sources) - _SHOWN} more" if len(sources) > _SHOWN else ""
    yield f"{observed.unknown} flows are of no known service account: {shown}{more}"
    yield (
        "name the cluster (--kubeconfig or --cluster) whose they are: Pods, Jobs that have ended "
        "and what made them tell it, while they are there"
    )
