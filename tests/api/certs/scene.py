"""What tests of recovery do to a cluster's certificates, and how they see that all is well."""

import base64
import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry

from certs.authority import is_issued_by, is_pair, is_valid, read_certificate, read_certificates
from certs.lifetimes import RotationSettings
from control.certificates.loop import Certificates
from control.certificates.status import CertificateStatus
from control.certificates.store import read_leaf
from kube.client.objects import Objects
from kube.leader.lease import wall_time
from kube.resources.secrets import Secret
from tests.api.control.certificates.secrets import FOREVER, SECRETS, read
from tests.harness.programs.client import Client, Json


class Timeless(Objects):
    """The cluster, to somebody who does not ask for its time: to make what a past left behind."""

    @property
    def server_time(self) -> dt.datetime | None:
        """Not known."""
        return None


def later(by: dt.timedelta) -> Callable[[], dt.datetime]:
    """Return a clock that is off."""
    return lambda: wall_time() + by


@dataclass
class Scene:
    """One namespace's certificates."""

    client: Client
    objects: Objects
    namespace: str

    def __post_init__(self) -> None:
        """Begin with metrics of their own."""
        self.registry = CollectorRegistry()
        self.signs = CertificateStatus(self.objects, self.namespace, self.registry)

    def control(
        self,
        clock: Callable[[], dt.datetime] = wall_time,
        settings: RotationSettings | None = None,
        *,
        writes: bool = True,
    ) -> Certificates:
        """Return a control's loop."""
        return Certificates(
            self.objects, self.namespace, "test-1", settings, clock, signs=self.signs, writes=writes
        )

    async def left_behind(self, ago: dt.timedelta) -> None:
        """Make what a control made so long ago, and let nobody look after it since."""
        timeless = Timeless(self.objects._connection, 4.0)  # noqa: SLF001 -- the same connection
        past = Certificates(timeless, self.namespace, "test-1", None, later(-ago))
        await past.run(FOREVER)

    async def run(self) -> None:
        """Let control look once."""
        await self.control().run(FOREVER)

    async def change(self, name: str, content: dict[str, bytes]) -> None:
        """Write into a Secret as somebody does who may."""
        path = f"/api/v1/namespaces/{self.namespace}/secrets/{name}"
        values = {key: base64.b64encode(value).decode() for key, value in content.items()}
        status, body = await self.client.request(
            "PATCH", path, {"data": values}, content_type="application/merge-patch+json"
        )
        assert status == 200, body

    async def delete(self, name: str) -> None:
        """Take a Secret away."""
        path = f"/api/v1/namespaces/{self.namespace}/secrets/{name}"
        assert (await self.client.request("DELETE", path))[0] == 200

    async def contents(self) -> dict[str, dict[str, bytes]]:
        """Return all Secrets."""
        return {name: await read(self.client, self.namespace, name) for name in SECRETS}

    async def problems(self, trusted: bytes = b"") -> list[str]:
        """Name the pairs that whoever trusts a bundle (else the one beside them) would refuse."""
        now = wall_time()
        wrong = []
        for name, content in (await self.contents()).items():
            if name == "sallyport-ca":
                continue
            leaf = read_leaf(Secret("", content))
            bundle = [
                one for one in read_certificates(trusted or leaf.bundle) if is_valid(one, now)
            ]
            if not is_pair(leaf.pair):
                wrong.append(f"{name}: no pair")
                continue
            certificate = read_certificate(leaf.pair.certificate)
            if not (is_valid(certificate, now) and is_issued_by(certificate, bundle)):
                wrong.append(f"{name}: not trusted, or not valid now")
        return wrong

    async def events(self) -> list[Json]:
        """Return the Events of the namespace."""
        _, body = await self.client.request("GET", f"/api/v1/namespaces/{self.namespace}/events")
        found: list[Json] = body["items"]
        return found

    def metric(self, name: str, **labels: Any) -> float | None:
        """Return a metric's value."""
        return self.registry.get_sample_value(name, labels)
