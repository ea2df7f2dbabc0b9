"""One stored or sent document of each kind, written and read by whatever release is imported.

    python documents.py write FOLDER
    python documents.py read FOLDER

A program of its own: the tests run each release's own with that release's code on `PYTHONPATH`.
`read` prints JSON: what each document was understood as.
"""

import base64
import datetime as dt
import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from audit.ledger.records.frames import FrameKind, decision_frame_id, read_frames
from audit.ledger.server.frames_protocol import Acknowledged
from audit.ledger.spool.queue import Spool
from audit.ledger.spool.segments import HEADER_BYTES, check_header
from certs.ledger_keys import LedgerKeySettings, plan_ledger_keys
from certs.lifetimes import RotationSettings
from certs.rotation import RotationState, plan_rotation
from control.certificates.signing_keys import read_keys, write_keys
from control.certificates.store import read_record, wanted_leaves, write_record
from control.sweep.cursor import Cursor, decode_cursor, encode_cursor
from core.decision.decision import Action, Finding, Verdict
from core.decision.document import Asked, DecisionDocument, decode_document, encode_document
from core.decision.sweep_document import SweepDocument, decode_sweep, encode_sweep
from core.risk.columns import SnapshotBase
from core.risk.look_back import LookBackDocument, decode_look_back, encode_look_back
from core.risk.snapshot_storage import (
    build_head,
    decode_head,
    decode_shard,
    encode_base,
    encode_head,
    snapshot_of,
)
from kube.leader.lease import LeaseSettings, build_unheld
from kube.leader.lease import read_record as read_lease
from kube.resources.secrets import Secret
from tests.unit.core.risk.samples import of_every_sort

Json = Any
CLUSTER: Final = "5f0c3c1e-6f0b-4c39-9d0e-2a5c7c4f9f10"
ID: Final = "01a1fdfa-4600-741a-844b-d5e85b7c5f0f"
WHEN: Final = "2026-11-21T12:00:00.000Z"
NOW: Final = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)


def decision() -> DecisionDocument:
    """Return a decision."""
    asked = Asked(
        uid="0d6c6c5e-8a5b-4a0e-9a57-1f6d2c1b7a31",
        operation="CREATE",
        kind="Pod",
        version="v1",
        namespace="train",
        name="llm-0",
        object_uid="c7d3f5a0-1b8e-4f0a-8a57-70f86f3c2b11",
    )
    finding = Finding(
        rule="privileges/host/network",
        action=Action.DENY,
        path="spec.hostNetwork",
        message="The Pod uses the network of its node.",
        remedy="Remove hostNetwork.",
        privilege="host/network",
    )
    return DecisionDocument(
        format=1,
        id=ID,
        time=WHEN,
        cluster=CLUSTER,
        source="validate",
        request=asked,
        requester="user:2bd806c97f0e00af",
        verdict=Verdict.DENY,
        allowed=False,
        findings=[finding],
    )


def _sweep() -> SweepDocument:
    return SweepDocument(
        format=1,
        id=ID,
        cluster=CLUSTER,
        started=WHEN,
        finished=WHEN,
        objects=3,
        verdicts={"allow": 2, "deny": 1},
        namespaces=1,
    )


def _look_back() -> LookBackDocument:
    return LookBackDocument(
        format=1, id=ID, cluster=CLUSTER, subject="oid:x", begin=WHEN, end=WHEN, gaps=["audit"]
    )


def _segment() -> bytes:
    with tempfile.TemporaryDirectory() as scratch:
        spool = Spool(Path(scratch))
        spool.open()
        frame = encode_document(decision())
        spool.append(FrameKind.DECISION, decision_frame_id(ID), frame)
        spool.append(FrameKind.SWEEP, decision_frame_id(ID), encode_sweep(_sweep()))
        spool.close()
        (segment,) = Path(scratch).glob("*.spool")
        return segment.read_bytes()


def _read_segment(content: bytes) -> Json:
    check_header(content)
    return [[frame.kind, frame.id.hex()] for frame, _ in read_frames(content, HEADER_BYTES)]


def _authorities() -> bytes:
    wanted = wanted_leaves("sallyport-system", CLUSTER)
    return bytes(
        write_record(plan_rotation(RotationState(), wanted, NOW, RotationSettings()).authorities)
    )


def _read_authorities(content: bytes) -> Json:
    return [
        {"certificate": each.certificate.decode(), "signs": each.key is not None}
        for each in read_record(content)
    ]


def _keys() -> bytes:
    return _packed(write_keys(plan_ledger_keys(None, NOW, LedgerKeySettings())))


def _read_keys(content: bytes) -> Json:
    keys = read_keys(Secret("1", _unpacked(content)))
    return [[key.id, key.since.isoformat()] for key in keys.public]


def _risk() -> bytes:
    snapshot = of_every_sort()
    base = encode_base(snapshot.base.items())
    head = encode_head(build_head(snapshot, "a", base.digests))
    shards = {f"shard-{number}": shard for number, shard in enumerate(base.shards)}
    return _packed({**head, **shards})


def _read_risk(content: bytes) -> Json:
    data = _unpacked(content)
    head = decode_head(data)
    shards = (
        decode_shard(data[f"shard-{number}"], digest) for number, digest in enumerate(head.shards)
    )
    snapshot = snapshot_of(head, SnapshotBase(tuple(shards)))
    return {key.hex(): record.hex() for key, record in snapshot.records()}


def _packed(data: Mapping[str, bytes]) -> bytes:
    """Write a Secret's content as kube-apiserver shows it."""
    texts = {key: base64.b64encode(value).decode() for key, value in data.items()}
    return json.dumps(texts, indent=1).encode()


def _unpacked(content: bytes) -> dict[str, bytes]:
    return {key: base64.b64decode(value) for key, value in json.loads(content).items()}


def _builtins(read: Callable[[bytes], Any]) -> Callable[[bytes], Json]:
    return lambda content: msgspec.to_builtins(read(content))


def _lease(content: bytes) -> Json:
    body = json.loads(content)
    body["metadata"]["resourceVersion"] = "1"
    record = read_lease(body)
    return [record.holder, record.duration_s]


def _answer() -> bytes:
    answer = Acknowledged(format=1, acknowledged=[ID], stored=1, known=0, quarantined=0)
    return msgspec.json.encode(answer)


KINDS: Final[Mapping[str, tuple[Callable[[], bytes], Callable[[bytes], Json]]]] = {
    "decision.json": (lambda: encode_document(decision()), _builtins(decode_document)),
    "sweep.json": (lambda: encode_sweep(_sweep()), _builtins(decode_sweep)),
    "look-back.json": (lambda: encode_look_back(_look_back()), _builtins(decode_look_back)),
    "segment.spool": (_segment, _read_segment),
    "answer.json": (
        _answer,
        lambda content: msgspec.to_builtins(msgspec.json.decode(content, type=Acknowledged)),
    ),
    "sweep-config-map.json": (
        lambda: json.dumps(encode_cursor(Cursor(cluster=CLUSTER, last=_sweep()))).encode(),
        lambda content: msgspec.to_builtins(decode_cursor(json.loads(content), CLUSTER)),
    ),
    "ca-record.json": (_authorities, _read_authorities),
    "signing-secret.json": (_keys, _read_keys),
    "risk-secrets.json": (_risk, _read_risk),
    "lease.json": (
        lambda: json.dumps(build_unheld("sallyport-system", "x", LeaseSettings())).encode(),
        _lease,
    ),
}
"""How each is written, and what it is understood as."""


WITH_KEYS: Final = ("ca-record.json", "signing-secret.json")
"""They hold private keys: none is kept among the tests' files, not even one of nobody's."""


def understood(folder: Path) -> dict[str, Json]:
    """Read each document that a folder has."""
    return {
        name: read((folder / name).read_bytes())
        for name, (_, read) in KINDS.items()
        if (folder / name).exists()
    }


def write(folder: Path) -> None:
    """Write each."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (make, _) in KINDS.items():
        (folder / name).write_bytes(make())


if __name__ == "__main__":
    chosen, where = sys.argv[1], Path(sys.argv[2])
    if chosen == "write":
        write(where)
    else:
        print(json.dumps(understood(where)))
