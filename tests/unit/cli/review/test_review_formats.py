"""`sallyport review -o sarif|junit|github`: from files to what is printed."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft4Validator

from tests.harness.published.sarif import sarif_schema
from tests.unit.cli.conftest import Run
from tests.unit.cli.manifests import BAD, BROKEN, CONFIG_MAP, GOOD, cluster, pod, write

MANIFEST = """\
# A Pod that asks for the node's network.
apiVersion: v1
kind: Pod
metadata:
  name: bad
spec:
  hostNetwork: true
  securityContext:
    runAsNonRoot: true
    seccompProfile: {type: RuntimeDefault}
  containers:
    - name: main
      image: registry.example/a:1
      securityContext:
        allowPrivilegeEscalation: false
        capabilities: {drop: [ALL]}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("form", ["sarif", "junit", "github"])
@pytest.mark.parametrize(
    ("documents", "code"),
    [([GOOD], 0), ([CONFIG_MAP], 0), ([GOOD, BAD], 1), ([BAD, BROKEN], 2), ([pod(volumes=1)], 2)],
)
def test_exit_codes_are_those_of_the_table(
    run: Run, tmp_path: Path, form: str, documents: list[object], code: int
) -> None:
    """A pipeline may choose the format without choosing what fails."""
    done = run("review", "-o", form, write(tmp_path / "a.yaml", *documents))
    assert (done.code, done.err) == (code, "")


def test_sarif_places_the_finding(run: Run, tmp_path: Path) -> None:
    """File below the working directory, line and column of the field; valid by the schema."""
    write(tmp_path / "deploy" / "a.yaml", CONFIG_MAP, MANIFEST)
    made = json.loads(run("review", "-o", "sarif", "deploy").out)
    Draft4Validator(sarif_schema()).validate(made)
    ((found,),) = (part["results"] for part in made["runs"])
    assert found["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "deploy/a.yaml", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 13, "startColumn": 3},
    }
    (rule,) = made["runs"][0]["tool"]["driver"]["rules"]
    assert rule["id"] == found["ruleId"] == "privileges/host/network"
    assert rule["help"]["text"].startswith(rule["fullDescription"]["text"])


@pytest.mark.parametrize(
    ("documents", "line"), [([BROKEN], 3), ([CONFIG_MAP, {"kind": "Pod"}], 7), ([GOOD, ["x"]], 26)]
)
def test_what_is_no_object_has_its_line(
    run: Run, tmp_path: Path, documents: list[object], line: int
) -> None:
    """Where the text is broken, or where the document begins."""
    write(tmp_path / "a.yaml", *documents)
    done = run("review", "-o", "github", "a.yaml")
    assert done.code == 2
    assert done.out.startswith(f"::error file=a.yaml,line={line},col=1,title=")


def test_github_of_warnings(run: Run, tmp_path: Path) -> None:
    """What is admitted all the same is a warning, and the exit code 0."""
    write(tmp_path / "a.yaml", pod("bad", namespace="train", hostPID=True))
    done = run(
        "review", "-o", "github", "--cluster", cluster(tmp_path / "c", mode="warn"), "a.yaml"
    )
    assert done.code == 0
    assert done.out.startswith("::warning file=a.yaml,line=")


def test_standard_input_has_no_file(run: Run) -> None:
    """Nothing is annotated beside a file that is not there."""
    done = run("review", "-o", "github", "-", stdin=MANIFEST.encode())
    assert done.code == 1
    assert done.out.startswith("::error title=Pod default/bad%3A privileges/host/network::")


def test_file_whose_name_is_no_unicode(run: Run, tmp_path: Path) -> None:
    """Its findings have a place all the same, and its URI is exact."""
    name = "caf\udce9.yaml"
    write(tmp_path / name, MANIFEST)
    made = json.loads(run("review", "-o", "sarif", name).out)
    physical = made["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"]["uri"] == "caf%E9.yaml"
    assert physical["region"] == {"startLine": 7, "startColumn": 3}
    assert "file=caf\ufffd.yaml,line=7," in run("review", "-o", "github", name).out


def test_hostile_file_in_every_format(run: Run, tmp_path: Path) -> None:
    """Names with line ends, percent signs and markup print nothing but themselves."""
    name = "a\n::stop-commands::x\r%0A]]><b>\x1b[2J.yaml"
    hostile = pod("x\n::error::y%0A]]>\x07", hostNetwork=True)
    write(tmp_path / name, hostile, {**CONFIG_MAP, "kind": "K]]>\n::debug::"})
    for form in ("sarif", "junit", "github"):
        done = run("review", "-o", form, name)
        assert done.code == 1
        assert all(char.isprintable() or char == "\n" for char in done.out)
    lines = run("review", "-o", "github", name).out.splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::error"]
    root = ET.fromstring(run("review", "-o", "junit", name).out)  # noqa: S314 (made here)
    assert len(root.findall("testsuite/testcase")) == 2


def test_one_case_an_object(run: Run, tmp_path: Path) -> None:
    """JUnit: what passes, fails, breaks and is skipped is counted."""
    write(tmp_path / "a.yaml", GOOD, BAD, CONFIG_MAP)
    write(tmp_path / "b.yaml", BROKEN)
    done = run("review", "-o", "junit", "a.yaml", "b.yaml")
    root = ET.fromstring(done.out)  # noqa: S314 (made here)
    assert done.code == 2
    assert [suite.attrib for suite in root] == [
        {"name": "a.yaml", "tests": "3", "failures": "1", "errors": "0", "skipped": "1"},
        {"name": "b.yaml", "tests": "1", "failures": "0", "errors": "1", "skipped": "0"},
    ]
