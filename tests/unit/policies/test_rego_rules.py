"""Each rule's folder is complete, its texts are there, and the entry point asks it."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from core import pod as k8s
from core.privileges import PatternSet, validate_pattern
from policies.projection import encode, project
from tests.tools.provide import provide

REGO = Path(__file__).parents[3] / "policies" / "rego"
RULES = sorted(
    f"{folder.parent.name}/{folder.name}"
    for folder in (REGO / "privileges").glob("*/*")
    if folder.is_dir()
)
SEVERITIES = {"low", "medium", "high", "critical"}
ALSO_NEEDS = {
    # The API refuses privileged: true beside allowPrivilegeEscalation: false.
    "container/privileged": {"container/privilege_escalation"},
    # The API demands the node's network of HostProcess containers.
    "host/process": {"host/network"},
}


def opa(*arguments: str) -> Any:
    """Run OPA in the folder of the Rego; its JSON output."""
    command = [str(provide("opa")), *arguments]
    done = subprocess.run(command, cwd=REGO, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


def evaluate(query: str, inputs: object) -> Any:
    """Give the value of a query with `inputs` as its input."""
    command = [str(provide("opa")), "eval", "-b", ".", "-I", "-f", "json", "--fail", query]
    done = subprocess.run(
        command, cwd=REGO, input=json.dumps(inputs), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)["result"][0]["expressions"][0]["value"]


@pytest.fixture(scope="module")
def metadata() -> dict[str, dict[str, Any]]:
    """The package METADATA of each rule, as OPA reads it."""
    return {
        "/".join(part["value"] for part in entry["path"][3:]): entry["annotations"]
        for entry in opa("inspect", "-a", "-f", "json", ".")["annotations"]
        if entry["annotations"]["scope"] == "package"
        and [part["value"] for part in entry["path"][1:3]] == ["sallyport", "privileges"]
    }


@pytest.fixture(scope="module")
def needs() -> dict[str, dict[str, list[dict[str, str]]]]:
    """What the entry point says of each example, by the example's path."""
    examples = [f"{rule}/{example}.yaml" for rule in RULES for example in ("refused", "admitted")]
    projections = [
        json.loads(encode(project(k8s.decode_pod(json.dumps(_load(example)).encode()))))
        for example in examples
    ]
    query = "[r | some p in input; r := data.sallyport.needs.result with input as p]"
    return dict(zip(examples, evaluate(query, projections), strict=True))


def _load(example: str) -> Any:
    return yaml.safe_load((REGO / "privileges" / example).read_text())


def test_rego_lies_in_rule_folders_only() -> None:
    """No file can be overlooked because it lies elsewhere than in privileges/family/rule/."""
    depths = {len(path.relative_to(REGO).parts) for path in (REGO / "privileges").rglob("*.*")}
    assert depths == {4}
    assert len(RULES) >= 20


@pytest.mark.parametrize("rule", RULES)
def test_folder_has_rule_test_and_examples(rule: str) -> None:
    """A rule is five things: rule, test, two examples, and a page in docs/rules."""
    name = rule.split("/")[1]
    files = {path.name for path in (REGO / "privileges" / rule).iterdir()}
    assert files == {f"{name}.rego", f"{name}_test.rego", "refused.yaml", "admitted.yaml"}
    package = "package sallyport.privileges." + rule.replace("/", ".")
    source = (REGO / "privileges" / rule / f"{name}.rego").read_text()
    assert package in source.splitlines()
    test = (REGO / "privileges" / rule / f"{name}_test.rego").read_text()
    assert f"{package}_test" in test.splitlines()


@pytest.mark.parametrize("rule", RULES)
def test_tests_have_cases_that_pass_and_that_fail(rule: str) -> None:
    """Each test asserts the whole of `needs`; some cases have entries, some have none."""
    name = rule.split("/")[1]
    text = (REGO / "privileges" / rule / f"{name}_test.rego").read_text()
    cases = re.findall(r"^test_(\w+?)_\w+ if \{\n\t(\w+)\.needs == (\S)", text, re.MULTILINE)
    assert len(cases) == text.count("\ntest_")
    assert {subject for _, subject, _ in cases} == {name}
    assert {verdict: value for verdict, _, value in cases} == {"refused": "{", "admitted": "s"}


@pytest.mark.parametrize("rule", RULES)
def test_metadata_says_what_people_must_know(
    rule: str, metadata: dict[str, dict[str, Any]]
) -> None:
    """Title, description, sources, severity, message, remedy, privileges, and no more."""
    annotations = metadata[rule]
    assert annotations["title"]
    assert annotations["description"].endswith(".")
    refs = [resource["ref"] for resource in annotations["related_resources"]]
    assert refs[0].startswith("https://kubernetes.io/docs/")
    assert refs[1].startswith("https://github.com/kubernetes/pod-security-admission/blob/v0.36.3/")
    custom = annotations["custom"]
    assert set(custom) == {"severity", "message", "remedy", "since", "privileges"}
    assert custom["severity"] in SEVERITIES
    assert custom["since"] == 1
    assert custom["message"][0].islower()
    assert set(re.findall(r"\{.*?\}", custom["message"])) <= {"{value}", "{rest}"}
    assert custom["remedy"].endswith(".")
    for pattern in custom["privileges"]:
        validate_pattern(pattern, field=rule)


def test_entry_point_asks_every_rule_and_nothing_else() -> None:
    """With every rule's `needs` replaced by a marker, the result holds each marker in its place."""
    mocks = " ".join(
        f'with data.sallyport.privileges.{rule.replace("/", ".")}.needs as {{"{rule}"}}'
        for rule in RULES
    )
    assert evaluate(f"data.sallyport.needs.result {mocks}", {}) == {r: [r] for r in RULES}


@pytest.mark.parametrize("rule", RULES)
def test_refused_example_needs_the_rules_privilege(
    rule: str,
    metadata: dict[str, dict[str, Any]],
    needs: dict[str, dict[str, list[dict[str, str]]]],
) -> None:
    """It needs that and nothing else, save what the API makes inseparable from it."""
    found = needs[f"{rule}/refused.yaml"]
    assert set(found) == {rule} | ALSO_NEEDS.get(rule, set())
    stated = PatternSet(metadata[rule]["custom"]["privileges"])
    assert all(stated.covers(entry["privilege"]) for entry in found[rule])


@pytest.mark.parametrize("rule", RULES)
def test_admitted_example_needs_nothing(
    rule: str, needs: dict[str, dict[str, list[dict[str, str]]]]
) -> None:
    """It is the same Pod without what is wrong with it."""
    assert needs[f"{rule}/admitted.yaml"] == {}


@pytest.mark.parametrize("rule", RULES)
def test_examples_are_named_after_the_rule(rule: str) -> None:
    """Other tests create them in one namespace, so names differ."""
    for example in ("refused", "admitted"):
        name = f"{rule}/{example}".replace("/", "-").replace("_", "-")
        assert _load(f"{rule}/{example}.yaml")["metadata"] == {"name": name}
