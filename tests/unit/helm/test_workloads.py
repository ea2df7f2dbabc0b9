"""How the processes run: labels, security, tokens, what survives an upgrade."""

import re
from pathlib import Path

import pytest

from tests.harness.evidence import ROOT
from tests.harness.programs.client import Json
from tests.harness.programs.helm import CHART, IMAGE, Helm, HelmFailedError, named, pod_templates
from tests.unit.helm.switches import SWITCHES

RECOMMENDED = {
    f"app.kubernetes.io/{name}"
    for name in ("name", "instance", "version", "component", "part-of", "managed-by")
}
STABLE = {f"app.kubernetes.io/{name}" for name in ("name", "instance", "component")}


@pytest.mark.parametrize("switch", SWITCHES)
def test_everything_has_the_recommended_labels(helm: Helm, switch: str) -> None:
    """Objects and Pods can be found by them."""
    objects = helm.objects(SWITCHES[switch])
    for item in [*objects, *pod_templates(objects).values()]:
        labels = item["metadata"]["labels"]
        assert labels.keys() >= RECOMMENDED, item["metadata"]
        assert labels["app.kubernetes.io/part-of"] == "sallyport"


@pytest.mark.parametrize("switch", SWITCHES)
def test_what_cannot_be_changed_names_no_version(helm: Helm, switch: str) -> None:
    """Selectors and volume claims are immutable: a version in them would break upgrades."""
    for item in helm.objects(SWITCHES[switch]):
        if item["kind"] in {"Deployment", "StatefulSet", "PodDisruptionBudget"}:
            assert item["spec"]["selector"]["matchLabels"].keys() == STABLE
        for claim in item["spec"].get("volumeClaimTemplates", ()) if "spec" in item else ():
            assert claim["metadata"]["labels"].keys() == STABLE


def test_two_processes_never_share_a_selector(helm: Helm) -> None:
    """A review must not reach control, nor a decision the gate."""
    objects = helm.objects({})
    templates = pod_templates(objects)
    for name, template in templates.items():
        matched = [
            other
            for other, found in templates.items()
            if named(objects, _kind(objects, name), name)["spec"]["selector"]["matchLabels"].items()
            <= found["metadata"]["labels"].items()
        ]
        assert matched == [name]
        assert template["spec"]["serviceAccountName"] == name


def _kind(objects: list[Json], name: str) -> str:
    (kind,) = {
        item["kind"]
        for item in objects
        if item["metadata"]["name"] == name and item["kind"] in {"Deployment", "StatefulSet"}
    }
    return str(kind)


@pytest.mark.parametrize("switch", SWITCHES)
def test_pods_ask_for_no_privilege(helm: Helm, switch: str) -> None:
    """They read nothing but what is mounted, write nothing but their volumes, and are nobody."""
    for template in pod_templates(helm.objects(SWITCHES[switch])).values():
        spec = template["spec"]
        assert spec["enableServiceLinks"] is False
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert "limits" not in container["resources"] or (
                "cpu" not in container["resources"]["limits"]
            )


def test_only_those_who_ask_kube_apiserver_have_a_token(helm: Helm) -> None:
    """The auditor has one to ask which gate is which; no Pod gets one without saying so."""
    for instances in ("require", "check", "off"):
        objects = helm.objects({"auditor": {"gateInstances": instances}})
        tokens = {
            name: template["spec"]["automountServiceAccountToken"]
            for name, template in pod_templates(objects).items()
        }
        assert tokens == {
            "sallyport-gate": True,
            "sallyport-control": True,
            "sallyport-auditor": instances != "off",
        }
    accounts = [item for item in objects if item["kind"] == "ServiceAccount"]
    assert len(accounts) == 5  # With those of `helm test` and `helm uninstall`.
    assert not any(account["automountServiceAccountToken"] for account in accounts)


def test_nothing_but_shipping_may_be_missing(helm: Helm) -> None:
    """Reviews do not wait for what only shipping needs; without its pair the gate is no gate."""
    for name, template in pod_templates(helm.objects({})).items():
        for volume in template["spec"]["volumes"]:
            optional = volume.get("secret", {}).get("optional", False)
            assert optional is (volume["name"] == "shipping"), name


def test_spools_on_volumes_outlive_their_pods(helm: Helm) -> None:
    """A StatefulSet stands in for the Deployment, and keeps the claims."""
    objects = helm.objects(SWITCHES["spool on volumes"])
    gates = [i for i in objects if i["metadata"]["name"] == "sallyport-gate" and "spec" in i]
    assert "Deployment" not in {item["kind"] for item in gates}
    spec = named(objects, "StatefulSet", "sallyport-gate")["spec"]
    assert spec["persistentVolumeClaimRetentionPolicy"] == {
        "whenDeleted": "Retain",
        "whenScaled": "Retain",
    }
    (claim,) = spec["volumeClaimTemplates"]
    assert claim["spec"]["storageClassName"] == "fast"
    assert "spool" not in {volume["name"] for volume in spec["template"]["spec"]["volumes"]}


def test_gates_can_have_nodes_of_their_own(helm: Helm) -> None:
    """On which nothing else runs, so that nobody's privileged Pod is beside them."""
    toleration = {"key": "only", "value": "gates", "effect": "NoSchedule"}
    own = {"nodeSelector": {"pool": "gates"}, "tolerations": [toleration]}
    templates = pod_templates(helm.objects({"gate": own}))
    gate, control = (templates[f"sallyport-{name}"]["spec"] for name in ("gate", "control"))
    assert gate["nodeSelector"] == {
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "pool": "gates",
    }
    assert gate["tolerations"] == [toleration]
    assert "pool" not in control["nodeSelector"]


@pytest.mark.parametrize("architecture", ["amd64", "arm64", ""])
def test_pods_run_on_nodes_of_the_images_architecture(helm: Helm, architecture: str) -> None:
    """Elsewhere they would end with "exec format error"; an image of several runs on all."""
    objects = helm.objects({"image": {**IMAGE["image"], "architecture": architecture}})
    specs = [template["spec"] for template in pod_templates(objects).values()]
    specs += [item["spec"] for item in objects if item["kind"] == "Pod"]
    assert len(specs) == 5
    for spec in specs:
        assert spec["nodeSelector"].get("kubernetes.io/arch", "") == architecture


def test_chart_says_the_architecture_of_the_image_that_is_made(helm: Helm) -> None:
    """The one that `make image` writes into the image's own configuration."""
    archive = (ROOT / "deploy" / "image" / "archive.py").read_text()
    made = set(re.findall(r'"architecture": "(\w+)"', archive))
    (template, *_) = pod_templates(helm.objects({})).values()
    assert made == {template["spec"]["nodeSelector"]["kubernetes.io/arch"]}


def test_a_changed_setting_starts_the_process_anew(helm: Helm) -> None:
    """And only the processes whose settings changed."""

    def digests(values: dict[str, object]) -> dict[str, str]:
        return {
            name: template["metadata"]["annotations"]["checksum/config"]
            for name, template in pod_templates(helm.objects(values)).items()
        }

    before, after = digests({}), digests({"control": {"sweep": {"intervalSeconds": 60}}})
    assert {name for name in before if before[name] != after[name]} == {"sallyport-control"}


@pytest.mark.parametrize("switch", SWITCHES)
def test_rendering_twice_gives_the_same(helm: Helm, tmp_path: Path, switch: str) -> None:
    """No random names or keys: what is reviewed is what is applied."""
    other = Helm(helm.program, tmp_path)  # One and the same remembers what it has rendered.
    assert helm.template(SWITCHES[switch]) == other.template(SWITCHES[switch])


@pytest.mark.parametrize("switch", SWITCHES)
def test_lint_has_nothing_to_say(helm: Helm, switch: str) -> None:
    """Warnings count too."""
    said = helm.run("lint", "--strict", CHART, *helm.values(SWITCHES[switch]))
    assert "1 chart(s) linted, 0 chart(s) failed" in said
    assert "[WARNING]" not in said


def test_lint_can_fail(helm: Helm) -> None:
    """The test above is not vacuous."""
    with pytest.raises(HelmFailedError):
        helm.run("lint", "--strict", CHART, *helm.values({**IMAGE, "gate": {"replica": 1}}))
