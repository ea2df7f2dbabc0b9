"""A cluster with the whole guard of egress: gate, shipped policies, control, and a name server."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Final

import pytest

from tests.api.admission.conftest import install
from tests.api.admission.objects import until_known
from tests.api.egress.intents.people import AUTHOR, set_up
from tests.api.egress.widening.enrolled_namespace import (
    ADMINS,
    NODES,
    PODS,
    SERVICES,
    EnrolledNamespace,
    endpoint_slice,
    give_address,
    pod_of,
)
from tests.api.kube.objects import new_name, wait_for
from tests.harness.evidence import ROOT
from tests.harness.fakes.dns_server import DnsServer, dns_server
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import ApiStatusError, Client, Outcome, connect, read_objects
from tests.harness.programs.egress_control import controlling, settings_of
from tests.harness.programs.guarded_apiserver import Installation, guarded
from tests.harness.published.policy_engines import install_crds
from tests.harness.worlds.rbac import grant, group, rule, service_account, user

OWN: Final = "sallyport-system"
_RANGES: Final = {"pods": [PODS], "services": [SERVICES], "nodes": [NODES]}
_PROBER: Final = "egress-prober"
_VERBS: Final = "get list watch create update patch delete deletecollection"


async def _install(client: Client) -> str:
    for file in sorted((ROOT / "helm/sallyport-crds/templates").glob("*.yaml")):
        await client.apply(read_objects(file))
    await install_crds(client)
    token = await install(client)
    for guard in ("pod-address-guard", "endpointslice-guard", "pod-annotation-guard"):
        await client.apply(read_objects(ROOT / f"deploy/{guard}.yaml"))
    everyone = (group(ADMINS), group("system:serviceaccounts"))
    use = rule(["sallyport.dev"], "containerprofiles", "use", "pss-baseline")
    await client.apply(grant("egress-use", use, *everyone))
    own = service_account("sallyport-control", OWN)
    await client.create_service_account("sallyport-control", OWN)
    await client.apply(grant("egress-control", rule(["*"], "*", "*"), own))
    return token


@pytest.fixture(scope="package")
def apiserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A kube-apiserver for this folder alone."""
    for program in ("etcd", "kube-apiserver"):
        require(program)
    server = ApiServer(tmp_path_factory.mktemp("widening"))
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="package")
def installation(
    apiserver: ApiServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    """The gate, asked for everything that the manifests say."""
    settings = {
        f"SALLYPORT_EGRESS__RANGES__{each.upper()}": json.dumps(networks)
        for each, networks in _RANGES.items()
    }
    with guarded(apiserver, tmp_path_factory.mktemp("gate"), _install, settings) as found:
        asyncio.run(_until_guarded(found))
        yield found


async def _until_guarded(found: Installation) -> None:
    """Wait until the shipped policies are in force: kube-apiserver takes seconds to know them."""
    async with connect(found.apiserver) as client:
        rules = (
            rule(["discovery.k8s.io"], "endpointslices", "create"),
            rule([""], "pods/status", "patch"),
        )
        for number, each in enumerate(rules):
            name = f"egress-probe-{number}"
            await client.apply(grant(name, each, user(_PROBER), namespace="default"))
        await client.create_service_account("default", "default")
        prober = client.as_user(_PROBER)
        for verb, group_, resource, part in (
            ("create", "discovery.k8s.io", "endpointslices", ""),
            ("patch", "", "pods", "status"),
        ):
            wanted = {"group": group_, "resource": resource, "namespace": "default"}
            await prober.wait_until_can(verb, {**wanted, "subresource": part})
        await client.create(pod_of("default", "probe", "default"))
        told = endpoint_slice("default", "probe", "kubernetes", "10.244.9.9")

        async def are_refused() -> bool:
            answer = await prober.dry_run(told)
            try:
                await give_address(prober, "default", "probe", "10.244.9.9")
            except ApiStatusError as error:
                return "pod-address-guard" in error.message and answer.outcome is Outcome.DENIED
            return False

        await wait_for(are_refused, 60.0)


@pytest.fixture(scope="package")
def name_server() -> Iterator[DnsServer]:
    """The server that control asks."""
    with dns_server() as running:
        yield running


@pytest.fixture
async def admin(installation: Installation) -> AsyncIterator[Client]:
    """A cluster administrator (`system:masters`)."""
    async with connect(installation.apiserver) as client:
        yield client


@pytest.fixture
async def place(
    admin: Client, installation: Installation, name_server: DnsServer
) -> AsyncIterator[EnrolledNamespace]:
    """An enrolled namespace of the test's own, its author, and control at work."""
    await set_up(admin)
    token = await admin.create_token("sallyport-control", OWN)
    kubeconfig = installation.apiserver.kubeconfig_for_token("sallyport-control", token)
    servers = [f"{name_server.address}:{name_server.port}"]
    section = {
        "ranges": _RANGES,
        "resolver": {"servers": servers, "timeout": 1, "tries": 1, "pods": False},
    }
    name = new_name("widened")
    await admin.create_namespace(name, {"sallyport.dev/egress": "deny"})
    await admin.create_service_account("trainer", name)
    await admin.create_service_account("default", name)
    await admin.apply(grant("all-of-it", rule(["*"], "*", _VERBS), group(ADMINS), namespace=name))
    await until_known(admin, name)
    author = admin.as_user(AUTHOR, [ADMINS, "system:authenticated"])
    wanted = {"group": "networking.k8s.io", "resource": "networkpolicies", "namespace": name}
    await author.wait_until_can("create", wanted)
    async with controlling(settings_of(kubeconfig, OWN, section)):
        made = EnrolledNamespace(name, admin, author, name_server)
        await made.settle_floor()
        yield made
