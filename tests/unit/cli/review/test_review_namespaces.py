"""`sallyport review` of Namespaces: their marks, for the person named with --as."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run
from tests.unit.cli.manifests import cluster, write

MARKED = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "new", "labels": {"sallyport.dev/mode": "audit"}},
}
PLAIN = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "plain"}}


@pytest.mark.parametrize(
    ("arguments", "verdicts"),
    [
        ([], ["allow", "allow"]),
        (["--as", "alice"], ["deny", "allow"]),
        (["--as", "root", "--as-group", "system:masters"], ["allow", "allow"]),
        (["--as", "alice", "--profile", "net"], ["allow", "allow"]),
    ],
)
def test_marks_need_the_right_to_exempt(
    run: Run, tmp_path: Path, arguments: list[str], verdicts: list[str]
) -> None:
    """As the gate says on creation; without a person there is nobody to ask for."""
    file = write(tmp_path / "a.yaml", MARKED, PLAIN)
    done = run("review", "-ojson", "--cluster", cluster(tmp_path / "c"), *arguments, file)
    elements = json.loads(done.out)
    assert [element["verdict"] for element in elements] == verdicts
    assert done.code == int("deny" in verdicts)
    assert {(e["namespace"], e["profile"]) for e in elements} == {("", None)}


def test_finding_names_the_mark(run: Run, tmp_path: Path) -> None:
    """Rule and path, as for a Pod."""
    done = run("review", "-ojson", "--as", "alice", write(tmp_path / "a.yaml", MARKED))
    ((finding,),) = (element["findings"] for element in json.loads(done.out))
    assert finding["rule"] == "namespaces/exempt"
    assert finding["path"] == "metadata.labels[sallyport.dev/mode]"


def test_broken_namespace_is_an_error(run: Run, tmp_path: Path) -> None:
    """With the field that is at fault."""
    broken = {**MARKED, "metadata": {"name": "new", "labels": {"a": 5}}}
    done = run("review", "-ojson", "--as", "alice", write(tmp_path / "a.yaml", broken))
    ((finding,),) = (element["findings"] for element in json.loads(done.out))
    assert done.code == 2
    assert (finding["rule"], finding["path"]) == ("error/object", "metadata.labels[...]")
