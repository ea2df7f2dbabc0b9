"""What a site's folder cannot do to the built-in policies: it is refused, with place and fix."""

import re
from pathlib import Path

import pytest

from core.base.errors import BundleRefusedError
from policies.builtins.denylist import hint
from policies.bundle.format import read_bundle
from tests.unit.policies.bundles import METADATA, make_site_bundle, signal

FIX = (
    "name it sallyport.rules.<category>.<name> for a rule, sallyport.sandbox.<family>.<name> for a "
    "signal, site.<name> for a helper"
)
SILENT = "\n\nsignals := set()\n"

PACKAGES = {
    "sallyport.sandbox.code.notebook": "is a built-in rule's",
    "sallyport.sandbox.actor.entered": "is a built-in rule's",
    "sallyport.privileges.container.privileged": "is a built-in rule's",
    "sallyport.rules.runtime.annotations": "is a built-in rule's",
    "sallyport.rules.acme": "is no rule's and no signal's name (letters a-z, digits and _)",
    "sallyport.rules": "lies above a built-in rule's",
    "sallyport.parameters": "is Sallyport's own",
    "sallyport.parameters.labels": "is Sallyport's own",
    "sallyport": "is Sallyport's own",
    "sallyport.sandbox": "lies above a built-in rule's",
    "sallyport.sandbox.code": "lies above a built-in rule's",
    "sallyport.privileges": "lies above a built-in rule's",
    "sallyport.sandbox.code.notebook.signals": "lies below a built-in rule's",
    "sallyport.privileges.host.network.x": "lies below a built-in rule's",
    "sallyport.privileges.acme.x": "is Sallyport's own",
    "sallyport.needs": "is Sallyport's own",
    "sallyport.judge": "is Sallyport's own",
    "sallyport.site": "is Sallyport's own",
    "sallyport.lib": "is Sallyport's own",
    "sallyport.lib.rights": "is Sallyport's own",
    "sallyport.features": "is Sallyport's own",
    "sallyport.sandbox.acme": "is no rule's and no signal's name (letters a-z, digits and _)",
    "sallyport.sandbox.acme.x.y": "is no rule's and no signal's name (letters a-z, digits and _)",
    "sallyport.sandbox.Acme.x": "is no rule's and no signal's name (letters a-z, digits and _)",
    'sallyport.sandbox["a/b"].x': "is no rule's and no signal's name (letters a-z, digits and _)",
    'sallyport.sandbox["a\\"b"].x': "is no rule's and no signal's name (letters a-z, digits and _)",
    "site": "is none that a site's bundle may have",
    "acme.x": "is none that a site's bundle may have",
    "system.authz": "is none that a site's bundle may have",
    "other.sandbox.code.notebook": "is none that a site's bundle may have",
}


def refusal(folder: Path, *sites: dict[str, str]) -> str:
    """Return what is said of a site that is refused; nothing of it is built."""
    with pytest.raises(BundleRefusedError) as refused:
        make_site_bundle(folder, *sites)
    assert not (folder / "bundle.tar.gz").exists()
    return str(refused.value)


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_that_are_not_a_sites_are_refused(tmp_path: Path, package: str) -> None:
    """What is added to a built-in package would add to it, contradict it, or stand in for it."""
    files = {"good.rego": signal(), "bad.rego": f"package {package}{SILENT}"}
    said = re.sub(r'\["(.*?)"\]', r".\1", package).replace("\\", "")
    assert refusal(tmp_path, files) == (
        f"rego/site/acme/bad.rego:1: package {said} {PACKAGES[package]}: {FIX}"
    )


def test_a_package_of_two_folders_is_refused(tmp_path: Path) -> None:
    """One could add to what the other says."""
    assert refusal(tmp_path, {"x.rego": signal()}, {"y.rego": signal()}) == (
        "rego/site/acme1/y.rego:12: package sallyport.sandbox.acme.x is in "
        "rego/site/acme/x.rego:12 too, of another --site folder or of the library: name one of "
        "them otherwise"
    )
    shared = {"h.rego": "package site.h\n\ny if true\n"}
    assert "package site.h is in" in refusal(tmp_path, {"x.rego": signal()} | shared, shared)


@pytest.mark.parametrize(
    "text",
    [
        signal(metadata=f"{METADATA}# entrypoint: true\n"),
        "package site.h\n\n# METADATA\n# entrypoint: true\ny if true\n",
    ],
)
def test_an_entry_point_is_refused(tmp_path: Path, text: str) -> None:
    """The engine asks two, and no bundle has more."""
    said = refusal(tmp_path, {"x.rego": signal(package="sallyport.sandbox.acme.y"), "e.rego": text})
    assert re.fullmatch(
        r"rego/site/acme/e\.rego:\d: is an entry point: leave out 'entrypoint: true'", said
    )


@pytest.mark.parametrize(
    "rule",
    [
        "signals := set()",
        "signals := {1} if input.context.operation == `CREATE`",
        "default signals := set()",
        "signals(x) := {x}",
        "signals[x] := 1 if some x in input.context.groups",
        "signals.path contains 1",
        "signals.path := 1",
    ],
)
def test_signals_that_may_be_undefined_are_refused(tmp_path: Path, rule: str) -> None:
    """A set is there always; all else may be undefined, or of another shape."""
    text = f"{METADATA}package sallyport.sandbox.acme.x\n\n{rule}\n"
    said = refusal(tmp_path, {"x.rego": text})
    assert said.startswith("rego/site/acme/x.rego:14: signals of sandbox/acme/x is no set: write: ")


def test_a_signal_without_signals_is_refused(tmp_path: Path) -> None:
    """Its answer would be undefined for every Pod."""
    text = f"{METADATA}package sallyport.sandbox.acme.x\n\nsignal contains 1\n"
    said = refusal(tmp_path, {"x.rego": text})
    assert said.startswith("rego/site/acme/x.rego:12: sandbox/acme/x has no signals: add: signals ")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("# title: Site\n", ""), "Expected `str`, got `null` - at `$.title`"),
        (("# description: Of the site.\n", ""), "Expected `str`, got `null` - at `$.description`"),
        (("title: Site", "title: ''"), "Expected `str`, got `null` - at `$.title`"),
        (("#   message: does it ({value})\n", ""), "missing required field `message`"),
        (("#   remedy: Leave it.\n", ""), "missing required field `remedy`"),
        (("#   points: 25\n", ""), "missing required field `points`"),
        (("points: 25", "points: -25"), "Expected `int` >= 0 - at `$.custom.points`"),
        (("points: 25", "points: 1001"), "Expected `int` <= 1000 - at `$.custom.points`"),
        (("points: 25", "points: 2.5"), "Expected `int`, got `float` - at `$.custom.points`"),
        (("points: 25", "points: '25'"), "Expected `int`, got `str` - at `$.custom.points`"),
        (("points: 25", "points: true"), "Expected `int`, got `bool` - at `$.custom.points`"),
        (("points: 25", "points:"), "Expected `int`, got `null` - at `$.custom.points`"),
        (("points: 25", "points: 25\n#   risk: 9"), "contains unknown field `risk`"),
        (("points: 25", "points: 25\n#   since: 0"), "Expected `int` >= 1 - at `$.custom.since`"),
        (("does it", "x" * 200), "Expected `str` of length <= 200 - at `$.custom.message`"),
    ],
)
def test_metadata_must_be_whole(tmp_path: Path, change: tuple[str, str], problem: str) -> None:
    """Points above all: below 0 they would lower what others add."""
    text = signal(metadata=METADATA.replace(*change))
    assert text != signal()
    said = refusal(tmp_path, {"x.rego": text})
    assert said.startswith("rego/site/acme/x.rego:1: METADATA of sandbox/acme/x: ")
    assert problem in said
    assert said.endswith(
        "a signal has title, description, custom.message, custom.remedy and custom.points, "
        "a whole number from 0 to 1000 (docs/sandbox/site-signals.md)"
    )


@pytest.mark.parametrize("metadata", ["", METADATA.replace("scope: package", "scope: subpackages")])
def test_a_signal_without_metadata_is_refused(tmp_path: Path, metadata: str) -> None:
    """Nobody would know what it weighs."""
    said = refusal(tmp_path, {"x.rego": signal(metadata=metadata)})
    assert "sandbox/acme/x has METADATA for its package 0 times: put it above " in said


def test_metadata_in_two_files_is_refused(tmp_path: Path) -> None:
    """Nobody would know which points count."""
    said = refusal(tmp_path, {"x.rego": signal(), "y.rego": signal()})
    assert "sandbox/acme/x has METADATA for its package 2 times" in said


@pytest.mark.parametrize(
    "line", ["# - input: schema.judge\n", "# - input.projection: schema.projection\n"]
)
def test_a_signal_must_state_the_schemas(tmp_path: Path, line: str) -> None:
    """Else what it reads of fields that are not there is no error."""
    said = refusal(tmp_path, {"x.rego": signal(metadata=METADATA.replace(line, ""))})
    assert said.startswith(
        "rego/site/acme/x.rego:1: METADATA of sandbox/acme/x does not have the schemas"
    )
    assert "'- input: schema.judge', '- input.projection: schema.projection'" in said


@pytest.mark.parametrize(
    "condition",
    [
        "input.context.namespaceLabel.x",
        "input.projection.hostNetwrk",
        "some c in input.projection.containers\n\tc.privileged",
        "input.review.userInfo",
        "some need in input.needs\n\tneed.name",
    ],
)
def test_a_field_that_is_not_there_is_refused(tmp_path: Path, condition: str) -> None:
    """The rule would find nothing, silently."""
    said = refusal(tmp_path, {"x.rego": signal(condition)})
    assert said.startswith("opa check refused the policies:")
    assert "rego/site/acme/x.rego:" in said
    assert "undefined ref: input." in said or "undefined ref: " in said


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        ("data.sallyport.judge.answer", "rego_recursion_error"),
        ("data.sallyport.site.signals", "rego_recursion_error"),
        ("count(data.sallyport) > 0", "rego_recursion_error"),
        ("no.such_function(1)", "rego_type_error"),
        ("unheard == 1", "rego_unsafe_var_error"),
        ("unused := 1", "rego_compile_error"),
    ],
)
def test_what_opa_refuses_is_refused_with_its_place(
    tmp_path: Path, condition: str, problem: str
) -> None:
    """Also what asks for the answer of which it is a part."""
    said = refusal(tmp_path, {"x.rego": signal(condition)})
    assert said.startswith("opa check refused the policies:")
    assert problem in said
    assert "rego/site" in said


@pytest.mark.parametrize("text", ["", "package", "signals {", "\0", "package a\n\np[x] { x := 1 }"])
def test_files_that_are_no_rego_are_refused(tmp_path: Path, text: str) -> None:
    """With OPA's word for it, and the file."""
    said = refusal(tmp_path, {"bad.rego": text})
    assert said.startswith("opa parse refused the policies:")
    assert "rego/site/acme/bad.rego" in said


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("http.send", 'http.send({"method": "get", "url": "https://x"}).status_code == 200'),
        ("time.now_ns", "time.now_ns() > 0"),
        ("opa.runtime", 'opa.runtime().env.HOME == "/root"'),
        ("rand.intn", 'rand.intn("x", 10) == 1'),
    ],
)
def test_functions_that_reach_outside_are_refused_at_the_build(
    tmp_path: Path, name: str, call: str
) -> None:
    """As a gate would refuse them, by name and place."""
    assert refusal(tmp_path, {"x.rego": signal(call)}) == (
        "the bundle calls what policies may not call here: "
        f"{name} (rego/site/acme/x.rego:16{hint(name)}). "
        "See docs/reference/builtins.md for what they may"
    )


def test_a_signal_that_always_fails_is_refused_at_the_build(tmp_path: Path) -> None:
    """It would refuse every Pod that may have to be isolated."""
    helper = "package site.h\n\nf(_) := 1\n\nf(_) := 2\n"
    text = signal().replace('input.projection.os == "trigger"', "data.site.h.f(1) == 1")
    said = refusal(tmp_path, {"x.rego": text, "h.rego": helper})
    assert said.startswith("judging a Pod with the bundle fails: ")
    assert "rego/site/acme/h.rego:" in said
    text = signal(entry="1").replace('input.projection.os == "trigger"', "true")
    assert "does not have: Expected `object`, got `int`" in refusal(tmp_path, {"x.rego": text})


@pytest.mark.parametrize("built_in", ["sandbox.actor.entered", "privileges.container.privileged"])
def test_a_helper_is_no_rule_whatever_it_is_called(tmp_path: Path, built_in: str) -> None:
    """Its METADATA would stand in for the built-in rule's: no points, or warnings alone."""
    metadata = METADATA.replace("points: 25", "points: 0\n#   severity: low\n#   since: 999")
    helper = f"{metadata}package site.{built_in}\n\ny if true\n"
    plain = read_bundle(make_site_bundle(tmp_path, {"x.rego": signal()}))
    made = read_bundle(make_site_bundle(tmp_path, {"x.rego": signal(), "h.rego": helper}))
    assert built_in.replace(".", "/") in made.rules
    assert made.rules == plain.rules
