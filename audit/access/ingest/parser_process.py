"""The parser process: reads records of storage where many come and one core is not enough.

It is started for a batch that is worth it, is given the records and gives accesses back, all over
its standard input and output as MessagePack with a length before it; it ends when its input does,
so also when its parent was killed. What it cannot read, `RecordReader` reads, and says why: so both
together read what the reader alone does.
"""

import pickle
import struct
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

import msgspec

from audit.access.model.batch import SourceRecord
from audit.access.parsers.caller_networks import CallerLocator, CallerNetworks
from audit.access.parsers.storage_fields import StorageFields, fields_or_object
from audit.access.parsers.storage_log import StorageContext, access_of
from audit.access.parsers.store_index import WeightStores
from audit.access.sources.envelopes import LineRecords
from core.base.errors import UnreadableRecordError
from core.base.networks import network_of
from core.weights.documents.access import Access

LEAST: Final = 500
"""Records: fewer are read faster where they are."""

_LEAST_BYTES: Final = LEAST * 1024
"""The same of lines that are not split yet."""

_ROOT: Final = Path(__file__).parents[3]
_LENGTH: Final = struct.Struct(">I")


class _Begin(msgspec.Struct, array_like=True):
    cluster: str
    pods: list[str]
    nodes: list[str]
    networks: list[str]


class _Task(msgspec.Struct, array_like=True):
    source: str
    raws: list[bytes]
    lines: bytes
    """Instead of them: they are split there."""
    stores: bytes
    """WeightStores, pickled; empty: as before."""


_TASK: Final = msgspec.msgpack.Decoder(_Task)
_READ: Final = msgspec.msgpack.Decoder(list[Access | None])


class ParserProcess:
    """The second process. One thread at a time may use it."""

    def __init__(self, cluster: str, networks: CallerNetworks) -> None:
        """Note what it is to know; nothing is started yet."""
        pods, nodes = list(map(str, networks.pods)), list(map(str, networks.nodes))
        self._begin = _Begin(cluster, pods, nodes, list(map(str, networks.networks)))
        self.process: subprocess.Popen[bytes] | None = None
        """None while it is not needed."""
        self._stores: WeightStores | None = None
        """Those that it knows."""
        self.problem = ""
        """Why it is not used any more."""

    def read(
        self, records: Sequence[SourceRecord], source: str, stores: WeightStores
    ) -> Sequence[Access | None]:
        """Return the access of each record, None where it is to be read otherwise."""
        if self.problem or not _is_worth(records):
            return (None,) * len(records)
        known = self._stores is stores
        new = b"" if known else pickle.dumps(list(stores.by_name.values()))
        if isinstance(records, LineRecords):
            task = _Task(source, [], records.content, new)
        else:
            raws = [b"" if each.problem else bytes(each.raw) for each in records]
            task = _Task(source, raws, b"", new)
        try:
            found = self._ask(task)
        except (OSError, EOFError, ValueError) as error:
            self.close()
            self.problem = f"records are read by one process: {type(error).__name__} {error}"
            return (None,) * len(records)
        self._stores = stores
        return found

    def close(self) -> None:
        """End it; the next records that are worth it start it again."""
        process, self.process, self._stores = self.process, None, None
        if process is not None and process.stdin and process.stdout:
            with suppress(OSError):
                process.stdin.close()
            process.stdout.close()
            process.wait()

    def _ask(self, task: _Task) -> list[Access | None]:
        process = self.process or self._start()
        if process.stdin is None or process.stdout is None:
            raise EOFError("it has no pipes")
        _send(process.stdin, msgspec.msgpack.encode(task))
        return _READ.decode(_receive(process.stdout))

    def _start(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "audit.access.ingest.parser_process"]
        process = subprocess.Popen(
            command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.process = process
        if process.stdin is not None:
            _send(process.stdin, msgspec.msgpack.encode(self._begin))
        return process


def _is_worth(records: Sequence[SourceRecord]) -> bool:
    if isinstance(records, LineRecords):
        return len(records.content) >= _LEAST_BYTES
    return len(records) >= LEAST


def _send(pipe: IO[bytes], content: bytes) -> None:
    pipe.write(_LENGTH.pack(len(content)))
    pipe.write(content)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes:
    """Return the next message.

    Raises:
        EOFError: whoever writes has ended.
    """
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError("it has ended")
    (length,) = _LENGTH.unpack(head)
    content = pipe.read(length)
    if len(content) < length:
        raise EOFError("it has ended")
    return content


def _access(record: SourceRecord, reading: StorageContext) -> Access | None:
    if record.problem:
        return None
    raw = record.raw
    try:
        fields = fields_or_object(raw)
        return access_of(fields, {}, raw, reading) if isinstance(fields, StorageFields) else None
    except UnreadableRecordError:
        return None


def _serve(given: IO[bytes], told: IO[bytes]) -> None:
    begin = msgspec.msgpack.decode(_receive(given), type=_Begin)
    lists = (tuple(map(network_of, each)) for each in (begin.pods, begin.nodes, begin.networks))
    callers = CallerLocator(CallerNetworks(*lists))
    stores = WeightStores(())
    while True:
        task = _TASK.decode(_receive(given))
        if task.stores:
            stores = WeightStores(pickle.loads(task.stores))  # noqa: S301  Of its own parent.
        reading = StorageContext(begin.cluster, task.source, stores, callers)
        records = (
            LineRecords(task.lines) if task.lines else (SourceRecord(raw, "") for raw in task.raws)
        )
        _send(told, msgspec.msgpack.encode([_access(each, reading) for each in records]))


if __name__ == "__main__":
    with suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        _serve(sys.stdin.buffer, sys.stdout.buffer)
