"""A gate and the back-stop in one kube-apiserver; the back-stop only warns, so both are heard."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.api.admission.conftest import ALLOW_AGE_S, GATE_ACCOUNT
from tests.api.backstop.installed_backstop import SETTLE_S, changed, install, kept, leftovers
from tests.api.backstop.together.questions import LATE, PLAIN, answer_to
from tests.api.kube.objects import wait_for
from tests.harness.evidence import ROOT
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, connect, read_objects
from tests.harness.programs.guarded_apiserver import Installation, guarded
from tests.harness.worlds.pods import RESTRICTED

WEBHOOKS = {f"{name}.sallyport.dev" for name in ("validate", "mutate", "guards", "authors")}


@pytest.fixture(scope="package")
def installation(
    apiserver: ApiServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    """The gate, asked about Pods, exceptions, BreakGlasses and approvals."""
    settings = {"SALLYPORT_ACCESS__ALLOW_AGE": str(ALLOW_AGE_S)}
    folder = tmp_path_factory.mktemp("gate")
    with guarded(
        apiserver, folder, _install, settings, only=WEBHOOKS, leftovers=leftovers()
    ) as found:
        asyncio.run(_leave_out_late(apiserver))
        yield found


async def _leave_out_late(apiserver: ApiServer) -> None:
    """Have the mutating webhook not asked about Pods of the label, and see that it is not."""
    pod = changed(RESTRICTED.pod(), hostNetwork=True)
    pod["metadata"] = {"name": "late", "labels": {LATE: "yes"}}
    selector = {"matchExpressions": [{"key": LATE, "operator": "DoesNotExist"}]}
    async with connect(apiserver) as client:
        kind = "MutatingWebhookConfiguration"
        found = await client.get("admissionregistration.k8s.io/v1", kind, "sallyport")
        for webhook in found["webhooks"]:
            if webhook["name"] == "mutate.sallyport.dev":
                webhook["objectSelector"] = selector
        await client.patch(found, {"webhooks": found["webhooks"]})
        await client.create_namespace(PLAIN)

        async def is_left_out() -> bool:
            return (await answer_to(client, "nobody", PLAIN, pod)).refused_by("validate")

        await wait_for(is_left_out, SETTLE_S)


async def _install(client: Client) -> str:
    name, namespace = GATE_ACCOUNT
    await install(client, "Warn")
    await client.apply(read_objects(ROOT / "deploy/rbac.yaml"))
    return await client.create_token(name, namespace)


@pytest.fixture
async def admin(installation: Installation) -> AsyncIterator[Client]:
    """A cluster administrator (`system:masters`), and a ConfigMap that is kept."""
    async with connect(installation.apiserver) as client, kept(installation.apiserver):
        yield client
