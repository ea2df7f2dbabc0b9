"""Annotations that runtimes act on: nobody may set them, whatever profile they have."""

from typing import Final

import pytest

from tests.api.objects.people import People
from tests.api.objects.pods import TRAIN, pod
from tests.harness.programs.client import ApiStatusError, Client, Json, Outcome

DENIED: Final = (
    "dev.gvisor.internal.nvproxy",
    "dev.gvisor.flag.host-uds",
    "dev.gvisor.spec.mount.data.source",
    "io.katacontainers.config.hypervisor.path",
    "io.kubernetes.cri-o.userns-mode",
    "io.kubernetes.cri-o.Devices",
    "unified-cgroup.crio.io/main",
    "seccomp-profile.kubernetes.cri-o.io/pod",
    "run.oci.hooks.stderr",
    "cdi.k8s.io/gpus",
    "devices.nri.io/container.main",
    "memory-qos.noderesource.dev/class",
    "io.containerd.runc.v2.group",
)
RULE: Final = "rules/runtime/annotations"
SIDECAR: Final = "azure.workload.identity/inject-proxy-sidecar"

every_annotation = pytest.mark.parametrize("name", DENIED)


def annotated(name: str) -> Json:
    """Return a Pod with one annotation."""
    made = pod("annotated")
    made["metadata"]["annotations"] = {name: "1"}
    return made


@every_annotation
async def test_runtime_annotations_are_refused_to_everyone(
    people: People, admin: Client, name: str
) -> None:
    """They are refused to people of every profile and to cluster-admin, by the rule's name."""
    for asked_by in (people.using("restricted"), people.using("pss-privileged"), admin):
        answer = await asked_by.dry_run_create(annotated(name), TRAIN)
        assert answer.outcome is Outcome.DENIED, answer.body
        assert RULE in answer.message
        assert f"metadata.annotations['{name}']" in answer.message


async def test_nobody_may_ask_for_entras_privileged_sidecar(people: People, admin: Client) -> None:
    """Any value of the annotation makes another webhook add a privileged init container."""
    for asked_by in (people.using("pss-privileged"), admin):
        answer = await asked_by.dry_run_create(annotated(SIDECAR), TRAIN)
        assert answer.outcome is Outcome.DENIED, answer.body
        assert "rules/identity/proxy_sidecar" in answer.message


@every_annotation
async def test_nobody_may_add_them_later(admin: Client, name: str) -> None:
    """They are refused on a Pod that runs: a restarted sandbox would read them."""
    running = pod("unannotated")
    await admin.create(running)
    with pytest.raises(ApiStatusError, match=RULE):
        await admin.patch(running, {"metadata": {"annotations": {name: "1"}}})
    await admin.delete(running)


@every_annotation
async def test_nobody_may_put_them_into_a_template(admin: Client, name: str) -> None:
    """They are refused in a PodTemplate, with their place in it."""
    made = annotated(name)
    template = {"metadata": made["metadata"], "spec": made["spec"]}
    item = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": made["metadata"]}
    item["metadata"] = {"name": "template", "namespace": TRAIN}
    answer = await admin.dry_run({**item, "template": template})
    assert answer.outcome is Outcome.DENIED, answer.body
    assert f"template.metadata.annotations['{name}']" in answer.message


@pytest.mark.parametrize(
    "name",
    [
        "dev.gvisor.spec.mount.data.share",
        "dev.gvisor.spec.mount.data.type",
        "dev.gvisor.spec.mount.data.options",
        "dev.gvisor.empty-dir.data.force-shared",
        "example.com/containerd.io",
    ],
)
async def test_what_only_describes_a_volume_is_admitted(people: People, name: str) -> None:
    """Hints about a volume of the Pod, and names that merely resemble, need nothing."""
    answer = await people.using("restricted").dry_run_create(annotated(name), TRAIN)
    assert answer.outcome is Outcome.ALLOWED, answer.message
