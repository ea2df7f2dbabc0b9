"""A real kube-apiserver takes everything that the chart renders."""

import pytest

from tests.api.chart.conftest import ELSEWHERE
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import ApiStatusError, Client, Json
from tests.harness.programs.helm import NAMESPACE, Helm, pod_templates
from tests.unit.helm.switches import SWITCHES

RESTRICTED = (
    "defaults",
    "spool on volumes",
    "PostgreSQL",
    "mutual TLS",
    "everything about Pods",
    "labels and annotations",
)

STRICT = {"dryRun": "All", "fieldValidation": "Strict"}


@pytest.mark.parametrize("switch", SWITCHES)
async def test_every_object_is_accepted(
    client: Client, helm: Helm, namespaces: None, kinds: None, switch: str
) -> None:
    """Whatever is switched: no unknown field, nothing invalid, no warning."""
    await client.wait_for_kind("sallyport.dev/v1alpha1", "ContainerProfile")
    objects = helm.objects(SWITCHES[switch], ELSEWHERE)
    assert len(objects) > 15
    await client.apply(objects, **STRICT)
    assert client.warnings == []


async def test_an_unknown_field_would_be_found(client: Client, helm: Helm, kinds: None) -> None:
    """The test above is not vacuous, also for the kinds of a CRD."""
    for kind in ("Deployment", "ContainerProfile", "ValidatingAdmissionPolicy"):
        item = next(item for item in helm.objects({}, ELSEWHERE) if item["kind"] == kind)
        item["spec"]["unknown"] = True
        with pytest.raises(ApiStatusError, match="unknown"):
            await client.apply([item], **STRICT)


@pytest.mark.parametrize("switch", RESTRICTED)
async def test_pods_run_where_only_restricted_pods_may(
    admin: Client, apiserver: ApiServer, helm: Helm, switch: str
) -> None:
    """Pod Security's strictest level, enforced on the namespace, admits every Pod."""
    for name, template in pod_templates(helm.objects(SWITCHES[switch])).items():
        pod: Json = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": NAMESPACE, **template["metadata"]},
            "spec": template["spec"],
        }
        mounted = {m["name"] for c in pod["spec"]["containers"] for m in c["volumeMounts"]}
        there = {volume["name"] for volume in pod["spec"]["volumes"]}
        # What a StatefulSet's volume claims become.
        pod["spec"]["volumes"] += [
            {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in mounted - there
        ]
        path = f"/api/v1/namespaces/{NAMESPACE}/pods"
        status, answer = await admin.request("POST", path, pod, parameters=STRICT)
        assert status == 201, answer["message"]
        pod["spec"]["hostNetwork"] = True
        status, _ = await admin.request("POST", path, pod, parameters={"dryRun": "All"})
        assert status in {403, 422}, "Pod Security is not in force"
    assert admin.warnings == []
