"""What `policy new` writes passes lint, tests and build as it stands, and overwrites nothing."""

from pathlib import Path

import pytest

from core.base.errors import SettingsError
from policies.authoring.lint.linter import lint
from policies.authoring.scaffold.files import ScaffoldRequest, files_of, write
from policies.authoring.scaffold.sample_objects import (
    object_with_field,
    object_without_field,
    sample_value,
)
from policies.site.choices import NO_CHOICES
from tests.tools.provide import provide

WISHES = [
    ScaffoldRequest("labels/team"),
    ScaffoldRequest("resources/set", field="spec.containers[].resources"),
    ScaffoldRequest("ports/host", field="spec.containers[].ports[].hostPort"),
    ScaffoldRequest("users/root", field="spec.securityContext.runAsNonRoot"),
    ScaffoldRequest("services/class", kind="Service", field="spec.type"),
    ScaffoldRequest(
        "ingress/secret_named", kind="networking.k8s.io/Ingress", field="spec.tls[].secretName"
    ),
    ScaffoldRequest("cron/zone", kind="batch/CronJob", field="spec.timeZone"),
    ScaffoldRequest("deploy/strategy", kind="apps/Deployment", field="spec.strategy.type"),
    ScaffoldRequest("notes/owner", field="metadata.annotations['example.com/owner']"),
    ScaffoldRequest("data/gpu", signal=True),
]


@pytest.fixture(scope="module")
def scaffolded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one of each."""
    folder = tmp_path_factory.mktemp("new") / "mine"
    for wish in WISHES:
        write(folder, files_of(wish))
    return folder


def test_the_lint_finds_nothing(scaffolded: Path) -> None:
    """Neither errors nor warnings; formatting, schemas, tests and cases are part of it."""
    assert lint(provide("opa"), [scaffolded], NO_CHOICES, None) == []


@pytest.mark.parametrize("wish", WISHES, ids=lambda wish: str(wish.id))
def test_each_has_all_files(scaffolded: Path, wish: ScaffoldRequest) -> None:
    """Rego, test, page and two cases."""
    _, name = wish.parts
    written = sorted(
        path.relative_to(scaffolded / wish.id).as_posix()
        for path in (scaffolded / wish.id).rglob("*")
        if path.is_file()
    )
    cases = ["ordinary", "riskier"] if wish.signal else ["admitted", "refused"]
    assert written == [
        *(f"cases/{case}.yaml" for case in cases),
        f"{name}.md",
        f"{name}.rego",
        f"{name}_test.rego",
    ]


def test_nothing_is_written_over(tmp_path: Path) -> None:
    """Where one file is there, none of the others is written."""
    page = tmp_path / "labels" / "team" / "team.md"
    page.parent.mkdir(parents=True)
    page.write_text("mine")
    with pytest.raises(SettingsError, match=r"team\.md is there already"):
        write(tmp_path, files_of(ScaffoldRequest("labels/team")))
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["team.md"]
    assert page.read_text() == "mine"


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (ScaffoldRequest("team"), "team: write CATEGORY/NAME"),
        (ScaffoldRequest("Labels/team"), "Labels/team: write CATEGORY/NAME"),
        (ScaffoldRequest("labels/../team"), "labels/../team: write CATEGORY/NAME"),
        (ScaffoldRequest("runtime/annotations"), "runtime/annotations: there is a built-in one"),
        (ScaffoldRequest("code/notebook", signal=True), "code/notebook: there is a built-in one"),
        (ScaffoldRequest("labels/x", kind="pod"), "--kind: 'pod' is no kind"),
        (ScaffoldRequest("labels/x", field="spec..x"), "--field: 'spec..x' is no path"),
        (
            ScaffoldRequest("labels/x", field="status.phase"),
            "--field: status.phase of Pod is shown to no",
        ),
        (
            ScaffoldRequest("labels/x", field="spec.x", signal=True),
            "--signal: a signal looks at Pods",
        ),
    ],
)
def test_what_no_rule_may_have_is_refused(wish: ScaffoldRequest, said: str) -> None:
    """With the flag that is wrong, before anything is written."""
    with pytest.raises(SettingsError) as refused:
        files_of(wish)
    assert str(refused.value).startswith(said)


def test_samples_are_of_the_fields_type() -> None:
    """Of Pods, whose fields are read; of others any text will do."""
    assert sample_value("Pod", ["spec", "hostNetwork"]) is True
    assert sample_value("Pod", ["spec", "containers", "[]", "ports", "[]", "hostPort"]) == 1
    assert sample_value("Pod", ["metadata", "labels"]) == {"example": "example"}
    assert sample_value("Pod", ["spec", "nobodyKnowsIt"]) == "example"
    assert sample_value("Service", ["spec", "type"]) == "example"


def test_an_object_without_a_field_has_what_it_would_be_in() -> None:
    """An element of each list on the way; else there would be nothing to find."""
    steps = ["spec", "containers", "[]", "ports", "[]", "hostPort"]
    assert object_without_field("Pod", steps)["spec"]["containers"][0]["ports"] == [{}]
    assert object_with_field("Pod", steps)["spec"]["containers"][0]["ports"] == [{"hostPort": 1}]
    assert "spec" not in object_without_field("Service", ["spec", "type"])
