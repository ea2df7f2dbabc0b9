"""`sallyport policy build` puts a site's own cases into its bundle; gates judge them at load."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from app.bundles.check import check_bundle
from app.settings.root import Settings
from cli.policy.build import bundle_cases
from core.base.errors import BundleRefusedError
from policies.bundle.format import (
    FORMAT,
    Bundle,
    BundleCase,
    Manifest,
    parse_bundle,
    read_bundle,
    with_manifest,
)
from tests.unit.cli.conftest import Run
from tests.unit.cli.policy.author_folder import FILES, POD, REFUSED, RULE, TEST
from tests.unit.policies.authoring.conftest import write

ROOT = Path(__file__).parents[4]
SCHEMAS = ROOT / "docs" / "reference"
OTHER = "parameters: {labels/team: {names: [owner]}}\n"
FOR_OPA = RULE.replace("\tnot input", '\tio.jwt.decode(name)[1].iss == "x"\n\tnot input')


def built(author: Run, acme: Path, *flags: object, code: int = 0) -> Any:
    """Build the folder's bundle, and give what is printed as JSON; of an error, the message."""
    done = author("build", "--site", acme, "--output", acme / "b.tar.gz", "-o", "json", *flags)
    assert done.code == code, done.err
    return json.loads(done.out) if code == 0 else done.err


def carrying(bundle: Bundle, packed: bytes, cases: Sequence[BundleCase]) -> bytes:
    """Return a bundle with other cases."""
    return with_manifest(packed, Manifest(FORMAT, list(bundle.rules.values()), list(cases)), {})


def test_the_cases_of_a_folder_are_in_its_bundle(author: Run, acme: Path) -> None:
    """With what the rule says of them; the file says all that programs are told."""
    said = built(author, acme)
    bundle = read_bundle(acme / "b.tar.gz")
    found = {each.name: (each.denials, each.needs is not None) for each in bundle.cases}
    assert found == {
        "acme/cases/admitted.yaml: a Pod with its team is admitted": ([], True),
        "acme/cases/refused.yaml: a Pod without its team is refused": (["rules/labels/team"], True),
    }
    assert said == {
        "format": 1,
        "file": f"{acme}/b.tar.gz",
        "revision": bundle.revision,
        "digest": bundle.digest,
        "engine": "embedded",
        "signed": False,
        "keyId": "",
        "builtAt": "",
        "rules": 1,
        "cases": 2,
        "leftOut": [],
    }
    jsonschema.validate(said, json.loads((SCHEMAS / "policy-bundle.schema.json").read_text()))


def test_a_rule_that_contradicts_its_own_case_is_refused_by_its_name(
    author: Run, acme: Path
) -> None:
    """Where the bundle is loaded, and before it is published: here a rule that finds nothing."""
    built(author, acme)
    good = read_bundle(acme / "b.tar.gz")
    check_bundle((acme / "b.tar.gz").read_bytes(), "b", Settings())
    (acme / "team.rego").write_text(RULE.replace("not input", "not 1 == 1\n\tnot input"))
    for case in (acme / "cases").iterdir():
        case.unlink()
    assert built(author, acme)["cases"] == 0
    packed = (acme / "b.tar.gz").read_bytes()
    bad = carrying(parse_bundle(packed, "b"), packed, good.cases)
    name = "acme/cases/refused.yaml: a Pod without its team is refused"
    with pytest.raises(BundleRefusedError, match=rf"own case '{name}' fails: denials \[\], not"):
        check_bundle(bad, "b", Settings())


def test_a_case_that_does_not_hold_builds_nothing(author: Run, acme: Path) -> None:
    """Its file and line are named, and what differs."""
    case = acme / "cases" / "refused.yaml"
    case.write_text(REFUSED.replace("has team", "has no team"))
    said = built(author, acme, code=2)
    assert f"{case}:5: the case 'a Pod without its team is refused' is deny" in said
    assert "+ rule: rules/labels/team, path: metadata.labels, message: has team" in said
    assert not (acme / "b.tar.gz").exists()


def test_what_is_left_out_is_told(author: Run, acme: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A case of other choices; one that is too large; one too many."""
    other = REFUSED.replace("has team", "has owner") + OTHER
    large = REFUSED.replace("name: a}, spec", "name: a, annotations: {a: b}}, spec")
    large = large.replace("name: a, image: a", "name: b, image: a")
    write(acme / "cases", {"other.yaml": other, "z.yaml": large})
    monkeypatch.setattr(bundle_cases, "MOST_CASES", 2)
    said = built(author, acme)
    assert said["cases"] == 2
    assert [(Path(each["file"]).name, each["why"]) for each in said["leftOut"]] == [
        ("other.yaml", "it chooses other rules or parameters than --rules"),
        ("z.yaml", "a bundle carries at most 200 cases of 1024 KiB together"),
    ]
    monkeypatch.setattr(bundle_cases, "MOST_BYTES", 100)
    said = built(author, acme)
    assert (said["cases"], len(said["leftOut"])) == (0, 4)


def test_two_cases_that_ask_the_same_are_one(author: Run, acme: Path) -> None:
    """The second is named as left out, so that each file is accounted for."""
    write(acme / "cases", {"same.yaml": REFUSED.replace("a Pod without", "another without")})
    said = built(author, acme)
    first = "acme/cases/refused.yaml: a Pod without its team is refused"
    assert said["cases"] == 2
    assert [(each["name"], each["why"]) for each in said["leftOut"]] == [
        ("another without its team is refused", f"the same is asked and found as by {first!r}")
    ]


def test_no_more_cases_are_carried_than_may_be(
    author: Run, acme: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where one written case asks several things; those beyond are judged too."""
    pods = (
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {template: {metadata: "
        "{labels: {team: b}}, spec: {containers: [{name: c, image: a}]}}}}"
    )
    (acme / "team.rego").write_text(RULE.replace("kinds: [Pod]", "kinds: [Pod, apps/Deployment]"))
    made = "name: several\nwhy: It asks twice.\nobject: " + pods
    several = f"{made}\nexpect: deny\nfindings: [{{rule: labels/team}}]\n"
    write(acme / "cases", {"several.yaml": several})
    monkeypatch.setattr(bundle_cases, "MOST_CASES", 3)
    said = built(author, acme)
    assert (said["cases"], [each["name"] for each in said["leftOut"]]) == (2, ["several"])
    monkeypatch.setattr(bundle_cases, "MOST_CASES", 4)
    assert built(author, acme)["cases"] == 4
    check_bundle((acme / "b.tar.gz").read_bytes(), "b", Settings())
    monkeypatch.setattr(bundle_cases, "MOST_CASES", 2)
    write(acme / "cases", {"several.yaml": several.replace("expect: deny", "expect: warn")})
    assert "the case 'several' is deny, and expects warn" in built(author, acme, code=2)


def test_a_rule_that_only_warns_first_keeps_its_cases(
    author: Run, acme: Path, tmp_path: Path
) -> None:
    """They say that it denies; one that chooses `warn` itself says `warn`."""
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules: {labels/team: {action: warn}}\n")
    said = built(author, acme, "--rules", rules)
    assert (said["cases"], said["leftOut"]) == (2, [])
    bundle = check_bundle((acme / "b.tar.gz").read_bytes(), "b", Settings()).bundle
    assert bundle.rules["rules/labels/team"].action == "warn"
    assert author("test", acme, "--rules", rules).code == 0
    own = REFUSED + "rules: {labels/team: {action: warn}}\n"
    write(acme / "cases", {"own.yaml": own})
    done = author("test", acme, "--rules", rules)
    assert (done.code, "+ expect: warn" in done.out) == (1, True)
    write(acme / "cases", {"own.yaml": own.replace("expect: deny", "expect: warn")})
    assert author("test", acme, "--rules", rules).code == 0


def test_a_rule_that_is_switched_off_takes_its_cases_along(author: Run, tmp_path: Path) -> None:
    """Those beside it, and those of the whole folder in which it finds something."""
    acme = write(tmp_path / "acme" / "labels" / "team", FILES).parents[1]
    other = RULE.replace("labels.team", "labels.other")
    write(acme / "labels" / "other", {"other.rego": other})
    write(acme / "cases", {"all.yaml": REFUSED + "- {rule: labels/other}\n"})
    assert built(author, acme)["cases"] == 2
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules: {labels/team: {action: off}}\n")
    said = built(author, acme, "--rules", rules)
    assert said["cases"] == 0
    assert [(Path(each["file"]).name, each["why"]) for each in said["leftOut"]] == [
        (name, "--rules has switched off the rule that it is about")
        for name in ("all.yaml", "admitted.yaml", "refused.yaml")
    ]


def test_a_bundle_for_an_opa_server_is_checked_without_one(author: Run, acme: Path) -> None:
    """From a laptop: the embedded engine has not all that it calls, and is not asked."""
    (acme / "team.rego").write_text(FOR_OPA)
    (acme / "team_test.rego").write_text(TEST)
    said = built(author, acme, "--engine", "opa")
    assert (said["engine"], said["cases"]) == ("opa", 0)
    assert {each["why"] for each in said["leftOut"]} == {"a bundle for an OPA server carries none"}
    packed = (acme / "b.tar.gz").read_bytes()
    assert check_bundle(packed, "b", Settings()).bundle.engine == "opa"
    bundle = parse_bundle(packed, "b")
    with pytest.raises(BundleRefusedError, match=r"io\.jwt\.decode"):
        check_bundle(carrying(bundle, packed, ()), "b", Settings())


def test_a_bundle_for_an_opa_server_never_looks_outside(author: Run, acme: Path) -> None:
    """By the author's file and line, where it is built."""
    call = (
        '\thttp.send({"method": "get", "url": "https://x.example"}).status_code == 200\n\tnot input'
    )
    (acme / "team.rego").write_text(RULE.replace("\tnot input", call))
    said = built(author, acme, "--engine", "opa", code=2)
    assert f"http.send ({acme}/team.rego:25)" in said


def test_examples_beside_a_rule_are_cases(author: Run, tmp_path: Path) -> None:
    """`pass.yaml` and `fail.yaml`, with what they are judged with and what is found."""
    folder = tmp_path / "acme"
    labelled = POD.replace("name: a}, spec", "name: a, labels: {owner: b}}, spec")
    test = TEST.replace('"value": "team"', '"value": "owner"').replace(
        '{"team": "a"}', '{"owner": "a"}'
    )
    files = {
        "team.rego": RULE,
        "team_test.rego": test,
        "pass.yaml": labelled,
        "fail.yaml": POD,
        "message.txt": "metadata.labels: has owner\n",
        "rules.yaml": "rules: {labels/team: {parameters: {names: [owner]}}}\n",
    }
    write(folder / "labels" / "team", files)
    done = author("test", folder, "-o", "json")
    tested = json.loads(done.out)
    jsonschema.validate(tested, json.loads((SCHEMAS / "policy-test.schema.json").read_text()))
    assert tested["format"] == 1
    assert [(each["name"], each["passed"]) for each in tested["cases"]] == [
        ("labels/team/fail.yaml", True),
        ("labels/team/pass.yaml", True),
    ]
    done = author("lint", folder)
    assert (done.code, done.out) == (0, "0 errors, 0 warnings\n")
    rules = folder / "labels" / "team" / "rules.yaml"
    assert built(author, folder, "--rules", rules)["cases"] == 2
    assert {each["why"] for each in built(author, folder)["leftOut"]} == {
        "it chooses other rules or parameters than --rules"
    }
    (folder / "labels" / "team" / "message.txt").write_text("metadata.labels: has team\n")
    assert author("test", folder).code == 1
    (folder / "labels" / "team" / "message.txt").unlink()
    assert author("test", folder).code == 0
    (folder / "labels" / "team" / "fail.yaml").write_text(labelled)
    assert author("test", folder).code == 1


def test_an_example_is_of_the_rule_whose_rego_is_beside_it(author: Run, tmp_path: Path) -> None:
    """By its package; and folders above the site's own are in no name, so in no revision."""
    labelled = POD.replace("name: a}, spec", "name: a, labels: {team: b}}, spec")
    files = {
        "team.rego": RULE,
        "team_test.rego": TEST,
        "pass.yaml": labelled,
        "fail.yaml": POD,
        "message.txt": "metadata.labels: has team\n",
    }
    revisions = set()
    for parent in ("pa", "pb"):
        acme = write(tmp_path / parent / "acme", files)
        revisions.add(built(author, acme)["revision"])
        cases = read_bundle(acme / "b.tar.gz").cases
        assert [each.name for each in cases] == ["acme/fail.yaml", "acme/pass.yaml"]
    assert len(revisions) == 1
    other = RULE.replace("labels.team", "labels.other").replace("[team]", "[team, name]")
    write(acme, {"other.rego": other})
    said = built(author, acme, code=2)
    assert f"{acme}/message.txt:1: is about the one rule beside it" in said
    assert "there are rules/labels/other, rules/labels/team: write a case" in said


def test_signals_are_carried_too(author: Run, acme: Path) -> None:
    """A bundle that counts another signal is refused."""
    built(author, acme)
    bundle = read_bundle(acme / "b.tar.gz")
    assert bundle.cases[0].signals == []
    changed = [msgspec.structs.replace(bundle.cases[0], signals=["sandbox/acme/x"])]
    with pytest.raises(BundleRefusedError, match=r"fails: signals \[\], not \['sandbox/acme/x'\]"):
        check_bundle(carrying(bundle, (acme / "b.tar.gz").read_bytes(), changed), "b", Settings())


@pytest.mark.parametrize(
    ("folder", "rules", "said"),
    [
        ("site-rules/acme", "site-rules/rules.yaml", "5 cases, 5 inputs"),
        ("site-signals/customer_data", "", "2 cases, 4 inputs"),
    ],
)
def test_the_examples_hold_what_their_cases_say(
    author: Run, tmp_path: Path, folder: str, rules: str, said: str
) -> None:
    """As `policy test` judges them, and in a bundle, also of what is no Pod."""
    examples = ROOT / "examples"
    chosen = ["--rules", examples / rules] if rules else []
    done = author("test", examples / folder, *chosen)
    assert done.code == 0, done.out
    assert f" {said} asked of both engines: 0 failed, 0 differ" in done.out
    file = tmp_path / "b.tar.gz"
    done = author("build", "--site", examples / folder, "--output", file, *chosen)
    assert (done.code, f"{said[:7]} are in the bundle, 0 left out" in done.err) == (0, True)
    bundle = check_bundle(file.read_bytes(), "b", Settings()).bundle
    no_pods = [each for each in bundle.cases if each.kind != "Pod"]
    assert all(each.needs is None and each.context is not None for each in no_pods)
    assert bool(no_pods) is bool(rules)
