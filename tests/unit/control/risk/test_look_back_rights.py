"""The chart lets control do what looking back takes, where that is on, and not elsewhere."""

from typing import Any

from control.risk.look_back.search import ALWAYS
from control.risk.look_back.store import NAME
from tests.harness.programs.helm import Helm, named
from tests.unit.helm.switches import IDENTITY


def rules(helm: Helm, kind: str, values: Any) -> list[Any]:
    """Return the rules of control's role or cluster role."""
    found: list[Any] = named(helm.objects(values), kind, "sallyport-control")["rules"]
    return found


def allows(found: list[Any], verb: str) -> set[tuple[str, str]]:
    """Return the groups and resources on all of whose objects a verb is allowed."""
    return {
        (group, resource)
        for rule in found
        if verb in rule["verbs"] and "resourceNames" not in rule
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def test_whatever_is_always_listed_may_be_listed(helm: Helm) -> None:
    """Or each look back would say that it saw only a part."""
    may = allows(rules(helm, "ClusterRole", {"identity": IDENTITY}), "list")
    assert {(each.group, each.resource) for each in ALWAYS} - may == set()


def test_events_can_be_read_and_changed(helm: Helm) -> None:
    """A second rise is told by the same Event."""
    found = rules(helm, "ClusterRole", {"identity": IDENTITY})
    assert all(("", "events") in allows(found, verb) for verb in ("get", "create", "patch"))


def test_the_memory_can_be_written_by_its_name(helm: Helm) -> None:
    """Made, read and changed."""
    found = rules(helm, "Role", {"identity": IDENTITY})
    verbs = {
        verb
        for rule in found
        if "secrets" in rule["resources"] and NAME in rule.get("resourceNames", [NAME])
        for verb in rule["verbs"]
    }
    assert {"create", "get", "patch"} <= verbs


def test_without_looking_back_control_has_no_such_rights(helm: Helm) -> None:
    """Workloads are listed for this alone."""
    off = {"identity": {**IDENTITY, "lookBack": {"enabled": False}}}
    assert ("apps", "deployments") not in allows(rules(helm, "ClusterRole", off), "list")
    assert not any(NAME in rule.get("resourceNames", ()) for rule in rules(helm, "Role", off))
