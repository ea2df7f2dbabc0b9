"""The files of values beside values.yaml: each renders with what it says is missing."""

import json
from typing import Any, Final

import pytest
import yaml

from tests.harness.evidence import ROOT
from tests.harness.programs.client import Json
from tests.harness.programs.helm import (
    CHART,
    NAMESPACE,
    Helm,
    HelmFailedError,
    named,
    pod_templates,
)

IMAGE: Final = "image.repository=registry.example/sallyport"
ANSWERS: Final = f"{IMAGE},defaultMode=audit,record.whenFull=refuse"
TUNNEL: Final = ROOT / "examples" / "values" / "aks.yaml"

NEEDED: Final[dict[str, tuple[str, ...]]] = {
    "trial": ("--set", IMAGE),
    "aks": ("--set", ANSWERS),
    "gitops": ("--values", str(TUNNEL), "--set", ANSWERS),
}
"""By file, what must be given beside it."""


def rendered(helm: Helm, name: str, *flags: str) -> list[Json]:
    """Return what the chart gives for a file and flags, as Helm has it without a cluster."""
    file = ("--namespace", NAMESPACE, "--values", str(CHART / f"values-{name}.yaml"))
    text = helm.run("template", "sallyport", CHART, *file, *flags)
    return [item for item in yaml.safe_load_all(text) if item]


def settings(objects: list[Json], process: str) -> Any:
    """Return the settings of a process."""
    return yaml.safe_load(
        named(objects, "ConfigMap", f"sallyport-{process}")["data"]["config.yaml"]
    )


def webhooks(objects: list[Json]) -> list[Json]:
    """Return what control registers, but for the probe, which asks about nothing that people do."""
    (text,) = named(objects, "ConfigMap", "sallyport-registrations")["data"].values()
    return [
        webhook
        for item in json.loads(text)
        if item["metadata"]["name"] != "sallyport-probe"
        for webhook in item.get("webhooks", ())
    ]


def test_each_file_has_a_test() -> None:
    """One that is added is named here, and on the pages of operators."""
    files = {path.stem.removeprefix("values-") for path in CHART.glob("values-*.yaml")}
    assert files == NEEDED.keys()
    for page in ("install.md", "chart.md"):
        text = (ROOT / "docs" / "operate" / page).read_text()
        assert all(f"values-{name}.yaml" in text for name in files), page


@pytest.mark.parametrize("name", NEEDED)
def test_a_file_renders_and_lint_has_nothing_to_say(helm: Helm, name: str) -> None:
    """With what is needed beside it, and nothing else."""
    assert len(rendered(helm, name, *NEEDED[name])) > 50
    file = str(CHART / f"values-{name}.yaml")
    flags = ("--namespace", NAMESPACE, "--values", file, *NEEDED[name])
    said = helm.run("lint", "--strict", CHART, *flags)
    assert "1 chart(s) linted, 0 chart(s) failed" in said
    assert "[WARNING]" not in said


@pytest.mark.parametrize("name", ["aks", "gitops"])
def test_a_file_for_production_leaves_the_mode_to_its_owner(helm: Helm, name: str) -> None:
    """It answers no question that is the site's."""
    flags = tuple(flag.replace("defaultMode=audit,", "") for flag in NEEDED[name])
    with pytest.raises(HelmFailedError, match="defaultMode: missing"):
        rendered(helm, name, *flags)


def test_the_trial_refuses_nothing_and_stops_nobody(helm: Helm) -> None:
    """It audits, admits what cannot be recorded or judged, and is small."""
    objects = rendered(helm, "trial", *NEEDED["trial"])
    gate = settings(objects, "gate")
    assert gate["default_mode"] == "audit"
    assert gate["record"]["when_full"] == "admit"
    assert named(objects, "Deployment", "sallyport-gate")["spec"]["replicas"] == 1
    registered = webhooks(objects)
    assert {webhook["failurePolicy"] for webhook in registered} == {"Ignore"}
    assert len(registered) > 9


def test_aks_is_read_by_its_prometheus_and_called_through_its_tunnel(helm: Helm) -> None:
    """The source is that of examples/values; gates are on the system pool, one in a zone."""
    values = yaml.safe_load((CHART / "values-aks.yaml").read_text())
    tunnel = yaml.safe_load(TUNNEL.read_text())["networkPolicies"]["webhooksFrom"]
    assert values["networkPolicies"]["webhooksFrom"] == tunnel
    flags = (*NEEDED["aks"], "--set", "monitoring.serviceMonitor.enabled=true")
    objects = rendered(helm, "aks", *flags)
    assert named(objects, "Deployment", "sallyport-gate")["spec"]["replicas"] == 3
    (monitor,) = [item for item in objects if item["kind"] == "ServiceMonitor"]
    assert monitor["apiVersion"] == "azmonitoring.coreos.com/v1"
    for template in pod_templates(objects).values():
        assert template["spec"]["nodeSelector"]["kubernetes.azure.com/mode"] == "system"


def test_gitops_renders_the_same_whatever_the_cluster_has(helm: Helm) -> None:
    """An installation and an upgrade give the same; no autoscaler changes the replicas."""
    first = rendered(helm, "gitops", *NEEDED["gitops"])
    assert rendered(helm, "gitops", *NEEDED["gitops"], "--is-upgrade") == first
    assert "HorizontalPodAutoscaler" not in {item["kind"] for item in first}
