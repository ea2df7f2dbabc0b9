"""Which webhooks of others leave a namespace out, and which take Pods."""

from typing import Any

import pytest

from cli.preflight.cluster.model import PreflightNotes
from cli.preflight.cluster.other_webhooks import judge_webhooks
from tests.harness.programs.client import Json

OWN = "sallyport-system"
NAME = "kubernetes.io/metadata.name"


def expression(key: str, operator: str, *values: str) -> Json:
    """Return a selector of one requirement."""
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def validating(name: str = "other", rule: Json | None = None, **hook: Any) -> list[Json]:
    """Return a configuration of one webhook that fails closed."""
    of_pods: Json = {"apiGroups": [""], "resources": ["pods"], "operations": ["CREATE"]}
    return [{"metadata": {"name": name}, "webhooks": [{"rules": [of_pods | (rule or {})], **hook}]}]


@pytest.mark.parametrize(
    ("selector", "is_found"),
    [
        ({}, True),
        (expression(NAME, "NotIn", "kube-system"), True),
        (expression(NAME, "NotIn", "kube-system", OWN), False),
        (expression(NAME, "In", "team"), False),
        (expression(NAME, "In", OWN), True),
        (expression("guarded", "Exists"), False),
        (expression("control-plane", "DoesNotExist"), True),
        ({"matchLabels": {"guarded": "yes"}}, False),
        ({"matchLabels": {NAME: OWN}}, True),
    ],
)
def test_a_webhook_that_fails_closed_for_our_pods_is_told(
    selector: Json,
    is_found: bool,  # noqa: FBT001
) -> None:
    """By its namespaceSelector, for a namespace that has no labels but its name."""
    notes = PreflightNotes()
    judge_webhooks([], validating(namespaceSelector=selector), OWN, notes)
    assert bool(notes.findings) == is_found


@pytest.mark.parametrize(
    ("rule", "is_found"),
    [
        ({}, True),
        ({"resources": ["*"], "apiGroups": ["*"], "operations": ["*"]}, True),
        ({"resources": ["*/*"]}, True),
        ({"resources": ["pods/exec"]}, False),
        ({"operations": ["DELETE"]}, False),
        ({"apiGroups": ["apps"], "resources": ["*"]}, False),
    ],
)
def test_only_webhooks_that_take_new_pods_count(rule: Json, is_found: bool) -> None:  # noqa: FBT001
    """Others do not meet ours."""
    notes = PreflightNotes()
    judge_webhooks([], validating(rule=rule), OWN, notes)
    assert bool(notes.findings) == is_found


def test_our_own_are_not_of_others() -> None:
    """In a cluster where Sallyport is installed already."""
    notes = PreflightNotes()
    judge_webhooks(validating("sallyport-discovered"), validating("sallyport"), OWN, notes)
    assert notes.findings == []


def test_a_webhook_that_ignores_failures_locks_nobody_out() -> None:
    """FailurePolicy Ignore; without the field it is Fail."""
    notes = PreflightNotes()
    judge_webhooks([], validating(failurePolicy="Ignore"), OWN, notes)
    assert notes.findings == []
