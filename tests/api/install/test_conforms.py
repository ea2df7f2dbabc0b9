"""kubeconform, strictly: what the charts render has no field that the schemas do not know.

The schemas are made of a real kube-apiserver's OpenAPI with all definitions installed, so no site
of schemas is asked. kube-apiserver itself takes the objects in test_older_cluster.py; this is what
a pipeline without a cluster can check.
"""

import asyncio
import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.api.install.everything import EVERYTHING
from tests.api.install.schemas import LOCATION, documents, write_schemas
from tests.harness.evidence import ROOT
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import Client, Json, connect
from tests.harness.programs.helm import CRDS, Helm
from tests.harness.published import cert_manager, prometheus_operator
from tests.harness.sizes import PROOF

CERT_MANAGER = {"clusterId": "prod", "certificates": {"source": "cert-manager"}}
SETS = {**EVERYTHING, "cert-manager": CERT_MANAGER}
CHECKED = ("every setting", "monitoring", "cert-manager")
"""What CI has time for; the proof checks all."""


@pytest.fixture(scope="module")
def schemas(apiserver: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the schemas of all kinds, those of others' definitions included."""
    folder = tmp_path_factory.mktemp("schemas")

    async def write() -> int:
        async with connect(apiserver) as client:
            await prometheus_operator.install_crds(client)
            await cert_manager.install_crds(client)
            await published(client, "apis/cert-manager.io/v1", "apis/monitoring.coreos.com/v1")
            return await write_schemas(client, folder)

    assert asyncio.run(write()) > 100
    return folder


async def published(client: Client, *paths: str) -> None:
    """Wait until the server's OpenAPI has these: it comes a moment after the kinds."""
    for _ in range(600):
        if set(paths) <= (await documents(client)).keys():
            return
        await asyncio.sleep(0.1)
    pytest.fail(f"the OpenAPI has no {paths} after 60 s")


def kubeconform(schemas: Path, *files: Path) -> dict[str, Any]:
    """Check files against the schemas; give what kubeconform says."""
    location = str(schemas / LOCATION)
    flags = ("-strict", "-verbose", "-output", "json", "-schema-location", location)
    done = subprocess.run(
        [require("kubeconform"), *flags, *files], capture_output=True, text=True, check=False
    )
    said: dict[str, Any] = json.loads(done.stdout)
    assert (done.returncode == 0) == all(
        one["status"] in {"statusValid", "statusEmpty"} for one in said["resources"]
    )
    return said


def wrong(said: dict[str, Any]) -> list[str]:
    """Name what is not valid, and what was skipped for want of a schema."""
    return [
        f"{Path(one['filename']).name}: {one['kind']} {one['name']}: {one['status']} {one['msg']}"
        for one in said["resources"]
        if one["status"] not in {"statusValid", "statusEmpty"}
    ]


def test_what_is_rendered_conforms(helm: Helm, schemas: Path, tmp_path: Path) -> None:
    """Both charts, and what is shipped beside them: no object is left out."""
    conform(helm, schemas, tmp_path, CHECKED)


@pytest.mark.proof
@pytest.mark.skipif(not PROOF, reason="a proof: set SALLYPORT_PROOF=1 (make proof)")
def test_everything_that_can_be_rendered_conforms(
    helm: Helm, schemas: Path, tmp_path: Path
) -> None:
    """Each set of values."""
    conform(helm, schemas, tmp_path, SETS)


def conform(helm: Helm, schemas: Path, tmp_path: Path, names: Iterable[str]) -> None:
    """Render sets of values; nothing of them, of the kinds or of deploy/ may be wrong."""
    count = 0
    for name in names:
        objects = helm.objects(SETS[name])
        count += len(objects)
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump_all(objects))
    definitions = helm.run("template", "sallyport-crds", CRDS)
    (tmp_path / "definitions.yaml").write_text(definitions)
    count += len([one for one in yaml.safe_load_all(definitions) if one])
    for file in (ROOT / "deploy").glob("*.yaml"):
        count += len([one for one in yaml.safe_load_all(file.read_text()) if one])
        (tmp_path / f"deploy-{file.name}").write_text(file.read_text())
    said = kubeconform(schemas, *sorted(tmp_path.glob("*.yaml")))
    assert wrong(said) == []
    assert len([one for one in said["resources"] if one["status"] == "statusValid"]) == count


BROKEN: dict[str, tuple[str, Json]] = {
    "unknown field": ("Deployment", {"unknown": True}),
    "unknown field of ours": ("ContainerProfile", {"unknown": True}),
    "unknown field of another's": ("Certificate", {"unknown": True}),
    "wrong type": ("Deployment", {"replicas": "two"}),
    "deep": ("Deployment", {"strategy": {"rollingUpdate": {"maxsurge": 1}}}),
}
"""By what is wrong: a kind, and what is put into the spec of one."""


@pytest.mark.parametrize("broken", BROKEN)
def test_what_is_wrong_would_be_found(
    helm: Helm, schemas: Path, tmp_path: Path, broken: str
) -> None:
    """The test above is not vacuous: not for Kubernetes' kinds, nor for ours, nor for others'."""
    kind, change = BROKEN[broken]
    item = next(one for one in helm.objects(CERT_MANAGER) if one["kind"] == kind)
    item["spec"].update(change)
    file = tmp_path / "broken.yaml"
    file.write_text(yaml.safe_dump(item))
    (said,) = wrong(kubeconform(schemas, file))
    assert "statusInvalid" in said


def test_a_kind_without_a_schema_is_found(schemas: Path, tmp_path: Path) -> None:
    """Nothing passes because nobody knows it."""
    file = tmp_path / "unknown.yaml"
    file.write_text("apiVersion: example.com/v1\nkind: Unknown\nmetadata: {name: one}\n")
    (said,) = wrong(kubeconform(schemas, file))
    assert "statusError" in said
