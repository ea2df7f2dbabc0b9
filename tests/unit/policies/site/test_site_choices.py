"""What a site's rules must say, and what a site may choose: refused with place and fix."""

import subprocess
from pathlib import Path

import pytest

from core.base.errors import BundleRefusedError
from policies import BUILT_IN_REGO
from policies.build.builder import build
from policies.bundle.format import read_bundle
from policies.site.choices import read_choices
from tests.tools.provide import provide

RULE = """# METADATA
# scope: package
# title: A rule
# description: Of a site.
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: has no label {value}
#   remedy: Add the label.
#   kinds: [Pod, Service]
#   fields: [metadata.labels]
#   parameters:
#     labels: {type: array, items: {type: string}, description: The labels that must be there}
#     most: {type: integer, minimum: 1, default: 3}
#     shape: {type: string, format: regex, default: "[a-z]+", description: What a label looks like}
package sallyport.rules.acme.labels

import data.sallyport.parameters.acme.labels as wanted

deny contains {"path": "metadata.labels", "value": label} if {
	some label in wanted.labels
	not input.fields.metadata.labels[label]
	wanted.most > 0
	wanted.shape != ""
}
"""
LABELS = "parameters: {labels: [team]}"


EXAMPLES = Path(__file__).parents[4] / "examples" / "site-rules"
PAGE = Path(__file__).parents[4] / "docs" / "policies" / "rules.md"


@pytest.mark.parametrize("file", ["acme/hosts.rego", "rules.yaml"])
def test_the_page_shows_the_example_as_it_is(file: str) -> None:
    """And the tests with a real kube-apiserver run it."""
    assert (EXAMPLES / file).read_text() in PAGE.read_text()


def test_the_examples_tests_pass() -> None:
    """Those that lie beside the rule."""
    command = [str(provide("opa")), "test", "--ignore", "*.yaml", str(EXAMPLES / "acme")]
    assert subprocess.run(command, check=False).returncode == 0


def made(folder: Path, choices: str, rule: str = RULE) -> Path:
    """Build a bundle of the rule and a file of choices, for one rule."""
    site = folder / "acme"
    site.mkdir(exist_ok=True)
    (site / "x.rego").write_text(rule)
    (folder / "rules.yaml").write_text(f"rules:\n  {choices}\n" if choices else "")
    bundle = folder / "b.tar.gz"
    chosen = read_choices(folder / "rules.yaml")
    build(provide("opa"), BUILT_IN_REGO, bundle, [site], chosen)
    return bundle


def refusal(folder: Path, choices: str, rule: str = RULE) -> str:
    """Return what is said of it; nothing is built."""
    with pytest.raises(BundleRefusedError) as refused:
        made(folder, choices, rule)
    assert not (folder / "b.tar.gz").exists()
    return str(refused.value)


CHOICES = {
    "acme/labels: {action: warn}": "parameters.labels: must be given: The labels that must be",
    "acme/labels: {parameters: {labels: x}}": "parameters.labels: 'x' is not of type 'array'",
    "acme/labels: {parameters: {labels: [a, 1]}}": "parameters.labels[1]: 1 is not of type",
    "acme/labels: {parameters: {labels: [a], most: 0}}": "most: 0 is less than the minimum of 1",
    "acme/labels: {parameters: {labels: [a], mots: 1}}": "parameter; it has labels, most, shape",
    "acme/labels: {parameters: {labels: [a], shape: 'a('}}": (
        "rules.acme/labels.parameters.shape: 'a(': error parsing regexp: missing ): a(: write it "
        "in RE2's syntax"
    ),
    "acme/labels: {parameters: {labels: [a], shape: '(?=a)'}}": "invalid perl operator: (?=",
    "acme/labels: {parameters: {labels: [a], shape: 'a)(b'}}": "unexpected ): a)(b",
    "acme/labels: {parameters: {labels: [a], shape: '\\Qa'}}": "missing ): ^(?:\\Qa)$",
    "acme/labels: {parameters: {labels: [a], shape: 'a{1001}'}}": "parameters.shape: 'a{1001}'",
    "acme/lables: {}": "rules.acme/lables: there is no such rule; there are: acme/labels",
    "acme/labels: {action: refuse}": "rules.acme/labels: Invalid enum value 'refuse'",
    "acme/labels: {actoin: deny}": "unknown field `actoin`",
    "acme/labels: {namespaces: [Train]}": "'Train' is no name of a namespace",
    "acme/labels: {excludedNamespaces: ['a b']}": "'a b' is no name of a namespace",
    "acme/labels: {namespaces: train}": "Expected `array`, got `str`",
    "acme/labels: [": "rules.yaml: line 3: did not find expected node content",
    "acme/labels: {parameters: {labels: [a], most: .inf}}": "line 2: .inf cannot be said in JSON",
    "acme/labels: {action: warn, action: deny}": "rules.yaml: line 2: ",
}


@pytest.mark.parametrize("choices", CHOICES)
def test_choices_that_cannot_be_are_refused(tmp_path: Path, choices: str) -> None:
    """The file, the field and what there is."""
    assert CHOICES[choices] in refusal(tmp_path, choices)


METADATA = {
    ("#   severity: low\n", ""): "missing required field `severity`",
    ("severity: low", "severity: dire"): "Invalid enum value 'dire'",
    ("kinds: [Pod, Service]", "kinds: []"): "custom.kinds",
    ("kinds: [Pod, Service]", "kinds: [pods]"): "'pods' is no kind: write Kind, or group/Kind",
    ("kinds: [Pod, Service]", "kinds: [sallyport.dev/Approval]"): "guarded by Sallyport itself",
    ("fields: [metadata.labels]", "fields: [status]"): "status of Pod is shown to no rule",
    ("fields: [metadata.labels]", "fields: [data.token]"): "data.token of Pod is shown to no rule",
    ("fields: [metadata.labels]", "fields: [metadata]"): "name what you read of metadata",
    ("fields: [metadata.labels]", "fields: ['spec..x']"): "'spec..x' is no path",
    ("fields: [metadata.labels]", "fields: [metadata.annotations]"): "undefined ref",
    ("fields: [metadata.labels]", "points: 3"): "unknown field `points`",
    ("# - input.fields: schema.fields\n", ""): "does not have the schemas of its input",
    ("deny contains", "found contains"): "has no deny and no warn",
    ("minimum: 1", "minimum: one"): "custom.parameters.most is no JSON Schema",
    ("default: 3", "default: 0"): "most: 0 is less than the minimum of 1",
    ('"[a-z]+"', '"[a-z"'): "parameters.shape: '[a-z': error parsing regexp: missing ]",
}


@pytest.mark.parametrize("change", METADATA)
def test_metadata_that_is_not_whole_is_refused(tmp_path: Path, change: tuple[str, str]) -> None:
    """With the place in the rule's file, and the fix."""
    assert change[0] in RULE
    said = refusal(tmp_path, f"acme/labels: {{{LABELS}}}", RULE.replace(*change))
    assert METADATA[change] in said


@pytest.mark.parametrize("word", ["off", "'off'"])
def test_a_rule_that_is_off_is_not_in_the_bundle(tmp_path: Path, word: str) -> None:
    """And where it is the only one, there is nothing to build. YAML takes `off` for false."""
    assert "no rule and no signal in it" in refusal(tmp_path, f"acme/labels: {{action: {word}}}")


def test_what_is_off_keeps_no_other_from_being_built(tmp_path: Path) -> None:
    """It is neither in the bundle nor checked beside the others."""
    other = RULE.replace("acme.labels", "acme.other").replace("metadata.labels", "spec.nodeName")
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "y.rego").write_text(other.replace(".labels[label]", ""))
    bundle = read_bundle(
        made(tmp_path, f"acme/labels: {{{LABELS}}}\n  acme/other: {{action: off}}")
    )
    assert [rule.id for rule in bundle.rules.values() if rule.kinds] == ["rules/acme/labels"]
    assert not [path for path in bundle.sources if path.endswith("/y.rego")]


def test_choices_are_part_of_the_revision(tmp_path: Path) -> None:
    """The same sources and choices give the same bytes, another parameter another revision."""
    one = f"acme/labels: {{{LABELS}}}"
    first = made(tmp_path, one).read_bytes()
    revision = read_bundle(tmp_path / "b.tar.gz").revision
    assert made(tmp_path, one).read_bytes() == first
    other = read_bundle(made(tmp_path, "acme/labels: {parameters: {labels: [owner]}}"))
    assert other.revision != revision
    rule = other.rules["rules/acme/labels"]
    assert (rule.kinds, rule.fields, rule.action) == (
        ["Pod", "Service"],
        ["metadata.labels"],
        "deny",
    )
