"""An installation that has recorded since yesterday, and a storage account that writes its logs."""

import asyncio
import json
import os
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from audit.ledger.records.frames import Frame, FrameKind, decision_frame_id
from audit.ledger.store.store import Store
from control.weights.changes.store import ChangeStore
from control.weights.checkpoint import CheckpointStore
from core.base.ids import stable_id
from core.base.times import milli_text
from core.weights.documents.pod_life import LifeEvent, PodLife, encode_life
from kube.client.connection import Connection
from kube.client.objects import Objects
from tests.api.record.installation import PROGRAM, Installation
from tests.api.weights.followers import term
from tests.api.weights.grants.conftest import (
    ANN,
    API,
    BEN,
    CAROL,
    CLIENT,
    PEOPLE,
    STORE,
    TIER,
)
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Json, connect
from tests.harness.programs.cluster_network import ClusterNetwork
from tests.harness.programs.helm import CRDS, NAMESPACE, Helm
from tests.harness.worlds.rbac import binding, grant, group, rule, user
from tests.harness.worlds.storage_logs import encoded, identity, resource_id, storage_record

ACCOUNT: Final = str(STORE["spec"]["account"])
PRINCIPAL: Final = "0a000000-0000-4000-8000-0000000000aa"
"""Object id of what CLIENT is."""

_DAY_S: Final = 86_400
_SOON_S: Final = 60.0
_POLL_S: Final = 0.1
_VERBS: Final = "get list watch create update patch delete use"


class WeightScene:
    """control, gate and auditor of one cluster; `say` is what storage does."""

    def __init__(
        self, folder: Path, apiserver: ApiServer, network: ClusterNetwork, cluster: str
    ) -> None:
        """Prepare; nothing is started. `cluster` is the UID of kube-system."""
        self.folder = folder
        self.logs = folder / "logs"
        self.anchor = _made(folder / "elsewhere") / "anchor.jsonl"
        self.cluster = cluster
        self.settings = {
            "SALLYPORT_CLUSTER_ID": cluster,
            "SALLYPORT_ACCESS__ALLOW_AGE": "1",
            "SALLYPORT_WEIGHTS__FOLDER": str(self.logs),
            "SALLYPORT_WEIGHTS__POLL_EVERY": "1",
            "SALLYPORT_WEIGHTS__PATIENCE": "2",
            "SALLYPORT_WEIGHTS__DELAY": "1",
            "SALLYPORT_WEIGHTS__NETWORKS": json.dumps(
                {"pods": ["10.244.0.0/16"], "nodes": ["10.1.0.0/24"], "leaves_as": "pod"}
            ),
            "SALLYPORT_LEDGER__SIGNING_KEY": str(folder / "ledger.key"),
            "SALLYPORT_LEDGER__HEAD_EVERY_S": "1",
            "SALLYPORT_LEDGER__ANCHORS": json.dumps([{"file": str(self.anchor)}]),
        }
        self.apiserver = apiserver
        self.installed = Installation(
            _made(folder / "installed"), apiserver, network, self.settings
        )

    async def install(self, helm: Helm) -> None:
        """Install the chart and start the processes, with their accounts' rights and no more."""
        kubeconfig = self.apiserver.kubeconfig()
        self.grow(storage_record(unix_ms=_now_ms() - 1000, container="readme", account=ACCOUNT))
        async with connect(self.apiserver) as client:
            await client.create_namespace(NAMESPACE)
            helm.run("install", "sallyport-crds", CRDS, "--kubeconfig", kubeconfig)
            for kind in ("WeightStore", "AccessGrant"):
                await client.wait_for_kind(API, kind)
            rights = rule(["*"], "*", _VERBS)
            await client.apply(grant("weights-all", rights, group(PEOPLE)))
            approvers = map(user, (ANN, BEN, CAROL))
            await client.apply([binding("sallyport-approve-grants", *approvers, name="approvers")])
            await client.create(STORE)
            helm.install(kubeconfig, {})
            await self._record_yesterday()
            await self.installed.start_control(client)
            self.installed.start_auditor()
            await self.installed.start_gate(client)
            for name in (ANN, BEN, CAROL):
                await client.as_user(name).wait_until_can("approve", TIER)

    async def _record_yesterday(self) -> None:
        """Leave what an installation leaves that has recorded for two days.

        Before that there is a gap, and for as long as tokens live nothing is exact after it.
        """
        connection = Connection(self.apiserver.kubeconfig())
        await connection.open()
        try:
            objects = Objects(connection, 4.0)
            listed = await objects.get("/api/v1/pods?limit=1")
            assert listed is not None
            version = listed["metadata"]["resourceVersion"]
            reached = CheckpointStore(objects, NAMESPACE, self.cluster)
            await reached.save(term(1), version, time.time())
            known = ChangeStore(objects, NAMESPACE, self.cluster)
            await known.save(term(1), "ServiceAccount", {})
        finally:
            await connection.close()
        async with self.ledger(make=True) as store:
            await store.deliver(self.cluster, [_life_of_yesterday(self.cluster)])

    @asynccontextmanager
    async def ledger(self, *, make: bool = False) -> AsyncIterator[Store]:
        """Yield the ledger, beside the auditor."""
        store = Store(self.installed.ledger)
        try:
            await store.open(make=make)
            yield store
        finally:
            await store.close()

    async def documents(
        self, kind: FrameKind, count: int, wanted: Callable[[Json], bool]
    ) -> list[Json]:
        """Wait until the ledger has so many documents of a kind that are wanted; give them."""
        deadline = time.monotonic() + _SOON_S
        async with self.ledger() as store:
            while True:
                page = await store.documents(kind, 0, 2**47, limit=1000)
                read = [json.loads(each.payload) for each in page]
                found = [each for each in read if wanted(each)]
                if len(found) >= count:
                    return found
                assert time.monotonic() < deadline, f"{kind}: {read}\n{self.tails()}"
                await asyncio.sleep(_POLL_S)

    def read(self, address: str, blob: str, size: int = 4096) -> None:
        """Have CLIENT read a blob of weights now, from an address."""
        asked = identity(appId=CLIENT, objectId=PRINCIPAL)
        asked["authorization"][0]["principals"][0]["id"] = PRINCIPAL
        self.grow(
            storage_record(
                account=ACCOUNT,
                container="prod",
                blob=blob,
                unix_ms=_now_ms(),
                address=f"{address}:41234",
                bytes_out=size,
                identity=asked,
            )
        )

    def grow(self, record: Mapping[str, Any]) -> None:
        """Write a record as storage does: at the end of its hour's blob."""
        at = str(record["time"])
        hour = f"y={at[:4]}/m={at[5:7]}/d={at[8:10]}/h={at[11:13]}/m=00"
        resource = f"resourceId={resource_id(ACCOUNT)}"
        place = self.logs / "insights-logs-storageread" / resource / hour
        place.mkdir(parents=True, exist_ok=True)
        with (place / "PT1H.json").open("ab") as file:
            file.write(encoded(record))

    async def run(self, *arguments: str | Path) -> "subprocess.CompletedProcess[str]":
        """Run the command line with the settings of the processes."""
        environment = {
            **os.environ,
            **self.settings,
            "SALLYPORT_LEDGER__URL": self.installed.ledger,
        }

        def run() -> "subprocess.CompletedProcess[str]":
            command = [PROGRAM, *arguments]
            return subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=120, env=environment
            )

        return await asyncio.to_thread(run)

    def tails(self) -> str:
        """Return the ends of all logs, for a test that fails."""
        return "\n".join(each.log_tail() for each in self.installed.processes.values())


def _life_of_yesterday(cluster: str) -> Frame:
    began, ended = (milli_text(round((time.time() - days * _DAY_S) * 1000)) for days in (2, 1))
    document = PodLife(
        format=1,
        id=stable_id(_now_ms() - 2 * _DAY_S * 1000, "life", cluster, "yesterday"),
        time=began,
        cluster=cluster,
        event=LifeEvent.SEEN,
        uid="11111111-0000-4000-8000-000000000001",
        namespace="others",
        name="yesterday",
        service_account="default",
        began=began,
        ended=ended,
    )
    return Frame(FrameKind.POD_LIFE, decision_frame_id(document.id), encode_life(document))


def _now_ms() -> int:
    return int(time.time() * 1000)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder
