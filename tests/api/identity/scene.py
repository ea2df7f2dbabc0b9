"""The chart with identity, its processes, a fake Entra and a transmitter of security events."""

import asyncio
import json
import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.api.record.installation import START_S, Installation
from tests.harness.fakes.entra.entra import FakeEntra
from tests.harness.fakes.event_transmitter import AUDIENCE, ISSUER, Transmitter
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json, connect
from tests.harness.programs.cluster_network import ClusterNetwork
from tests.harness.programs.helm import CRDS, NAMESPACE, Helm
from tests.harness.programs.kafka import CONNECTION_STRING, Kafka
from tests.harness.programs.ports import free_ports
from tests.harness.worlds import rbac
from tests.harness.worlds.pods import RESTRICTED
from tests.tools.kafka import provide_kafka
from tests.tools.provide import CannotProvideError

LAB: Final = "lab"
TOPIC: Final = "risk"
BEARER: Final = "canary-bearer-5d41402abc4b2a76b9719d911017c592"
"""What the transmitter shows."""

POD: Final = "trainer-0"
PEOPLE: Final = "researchers"
_FRESH_S: Final = 120.0
_POLL_S: Final = 0.1

GROUPS: Final = ("system:authenticated", PEOPLE)


def pod(name: str = POD, namespace: str = LAB) -> Json:
    """Return a Pod that needs nothing."""
    made = RESTRICTED.pod()
    made["metadata"] = {"name": name, "namespace": namespace}
    return made


class Scene:
    """Enter it, then install; leaving it ends every process."""

    def __init__(self, folders: Callable[[str], Path]) -> None:
        """Take what makes a new folder of a name."""
        self._folders = folders
        self._ends = ExitStack()

    def __enter__(self) -> Self:
        """Start what is not Sallyport's."""
        ends, folders = self._ends, self._folders
        with ExitStack() as begun:
            network = begun.enter_context(closing(ClusterNetwork()))
            self.apiserver = ApiServer(folders("apiserver"), environment=network.environment)
            begun.callback(self.apiserver.stop)
            self.transmitter = begun.enter_context(Transmitter(folders("transmitter")))
            self.entra = FakeEntra(folders("entra"), self.transmitter.authority)
            self.entra.start()
            begun.callback(self.entra.stop)
            self.kafka = self._kafka(begun)
            folder = folders("installed")
            (self.events_port,) = free_ports(1)
            self.installed = Installation(folder, self.apiserver, network, self._settings())
            begun.callback(self.installed.stop)
            ends.push(begun.pop_all())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End everything."""
        self._ends.__exit__(kind, error, trace)

    async def install(self, helm: Helm) -> None:
        """Install the chart and start the processes, with their accounts' rights and no more."""
        kubeconfig = self.apiserver.kubeconfig()
        if self.kafka is not None:
            await self.kafka.make_topic(TOPIC)
        async with connect(self.apiserver) as client:
            await client.create_namespace(NAMESPACE)
            helm.run("install", "sallyport-crds", CRDS, "--kubeconfig", kubeconfig)
            await client.create_namespace(LAB)
            await client.apply(_rights())
            await client.create(pod())
            identity = {
                "enabled": True,
                "tenant": self.entra.tenant,
                "clientId": self.entra.client_id,
            }
            helm.install(kubeconfig, {"identity": identity})
            await self.installed.start_control(client)
            self.installed.start_auditor()
            await self.installed.start_gate(client)
        await self.wait_until_fresh()

    async def wait_until_fresh(self) -> None:
        """Wait until the gate has what control learnt of users and of service principals."""
        deadline = time.monotonic() + START_S
        while max(map(self._age, ("users", "service-principals"))) > _FRESH_S:
            assert time.monotonic() < deadline, self.installed.processes["control"].log_tail()
            await asyncio.sleep(_POLL_S)

    def _age(self, of: str) -> float:
        return self.installed.metric("gate", f'sallyport_risk_age_seconds{{of="{of}"}}')

    def stop(self, process: str) -> None:
        """End one process."""
        self.installed.processes[process].stop()

    async def start(self, process: str, admin: Client) -> None:
        """Start one again."""
        if process == "control":
            await self.installed.start_control(admin)
        else:
            await self.installed.start_gate(admin)

    @staticmethod
    def person(admin: Client, name: str, object_id: str) -> Client:
        """Somebody who may do everything here, as far as RBAC goes; and known to Entra."""
        return admin.as_user(name, GROUPS, oid=object_id)

    def _kafka(self, begun: ExitStack) -> Kafka | None:
        """Start an event hub; None on a machine without what it needs."""
        try:
            programs = provide_kafka()
        except CannotProvideError:
            return None
        kafka = Kafka(programs, self._folders("kafka"), self.transmitter.authority)
        begun.callback(kafka.stop)
        return kafka

    def _settings(self) -> dict[str, str]:
        bearer = self._folders("bearer") / "token"
        bearer.write_text(BEARER)
        pair = self.apiserver.authority.issue_loopback_server("security-events")
        settings: dict[str, object] = {
            "enabled": "true",
            "tenant": self.entra.tenant,
            "client_id": self.entra.client_id,
            "token_file": self.entra.desk.token_file,
            "authority": self.entra.authority,
            "graph": self.entra.site,
            "trust": self.entra.trust,
            "security_events__port": self.events_port,
            "security_events__cert": pair.certificate,
            "security_events__key": pair.key,
            "security_events__issuer": ISSUER,
            "security_events__audience": AUDIENCE,
            "security_events__keys_url": self.transmitter.keys_url,
            "security_events__token_file": bearer,
        }
        if self.kafka is not None:
            string = self._folders("hub") / "connection-string"
            string.write_text(CONNECTION_STRING)
            settings |= {
                "event_hub__servers": json.dumps([self.kafka.server]),
                "event_hub__topics": json.dumps([TOPIC]),
                "event_hub__auth": "connection-string",
                "event_hub__connection_string_file": string,
                "event_hub__allow_connection_string": "true",
            }
        return {
            f"SALLYPORT_IDENTITY__{name.upper()}": str(value) for name, value in settings.items()
        }


def new_id() -> str:
    """Return an object id that nobody has."""
    return str(uuid.uuid4())


def _rights() -> list[Json]:
    """RBAC lets everybody here do everything; only the gate refuses."""
    people = rbac.group(PEOPLE)
    verbs = "get list watch create update patch delete use approve exempt"
    return [*rbac.grant(PEOPLE, rbac.rule(["*"], "*", verbs), people)]
