"""Versions of the catalogue of privileges: one number everywhere, and none gains a privilege."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from core.profiles.container_profiles import CATALOGUE
from tests.unit.policies.rego.rego_folder import opa

CRD = Path(__file__).parents[4] / "helm/sallyport-crds/templates/containerprofiles.yaml"
RECORDED = Path(__file__).with_name("catalogue.yaml")
"""By version: the rules that came with it, each with the privileges that it names."""

Versions = dict[int, dict[str, list[str]]]


@pytest.fixture(scope="module")
def versions() -> Versions:
    """What METADATA says now; signals have no privileges."""
    found: Versions = {}
    for entry in opa("inspect", "-a", "-f", "json", ".")["annotations"]:
        annotations: dict[str, Any] = entry["annotations"]
        area, *names = (part["value"] for part in entry["path"][2:])
        if (
            annotations["scope"] == "package"
            and len(names) == 2
            and area in {"privileges", "rules"}
        ):
            custom = annotations["custom"]
            rules = found.setdefault(custom["since"], {})
            rules["/".join((area, *names))] = list(custom.get("privileges", ()))
    return found


def test_newest_rule_catalogue_and_definition_agree(versions: Versions) -> None:
    """A privilege of a version that no profile may name would warn forever."""
    definition = yaml.safe_load(CRD.read_text())
    (stored,) = (each for each in definition["spec"]["versions"] if each["storage"])
    spec = stored["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert max(versions) == CATALOGUE == spec["properties"]["catalogue"]["maximum"]


@pytest.mark.parametrize("version", range(1, CATALOGUE + 1))
def test_a_version_has_the_privileges_that_were_recorded(version: int, versions: Versions) -> None:
    """A profile that is written for a released version would refuse what it gains (ADR 19)."""
    recorded: Versions = yaml.safe_load(RECORDED.read_text())
    assert versions[version] == recorded[version], (
        f"version {version} of the catalogue changed: once a release has it, `since` is the next "
        f"version, with CATALOGUE and the CRD's maximum; before that, write it into {RECORDED.name}"
    )
