"""`sallyport review --diff OLD`: what a change newly needs."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft202012Validator

from cli.review.diff import compare
from cli.shared.results import Result, Reviewed
from core.decision.decision import Action, Finding, Verdict
from tests.unit.cli.conftest import Done, Run
from tests.unit.cli.manifests import BAD, BROKEN, CONFIG_MAP, GOOD, cluster, pod, write

SCHEMA = Path(__file__).parents[4] / "docs" / "reference" / "review-diff.schema.json"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def difference(run: Run, old: list[object], new: list[object], *flags: object) -> tuple[int, Any]:
    """Return the exit code and the document for these objects."""
    write(Path("old.yaml"), *old)
    write(Path("new.yaml"), *new)
    done = run("review", "-o", "json", "--diff", "old.yaml", *flags, "new.yaml")
    assert done.err == ""
    made = json.loads(done.out)
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(made)
    return done.code, made


def privileges(element: dict[str, Any]) -> list[str]:
    """Return the privileges of an element's findings."""
    return [finding["privilege"] for finding in element["findings"]]


def test_only_what_is_new_is_shown(run: Run) -> None:
    """A privilege that the object had is no finding, and does not fail."""
    code, made = difference(run, [BAD], [pod("bad", hostNetwork=True, hostPID=True)])
    (element,) = made["objects"]
    assert (code, made["format"], made["old"], made["gone"]) == (1, 1, "old.yaml", [])
    assert privileges(element) == ["host/pid"]
    assert (element["verdict"], element["newly"], element["new"]) == ("deny", "deny", False)
    assert (element["gained"], element["lost"]) == (["host/pid"], [])


@pytest.mark.parametrize("now", [BAD, GOOD | {"metadata": {"name": "bad"}}])
def test_nothing_new_is_no_failure(run: Run, now: object) -> None:
    """Not even where the object is refused as before; what it no longer needs is said."""
    code, made = difference(run, [BAD], [now])
    (element,) = made["objects"]
    assert (code, element["findings"], element["newly"]) == (0, [], "allow")
    assert element["lost"] == ([] if now is BAD else ["host/network"])


def test_new_object_is_new_as_a_whole(run: Run) -> None:
    """Objects are the same by apiVersion, kind, namespace and name: another name is another."""
    others = [pod("other", hostNetwork=True), pod("bad", namespace="x", hostNetwork=True)]
    code, made = difference(run, [BAD], [BAD, *others])
    assert code == 1
    assert [each["new"] for each in made["objects"]] == [False, True, True]
    assert [privileges(each) for each in made["objects"]] == [
        [],
        ["host/network"],
        ["host/network"],
    ]


def test_gone_objects_are_listed(run: Run) -> None:
    """With where they were; also those of kinds that are not judged."""
    code, made = difference(run, [BAD, CONFIG_MAP, GOOD], [GOOD])
    pod_gone = {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "bad"}
    map_gone = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "", "name": "c"}
    assert code == 0
    assert made["gone"] == [{"file": "old.yaml"} | gone for gone in (pod_gone, map_gone)]


def test_privilege_that_is_covered_is_named(run: Run, tmp_path: Path) -> None:
    """A reviewer wants to know of it, though nobody refuses it."""
    place = ["--cluster", cluster(tmp_path / "cluster")]
    before = pod("t", namespace="train", serviceAccountName="trainer")
    after = pod("t", namespace="train", serviceAccountName="trainer", hostNetwork=True)
    code, made = difference(run, [before], [after], *place)
    (element,) = made["objects"]
    assert (code, element["newly"], element["findings"]) == (0, "allow", [])
    assert element["gained"] == ["host/network"]


def test_another_container_is_new(run: Run) -> None:
    """A container goes by its name, wherever it stands; a second one is a new finding."""
    adds = {"capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN"]}}
    (main,) = pod()["spec"]["containers"]
    first = {**main, "securityContext": main["securityContext"] | adds}
    second = {**first, "name": "second"}
    old, moved = pod(containers=[first, main | {"name": "z"}]), [main | {"name": "z"}, first]
    assert difference(run, [old], [pod(containers=moved)])[0] == 0
    code, made = difference(run, [old], [pod(containers=[second, *moved])])
    ((finding,),) = (element["findings"] for element in made["objects"])
    assert (code, finding["container"], made["objects"][0]["gained"]) == (1, "second", [])


def test_what_cannot_be_judged_now_is_an_error(run: Run) -> None:
    """Also where it could not be judged before: nobody has said yes."""
    write(Path("new.yaml"), BROKEN)
    write(Path("old.yaml"), BROKEN)
    done = run("review", "-o", "json", "--diff", "old.yaml", "new.yaml")
    ((finding,),) = (element["findings"] for element in json.loads(done.out)["objects"])
    assert (done.code, finding["rule"]) == (2, "error/object")


def test_old_state_that_cannot_be_judged_is_said(run: Run) -> None:
    """What it held counts as new, and a line says why."""
    write(Path("new.yaml"), BAD)
    write(Path("old.yaml"), BROKEN)
    done = run("review", "-o", "json", "--diff", "old.yaml", "new.yaml")
    assert done.code == 1
    assert done.err.startswith(
        "sallyport: --diff: not judged, so what it held counts as new: old.y"
    )
    assert [each["new"] for each in json.loads(done.out)["objects"]] == [True]


def test_objects_of_one_name_are_compared_by_their_files(run: Run) -> None:
    """Overlays hold the same object more than once: each with its own."""
    for place in ("old", "new"):
        write(Path(place, "dev.yaml"), BAD)
        write(Path(place, "prod.yaml"), pod("bad", hostPID=True))
    write(Path("new", "a-third.yaml"), pod("bad", hostIPC=True))
    done = run("review", "-o", "json", "--diff", "old", "new")
    found = {each["file"]: each for each in json.loads(done.out)["objects"]}
    assert done.code == 1
    assert {file: (each["new"], "host/ipc" in each["gained"]) for file, each in found.items()} == {
        "new/a-third.yaml": (True, True),
        "new/dev.yaml": (False, False),
        "new/prod.yaml": (False, False),
    }
    assert [found[f"new/{name}.yaml"]["gained"] for name in ("dev", "prod")] == [[], []]


def changed(run: Run, form: str) -> Done:
    """Review a change in which one object is new and refused, one as before, and one gone."""
    write(Path("old.yaml"), BAD, pod("gone"))
    write(Path("new.yaml"), BAD, pod("fresh", hostPID=True))
    return run("review", "-o", form, "--diff", "old.yaml", "new.yaml")


def test_table(run: Run) -> None:
    """What changed, why it is refused, what is gone, and how much stayed."""
    done = changed(run, "table")
    lines = done.out.splitlines()
    assert done.code == 1
    assert lines[0] == "refused  Pod default/fresh (new)  new.yaml"
    assert "  + host/pid" in lines[1:-4]
    assert lines[-4].startswith("  spec.hostPID: ")
    assert lines[-3].startswith("    Fix: ")
    assert lines[-2:] == [
        "gone  Pod default/gone  (it was in old.yaml)",
        "Compared with old.yaml: 1 changed, 1 as before, 1 gone",
    ]


def test_other_formats(run: Run) -> None:
    """Each shows the new finding alone, and what is gone."""
    sarif = json.loads(changed(run, "sarif").out)["runs"][0]
    assert [each["baselineState"] for each in sarif["results"]] == ["new"]
    assert sarif["properties"] == {"comparedWith": "old.yaml", "gone": ["Pod default/gone"]}
    commands = [line.split(" ")[0] for line in changed(run, "github").out.splitlines()]
    assert commands == ["::error", "::notice"]
    done = changed(run, "junit")
    root = ET.fromstring(done.out)  # noqa: S314 (made here)
    assert (done.code, root.attrib["tests"], root.attrib["failures"]) == (1, "2", "1")


def test_old_that_does_not_exist_is_wrong_use(run: Run) -> None:
    """Not a change in which everything is new."""
    write(Path("new.yaml"), GOOD)
    done = run("review", "--diff", "nowhere", "new.yaml")
    assert (done.code, done.out) == (64, "")
    assert done.err == "sallyport: nowhere does not exist: name a file or a folder of YAML\n"


def cut(*shown: str, needs: int) -> Result:
    """Return the result of a Pod of whose many findings only some are shown."""
    findings = [Finding("r", Action.DENY, "spec", "m", "f", privilege) for privilege in shown]
    findings.append(Finding("profiles/more", Action.DENY, "", f"{needs} more", "f"))
    element = Reviewed(file="f", kind="Pod", name="x", verdict=Verdict.DENY, findings=findings)
    return Result(element, file="f", needs=frozenset(f"host/port/{n}" for n in range(needs)))


def test_list_that_was_cut_short_hides_nothing() -> None:
    """A new privilege may be among those not shown; an old one that is now shown is not new."""
    old = cut("host/port/1", "host/port/2", needs=300)
    (same,), _ = compare([cut("host/port/2", "host/port/3", needs=300)], [old])
    (more,), _ = compare([cut("host/port/1", "host/port/2", needs=301)], [old])
    assert (same.verdict, same.element.findings) == (Verdict.ALLOW, [])
    assert [finding.rule for finding in more.element.findings] == ["profiles/more"]
    assert more.verdict is Verdict.DENY


@pytest.mark.parametrize(
    ("then", "now", "verdict"),
    [
        (Action.WARN, Action.DENY, Verdict.DENY),
        (Action.DENY, Action.WARN, Verdict.ALLOW),
        (Action.WARN, Action.WARN, Verdict.ALLOW),
        (Action.DENY, Action.DENY, Verdict.ALLOW),
    ],
)
def test_warning_that_became_a_refusal_is_new(then: Action, now: Action, verdict: Verdict) -> None:
    """It was let through then; what was refused and is a warning now is nothing new."""

    def made(action: Action) -> Result:
        finding = Finding("r", action, "spec", "m", "f", "host/pid")
        verdict = Verdict(action.value)
        element = Reviewed(file="f", kind="Pod", name="x", verdict=verdict, findings=[finding])
        return Result(element, file="f")

    (compared,), _ = compare([made(now)], [made(then)])
    assert compared.verdict is verdict
