"""What a part of the gate adds to a review's CPU: pairs of gates with and without it, in turn.

Both gates of a pair judge the same Pods in the same cluster, in which the part has something to do;
in one of them it does nothing (`bench.idle_part`). What is put into that cluster is here as well.
"""

import argparse
import datetime as dt
import os
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec
import yaml

from bench.contenders import ALLOWED, Contender, in_pairs, validate_order
from bench.load import Order
from bench.reviews import GANG, USUAL, Pods
from bench.server_rig import (
    FEW_REMEMBERED,
    UNCACHED,
    free_port,
    gate_command,
    rig,
    run_server,
    stage_cluster,
    start_auditor,
)
from core.approvals.approvals import account_of
from core.base.names import API_VERSION
from core.people.subject import Subject
from core.people.two_person import person_of, write_person
from core.risk.model import RiskEntry, RiskLevel, RiskSource, RiskState
from core.risk.snapshot import Coverage, Head, RiskSnapshot, SnapshotDraft
from core.risk.snapshot_storage import (
    HEAD_NAME,
    SHARD_KEY,
    build_head,
    encode_base,
    encode_head,
    shard_name,
)
from core.weights.access_grants import parse_grant
from tests.harness.evidence import ROOT, record
from tests.unit.core.risk.samples import rebased

Json = dict[str, Any]

_NAMESPACE: Final = "  name: train\n  labels:\n"
_ASKS: Final = "    sallyport.dev/sandbox: by-risk\n"
_CLASS: Final = """
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: gvisor}
handler: runsc
"""

PEOPLE_AT_RISK: Final = 20_000
_GENERATION: Final = "a"

_APPROVERS: Final = (Subject("ann@example.com"), Subject("ben@example.com"))
_AUTHOR: Final = Subject("carol@example.com")
_GRANTED_PEOPLE: Final = (
    "oid:0c7f6f0e-5a3c-4c0e-9c1d-6f6f2b1f0a11",
    "oid:30000000-0000-4000-8000-000000000001",
)
"""Who submits the Pods of `bench.reviews`, and who submitted the Job of the gang."""

_STORE: Final[Json] = {
    "apiVersion": API_VERSION,
    "kind": "WeightStore",
    "metadata": {"name": "llama", "uid": "store"},
    "spec": {
        "account": "llamaweights",
        "containers": [{"name": "prod"}],
        "owner": "weights-team",
        "privateEndpoints": ["10.1.0.5/32"],
        "identities": [{"clientId": "11111111-2222-3333-4444-555555555555", "rights": ["read"]}],
    },
}
_VOLUME: Final[Json] = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "weights"},
    "spec": {
        "claimRef": {"namespace": "train", "name": "dataset"},
        "csi": {
            "driver": "blob.csi.azure.com",
            "volumeHandle": "weights",
            "volumeAttributes": {"storageAccount": "llamaweights", "containerName": "prod"},
        },
    },
}


def _leave_cluster(_folder: Path) -> None:
    """Put nothing into the example cluster."""


@dataclass(frozen=True)
class Case:
    """One load."""

    pods: Pods
    most: int | None
    """How many microseconds may be added; None: it is measured for comparison."""
    settings: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[Path], None] = _leave_cluster
    """Puts objects into the folder of the cluster."""

    @property
    def limit(self) -> str:
        """Return the limit in words."""
        return "no limit" if self.most is None else f"at most {self.most}"


@dataclass(frozen=True)
class Pair:
    """A part of the gate, and how it is measured."""

    part: str
    """As `bench.idle_part` calls it."""
    cases: Mapping[str, Case]
    against: str
    """The gate without the part, in words."""
    page: str
    """Of docs/evidence."""

    def main(self, parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
        """Measure as the arguments say, and print what was added."""
        _add_options(parser, self.page)
        options = parser.parse_args(arguments)
        text = [
            f"- {options.pairs} interleaved pairs of {options.seconds:g} s each, "
            f"against {self.against}"
        ]
        for name, case in self.cases.items():
            added = self.measure(case, options.pairs, options.seconds)
            text.append(
                f"- **{name}: {statistics.median(added):.0f} µs of CPU added (median)**, "
                f"{case.limit}; sorted: " + ", ".join(f"{value:.0f}" for value in sorted(added))
            )
        if options.record:
            record(self.page, text)
        print("\n".join(text))

    def measure(self, case: Case, pairs: int, seconds: float) -> list[float]:
        """Return for each pair what was added, in µs."""
        without = (sys.executable, "-m", "bench.idle_part", self.part)
        with rig() as servers:
            case.prepare(servers.cluster)
            gates = {
                "without": servers.gate("without", case.settings, program=without),
                "with": servers.gate("with", case.settings),
            }
            both = [
                Contender(name, gate, validate_order(servers, gate, pods=case.pods))
                for name, gate in gates.items()
            ]
            return [
                1000 * (row["with"]["cpu_ms"] - row["without"]["cpu_ms"])
                for row in in_pairs(both, pairs, seconds)
            ]


def _add_options(parser: argparse.ArgumentParser, page: str) -> None:
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--record", action="store_true", help=f"write docs/evidence/{page}.md")


def ask_by_risk(cluster: Path) -> None:
    """Have the namespace of the Pods ask for a sandbox by risk."""
    file = cluster / "cluster.yaml"
    text = file.read_text()
    if _NAMESPACE not in text:
        raise SystemExit(f"{file}: the namespace train is not where it was")
    file.write_text(text.replace(_NAMESPACE, _NAMESPACE + _ASKS, 1))
    (cluster / "runtime-class.yaml").write_text(_CLASS)


def store_people_at_risk(cluster: Path) -> None:
    """Put a risk snapshot of 20,000 people into the cluster."""
    _write_snapshot(rebased(_snapshot_of_people()), cluster)


def _snapshot_of_people() -> RiskSnapshot:
    now, seeded = time.time(), Random(9)  # noqa: S311  Nothing is secret here.
    draft = SnapshotDraft.of(RiskSnapshot())
    coverage = Coverage(as_of=now)
    draft.head = Head(users=coverage, service_principals=coverage)
    entry = RiskEntry(
        level=RiskLevel.HIGH, state=RiskState.AT_RISK, updated=int(now), since=int(now)
    )
    for _ in range(PEOPLE_AT_RISK):
        draft.put(RiskSource.ENTRA, uuid.UUID(int=seeded.getrandbits(128)).bytes, entry)
    return draft.finish(now)


def _write_snapshot(snapshot: RiskSnapshot, cluster: Path) -> None:
    written = encode_base(snapshot.base.items())
    secrets: dict[str, Mapping[str, bytes]] = {
        HEAD_NAME: encode_head(build_head(snapshot, _GENERATION, written.digests))
    }
    for number, content in enumerate(written.shards):
        secrets[shard_name(_GENERATION, number)] = {SHARD_KEY: content}
    for name, data in secrets.items():
        metadata = {"name": name, "namespace": "sallyport-system"}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
        (cluster / f"{name}.yaml").write_bytes(msgspec.json.encode(body))


def guard_weights(cluster: Path) -> None:
    """Put weights into the claim of the Pods, under a grant that two people approved."""
    objects = [_STORE, _VOLUME, *_grant_objects(), *_approvers_rights()]
    (cluster / "weights.yaml").write_text(yaml.safe_dump_all(objects))


def _grant_objects() -> list[Json]:
    ends = dt.datetime.now(dt.UTC) + dt.timedelta(days=1)
    annotations = {"sallyport.dev/author": write_person(person_of(_AUTHOR))}
    place = {"namespace": "train"}
    grant: Json = {
        "apiVersion": API_VERSION,
        "kind": "AccessGrant",
        "metadata": {"name": "llama", "uid": "grant", "annotations": annotations, **place},
        "spec": {
            "store": "llama",
            "rights": ["read", "write"],
            "serviceAccounts": ["trainer"],
            "people": list(_GRANTED_PEOPLE),
            "groups": ["researchers"],
            "reason": "a bench",
            "expiresAt": f"{ends:%Y-%m-%dT%H:%M:%SZ}",
        },
    }
    return [grant, *(_approval(grant, each) for each in _APPROVERS)]


def _approval(grant: Json, who: Subject) -> Json:
    found = parse_grant(msgspec.json.encode(grant))
    annotations = {
        "sallyport.dev/approver-account": msgspec.json.encode(account_of(who)).decode(),
        "sallyport.dev/approved-uid": found.meta.uid,
        "sallyport.dev/approved-digest": found.approvable.digest,
    }
    name = who.username.partition("@")[0]
    metadata = {"name": name, "namespace": "train", "uid": name, "annotations": annotations}
    wanted = {"kind": "AccessGrant", "name": "llama"}
    spec = {"for": wanted, "expiresAt": grant["spec"]["expiresAt"]}
    return {"apiVersion": API_VERSION, "kind": "Approval", "metadata": metadata, "spec": spec}


def _approvers_rights() -> list[Json]:
    group = "rbac.authorization.k8s.io"
    rule = {
        "apiGroups": ["sallyport.dev"],
        "resources": ["approvaltiers"],
        "resourceNames": ["grants"],
        "verbs": ["approve"],
    }
    head = {"apiVersion": f"{group}/v1", "metadata": {"name": "approve-grants"}}
    subjects = [{"kind": "User", "apiGroup": group, "name": each.username} for each in _APPROVERS]
    role = {"apiGroup": group, "kind": "ClusterRole", "name": "approve-grants"}
    return [
        {**head, "kind": "ClusterRole", "rules": [rule]},
        {**head, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": subjects},
    ]


PEOPLE: Final = Pair(
    part="people",
    cases={"uncached": Case(USUAL, 100, UNCACHED), "a gang": Case(GANG, 40)},
    against="the same gate in which nobody is noted or traced, and no exception, "
    "BreakGlass or default is looked for",
    page="people",
)
SANDBOX: Final = Pair(
    part="sandbox",
    cases={
        "uncached": Case(USUAL, 150, FEW_REMEMBERED, ask_by_risk),
        "a gang": Case(GANG, 10, prepare=ask_by_risk),
        "nothing remembered at all": Case(USUAL, None, UNCACHED, ask_by_risk),
        "a gang, where nobody asks": Case(GANG, 10),
    },
    against="the same gate in which nobody ever asks for a sandbox, in the same cluster: "
    "its namespace asks for one by risk, but in the last case",
    page="sandbox",
)
IDENTITY: Final = Pair(
    part="identity",
    cases={
        "uncached": Case(USUAL, 40, FEW_REMEMBERED, store_people_at_risk),
        "a gang": Case(GANG, 10, prepare=store_people_at_risk),
        "nothing remembered at all": Case(USUAL, None, UNCACHED, store_people_at_risk),
    },
    against="the same gate that asks nobody for risk, in the same cluster: it knows of "
    f"{PEOPLE_AT_RISK:,} people at risk, of whom nobody asks",
    page="identity-cost",
)
WEIGHTS: Final = Pair(
    part="weights",
    cases={
        "uncached": Case(USUAL, None, FEW_REMEMBERED, guard_weights),
        "a gang": Case(GANG, None, prepare=guard_weights),
        "nothing remembered at all": Case(USUAL, None, UNCACHED, guard_weights),
        "a gang, where there is no store": Case(GANG, None),
    },
    against="the same gate that asks nobody for weights, in the same cluster: each Pod's "
    "claim shows weights, under a live grant, but in the last case",
    page="weights-admission",
)


def _start_recording_pair(
    stack: ExitStack, folder: Path, base: Path | None
) -> tuple[Contender, Contender]:
    files, shipping = start_auditor(stack, folder)
    ports = [free_port() for _ in range(2)]
    cluster = stage_cluster(folder / "cluster")
    contenders = []
    for name, port, environment, checkout in (
        ("without", ports[0], {}, base),
        ("with", ports[1], shipping, None),
    ):
        where = ("--cluster", cluster)
        command = gate_command(folder / "server.crt", folder / "server.key", port, where)
        if checkout is not None:
            command = [sys.executable, "-c", "import cli.main as m; m.main()", *command[1:]]
        server = run_server(
            command, port, files.ca, folder / f"{name}.log", environment, checkout or ROOT
        )
        url = f"https://127.0.0.1:{port}/validate?timeout=10s"
        order = Order(url, str(files.ca), 0, ALLOWED)
        contenders.append(Contender(name, stack.enter_context(server), order))
    return contenders[0], contenders[1]


def _measure_recording(pairs: int, seconds: float, base: Path | None) -> list[dict[str, float]]:
    """Return for each pair the CPU of a review, in ms, without and with a record."""
    os.environ["SALLYPORT_LISTEN__DRAIN_SECONDS"] = "0"
    with tempfile.TemporaryDirectory(prefix="sallyport-bench-") as folder, ExitStack() as stack:
        both = _start_recording_pair(stack, Path(folder), base)
        return [
            {name: measured["cpu_ms"] for name, measured in row.items()}
            for row in in_pairs(both, pairs, seconds)
        ]


def measure_recording(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Measure what recording adds; print the pairs and their median difference.

    One gate keeps no record; the other spools, and ships to an auditor with a SQLite ledger over
    mutual TLS. With `--base FOLDER` the first is the gate of another checkout of Sallyport.
    """
    _add_options(parser, "recording")
    parser.add_argument("--base", type=Path, help="another checkout, whose gate is `without`")
    options = parser.parse_args(arguments)
    rows = _measure_recording(options.pairs, options.seconds, options.base)
    added = [1000 * (row["with"] - row["without"]) for row in rows]
    what = "the gate before the record was built" if options.base else "the same gate, no record"
    text = [
        f"- {options.pairs} interleaved pairs of {options.seconds:g} s each, against {what}; spool "
        "and shipping to an auditor (SQLite) over mutual TLS on, 16 connections, one core",
        f"- **Added to a review: {statistics.median(added):.0f} µs of CPU (median)**; sorted: "
        + ", ".join(f"{value:.0f}" for value in sorted(added)),
        f"- A review takes {statistics.median(row['without'] for row in rows):.3f} ms without, "
        f"{statistics.median(row['with'] for row in rows):.3f} ms with it (medians)",
    ]
    if options.record:
        record("recording", text)
    print("\n".join(text))
