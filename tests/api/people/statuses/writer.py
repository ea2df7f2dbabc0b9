"""control's loop that writes statuses, and what kubectl shows of them."""

import asyncio
import math
import re
import time
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry

from control.approvals.conditions import ApprovalJudge
from control.approvals.evaluation_cache import EvaluationCache
from control.approvals.loop import ApprovalStatuses
from core.base.background import in_background
from core.base.errors import NotSyncedError
from core.people.subject import Subject
from core.people.two_person import ApprovalTerms, AtRisk, person_of
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.client.settings import LiveSettings
from kube.cluster.live import LiveCluster
from kube.egress.watch import EgressWatch
from kube.leader.lease import Leadership
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import skip_or_fail
from tests.harness.programs.client import Client
from tests.harness.programs.helm import NAMESPACE, Helm
from tests.tools.provide import CannotProvideError

LEADER: Final = Leadership(1, math.inf, time.monotonic)
ACCOUNT: Final = "sallyport-control"
SOON_S: Final = 60.0

Row = dict[str, str]
"""A line of kubectl's table, by the heads of its columns."""


async def give_rights(admin: Client, helm: Helm) -> str:
    """Give control's account what the chart gives it in the whole cluster; return a token."""
    await admin.create_namespace(NAMESPACE)
    await admin.create_service_account(ACCOUNT, NAMESPACE)
    roles = [
        each
        for each in helm.objects({})
        if each["kind"] in {"ClusterRole", "ClusterRoleBinding"}
        and each["metadata"]["name"] == ACCOUNT
    ]
    assert len(roles) == 2
    await admin.apply(roles)
    return await admin.create_token(ACCOUNT, NAMESPACE)


@dataclass
class StatusWriter:
    """Runs the loop as of a time, and reads what `kubectl get` shows."""

    registry: CollectorRegistry
    config: Path
    """Of somebody who may see all."""
    ahead_s: float = 0.0
    """So far ahead of the machine's clock it looks."""
    step_s: float = 0.0
    """So far its clock goes ahead after each look, for what is looked at again by time alone."""
    at_risk: set[str] = field(default_factory=set)
    """User names of people who are at risk."""
    loops: list[ApprovalStatuses] = field(default_factory=list)
    looks: list[EvaluationCache] = field(default_factory=list)
    objects: list[Objects] = field(default_factory=list)

    async def run(self) -> None:
        """Run the loop once."""
        for each in self.loops:
            await each.run(LEADER)

    def now(self) -> float:
        """Return the time as of which it looks."""
        return time.time() + self.ahead_s

    def risk_of(self, marks: Collection[str]) -> AtRisk | None:
        """Say whether somebody is at risk."""
        risky = frozenset().union(*(person_of(Subject(name)) for name in self.at_risk))
        return AtRisk() if risky.intersection(marks) else None

    async def row(self, resource: str, name: str, namespace: str = "") -> Row:
        """Return what kubectl shows of one object, in wide columns."""
        place = ("-n", namespace) if namespace else ()
        return next(
            each
            for each in await self._table(resource, *place, "-o", "wide")
            if each["NAME"] == name
        )

    async def until(self, resource: str, name: str, namespace: str = "", **wanted: str) -> Row:
        """Run the loop until kubectl shows these columns; return the line."""
        end = time.monotonic() + SOON_S
        while True:
            await self.run()
            row = await self.row(resource, name, namespace)
            if wanted.items() <= row.items():
                return row
            assert time.monotonic() < end, row
            self.ahead_s += self.step_s
            await asyncio.sleep(0.2)

    def writes(self) -> float:
        """Count the statuses that were written."""
        return sum(
            sample.value
            for family in self.registry.collect()
            for sample in family.samples
            if sample.name == "sallyport_approval_status_writes_total"
        )

    async def _table(self, resource: str, *flags: str) -> list[Row]:
        try:
            started = await asyncio.create_subprocess_exec(
                *("kubectl", "--kubeconfig", str(self.config), "get", resource, *flags),
                stdout=asyncio.subprocess.PIPE,
            )
        except FileNotFoundError:
            skip_or_fail(CannotProvideError("kubectl is not in PATH: install it"))
        out, _ = await started.communicate()
        assert started.returncode == 0
        return read_table(out.decode())


def read_table(text: str) -> list[Row]:
    """Return the lines of kubectl's table; a column begins where its head does."""
    head, *lines = text.splitlines()
    columns = [(found.start(), found.group()) for found in re.finditer(r"\S+( \S+)*", head)]
    ends = [start for start, _ in columns[1:]] + [None]
    return [
        {name: line[start:end].strip() for (start, name), end in zip(columns, ends, strict=True)}
        for line in lines
    ]


@asynccontextmanager
async def writing(server: ApiServer, kubeconfig: Path) -> AsyncIterator[StatusWriter]:
    """Yield the loop as control builds it, with control's account."""
    registry = CollectorRegistry()
    cluster = LiveCluster(kubeconfig, LiveSettings(statuses=True, allow_age_s=1.0))
    connection = Connection(kubeconfig)
    await connection.open()
    world = EgressWatch(connection, LiveSettings())
    await cluster.start()
    writer = StatusWriter(registry, server.kubeconfig())
    terms = ApprovalTerms(at_risk=writer.risk_of, profiles=True, suspends=True)
    objects = Objects(connection)
    looks = EvaluationCache(ApprovalJudge(cluster, terms), cluster, world.approvable)
    writer.objects.append(objects)
    writer.looks.append(looks)
    writer.loops.append(ApprovalStatuses(objects, looks, registry, writer.now))
    try:
        async with in_background(world.run()):
            await cluster.wait(SOON_S)
            await _until_synced(world)
            yield writer
    finally:
        await cluster.stop()
        await connection.close()


async def _until_synced(world: EgressWatch) -> None:
    end = time.monotonic() + SOON_S
    while True:
        try:
            world.intents.require()
            world.sets.require()
        except NotSyncedError:
            assert time.monotonic() < end
            await asyncio.sleep(0.1)
        else:
            return
