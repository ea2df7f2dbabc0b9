"""kubeconform, strictly: what the charts render has no field that the schemas do not know.

The schemas are made of a real kube-apiserver's OpenAPI with all definitions installed, so no site
of schemas is asked. kube-apiserver itself takes the objects in test_older_cluster.py; this is what
a pipeline without a cluster can check.
"""

import asyncio
import json
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.api.install.everything import EVERYTHING
from tests.harness.evidence import ROOT
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import Client, Json, connect
from tests.harness.programs.helm import CRDS, Helm
from tests.harness.programs.openapi import document_urls, read_document
from tests.harness.published import cert_manager, prometheus_operator
from tests.harness.sizes import PROOF

LOCATION: Final = "{{ .Group }}-{{ .ResourceAPIVersion }}-{{ .ResourceKind }}.json"
"""The name of each kind's file, as kubeconform fills it in: core's group is `v1` to it."""

_REFERENCE: Final = "#/components/schemas/"
_KINDS: Final = "x-kubernetes-group-version-kind"
_EITHER: Final = [{"type": "integer"}, {"type": "string"}]


async def write_schemas(client: Client, folder: Path) -> int:
    """Write one file for each kind that the server serves; give how many.

    An object may have the fields that are named and no others, as `fieldValidation=Strict` has it.
    """
    count = 0
    for url in (await document_urls(client)).values():
        document = await read_document(client, url)
        for name, schema in _kinds(document.get("components", {}).get("schemas", {})):
            (folder / name).write_text(json.dumps(schema))
            count += 1
    return count


def _kinds(schemas: Json) -> Iterator[tuple[str, Json]]:
    """Yield the file's name and the schema of each kind of a document, whole by itself."""
    made = {name: closed(schema) for name, schema in schemas.items()}
    for name, schema in schemas.items():
        of = schema.get(_KINDS, ())
        if len(of) != 1 or "metadata" not in schema.get("properties", {}):
            continue  # Not an object that somebody stores.
        group, version, kind = (of[0][key] for key in ("group", "version", "kind"))
        version_of = f"{group}/{version}" if group else version
        properties = {
            **made[name]["properties"],
            "apiVersion": {"const": version_of},
            "kind": {"const": kind},
        }
        needed = sorted({"apiVersion", "kind", *schema.get("required", ())})
        whole = {**made[name], "properties": properties, "required": needed}
        file = LOCATION
        for word, value in (
            ("Group", group or version),
            ("ResourceAPIVersion", version),
            ("ResourceKind", kind.lower()),
        ):
            file = file.replace(f"{{{{ .{word} }}}}", value)
        yield file, {**whole, "components": {"schemas": made}}


def closed(value: Any, *, named: bool = False) -> Any:
    """Return JSON Schema for one of OpenAPI; in a map of `properties` (`named`) keys are fields.

    What OpenAPI says by words of its own (`nullable`, `x-kubernetes-…`) is said by JSON Schema's.
    """
    if isinstance(value, list):
        return [closed(each) for each in value]
    if not isinstance(value, dict):
        return value
    if named:
        return {key: closed(below) for key, below in value.items()}
    kept = {
        key: closed(below, named=key == "properties")
        for key, below in value.items()
        if key not in {"default", "description", "format", "nullable"} and not key.startswith("x-")
    }
    if value.get("x-kubernetes-int-or-string") or value.get("format") == "int-or-string":
        kept.pop("type", None)
        kept.setdefault("anyOf", _EITHER)
    open_ended = value.get("x-kubernetes-preserve-unknown-fields")
    if "properties" in kept and "additionalProperties" not in kept and not open_ended:
        kept["additionalProperties"] = False
    return {"anyOf": [kept, {"type": "null"}]} if value.get("nullable") else kept


CERT_MANAGER = {"clusterId": "prod", "certificates": {"source": "cert-manager"}}
SETS = {**EVERYTHING, "cert-manager": CERT_MANAGER}
CHECKED = (
    *("every setting", "everything about Pods", "monitoring", "managed Prometheus"),
    "cert-manager",
)
"""What CI has time for; the proof checks all."""


@pytest.fixture(scope="module")
def schemas(apiserver: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the schemas of all kinds, those of others' definitions included."""
    folder = tmp_path_factory.mktemp("schemas")

    async def write() -> int:
        async with connect(apiserver) as client:
            await prometheus_operator.install_crds(client)
            await cert_manager.install_crds(client)
            groups = ("cert-manager.io", "monitoring.coreos.com", "azmonitoring.coreos.com")
            await published(client, *(f"apis/{group}/v1" for group in groups))
            return await write_schemas(client, folder)

    assert asyncio.run(write()) > 100
    return folder


async def published(client: Client, *paths: str) -> None:
    """Wait until the server's OpenAPI has these: it comes a moment after the kinds."""
    for _ in range(600):
        if set(paths) <= (await document_urls(client)).keys():
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
