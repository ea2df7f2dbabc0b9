"""The table of operators' kinds agrees with the schemas that their operators publish."""

from collections.abc import Iterator
from typing import Any

import pytest

from core.kubernetes.crds import find_pod_templates, hides_fields
from core.kubernetes.workload_kinds import OPERATORS, PlaceContent, WorkloadKind
from tests.harness.published.crds import UNPUBLISHED, public_definitions, schemas_of

PUBLIC = [each for each in OPERATORS if each.group_kind not in UNPUBLISHED]

OLDER = {
    "serving.knative.dev": {"v1beta1", "v1alpha1"},  # Served until Knative 0.18.
}
"""By group: versions of the table that the operators' releases of today do not serve."""
NEWER = {
    "agents.x-k8s.io": {"v1beta1"},
    "extensions.agents.x-k8s.io": {"v1beta1"},
}
"""And those that only later releases than the one of tests/tools/crds serve."""


def parts_at(schema: Any, path: str) -> Iterator[Any]:
    """Yield the schema at a path of the table; none where the schema does not have it."""
    for step in path.split("."):
        name, lists = step.partition("[")[0], step.count("[*]")
        properties = schema.get("properties", {})
        schema = schema.get("additionalProperties") if name == "*" else properties.get(name)
        for _ in range(lists):
            schema = (schema or {}).get("items")
        if not schema:
            return
    yield schema


def test_what_is_published_is_known() -> None:
    """A module that gains or loses a kind of the table is noticed."""
    assert {each.group_kind for each in OPERATORS} - public_definitions().keys() == UNPUBLISHED


@pytest.mark.parametrize("workload", PUBLIC, ids=lambda each: each.kind)
def test_names_scope_and_versions_are_those_published(workload: WorkloadKind) -> None:
    """The webhooks' rules are made of them: a version that is not named may go unseen."""
    for each in public_definitions()[workload.group_kind]:
        spec = each.definition["spec"]
        assert spec["names"]["plural"] == workload.resource
        assert (spec["scope"] == "Namespaced") == workload.namespaced
    others = OLDER.get(workload.group, set()) | NEWER.get(workload.group, set())
    assert {*workload.versions} == {*schemas_of(workload.group_kind)} | others


@pytest.mark.parametrize("workload", PUBLIC, ids=lambda each: each.kind)
def test_each_place_is_in_the_schema_of_each_version(workload: WorkloadKind) -> None:
    """Also what else says what an operator runs; nothing lies where objects cannot have it."""
    for version, schema in schemas_of(workload.group_kind).items():
        paths = [*(place.path for place in workload.places), *workload.says]
        missing = [path for path in paths if not list(parts_at(schema, path))]
        assert (version, missing) == (version, [])


@pytest.mark.parametrize("workload", PUBLIC, ids=lambda each: each.kind)
def test_the_table_has_every_template_of_the_schema(workload: WorkloadKind) -> None:
    """What discovery would find in a kind that nobody listed, with the same reader."""
    composed = tuple(
        f"{place.path}." for place in workload.places if place.holds is not PlaceContent.TEMPLATE
    )
    listed = {place.path for place in workload.places}
    for schema in schemas_of(workload.group_kind).values():
        found = {path for path in find_pod_templates(schema) if path not in listed}
        assert {path for path in found if not path.startswith(composed)} == set()


def test_the_operators_other_kinds_are_found_by_discovery() -> None:
    """What the table leaves to `control`, and the one kind whose schema hides its templates."""
    others = public_definitions().keys() - {each.group_kind for each in OPERATORS}
    found = {
        kind: find_pod_templates(schema) for kind in others for schema in schemas_of(kind).values()
    }
    assert {kind: paths for kind, paths in found.items() if paths} == {
        ("argoproj.io", "WorkflowTaskSet"): ["spec.tasks.*.containerSet"],
        ("serving.kserve.io", "ClusterServingRuntime"): ["spec"],
        ("serving.kserve.io", "ServingRuntime"): ["spec"],
    }
    hidden = {
        kind for kind in others for schema in schemas_of(kind).values() if hides_fields(schema)
    }
    assert hidden - {kind for kind, paths in found.items() if paths} == {
        ("sparkoperator.k8s.io", "SparkConnect")
    }


def test_no_definition_converts_by_a_webhook() -> None:
    """Which would have to be switched off to install it: its operator is not there to answer."""
    asks = [
        each.module
        for definitions in public_definitions().values()
        for each in definitions
        if each.definition["spec"].get("conversion", {}).get("strategy", "None") != "None"
    ]
    assert asks == []
