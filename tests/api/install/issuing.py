"""cert-manager itself (tests/tools/cert-manager), as a service account with what it needs."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import Client, Json
from tests.harness.programs.process import ServerProcess
from tests.harness.published import cert_manager
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
