"""Which definitions are found to carry Pods, and what is registered for them."""

import copy
import datetime as dt
from typing import Any, Final

import pytest

from control.discovery.loop import event_of
from control.discovery.workload_kinds import (
    REGISTRATIONS,
    DiscoveryChoices,
    WorkloadKind,
    covered_resources,
    find_workload_kind,
    foreign_webhooks,
    is_current,
)
from core.base.errors import InvalidObjectError
from core.kubernetes.workload_kinds import WORKLOADS

MUTATING, VALIDATING = REGISTRATIONS
NOW: Final = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
CONTAINERS: Final[dict[str, Any]] = {"items": {"properties": {"name": {}, "image": {}}}}
TEMPLATE: Final = {"properties": {"spec": {"properties": {"containers": CONTAINERS}}}}
WITH: Final = {"properties": {"spec": {"properties": {"template": TEMPLATE}}}}
WITHOUT: Final = {"properties": {"spec": {"type": "object"}}}
HIDDEN: Final = {"x-kubernetes-preserve-unknown-fields": True}
CHART: Final = {
    "name": "workloads.sallyport.dev",
    "clientConfig": {"service": {"name": "sallyport-gate"}, "caBundle": "Q0E="},
    "namespaceSelector": {"matchExpressions": []},
    "timeoutSeconds": 7,
    "failurePolicy": "Fail",
    "matchConditions": [{"name": "a", "expression": "true"}],
}


def definition(
    *schemas: tuple[bool, Any], group: str = "example.com", kind: str = "Widget"
) -> dict[str, Any]:
    """Return a definition with a version for each schema.

    Whether it is served, and what it says.
    """
    return {
        "metadata": {"name": f"widgets.{group}", "uid": "u", "generation": 1},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": "widgets"},
            "versions": [
                {"name": f"v{number}", "served": served, "schema": {"openAPIV3Schema": schema}}
                for number, (served, schema) in enumerate(schemas, 1)
            ],
        },
    }


def found() -> WorkloadKind:
    """Return a kind as it is found."""
    made = find_workload_kind(definition((True, WITH)), DiscoveryChoices())
    assert made is not None
    return made


def test_all_served_versions_are_covered_where_one_has_a_template() -> None:
    """What another version hides is stored all the same; one that is not served never comes."""
    made = find_workload_kind(
        definition((True, WITHOUT), (True, WITH), (False, WITH)), DiscoveryChoices()
    )
    assert made is not None
    assert made.rule() == {
        "apiGroups": ["example.com"],
        "apiVersions": ["v1", "v2"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["widgets"],
        "scope": "Namespaced",
    }
    assert made.paths == ("spec.template",)


NAME: Final = frozenset({"widgets.example.com"})


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        (definition((True, WITHOUT)), DiscoveryChoices()),
        (definition((False, WITH), (True, WITHOUT)), DiscoveryChoices()),
        (definition((False, WITH)), DiscoveryChoices()),
        (definition((True, HIDDEN)), DiscoveryChoices()),
        (definition((True, WITHOUT)), DiscoveryChoices(search=NAME)),
        (definition((True, WITH)), DiscoveryChoices(skip=NAME)),
        (definition((True, HIDDEN)), DiscoveryChoices(search=NAME, skip=NAME)),
        (definition((True, WITH), group="sallyport.dev"), DiscoveryChoices()),
        (definition((True, None)), DiscoveryChoices()),
    ],
)
def test_kinds_without_a_served_template_are_not_discovered(
    made: dict[str, Any], wanted: DiscoveryChoices
) -> None:
    """No template, none served, none that the operator wants; Sallyport's own."""
    assert find_workload_kind(made, wanted) is None


@pytest.mark.parametrize("kind", [each for each in WORKLOADS if "." in each[0]])
def test_what_the_table_lists_is_not_found_again(kind: tuple[str, str]) -> None:
    """The chart's own webhooks ask about it, and fail closed."""
    assert (
        find_workload_kind(
            definition((True, WITH), group=kind[0], kind=kind[1]), DiscoveryChoices()
        )
        is None
    )


def test_a_hidden_template_is_found_where_the_operator_says_so() -> None:
    """Nothing says where it is."""
    made = find_workload_kind(definition((True, HIDDEN)), DiscoveryChoices(search=NAME))
    assert made is not None
    assert made.paths == ()


@pytest.mark.parametrize(
    "broken", [{}, {"metadata": {"name": "a"}, "spec": {}}, {"metadata": {}, "spec": 1}]
)
def test_a_broken_definition_is_an_error_of_its_own(broken: dict[str, Any]) -> None:
    """Which names what it is; the loop goes on with the others."""
    with pytest.raises(InvalidObjectError, match="CustomResourceDefinition"):
        find_workload_kind(broken, DiscoveryChoices())


def test_the_webhook_goes_by_the_charts_and_fails_open() -> None:
    """Gate, CA, namespaces and time are the chart's; policy and conditions are not."""
    (made,) = VALIDATING.body("u", CHART, [found()])["webhooks"]
    for field in ("clientConfig", "namespaceSelector", "timeoutSeconds"):
        assert made[field] == CHART[field]
    assert made["failurePolicy"] == "Ignore"
    assert "matchConditions" not in made
    assert made["rules"] == [found().rule()]
    assert VALIDATING.body("u", None, [found()])["webhooks"] == []


def live() -> dict[str, Any]:
    """Return a registration as kube-apiserver gives one that was written."""
    made = VALIDATING.body("u", CHART, [found()])
    made["webhooks"][0] |= {"objectSelector": {}}
    return made


def test_what_is_written_is_not_written_again() -> None:
    """Defaults, and webhooks of others, are no difference."""
    body = VALIDATING.body("u", CHART, [found()])
    beside = live()
    beside["webhooks"].append({"name": "theirs"})
    for each in (live(), beside):
        assert is_current(each, body, VALIDATING.webhook)
    assert foreign_webhooks(beside, VALIDATING.webhook) == ["theirs"]
    assert covered_resources(beside, VALIDATING.webhook) == {("example.com", "widgets")}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("failurePolicy", "Fail"),
        ("rules", []),
        ("namespaceSelector", {}),
        ("clientConfig", {"url": "https://elsewhere.example"}),
        ("timeoutSeconds", 30),
    ],
)
def test_what_somebody_changed_is_written_again(field: str, value: object) -> None:
    """Each field that is set."""
    changed = live()
    changed["webhooks"][0][field] = value
    assert not is_current(changed, VALIDATING.body("u", CHART, [found()]), VALIDATING.webhook)


def test_a_mark_that_somebody_took_away_is_written_again() -> None:
    """AKS would change the selectors without it; and so is a webhook that is gone."""
    body = VALIDATING.body("u", CHART, [found()])
    unmarked, gone = live(), live()
    del unmarked["metadata"]["annotations"]
    del gone["webhooks"]
    assert not is_current(unmarked, body, VALIDATING.webhook)
    assert not is_current(gone, body, VALIDATING.webhook)
    none = copy.deepcopy(body) | {"webhooks": []}
    assert not is_current(live(), none, VALIDATING.webhook)
    assert is_current(none, none, VALIDATING.webhook)


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        (("spec.a", "spec.b"), "at spec.a, spec.b: "),
        (tuple("abcdefg"), "at a, b, c, d, e and 2 more: "),
        ((), "that its schema hides: "),
    ],
)
def test_the_event_says_where(paths: tuple[str, ...], said: str) -> None:
    """A few places, on the definition."""
    kind = WorkloadKind(
        "widgets.example.com", "u", "example.com", "widgets", ("v1",), "Cluster", paths
    )
    event = event_of(kind, NOW)
    assert said in event["message"]
    assert event["involvedObject"]["name"] == "widgets.example.com"
    assert event["lastTimestamp"] == "2026-03-01T00:00:00Z"
