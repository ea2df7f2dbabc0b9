"""A folder of YAML answers what a real cluster with the same objects answers."""

import random
from pathlib import Path
from typing import Any

import yaml

from core.people.subject import Subject, service_account_subject
from kube.cluster.folder import FolderCluster
from kube.cluster.live import LiveCluster
from tests.api.kube.objects import new_name, wait_for
from tests.harness.programs.client import Client
from tests.harness.worlds import rbac

PROFILES = ("small", "large", "")
VERBS = ("use", "exempt")
RESOURCES = ("containerprofiles", "namespaces")


def _roles(rng: random.Random, spaces: list[str], mark: str) -> list[dict[str, Any]]:
    roles: list[dict[str, Any]] = []
    for index in range(12):
        rule = {
            "apiGroups": rng.choice([["sallyport.dev"], ["*"], ["apps"], ["", "sallyport.dev"]]),
            "resources": rng.choice(
                [["containerprofiles"], ["*"], ["namespaces", "pods"], ["*/status"]]
            ),
            "verbs": rng.choice([["use"], ["*"], ["exempt", "get"], ["Use"]]),
        }
        if rng.random() < 0.5:
            rule["resourceNames"] = rng.choice([["small"], ["small", "large"]])
        cluster = index % 3 == 0
        metadata = {"name": f"{mark}-{index}"}
        if not cluster:
            metadata["namespace"] = rng.choice(spaces)
        kind = "ClusterRole" if cluster else "Role"
        roles.append(
            {"apiVersion": f"{rbac.GROUP}/v1", "kind": kind, "metadata": metadata, "rules": [rule]}
        )
    return roles


def _bindings(
    rng: random.Random, roles: list[dict[str, Any]], spaces: list[str], mark: str
) -> list[dict[str, Any]]:
    bindings = []
    for index, role in enumerate(roles):
        subject = rng.choice(
            [
                rbac.user(f"{mark}-alice"),
                rbac.group(f"{mark}-team"),
                rbac.service_account("default", spaces[0]),
            ]
        )
        everywhere = role["kind"] == "ClusterRole" and rng.random() < 0.4
        metadata: dict[str, str] = {"name": f"{mark}-{index}"}
        if not everywhere:
            metadata["namespace"] = role["metadata"].get("namespace") or rng.choice(spaces)
        reference = {"apiGroup": rbac.GROUP, "kind": role["kind"], "name": role["metadata"]["name"]}
        if index == 5:
            reference["name"] = f"{mark}-missing"
        bindings.append(
            {
                "apiVersion": f"{rbac.GROUP}/v1",
                "kind": "ClusterRoleBinding" if everywhere else "RoleBinding",
                "metadata": metadata,
                "roleRef": reference,
                "subjects": [subject],
            }
        )
    return bindings


async def test_rbac_of_a_folder_agrees_with_kube_apiserver(
    client: Client, live: LiveCluster, tmp_path: Path
) -> None:
    """Every one of some 200 questions has the same answer from the folder and the cluster."""
    rng = random.Random(20260904)  # noqa: S311 -- must repeat, need not be secret
    mark = new_name("agree")
    spaces = [f"{mark}-a", f"{mark}-b"]
    roles = _roles(rng, spaces, mark)
    bindings = _bindings(rng, roles, spaces, mark)
    canary = rbac.binding("cluster-admin", rbac.user(f"{mark}-canary"), name=f"{mark}-canary")
    for space in spaces:
        await client.create_namespace(space)
    for item in [*roles, *bindings, canary]:
        await client.create(item)
    (tmp_path / "rbac.yaml").write_text(yaml.safe_dump_all([*roles, *bindings, canary]))
    folder = FolderCluster(tmp_path)
    users = [
        Subject(f"{mark}-alice", groups=["system:authenticated"]),
        Subject(f"{mark}-bob", groups=[f"{mark}-team", "system:authenticated"]),
        service_account_subject(spaces[0], "default"),
        Subject(f"{mark}-canary"),
    ]

    async def ready() -> bool:
        return await live.allowed(users[-1], "use", "containerprofiles", new_name("x"), "")

    await wait_for(ready, 60)
    answers = []
    for user in users:
        for verb in VERBS:
            for resource in RESOURCES:
                for name in PROFILES:
                    for space in [*spaces, ""]:
                        question = (user, verb, resource, name, space)
                        theirs = await live.allowed(*question)
                        assert await folder.allowed(*question) is theirs, question
                        answers.append(theirs)
    assert len(answers) > 100
    assert 20 < sum(answers) < len(answers) - 20, "the questions are too alike"
