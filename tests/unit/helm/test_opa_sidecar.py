"""Where an OPA server evaluates the policies, each Pod that judges has one of its own."""

from pathlib import Path

import pytest

from app.wiring import server_of
from tests.harness.programs.helm import Helm, pod_templates
from tests.unit.helm.switches import SWITCHES
from tests.unit.helm.test_settings_files import settings_of

JUDGING = ("gate", "control")


@pytest.mark.parametrize("component", JUDGING)
def test_opa_is_reached_by_a_socket_that_only_the_pod_has(
    helm: Helm, tmp_path: Path, component: str
) -> None:
    """It starts before the process and ends after it, and is nobody."""
    objects = helm.objects(SWITCHES["an OPA server"])
    spec = pod_templates(objects)[f"sallyport-{component}"]["spec"]
    (opa,) = spec["initContainers"]
    assert opa["restartPolicy"] == "Always"
    assert opa["image"] == "registry.example/opa@sha256:0"
    assert opa["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert "ports" not in opa
    assert opa["resources"]["limits"].keys() == {"memory"}
    section = settings_of(objects, component, tmp_path).evaluation
    assert section.engine == "opa"
    assert f"--addr={server_of(section.opa).url}" in opa["args"]
    (process,) = spec["containers"]
    mounts = [next(m for m in it["volumeMounts"] if m["name"] == "opa") for it in (opa, process)]
    assert mounts == [{"name": "opa", "mountPath": "/run/opa"}] * 2
    assert {"name": "opa", "emptyDir": {"sizeLimit": "1Mi"}} in spec["volumes"]


def test_without_it_there_is_no_opa(helm: Helm, tmp_path: Path) -> None:
    """The embedded engine is the default, and needs no other program."""
    objects = helm.objects({})
    for template in pod_templates(objects).values():
        assert "initContainers" not in template["spec"]
    assert settings_of(objects, "gate", tmp_path).evaluation.engine == "embedded"


def test_the_auditor_judges_nothing(helm: Helm) -> None:
    """So it has none."""
    spec = pod_templates(helm.objects(SWITCHES["an OPA server"]))["sallyport-auditor"]["spec"]
    assert "initContainers" not in spec
