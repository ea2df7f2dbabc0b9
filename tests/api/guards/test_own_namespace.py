"""What Sallyport's processes believe, nobody else writes in its namespace, with wide RBAC too."""

from collections.abc import AsyncIterator
from contextlib import suppress
from http import HTTPStatus
from typing import Final

import pytest

from tests.api.kube.objects import wait_for
from tests.harness.evidence import ROOT
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import ApiStatusError, Client, Json, connect, read_objects
from tests.harness.programs.helm import CRDS
from tests.harness.worlds.rbac import grant, group, rule

SYSTEM: Final = "sallyport-system"
WIDE: Final = "guards-operators"
"""Another operator's account: it may write ConfigMaps and all of Sallyport's kinds, everywhere."""
CONTROL: Final = f"system:serviceaccount:{SYSTEM}:sallyport-control"
GATE: Final = f"system:serviceaccount:{SYSTEM}:sallyport-gate"
SETTLE_S: Final = 20.0


def config_map(name: str, **metadata: str) -> Json:
    """Return one of Sallyport's namespace; `generateName` in place of a name."""
    named = {"name": name} if name else {}
    body = {"metadata": {**named, **metadata, "namespace": SYSTEM}}
    return {"apiVersion": "v1", "kind": "ConfigMap", **body}


BACKSTOP: Final[Json] = {
    "apiVersion": "sallyport.dev/v1alpha1",
    "kind": "Backstop",
    "metadata": {"name": "sallyport-backstop", "namespace": SYSTEM},
    "spec": {"data": {}},
}
PATHS: Final = {
    "ConfigMap": f"/api/v1/namespaces/{SYSTEM}/configmaps",
    "Backstop": f"/apis/sallyport.dev/v1alpha1/namespaces/{SYSTEM}/backstops",
}
BELIEVED: Final = (
    "sallyport-gate",
    "sallyport-control",
    "sallyport-weight-openings",
    "sallyport-egress-names-0",
    "sallyport-recorded-pods",
    "sallyport-risk-table",
    "sallyport-bundles",
    "sallyport-bundle-0-0",
    "sallyport-gates",
)
"""Settings, what opens a way, what was recorded."""


@pytest.fixture
async def wide(apiserver: ApiServer) -> AsyncIterator[Client]:
    """Whom only the guard holds."""
    guard = read_objects(ROOT / "deploy" / "own-namespace-guard.yaml")
    async with connect(apiserver) as admin:
        await admin.apply(read_objects(CRDS / "templates" / "backstops.yaml"))
        await admin.wait_for_kind("sallyport.dev/v1alpha1", "Backstop")
        await admin.create_namespace(SYSTEM)
        verbs = "get list create update patch delete deletecollection"
        rules = {"apiGroups": ["", "sallyport.dev"], "resources": ["configmaps", "backstops"]}
        await admin.apply(grant(WIDE, {**rules, "verbs": verbs.split()}, group(WIDE)))
        await admin.apply(guard)
        client = admin.as_user("operator", ("system:authenticated", WIDE))
        await client.wait_until_can("create", {"resource": "configmaps", "namespace": SYSTEM})

        async def is_guarded() -> bool:
            return (await tried(client, config_map("sallyport-gate")))[0] == HTTPStatus.FORBIDDEN

        await wait_for(is_guarded, SETTLE_S)
        yield client
        for item in reversed(guard):
            with suppress(ApiStatusError):
                await admin.delete(item)


async def tried(client: Client, item: Json) -> tuple[int, str]:
    """Return what creating it would come to."""
    dry = {"dryRun": "All"}
    status, answer = await client.request("POST", PATHS[item["kind"]], item, parameters=dry)
    return status, str(answer.get("message", ""))


async def test_trusted_objects_are_not_created_by_others(wide: Client, client: Client) -> None:
    """Settings among it: whoever writes those puts a cluster into the mode audit."""
    items = [*map(config_map, BELIEVED), config_map("", generateName="sallyport-"), BACKSTOP]
    for item in items:
        status, said = await tried(wide, item)
        assert (status, "own-namespace-guard" in said) == (403, True), item
        assert (await tried(client, item))[0] == 201, item
    assert (await tried(wide, config_map("site-notes")))[0] == 201
    assert (await tried(wide, config_map("", generateName="site-")))[0] == 201


@pytest.mark.parametrize("item", [config_map("sallyport-gate"), BACKSTOP], ids=["settings", "own"])
async def test_trusted_objects_are_not_changed_or_deleted_by_others(
    wide: Client, client: Client, item: Json
) -> None:
    """By name or among others; control may change it, and it may go with its namespace."""
    await client.create(item)
    path = f"{PATHS[item['kind']]}/{item['metadata']['name']}"
    label = {"metadata": {"labels": {"a": "b"}}}
    try:
        named = {"fieldSelector": f"metadata.name={item['metadata']['name']}"}
        for method, where, parameters in (
            ("PATCH", path, {}),
            ("DELETE", path, {}),
            ("DELETE", PATHS[item["kind"]], named),
        ):
            status, answer = await wide.request(
                method,
                where,
                label if method == "PATCH" else None,
                parameters=parameters,
                content_type="application/merge-patch+json",
            )
            assert (status, "own-namespace-guard" in answer["message"]) == (403, True)
        await client.apply(
            grant("guards-control", rule(["*"], "configmaps backstops", "patch"), group(CONTROL))
        )
        control = client.as_user(CONTROL, ("system:authenticated", CONTROL))
        await control.wait_until_can("patch", {"resource": "configmaps", "namespace": SYSTEM})
        await control.patch(item, label)
    finally:
        await client.delete(item)


async def test_a_gate_announces_and_does_no_more(wide: Client, client: Client) -> None:
    """Whatever RBAC gives it: in one ConfigMap it says which policies it has loaded."""
    del wide  # Who is held is another; the guard is what is needed.
    items = [config_map("sallyport-gates"), config_map("sallyport-bundles")]
    announcing, deciding = [f"{PATHS['ConfigMap']}/{each['metadata']['name']}" for each in items]
    said = {"data": {"gate-0": "{}"}}
    merge = "application/merge-patch+json"
    for item in items:
        await client.create(item)
    try:
        rights = rule([""], "configmaps", "patch delete")
        await client.apply(grant("guards-gate", rights, group(GATE)))
        gate = client.as_user(GATE, ("system:authenticated", GATE))
        await gate.wait_until_can("patch", {"resource": "configmaps", "namespace": SYSTEM})
        statuses = [
            (await gate.request("PATCH", announcing, said, content_type=merge))[0],
            (await gate.request("PATCH", deciding, said, content_type=merge))[0],
            (await gate.request("DELETE", announcing))[0],
        ]
        assert statuses == [200, 403, 403]
    finally:
        for item in items:
            await client.delete(item)
