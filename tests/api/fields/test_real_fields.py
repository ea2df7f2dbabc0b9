"""The table of fields against a real kube-apiserver: its OpenAPI, its defaults, what it stores."""

import math
import time
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from app.settings.root import Settings
from cli.preflight.run import compare_cluster
from control.filled_fields import BARE_SPEC, FilledFields, filled_fields
from core.kubernetes.field_rows import NOTHING_KNOWN, FieldRow, FieldRows, decode_filled
from kube.client.objects import open_objects
from kube.client.settings import LiveSettings
from kube.cluster.live import LiveCluster
from kube.leader.lease import Leadership
from kube.resources.known_fields import ADDED, ADDED_KEY, FILLED, FILLED_KEY
from policies.fields.table import FieldTable, built_in_rows, canonical_json, path_in_pod
from tests.api.kube.objects import new_name, wait_for
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client

LEADER: Final = Leadership(1, math.inf, time.monotonic)

FILLED_IN: Final = {
    "core/PodSpec": "schedulerName",
    "core/Container": "terminationMessagePolicy",
    "core/ConfigMapVolumeSource": "defaultMode",
}
"""Fields to which kube-apiserver gives defaults, in three depths: an older table lacks them."""


def older_table() -> FieldTable:
    """Return a table that was made before these fields came."""
    rows = built_in_rows()
    types = {
        of: {name: row for name, row in fields.items() if FILLED_IN.get(of) != name}
        for of, fields in rows.types.items()
    }
    return FieldTable(msgspec.structs.replace(rows, types=types))


async def test_each_field_of_a_running_kube_apiserver_is_known(
    apiserver: ApiServer, client: Client
) -> None:
    """As `sallyport preflight` reads it; and nothing unknown is filled in."""
    await client.create_service_account("default", "default")
    compared = await compare_cluster(Settings(kubeconfig=apiserver.kubeconfig()))
    assert (compared.unknown, compared.filled, compared.problem) == ([], [], "")
    assert (compared.lacking, compared.not_served) == ([], [])
    assert compared.version == apiserver.version()


async def test_kinds_of_a_group_that_is_switched_off_are_not_compared(tmp_path: Path) -> None:
    """The others are: a cluster without dynamic resource allocation."""
    server = ApiServer(tmp_path, flags=["--runtime-config=resource.k8s.io/v1=false"])
    try:
        compared = await compare_cluster(Settings(kubeconfig=server.kubeconfig()))
    finally:
        server.stop()
    assert (compared.unknown, compared.lacking) == ([], [])
    assert compared.not_served == [
        f"resource.k8s.io/{kind}"
        for kind in ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate")
    ]


async def test_preflight_names_what_is_not_known(
    apiserver: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a table of an older Kubernetes."""
    await client.create_service_account("default", "default")
    older = msgspec.structs.replace(built_in_rows(), types=dict(older_table().types))
    monkeypatch.setattr("cli.preflight.run.built_in_rows", lambda: older)
    compared = await compare_cluster(Settings(kubeconfig=apiserver.kubeconfig()))
    assert {"core/PodSpec.schedulerName", "core/Container.terminationMessagePolicy"} <= {
        *compared.unknown
    }
    assert 'spec.schedulerName = "default-scheduler"' in compared.filled


async def test_what_a_template_is_given_is_learnt(apiserver: ApiServer, client: Client) -> None:
    """Then a bare Pod, which is given the same, has nothing that counts."""
    namespace = new_name("fields")
    await client.create_namespace(namespace)
    await client.create_service_account("default", namespace)
    template = {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"generateName": "bare-"},
        "template": {"metadata": {}, "spec": BARE_SPEC},
    }
    bare: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "bare-"},
        "spec": {
            "containers": [{"name": "a", "image": "a.invalid/a"}],
            "volumes": [{"name": "b", "configMap": {"name": "b"}}],
        },
    }
    async with open_objects(apiserver.kubeconfig()) as objects:
        path = f"/api/v1/namespaces/{namespace}"
        learnt = filled_fields(
            older_table(), await objects.try_create(f"{path}/podtemplates", template)
        )
        made = msgspec.json.encode(await objects.try_create(f"{path}/pods", bare))
    assert ("spec.schedulerName", '"default-scheduler"') in learnt
    found = [each for each in older_table().search("", "Pod", made) if each is not None]
    assert len(found) == len(FILLED_IN)
    assert {(path_in_pod(one.everywhere), canonical_json(one.value)) for one in found} <= learnt
    assert FieldTable(built_in_rows()).knows_all("", "Pod", made)


async def test_the_loop_writes_what_it_learns_and_processes_follow_it(
    apiserver: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And the rows that operators add; where nothing is unknown, nothing is written."""
    namespace = new_name("fields")
    await client.create_namespace(namespace)
    kubeconfig = apiserver.kubeconfig()
    path = f"/api/v1/namespaces/{namespace}/configmaps/{FILLED}"
    async with open_objects(kubeconfig) as objects:
        loop = FilledFields(objects, namespace, lambda: NOTHING_KNOWN)
        await loop.run(LEADER)
        assert await objects.get(path) is None
        older = msgspec.structs.replace(built_in_rows(), types=dict(older_table().types))
        monkeypatch.setattr("control.filled_fields.built_in_rows", lambda: older)
        await loop.run(LEADER)
        written = ((await objects.get(path)) or {})["data"][FILLED_KEY]
        learnt = decode_filled(written, "it")
        assert ("spec.schedulerName", '"default-scheduler"') in learnt
        rows = FieldRows(types={"core/PodSpec": {"example": FieldRow("harmless: a test")}})
        await client.create(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": ADDED, "namespace": namespace},
                "data": {ADDED_KEY: msgspec.json.encode(rows).decode()},
            }
        )
        cluster = LiveCluster(kubeconfig, LiveSettings(namespace=namespace))
        await cluster.start()
        try:
            await wait_for(
                lambda: bool(cluster.known_fields().added.types and cluster.known_fields().filled),
                30.0,
            )
        finally:
            await cluster.stop()
        assert cluster.known_fields().filled == learnt
        assert cluster.known_fields().added.types == rows.types
        monkeypatch.undo()
        await loop.run(LEADER)
        assert decode_filled(((await objects.get(path)) or {})["data"][FILLED_KEY], "it") == set()
