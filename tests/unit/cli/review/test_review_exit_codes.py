"""Exit codes of `sallyport review`, and what becomes of files that cannot be read."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run
from tests.unit.cli.manifests import BAD, BROKEN, CONFIG_MAP, GOOD, pod, write

UNREADABLE = pod("odd", hostNetwork="yes")


@pytest.mark.parametrize(
    ("documents", "code", "verdicts"),
    [
        ([GOOD], 0, ["allow"]),
        ([CONFIG_MAP], 0, ["allow"]),
        ([GOOD, BAD], 1, ["allow", "deny"]),
        ([UNREADABLE], 2, ["error"]),
        ([BAD, UNREADABLE, GOOD], 2, ["deny", "error", "allow"]),
        ([GOOD, BROKEN], 2, ["allow", "error"]),
        ([pod(containers=[])], 2, ["error"]),
        ([{"kind": "Pod"}], 2, ["error"]),
        ([["a", "list"]], 2, ["error"]),
    ],
)
def test_code_is_that_of_the_worst(
    run: Run, tmp_path: Path, documents: list[object], code: int, verdicts: list[str]
) -> None:
    """0 all admitted; 1 something refused; 2 something could not be judged, which weighs more."""
    done = run("review", "-o", "json", write(tmp_path / "a.yaml", *documents))
    assert [element["verdict"] for element in json.loads(done.out)] == verdicts
    assert (done.code, done.err) == (code, "")


def test_broken_file_is_an_element_and_the_others_are_judged(run: Run, tmp_path: Path) -> None:
    """The whole element: the file and the line, and that nothing in it was judged."""
    bad = write(tmp_path / "b.yaml", BROKEN)
    for name in ("a", "c"):
        write(tmp_path / f"{name}.yaml", GOOD)
    done = run("review", "-o", "json", tmp_path)
    first, broken, last = json.loads(done.out)
    assert done.code == 2
    assert (first["verdict"], last["verdict"]) == ("allow", "allow")
    message = broken["findings"][0]["message"]
    assert broken == {
        "file": str(bad),
        "apiVersion": "",
        "kind": "",
        "namespace": "",
        "name": "",
        "verdict": "error",
        "profile": None,
        "sandbox": None,
        "findings": [
            {
                "rule": "error/object",
                "action": "deny",
                "path": "",
                "message": message,
                "remedy": "Mend the file: nothing in it from there on was judged.",
                "privilege": None,
                "container": None,
                "coveredBy": [],
            }
        ],
        "defaults": [],
        "notes": [],
    }
    assert message.startswith(f"{bad}, line 3: ")


def test_object_that_cannot_be_judged_names_the_field(run: Run, tmp_path: Path) -> None:
    """An error has one finding, whose rule says what sort of error it is."""
    file = write(tmp_path / "a.yaml", pod("odd", volumes=[{"name": "v", "hostPath": "/"}]))
    (element,) = json.loads(run("review", "-o", "json", file).out)
    assert (element["kind"], element["name"], element["verdict"]) == ("Pod", "odd", "error")
    (finding,) = element["findings"]
    assert finding["rule"] == "error/object"
    assert finding["path"] == "spec.volumes[0].hostPath"
    assert finding["message"] == "Pod: spec.volumes[0].hostPath: Expected `object`, got `str`"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.yaml"], "sallyport: nowhere.yaml does not exist: name a file or a folder"),
        (["--cluster", "nowhere", "-"], "sallyport: nowhere does not exist"),
        (["--config", "nowhere", "-"], "sallyport: --config nowhere: there is no such file"),
        (["--cluster", "a", "--kubeconfig", "b", "-"], "kubeconfig): give one"),
        (["--namespace", "", "-"], "sallyport: --namespace: must not be empty"),
        (["--as", "", "-"], "sallyport: --as: must not be empty"),
        (["--kubeconfig", "nowhere", "-"], "kubeconfig nowhere does not exist"),
    ],
)
def test_wrong_use_is_64(run: Run, arguments: list[str], message: str) -> None:
    """One line that names what is wrong; nothing on standard output."""
    done = run("review", "-o", "json", *arguments)
    assert (done.code, done.out) == (64, "")
    assert message in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [["review"], ["review", "--bogus", "-"], ["review", "-o", "xml", "-"], ["revue"]]
)
def test_wrong_flag_is_64(run: Run, arguments: list[str]) -> None:
    """Not 2, which tells a script that something could not be judged."""
    done = run(*arguments)
    assert (done.code, done.out) == (64, "")
    assert done.err.startswith("sallyport: ")
    assert "--help" in done.err


@pytest.mark.parametrize("arguments", [["-"], ["empty"], ["blank.yaml", "empty", "-"]])
@pytest.mark.parametrize("form", ["json", "table"])
def test_nothing_to_review_is_wrong_use(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], form: str
) -> None:
    """A pipeline that finds no manifest must not be green."""
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("empty").mkdir()
    tmp_path.joinpath("blank.yaml").write_text("---\n---\n# nothing\n")
    done = run("review", "-o", form, *arguments)
    named = ", ".join(arguments).replace("-", "standard input")
    assert (done.code, done.out) == (64, "")
    assert done.err == f"sallyport: no object found in {named}\n"


def test_name_too_long_is_a_clear_line(run: Run) -> None:
    """What the operating system says, without a traceback."""
    done = run("review", "x" * 300)
    assert (done.code, done.out) == (64, "")
    assert done.err == f"sallyport: {'x' * 300}: File name too long\n"


@pytest.mark.parametrize("user", [[], ["--as", "alice"]])
def test_broken_object_is_worded_the_same_whoever_asks(
    run: Run, tmp_path: Path, user: list[str]
) -> None:
    """One place decodes objects: the judge's."""
    odd = pod("odd", serviceAccountName=5, containers="none")
    done = run("review", "-o", "json", *user, write(tmp_path / "a.yaml", odd))
    ((finding,),) = (element["findings"] for element in json.loads(done.out))
    assert done.code == 2
    assert finding["message"].startswith("Pod: spec.")
    assert finding["path"] in {"spec.containers", "spec.serviceAccountName"}


@pytest.mark.parametrize("content", [b"", b"no bundle"])
def test_broken_bundle_is_2(run: Run, tmp_path: Path, content: bytes) -> None:
    """Nothing could be judged; the message names the bundle."""
    bundle = tmp_path / "bundle.tar.gz"
    bundle.write_bytes(content)
    done = run("review", "--bundle", bundle, write(tmp_path / "a.yaml", GOOD))
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"sallyport: {bundle}: ")


def test_broken_cluster_is_2(run: Run, tmp_path: Path) -> None:
    """The message names file, object and field."""
    profile = {"apiVersion": "sallyport.dev/v1alpha1", "kind": "ContainerProfile"}
    broken = profile | {
        "metadata": {"name": "p"},
        "spec": {"rank": 1, "catalogue": 1, "privileges": ["/"]},
    }
    place = write(tmp_path / "cluster" / "p.yaml", broken)
    done = run("review", "--cluster", tmp_path / "cluster", "-")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"sallyport: {place}#1: ContainerProfile p: spec.privileges[0]: ")
