"""cert-manager, running: it makes what control would, injects the CA, and renews unnoticed."""

import asyncio
import base64
import datetime as dt
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from certs.authority import is_issued_by, read_certificate, read_certificates
from control.certificates.store import wanted_leaves
from kube.client.objects import open_objects
from tests.api.admission.objects import BAD, GOOD, allow_pods
from tests.api.certs.scene import Scene
from tests.api.control.certificates.secrets import FOREVER, read
from tests.api.install.conftest import TEAM
from tests.api.install.questions import MERGE, ROOT
from tests.harness.evidence import record
from tests.harness.load.pods import SteadyLoad, failed_calls
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import Client, Json
from tests.harness.programs.gates import Gates
from tests.harness.programs.helm import NAMESPACE, Helm
from tests.harness.programs.process import ServerProcess
from tests.harness.published import cert_manager
from tests.harness.sizes import PROOF
from tests.harness.worlds.rbac import grant, rule, service_account

NAME: Final = "cert-manager"
TIMEOUT_S: Final = 90.0
_RIGHTS: Final = {
    "certificates": rule(["cert-manager.io"], "*", "*"),
    "secrets": rule([""], "secrets", "get list watch create update patch delete"),
    "events": rule([""], "events", "create patch"),
    "registrations": rule(
        ["admissionregistration.k8s.io"],
        "validatingwebhookconfigurations mutatingwebhookconfigurations",
        "get list watch update patch",
    ),
}
"""What its own chart gives its controller and its injector, as far as is run of both."""


@asynccontextmanager
async def running(server: ApiServer, client: Client, folder: Path) -> AsyncIterator[ServerProcess]:
    """Run cert-manager while the context lasts; its kinds stay."""
    program = require("cert-manager")
    await cert_manager.install_crds(client)
    await client.create_namespace(NAME)
    await client.create_service_account(NAME, NAME)
    for what, rights in _RIGHTS.items():
        await client.apply(grant(f"{NAME}-{what}", rights, service_account(NAME, NAME)))
    kubeconfig = server.kubeconfig_for_token(NAME, await client.create_token(NAME, NAME))
    command: list[str | Path] = [program, "-kubeconfig", kubeconfig]
    process = ServerProcess(NAME, command, folder / "cert-manager.log")
    try:
        yield process
    finally:
        process.stop()


async def certificate(client: Client, name: str, namespace: str) -> Json:
    """Return a Certificate."""
    return await client.get(cert_manager.API_VERSION, "Certificate", name, namespace)


async def issued(client: Client, name: str, namespace: str, revision: int = 1) -> int:
    """Return, once a Certificate is ready, which revision it has: this one or a later one."""
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            status = (await certificate(client, name, namespace)).get("status", {})
            conditions = {each["type"]: each["status"] for each in status.get("conditions", ())}
            found = int(status.get("revision", 0))
            done = conditions.get("Ready") == "True" and conditions.get("Issuing") != "True"
            if done and found >= revision:
                return found
            await asyncio.sleep(0.1)


async def renew(client: Client, name: str, namespace: str) -> None:
    """Have a Certificate renewed now, as `cmctl renew` asks for it; return once it is."""
    before = await issued(client, name, namespace)
    item = await certificate(client, name, namespace)
    asked = {
        "type": "Issuing",
        "status": "True",
        "reason": "ManuallyTriggered",
        "message": "Certificate re-issuance manually triggered",
        "lastTransitionTime": f"{dt.datetime.now(dt.UTC):%Y-%m-%dT%H:%M:%SZ}",
        "observedGeneration": item["metadata"]["generation"],
    }
    conditions = [each for each in item["status"]["conditions"] if each["type"] != "Issuing"]
    path = f"/apis/{cert_manager.API_VERSION}/namespaces/{namespace}/certificates/{name}/status"
    status, answer = await client.request(
        "PATCH",
        path,
        {"status": {"conditions": [*conditions, asked]}},
        content_type="application/merge-patch+json",
    )
    assert status == 200, answer
    await issued(client, name, namespace, before + 1)


VALUES = {"clusterId": "test-1", "certificates": {"source": "cert-manager"}}
ALICE = "alice@example.com"
GATE = "sallyport-gate-tls"
AUTHORITY = "sallyport-issuer-ca"
KINDS = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
RATE = 20
WITHIN_S = 120.0

pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif(not PROOF, reason="a proof: set SALLYPORT_PROOF=1 (make proof)"),
]


async def bundles(client: Client) -> list[bytes]:
    """Return the CAs that kube-apiserver trusts, of each webhook."""
    found = [(await client.request("GET", f"{ROOT}/{kind}/sallyport"))[1] for kind in KINDS]
    return [
        base64.b64decode(hook["clientConfig"].get("caBundle", ""))
        for item in found
        for hook in item["webhooks"]
    ]


async def injected(client: Client) -> bytes:
    """Return, once every webhook trusts the CA beside the gate's certificate, that CA.

    Others may stay trusted: the injector of 1.21 keeps those of before until they expire.
    """
    async with asyncio.timeout(WITHIN_S):
        while True:
            wanted = (await read(client, NAMESPACE, GATE))["ca.crt"]
            (authority,) = read_certificates(wanted)
            if all(authority in read_certificates(each) for each in await bundles(client)):
                return wanted
            await asyncio.sleep(0.1)


async def lead_to(client: Client, port: int) -> None:
    """Have kube-apiserver reach the gates on loopback; whom it trusts stays as it was injected."""
    for kind in KINDS:
        _, item = await client.request("GET", f"{ROOT}/{kind}/sallyport")
        for hook in item["webhooks"]:
            service = hook["clientConfig"].pop("service")
            hook["clientConfig"]["url"] = f"https://localhost:{port}{service['path']}"
        path = f"{ROOT}/{kind}/sallyport"
        changed = {"webhooks": item["webhooks"]}
        status, answer = await client.request("PATCH", path, changed, content_type=MERGE)
        assert status == 200, answer


async def asked(client: Client) -> None:
    """Return once kube-apiserver asks the gates, and trusts them."""
    load = SteadyLoad(client.as_user(ALICE), TEAM, GOOD, BAD, RATE)
    async with asyncio.timeout(WITHIN_S):
        while not {"allowed", "denied"} <= set(load.outcomes):
            for bad in (False, True):
                await load._ask(bad=bad)  # noqa: SLF001 -- one question, and not at a rate
            await asyncio.sleep(0.2)


@dataclass
class Renewals:
    """Certificates renewed one after the other, and brought to the gates."""

    client: Client
    gates: Gates

    async def leaf(self) -> float:
        """Renew the gate's; give the seconds until both gates show the new one."""
        began = time.monotonic()
        loaded = [each.log().count("certificate loaded") for each in self.gates.replicas]
        await renew(self.client, GATE, NAMESPACE)
        found = await read(self.client, NAMESPACE, GATE)
        for replica in self.gates.replicas:
            assert replica.volume.put(found)
        async with asyncio.timeout(WITHIN_S):
            for replica, before in zip(self.gates.replicas, loaded, strict=True):
                while replica.log().count("certificate loaded") <= before:  # noqa: ASYNC110 (a process)
                    await asyncio.sleep(0.1)
        return time.monotonic() - began


async def test_what_it_issues_serves_and_is_renewed_unnoticed(
    admin: Client,
    apiserver: ApiServer,
    helm: Helm,
    taken_away: tuple[str, ...],
    tmp_path: Path,
) -> None:
    """Every Pod gets its right answer while leaf and CA are renewed; control only looks."""
    began = time.monotonic()
    async with running(apiserver, admin, tmp_path) as process:
        helm.install(apiserver.kubeconfig(), VALUES)
        wanted = wanted_leaves(NAMESPACE, "test-1")
        for name in (AUTHORITY, *wanted):
            await issued(admin, name, NAMESPACE)
        first = await injected(admin)
        until_issued = time.monotonic() - began
        for name in wanted:
            found = await read(admin, NAMESPACE, name)
            leaf = read_certificate(found["tls.crt"])
            assert found["ca.crt"] == first
            assert is_issued_by(leaf, read_certificates(first))
        token = await admin.create_token("sallyport-gate", NAMESPACE)
        kubeconfig = apiserver.kubeconfig_for_token("sallyport-gate", token)
        before = await read(admin, NAMESPACE, GATE)
        with Gates(tmp_path, kubeconfig, before, count=2) as gates:
            await lead_to(admin, gates.port)
            await allow_pods(admin, TEAM, ALICE)
            await asked(admin)
            load, times = await renewed(admin, Renewals(admin, gates))
        second = await injected(admin)
        both = {*read_certificates(first), *read_certificates(second)}
        assert all(both == {*read_certificates(each)} for each in await bundles(admin))
        after = await read(admin, NAMESPACE, GATE)
        one, other = (read_certificates(each)[0] for each in (first, second))
        assert one.serial_number != other.serial_number
        assert one.public_key() == other.public_key()
        assert before["tls.key"] != after["tls.key"]
        await only_looked_at(admin, apiserver)
        assert process.alive
        # Somebody deletes a Secret: it is made anew.
        path = f"/api/v1/namespaces/{NAMESPACE}/secrets/sallyport-shipping-gate"
        assert (await admin.request("DELETE", path))[0] == 200
        async with asyncio.timeout(WITHIN_S):
            while (await admin.request("GET", path))[0] != 200:  # noqa: ASYNC110 (a process)
                await asyncio.sleep(0.1)
    write(until_issued, times, load)


async def renewed(client: Client, renewals: Renewals) -> tuple[SteadyLoad, list[float]]:
    """Renew the leaf, the CA, and the leaf again, while Pods are asked for."""
    load = SteadyLoad(client.as_user(ALICE), TEAM, GOOD, BAD, RATE)
    failed = await failed_calls(client)
    running_load = asyncio.create_task(load.run())
    try:
        times = [await renewals.leaf()]
        await renew(client, AUTHORITY, NAMESPACE)
        times.append(await renewals.leaf())
        await injected(client)
        await asyncio.sleep(2)
    finally:
        load.over = True
        await running_load
    assert load.failures == []
    assert set(load.outcomes) == {"allowed", "denied"}
    assert await failed_calls(client) == failed
    return load, times


async def only_looked_at(client: Client, apiserver: ApiServer) -> None:
    """Control changes nothing, and finds nothing wrong: the old CA beside the rest trusts too."""
    async with open_objects(apiserver.kubeconfig()) as objects:
        scene = Scene(client, objects, NAMESPACE)
        names = tuple(wanted_leaves(NAMESPACE, "test-1"))
        before = [await read(client, NAMESPACE, name) for name in names]
        await scene.control(writes=False).run(FOREVER)
        assert [await read(client, NAMESPACE, name) for name in names] == before
        assert scene.metric("sallyport_certificate_troubles", mends="person") == 0
        life = scene.metric("sallyport_certificate_lifetime_seconds", certificate=GATE)
        assert life == pytest.approx(90 * 86400, abs=7200)


def write(until_issued: float, times: list[float], load: SteadyLoad) -> None:
    """Write the evidence."""
    record(
        "cert-manager",
        [
            "- cert-manager 1.21's controllers and injector of CAs, built from their Go module "
            "(tests/tools/cert-manager), against a real kube-apiserver with the chart installed "
            "with `certificates.source: cert-manager`; two gates (processes) on loopback. The "
            "registrations name that address in place of the Service; a kubelet's part is played "
            "by the test.",
            "",
            "| What | Measured |",
            "| --- | --- |",
            "| From `helm install` to five Certificates issued and the CA in every webhook | "
            f"{until_issued:.1f} s |",
            f"| Leaf renewed, in both gates | {times[0]:.1f} s |",
            f"| CA renewed, then the leaf, in both gates | {times[1]:.1f} s |",
            f"| Pods asked for meanwhile, through kube-apiserver | {len(load.waits)} |",
            f"| Admitted, refused, as they must be | {load.outcomes['allowed']}, "
            f"{load.outcomes['denied']} |",
            f"| Anything else | {len(load.failures)} |",
            "",
            "The old CA stayed in every bundle beside the new one.",
            "Control, told that cert-manager makes them, changed nothing.",
            "A Secret that was deleted came back.",
        ],
    )
