"""A rule holds for the objects that its Constraint matches, as Gatekeeper's match.go decides."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from policies.gatekeeper_import.importer import ConvertedRules
from tests.tools.provide import provide
from tests.unit.policies.gatekeeper_import.converted_templates import carried
from tests.unit.policies.gatekeeper_import.made_templates import (
    constraint,
    policy,
    template,
    written,
)

ROLE = "rbac.authorization.k8s.io/ClusterRole"
MIXED = [
    {"apiGroups": [""], "kinds": ["Pod", "Namespace"]},
    {"apiGroups": ["rbac.authorization.k8s.io"], "kinds": ["ClusterRole"]},
]
IN = [{"key": "app", "operator": "In", "values": ["a", "b"]}]
NOT_IN = [{"key": "app", "operator": "NotIn", "values": ["a"]}]
EXISTS = [{"key": "app", "operator": "Exists"}]
ABSENT = [{"key": "app", "operator": "DoesNotExist"}]


def denies(made: ConvertedRules, folder: Path, document: dict[str, Any]) -> bool:
    """Return whether the one rule denies an input of `judge`."""
    for name, text in made.files.items():
        path = folder / "rego" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "rego" / "parameters.rego").write_text(
        "package sallyport.parameters\n\ngatekeeper.probe_one := {`parameters`: {}}\n"
    )
    query = "count(data.sallyport.rules.gatekeeper.probe_one.deny)"
    command: list[str | Path] = [provide("opa"), "eval", "-I", "-f", "raw", "-d", folder, query]
    given = json.dumps(document)
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    return int(done.stdout) == 1


def an_object(
    kind: str = "Pod", namespace: str = "train", name: str = "x", **labels: str
) -> dict[str, Any]:
    """Return the input of `judge` for an object with these labels in a namespace of tier gold."""
    return {
        "kind": kind,
        "context": {
            "operation": "CREATE",
            "namespace": namespace,
            "namespaceLabels": {"tier": "gold"} if namespace else {},
            "groups": [],
        },
        "fields": {"metadata": {"name": name, "labels": labels}},
    }


@pytest.mark.parametrize(
    ("match", "document", "holds"),
    [
        ({"labelSelector": {"matchLabels": {"app": "a"}}}, an_object(app="a"), True),
        ({"labelSelector": {"matchLabels": {"app": "a"}}}, an_object(app="b"), False),
        ({"labelSelector": {"matchLabels": {"app": "a"}}}, an_object(), False),
        ({"labelSelector": {"matchExpressions": IN}}, an_object(app="b"), True),
        ({"labelSelector": {"matchExpressions": IN}}, an_object(), False),
        ({"labelSelector": {"matchExpressions": NOT_IN}}, an_object(), True),
        ({"labelSelector": {"matchExpressions": NOT_IN}}, an_object(app="a"), False),
        ({"labelSelector": {"matchExpressions": EXISTS}}, an_object(app=""), True),
        ({"labelSelector": {"matchExpressions": ABSENT}}, an_object(app=""), False),
        ({"labelSelector": {"matchExpressions": ABSENT}}, an_object(), True),
        ({"labelSelector": {}}, an_object(), True),
        ({"namespaceSelector": {"matchLabels": {"tier": "gold"}}}, an_object(), True),
        ({"namespaceSelector": {"matchLabels": {"tier": "iron"}}}, an_object(), False),
        ({"name": "x*"}, an_object(name="xy"), True),
        ({"name": "x*"}, an_object(name="yx"), False),
        ({"scope": "Namespaced"}, an_object(), True),
        ({"scope": "Cluster"}, an_object(), False),
        ({"kinds": MIXED, "scope": "Cluster"}, an_object(ROLE, ""), True),
        ({"kinds": MIXED, "scope": "Cluster"}, an_object("Namespace", "n"), True),
        ({"kinds": MIXED, "scope": "Namespaced"}, an_object("Namespace", "n"), False),
        ({"kinds": MIXED, "namespaces": ["a*"]}, an_object(ROLE, ""), True),
        ({"kinds": MIXED, "namespaces": ["a*"]}, an_object("Namespace", "ab", "ab"), True),
        ({"kinds": MIXED, "namespaces": ["a*"]}, an_object("Namespace", "ba", "ba"), False),
        ({"kinds": MIXED, "namespaces": ["a*"]}, an_object(), False),
        ({"kinds": MIXED, "excludedNamespaces": ["tr*"]}, an_object(), False),
        ({"kinds": MIXED, "excludedNamespaces": ["tr*"]}, an_object(ROLE, ""), True),
        (
            {"kinds": MIXED, "namespaceSelector": {"matchLabels": {"app": "a"}}},
            an_object("Namespace", "n", app="a"),
            True,
        ),
        (
            {"kinds": MIXED, "namespaceSelector": {"matchLabels": {"app": "a"}}},
            an_object("Namespace", "n"),
            False,
        ),
        (
            {"kinds": MIXED, "namespaceSelector": {"matchLabels": {"app": "a"}}},
            an_object(ROLE, ""),
            True,
        ),
    ],
)
def test_imported_match_selects_exactly_its_objects(
    tmp_path: Path, match: dict[str, Any], document: dict[str, Any], holds: object
) -> None:
    """And nothing else: what lies in no namespace is never left out by one."""
    made = carried(
        written(tmp_path, template(policy("input.review.object")), constraint(match=match))
    )
    assert not any(each.refused for each in made.outcomes), made.outcomes
    assert denies(made, tmp_path, document) is holds


@pytest.mark.parametrize(
    ("found", "message", "path"),
    [
        ('{"msg": "said", "details": {"path": "spec.x"}}', "said", "spec.x"),
        ('{"msg": "said", "details": {"field": "spec.y"}}', "said", "spec.y"),
        ('{"msg": "said"}', "said", "spec.hostPID"),
        ('{"msg": ""}', '{"msg":""}', "spec.hostPID"),
        ('{"text": 1}', '{"text":1}', "spec.hostPID"),
        ('"only text"', '"only text"', "spec.hostPID"),
    ],
)
def test_whatever_a_violation_is_it_counts(
    tmp_path: Path, found: str, message: str, path: str
) -> None:
    """A violation without a message is one."""
    body = f"  input.review.object.spec.hostPID\n  x := {found}\n"
    rego = f"package probe\n\nviolation[x] {{\n{body}}}\n"
    made = carried(written(tmp_path, template(rego), constraint()))
    document = an_object()
    document["fields"]["spec"] = {"hostPID": True}
    assert denies(made, tmp_path, document)
    query = "data.sallyport.rules.gatekeeper.probe_one.deny[_]"
    command: list[str | Path] = [provide("opa"), "eval", "-I", "-f", "raw", "-d", tmp_path, query]
    done = subprocess.run(
        command, input=json.dumps(document), capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == {"message": message, "path": path, "value": ""}
