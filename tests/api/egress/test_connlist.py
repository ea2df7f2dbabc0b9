"""`egress connlist` and `diff` by what a real kube-apiserver lists."""

from pathlib import Path

import msgspec

from app.settings.root import Settings
from cli.egress.connlist import list_connections
from cli.egress.diff import compare
from tests.api.kube.objects import new_name
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json


def _pod(namespace: str, name: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
        "spec": {"containers": [{"name": "main", "image": "registry.example/main:1"}]},
    }


def _policy(namespace: str, port: int) -> Json:
    rule = {"from": [{"podSelector": {"matchLabels": {"app": "web"}}}], "ports": [{"port": port}]}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "db", "namespace": namespace},
        "spec": {"podSelector": {"matchLabels": {"app": "db"}}, "ingress": [rule]},
    }


async def test_a_cluster_is_listed_and_compared(
    apiserver: ApiServer, client: Client, tmp_path: Path
) -> None:
    """Kinds that it lacks are no matter; a folder with another port differs by that."""
    namespace = new_name("connlist")
    space: Json = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    pods = [_pod(namespace, "web"), _pod(namespace, "db")]
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "default", "namespace": namespace},
    }
    for each in (space, account, *pods, _policy(namespace, 5432)):
        await client.create(each)
    settings = Settings(kubeconfig=apiserver.kubeconfig())
    report = await list_connections(settings, None, namespace)
    inside = {
        (row.src, row.dst): row.conn
        for row in report.connections
        if "External" not in row.src + row.dst and row.src.startswith(f"{namespace}/")
    }
    web, db = f"{namespace}/web[Pod]", f"{namespace}/db[Pod]"
    assert {key: inside.get(key) for key in ((web, db), (db, web))} == {
        (web, db): "TCP 5432",
        (db, web): "All Connections",
    }
    for at, each in enumerate((space, *pods, _policy(namespace, 80))):
        (tmp_path / f"{at}.json").write_bytes(msgspec.json.encode(each))
    found = await compare(settings, str(tmp_path), None)
    (change,) = (each for each in found.changes if (each.src, each.dst) == (web, db))
    assert (change.before, change.after) == ("TCP 80", "TCP 5432")
