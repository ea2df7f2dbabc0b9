"""`kubectl sallyport review`: judged by the profiles and rights of the current cluster."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import yaml

from core.base import names
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import skip_or_fail
from tests.harness.programs.client import Client
from tests.tools.provide import CannotProvideError

GROUP = "rbac.authorization.k8s.io"
PLACE = "plugin"
OBJECTS: list[dict[str, Any]] = [
    {
        "apiVersion": names.API_VERSION,
        "kind": "ContainerProfile",
        "metadata": {"name": "everything"},
        "spec": {"rank": 900, "catalogue": 1, "privileges": ["**"]},
    },
    {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "use-everything"},
        "rules": [
            {
                "apiGroups": [names.GROUP],
                "resources": ["containerprofiles"],
                "resourceNames": ["everything"],
                "verbs": ["use"],
            }
        ],
    },
    {
        "apiVersion": f"{GROUP}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "use-everything", "namespace": PLACE},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "use-everything"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": PLACE}],
    },
]
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"hostNetwork": True, "containers": [{"name": "main", "image": "registry.example/a"}]},
}


async def kubectl(config: Path, *arguments: str) -> tuple[int, Any]:
    """Run kubectl with this kubeconfig and the plugin in PATH; give the code and the JSON."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    try:
        started = await asyncio.create_subprocess_exec(
            "kubectl",
            *arguments,
            env={**os.environ, "PATH": path, "KUBECONFIG": str(config)},
            stdout=asyncio.subprocess.PIPE,
        )
    except FileNotFoundError:
        skip_or_fail(CannotProvideError("kubectl is not in PATH: install it"))
    out, _ = await started.communicate()
    return started.returncode or 0, json.loads(out)


async def test_current_cluster_and_namespace(
    apiserver: ApiServer, client: Client, crds: None, tmp_path: Path
) -> None:
    """A right in a namespace counts where it is the context's, or is named, and nowhere else."""
    await client.create_namespace(PLACE)
    await client.apply(OBJECTS)
    config = yaml.safe_load(apiserver.kubeconfig().read_text())
    config["contexts"][0]["context"]["namespace"] = PLACE
    here = tmp_path / "kubeconfig"
    here.write_text(yaml.safe_dump(config))
    pod = tmp_path / "pod.yaml"
    pod.write_text(yaml.safe_dump(POD))
    review = ("sallyport", "review", "-o", "json", str(pod))
    try:
        code, (element,) = await kubectl(here, *review)
        assert (code, element["namespace"], element["profile"]) == (0, PLACE, "everything")
        code, (element,) = await kubectl(here, *review, "-n", "default")
        assert (code, element["namespace"], element["verdict"]) == (1, "default", "deny")
        code, (element,) = await kubectl(apiserver.kubeconfig(), *review)
        assert (code, element["namespace"], element["verdict"]) == (1, "default", "deny")
    finally:
        for item in OBJECTS:
            await client.delete(item)
