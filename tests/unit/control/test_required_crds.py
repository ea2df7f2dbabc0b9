"""What is wrong with a CustomResourceDefinition, and what to do about it."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from control.required_crds import NEEDED, WITH_STATUS, find_definition_problems, has_status

SOUND: dict[str, Any] = {
    "spec": {"versions": [{"name": "v1alpha1", "served": True, "storage": True}]},
    "status": {
        "conditions": [
            {"type": "NamesAccepted", "status": "True"},
            {"type": "Established", "status": "True"},
        ]
    },
}


def with_condition(kind: str, status: str) -> dict[str, Any]:
    """Return a definition with one condition set so."""
    made = copy.deepcopy(SOUND)
    conditions = [each for each in made["status"]["conditions"] if each["type"] != kind]
    made["status"]["conditions"] = [*conditions, {"type": kind, "status": status}]
    return made


def test_a_sound_definition_has_no_troubles() -> None:
    """Nothing is said of what is well."""
    assert list(find_definition_problems(SOUND, "v1alpha1")) == []


@pytest.mark.parametrize(
    ("definition", "says"),
    [
        (None, "it is not there; install the chart sallyport-crds"),
        ({**SOUND, "spec": {"versions": [{"name": "v1", "served": True}]}}, "not serve v1alpha1"),
        ({**SOUND, "spec": {"versions": [{"name": "v1alpha1"}]}}, "not serve v1alpha1"),
        (with_condition("Established", "False"), "Established is False"),
        (with_condition("NamesAccepted", "False"), "remove that one"),
        (with_condition("NonStructuralSchema", "True"), "not structural"),
        (with_condition("Terminating", "True"), "being deleted"),
    ],
)
def test_each_trouble_is_named_with_its_remedy(
    definition: dict[str, Any] | None, says: str
) -> None:
    """One sentence for each."""
    (trouble,) = find_definition_problems(definition, "v1alpha1")
    assert says in trouble


def test_a_definition_that_was_made_just_now_is_not_served_yet() -> None:
    """It has no status."""
    assert len(list(find_definition_problems({"spec": SOUND["spec"]}, "v1alpha1"))) == 2


def test_the_definitions_needed_are_those_of_the_chart() -> None:
    """A new kind is looked after from its first day."""
    folder = Path("helm/sallyport-crds/templates")
    shipped = {
        yaml.safe_load(path.read_text())["metadata"]["name"] for path in folder.glob("*.yaml")
    }
    assert set(NEEDED) == shipped


def test_the_definitions_with_a_status_are_those_that_control_writes() -> None:
    """One of an older release has none: that is a trouble, and not a surprise."""
    for name in NEEDED:
        path = Path("helm/sallyport-crds/templates") / f"{name.partition('.')[0]}.yaml"
        definition = yaml.safe_load(path.read_text())
        if name in WITH_STATUS:
            assert has_status(definition)
            del definition["spec"]["versions"][0]["subresources"]
            assert not has_status(definition)
    assert set(NEEDED) >= WITH_STATUS
