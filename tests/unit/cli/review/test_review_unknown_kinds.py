"""`sallyport review` of kinds that nobody listed: judged by their definitions, or told of."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Run
from tests.unit.cli.manifests import CONFIG_MAP, pod, write
from tests.unit.core.kubernetes.test_crd_schemas import TEMPLATE, an_object

UNKNOWN = "review its CustomResourceDefinition with it, or --cluster has it"
BAD = {"spec": pod(hostPID=True)["spec"]}


def widget(**spec: Any) -> dict[str, Any]:
    """Return an object of a kind that nobody listed."""
    api = "example.com/v1"
    return {"apiVersion": api, "kind": "Widget", "metadata": {"name": "w"}, "spec": spec}


def definition(schema: dict[str, Any], scope: str = "Namespaced") -> dict[str, Any]:
    """Return the definition of its kind."""
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"plural": "widgets", "kind": "Widget"},
            "scope": scope,
            "versions": [version],
        },
    }


CARRIES = definition(an_object(spec=an_object(runner=TEMPLATE)))


@pytest.mark.parametrize("where", ["files", "later", "folder"])
def test_templates_that_a_definition_has_are_judged(run: Run, tmp_path: Path, where: str) -> None:
    """Wherever the definition is, as the gate judges such an object once `control` found it."""
    held = [CARRIES] if where == "folder" else []
    cluster = write(tmp_path / "cluster" / "a.yaml", *held).parent
    documents = {"files": [CARRIES, widget(runner=BAD)], "later": [widget(runner=BAD), CARRIES]}
    file = write(tmp_path / "a.yaml", *documents.get(where, [widget(runner=BAD)]))
    done = run("review", "-o", "json", "--cluster", cluster, file)
    (element,) = (e for e in json.loads(done.out) if e["kind"] == "Widget")
    assert (done.code, element["verdict"], element["namespace"]) == (1, "deny", "default")
    assert [finding["path"] for finding in element["findings"]] == ["spec.runner.spec.hostPID"]


@pytest.mark.parametrize("where", ["before", "after", "folder"])
def test_a_second_definition_hides_no_template(run: Run, tmp_path: Path, where: str) -> None:
    """Nobody knows which of both is applied, or whether the one that is there stays."""
    held = [CARRIES] if where == "folder" else []
    cluster = write(tmp_path / "cluster" / "a.yaml", *held).parent
    decoy = definition(an_object(spec=an_object(size={"type": "integer"})))
    documents = {"before": [decoy, CARRIES], "after": [CARRIES, decoy], "folder": [decoy]}
    file = write(tmp_path / "a.yaml", *documents[where], widget(runner=BAD))
    done = run("review", "-o", "json", "--cluster", cluster, file)
    (element,) = (e for e in json.loads(done.out) if e["kind"] == "Widget")
    assert [finding["path"] for finding in element["findings"]] == ["spec.runner.spec.hostPID"]


def test_one_that_lies_in_no_namespace_has_none(run: Run, tmp_path: Path) -> None:
    """The definition's scope says it."""
    made = definition(an_object(spec=an_object(runner=TEMPLATE)), "Cluster")
    done = run("review", "-o", "json", write(tmp_path / "a.yaml", made, widget(runner=BAD)))
    assert [element["namespace"] for element in json.loads(done.out)] == ["", ""]


@pytest.mark.parametrize(
    ("documents", "line"),
    [
        ([widget(size=1)], f"1 object left alone (Widget): of an unknown kind: {UNKNOWN}."),
        (
            [widget(runner=BAD), widget(runner=BAD)],
            "2 objects left alone (Widget): of an unknown kind, and holds what looks like a Pod "
            f"template: {UNKNOWN}.",
        ),
        (
            [
                definition(an_object(spec={"x-kubernetes-preserve-unknown-fields": True})),
                widget(runner=BAD),
            ],
            "1 object left alone (Widget): of a kind whose definition does not say all its fields: "
            "it may carry Pods.",
        ),
        (
            [definition({"type": "object"}) | {"spec": {"broken": True}}, widget(size=1)],
            f"1 object left alone (Widget): of an unknown kind: {UNKNOWN}.",
        ),
    ],
    ids=["unknown", "shaped", "hidden", "broken definition"],
)
@pytest.mark.parametrize("form", ["table", "json", "sarif", "github", "junit"])
def test_what_is_left_alone_is_told(
    run: Run, tmp_path: Path, documents: list[object], line: str, form: str
) -> None:
    """In each format, with a count; it is no failure."""
    done = run("review", "-o", form, write(tmp_path / "a.yaml", *documents))
    assert done.code == 0
    if form == "table":
        assert f"\n{line}\n" in done.out
    elif form == "junit":
        assert done.out.count(f'<skipped message="{line.partition(": ")[2][:-1]}"') >= 1
    else:
        assert done.err == f"sallyport: {line}\n"


def test_kinds_that_carry_no_pods_are_not_unknown(run: Run, tmp_path: Path) -> None:
    """Kubernetes' own, and those whose definitions say all their fields."""
    policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {}}
    plain = definition(an_object(spec=an_object(size={"type": "integer"})))
    file = write(tmp_path / "a.yaml", CONFIG_MAP, policy, plain, widget(size=1))
    done = run("review", file)
    assert "unknown" not in done.out
    assert "4 objects of kinds that are not judged" in done.out
    assert run("review", "-o", "json", file).err == ""


def test_an_object_without_its_template_needs_nothing(run: Run, tmp_path: Path) -> None:
    """The field may be optional; what looks like a template and is none is told of."""
    file = write(tmp_path / "a.yaml", CARRIES, widget(size=1))
    done = run("review", "-o", "json", file)
    assert [element["notes"] for element in json.loads(done.out)] == [[], []]
    broken = {"spec": {"containers": [{"name": 1, "image": "x"}], "hostPID": "yes"}}
    done = run("review", "-o", "json", write(tmp_path / "a.yaml", CARRIES, widget(runner=broken)))
    (_, element) = json.loads(done.out)
    assert element["notes"][0].startswith(
        "left alone: what looks like a Pod template in it is none"
    )


def test_a_folder_with_a_broken_definition_can_be_used(run: Run, tmp_path: Path) -> None:
    """Definitions were never read before; one of an old version stops nobody's work."""
    old = {**CARRIES, "spec": {"group": "example.com", "version": "v1"}}
    cluster = write(tmp_path / "cluster" / "a.yaml", old).parent
    file = write(tmp_path / "a.yaml", pod())
    done = run("review", "-o", "json", "--cluster", cluster, "--profile", "restricted", file)
    assert done.code == 0
