"""A folder takes the roles and bindings that kube-apiserver takes, and refuses those it refuses."""

import copy
from collections.abc import Callable
from typing import Final, TypeVar

import msgspec
import pytest

from core.base.errors import InvalidObjectError
from kube.rbac.objects import Binding, Role, check_binding, check_role
from tests.harness.programs.client import Client, Json
from tests.harness.worlds import rbac

USE: Final = rbac.rule(["sallyport.dev"], "containerprofiles", "use")
URLS: Final = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
IN_TRAIN: Final = {"name": "r", "namespace": "default"}
EVERYWHERE: Final = {"name": "r"}
READERS: Final = {"apiGroup": rbac.GROUP, "kind": "ClusterRole", "name": "readers"}
WRITERS: Final = {"apiGroup": rbac.GROUP, "kind": "Role", "name": "writers"}


def _role(*rules: Json, **more: object) -> Json:
    return {"kind": "Role", "metadata": IN_TRAIN, "rules": list(rules), **more}


def _cluster_role(*rules: Json, **more: object) -> Json:
    return {"kind": "ClusterRole", "metadata": EVERYWHERE, "rules": list(rules), **more}


def _named(name: str) -> Json:
    return {"metadata": {**EVERYWHERE, "name": name}}


def _selecting(*selectors: Json) -> Json:
    return _cluster_role(aggregationRule={"clusterRoleSelectors": list(selectors)})


def _expression(operator: str, key: str = "k", **values: object) -> Json:
    return _selecting({"matchExpressions": [{"key": key, "operator": operator, **values}]})


def _binding(*subjects: Json, to: Json = WRITERS, **more: object) -> Json:
    whole = {"kind": "RoleBinding", "metadata": IN_TRAIN, "roleRef": to, "subjects": list(subjects)}
    return {**whole, **more}


def _cluster_binding(*subjects: Json, to: Json = READERS, **more: object) -> Json:
    whole = _binding(*subjects, to=to, kind="ClusterRoleBinding", metadata=EVERYWHERE)
    return {**whole, **more}


def _without(item: Json, field: str) -> Json:
    return {key: value for key, value in item.items() if key != field}


ROBOT: Final = rbac.service_account("robot", "train")
LONG: Final = ".".join(["d" * 62] * 4) + "dd"
"""A DNS name of 253 characters, the most."""
ALICE: Final = rbac.user("alice")

CASES: Final[dict[str, Json]] = {
    "role": _role(USE),
    "role without rules": _role(),
    "role with null for rules": _role(rules=None),
    "role with an unknown field": _role(USE, rule=[]),
    "role with a rule's unknown field": _role({**USE, "verb": "get"}),
    "role without a name": _role(USE, metadata={"name": "", "namespace": "default"}),
    "role with colons in its name": _role(USE, metadata={**IN_TRAIN, "name": "system:a"}),
    "role with a slash in its name": _cluster_role(USE, **_named("a/b")),
    "role with a percent in its name": _cluster_role(USE, **_named("a%b")),
    "role named dots": _cluster_role(USE, **_named("..")),
    "role named in capitals with a space": _cluster_role(USE, **_named("My Role")),
    "rule without verbs": _role(_without(USE, "verbs")),
    "rule with no verb": _role({**USE, "verbs": []}),
    "rule with null verbs": _role({**USE, "verbs": None}),
    "rule with an empty verb": _role({**USE, "verbs": [""]}),
    "rule without groups": _role(_without(USE, "apiGroups")),
    "rule with no group": _role({**USE, "apiGroups": []}),
    "rule without resources": _role(_without(USE, "resources")),
    "rule with empty names": _role({**USE, "resourceNames": []}),
    "rule with URLs in a role": _role(URLS),
    "rule with URLs": _cluster_role(URLS),
    "rule with URLs and resources": _cluster_role({**USE, **URLS}),
    "rule with URLs and names": _cluster_role({**URLS, "resourceNames": ["a"]}),
    "rule with a number for a verb": _role({**USE, "verbs": [1]}),
    "aggregation": _selecting({"matchLabels": {"a": "b"}}),
    "aggregation in a role": _role(USE, aggregationRule={"clusterRoleSelectors": [{}]}),
    "aggregation of all": _selecting({}),
    "aggregation of nothing": _selecting(),
    "aggregation without selectors": _cluster_role(aggregationRule={}),
    "aggregation by a bad key": _selecting({"matchLabels": {"a b": "c"}}),
    "aggregation by a bad value": _selecting({"matchLabels": {"a": "c d"}}),
    "aggregation by a key with a domain": _selecting({"matchLabels": {"a.b-c.d/e_f": "G.h"}}),
    "aggregation by a key with a bad domain": _selecting({"matchLabels": {"A_b/c": "d"}}),
    "aggregation by a key with two slashes": _selecting({"matchLabels": {"a/b/c": "d"}}),
    "aggregation by an empty key": _selecting({"matchLabels": {"": "d"}}),
    "aggregation by a long key": _selecting({"matchLabels": {"a" * 63: "b" * 63}}),
    "aggregation by a key too long": _selecting({"matchLabels": {"a" * 64: "b"}}),
    "aggregation by a value too long": _selecting({"matchLabels": {"a": "b" * 64}}),
    "aggregation by a long domain": _selecting({"matchLabels": {f"{LONG}/a": "b"}}),
    "aggregation by a domain too long": _selecting({"matchLabels": {f"{LONG}d/a": "b"}}),
    "aggregation by a value and a newline": _selecting({"matchLabels": {"a": "b\n"}}),
    "aggregation by an empty value": _selecting({"matchLabels": {"a": ""}}),
    "in": _expression("In", values=["a"]),
    "in nothing": _expression("In"),
    "in by a bad key": _expression("In", key="-a", values=["a"]),
    "in a bad value": _expression("In", values=["a b"]),
    "not in nothing": _expression("NotIn", values=[]),
    "exists": _expression("Exists"),
    "exists with a value": _expression("Exists", values=["a"]),
    "does not exist with none": _expression("DoesNotExist", values=[]),
    "another operator": _expression("Like", values=["a"]),
    "binding": _binding(ALICE),
    "binding of nobody": _binding(),
    "binding with null for subjects": _binding(subjects=None),
    "binding to a cluster role": _binding(ALICE, to=READERS),
    "cluster binding": _cluster_binding(ALICE),
    "cluster binding to a role": _cluster_binding(ALICE, to=WRITERS),
    "binding to a kind of its own": _binding(to={**WRITERS, "kind": "Rule"}),
    "binding to no name": _binding(to={**WRITERS, "name": ""}),
    "binding to a name with a slash": _binding(to={**WRITERS, "name": "a/b"}),
    "binding to dots": _binding(to={**WRITERS, "name": "."}),
    "binding without the role's group": _binding(to=_without(WRITERS, "apiGroup")),
    "binding with another group": _binding(to={**WRITERS, "apiGroup": "apps"}),
    "user without a group": _binding(_without(ALICE, "apiGroup")),
    "user of another group": _binding({**ALICE, "apiGroup": "apps"}),
    "user without a name": _binding({**ALICE, "name": ""}),
    "user in a namespace": _binding({**ALICE, "namespace": "train"}),
    "service account": _cluster_binding(ROBOT),
    "service account without a namespace": _binding(_without(ROBOT, "namespace")),
    "service account of nowhere": _cluster_binding(_without(ROBOT, "namespace")),
    "service account with a group": _binding({**ROBOT, "apiGroup": rbac.GROUP}),
    "service account with an empty group": _binding({**ROBOT, "apiGroup": ""}),
    "service account with a bad name": _binding({**ROBOT, "name": "A:b"}),
    "service account with a newline": _binding({**ROBOT, "name": "robot\n"}),
    "service account with a long name": _binding({**ROBOT, "name": LONG}),
    "service account with a name too long": _binding({**ROBOT, "name": f"{LONG}d"}),
    "service account with dots": _binding({**ROBOT, "name": "a.b-c.d"}),
    "service account with no name": _binding({**ROBOT, "name": ""}),
    "service account in a bad namespace": _binding({**ROBOT, "namespace": "A b"}),
    "subject of another kind": _binding({**ALICE, "kind": "Robot"}),
    "subject with an unknown field": _binding({**ALICE, "uid": "1"}),
}

_Kind = TypeVar("_Kind", Role, Binding)


@pytest.mark.parametrize("case", CASES)
async def test_both_take_it_or_neither(case: str, client: Client) -> None:
    """What a folder is silently wrong about would be another cluster's answer."""
    item = {"apiVersion": f"{rbac.GROUP}/v1", **copy.deepcopy(CASES[case])}
    plural = f"{item['kind'].lower()}s"
    place = "namespaces/default/" if "namespace" in item["metadata"] else ""
    status, answer = await client.request(
        "POST",
        f"/apis/{rbac.GROUP}/v1/{place}{plural}",
        item,
        parameters={"dryRun": "All", "fieldValidation": "Strict"},
    )
    assert status in {201, 400, 422}, answer
    assert _taken(item) is (status == 201), answer.get("message")


def test_there_are_cases_of_both_sorts() -> None:
    """Neither answer is the only one."""
    taken = [_taken({"apiVersion": f"{rbac.GROUP}/v1", **item}) for item in CASES.values()]
    assert 15 < sum(taken) < len(taken) - 15


def _taken(item: Json) -> bool:
    if item["kind"].endswith("Binding"):
        return _passes(item, Binding, check_binding)
    return _passes(item, Role, check_role)


def _passes(item: Json, kind: type[_Kind], check: Callable[[_Kind, str], None]) -> bool:
    try:
        check(msgspec.convert(item, kind), "it")
    except (InvalidObjectError, msgspec.ValidationError):
        return False
    return True
