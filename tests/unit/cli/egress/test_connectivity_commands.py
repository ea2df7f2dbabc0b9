"""`sallyport egress connlist` and `diff`: forms, exit codes, and what is broken."""

import csv
import json
from pathlib import Path
from typing import Final

import pytest

from tests.unit.cli.conftest import Run

EXAMPLES: Final = Path(__file__).parents[4] / "examples" / "egress" / "policies"
BEFORE: Final = EXAMPLES / "before"
AFTER: Final = EXAMPLES / "after"
PAGE: Final = EXAMPLES.parents[2] / "docs" / "operate" / "egress-tools.md"

OTHER: Final = """
apiVersion: cilium.io/v2
kind: CiliumNetworkPolicy
metadata: {name: other, namespace: research}
"""
BROKEN: Final = """
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: bad, namespace: research}
spec: {podSelector: {}, egress: [{to: [{ipBlock: {cidr: 10.0.0.0/80}}]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: one, namespace: research}
---
apiVersion: v1
metadata: {name: no-kind}
---
apiVersion: v1
kind: Pod
metadata: {name: two, namespace: research}
"""


def test_documentation_shows_what_is_printed(run: Run) -> None:
    """Both examples, to the letter, with their exit codes."""
    page = PAGE.read_text()
    listed = run("egress", "connlist", BEFORE)
    compared = run("egress", "diff", BEFORE, AFTER)
    assert f"$ sallyport egress connlist examples/egress/policies/before\n{listed.out}```" in page
    assert f"examples/egress/policies/after\n{compared.out}```" in page
    assert (listed.code, compared.code) == (0, 1)
    assert listed.err == compared.err == ""


def test_what_does_not_differ_is_exit_0(run: Run) -> None:
    """And one line says so."""
    done = run("egress", "diff", BEFORE, BEFORE)
    assert (done.code, done.out) == (0, "No connections differ.\n")


def test_other_forms_have_the_same_rows(run: Run) -> None:
    """JSON with its format, CSV and Markdown with a head, and a graph by namespaces."""
    found = json.loads(run("egress", "connlist", BEFORE, "-o", "json").out)
    assert (found["format"], found["complete"], len(found["connections"])) == (1, True, 2)
    rows = [*csv.reader(run("egress", "connlist", BEFORE, "-o", "csv").out.splitlines())]
    assert rows[0] == ["src", "dst", "conn", "by address"]
    assert rows[1][:3] == [found["connections"][0][key] for key in ("src", "dst", "conn")]
    table = run("egress", "connlist", BEFORE, "-o", "md").out.splitlines()
    assert len(table) == 4
    dot = run("egress", "connlist", BEFORE, "-o", "dot").out
    assert '"research/train[Job]" -> "data/catalogue[Deployment]" [label="TCP 8080"]' in dot
    assert dot.count("subgraph") == 2
    changes = json.loads(run("egress", "diff", BEFORE, AFTER, "-o", "json").out)
    assert [each["change"] for each in changes["changes"]] == ["changed", "removed"]
    assert len(run("egress", "diff", BEFORE, AFTER, "-o", "csv").out.splitlines()) == 3
    assert len(run("egress", "diff", BEFORE, AFTER, "-o", "md").out.splitlines()) == 4


def test_one_namespace_alone(run: Run) -> None:
    """Rows that it has a part in."""
    done = run("egress", "connlist", BEFORE, "-n", "data")
    assert done.out == "research/train[Job] => data/catalogue[Deployment] : TCP 8080\n"


def test_broken_objects_end_nothing(run: Run, tmp_path: Path) -> None:
    """Each is named with file and field, the rest is listed, and the exit code is 2."""
    (tmp_path / "a.yaml").write_text(BROKEN)
    (tmp_path / "b.yaml").write_text("kind: [\n")
    (tmp_path / "c.yaml").write_text(OTHER)
    done = run("egress", "connlist", tmp_path)
    assert done.code == 2
    assert "research/one[Pod] => research/two[Pod] : All Connections" in done.out
    told = done.err.splitlines()
    assert "a.yaml#1: NetworkPolicy: spec.egress[0].to[0].ipBlock.cidr: '10.0.0.0/80'" in told[0]
    assert "a.yaml#3: kind: is missing" in told[1]
    assert "b.yaml, line 2" in told[2]
    assert "not judged:" in told[3]
    assert "c.yaml#1: CiliumNetworkPolicy research/other (cilium.io)" in told[3]
    assert run("egress", "diff", tmp_path, tmp_path).code == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("connlist",), "name PATH"),
        (("connlist", "no-such-folder"), "does not exist"),
        (("diff", BEFORE), "name A and B"),
        (("diff", "-", "-"), "cannot both be standard input"),
        (("connlist", BEFORE / "policies.yaml"), "neither Pods nor workloads"),
    ],
)
def test_bad_use_is_told(run: Run, arguments: tuple[object, ...], said: str) -> None:
    """Exit 64."""
    done = run("egress", *arguments)
    assert (done.code, said in done.err) == (64, True), done.err


def test_terminal_escapes_are_spelt_out(run: Run, tmp_path: Path) -> None:
    """Names of others do not reach the terminal, a table or a graph as commands."""
    pods = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f'\x1b[2J"|{at}'}}
        for at in range(2)
    ]
    file = tmp_path / "pods.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
    for form in ("table", "csv", "md", "dot"):
        done = run("egress", "connlist", file, "-o", form)
        assert done.code == 0
        assert "\x1b" not in done.out + done.err
