"""Each rule's folder is complete, its texts are there, and the entry point asks it."""

import re
from typing import Any

import pytest

from core.profiles.container_profiles import CATALOGUE
from core.profiles.privileges import PatternSet, validate_pattern
from tests.unit.policies.rego.rego_folder import REGO, evaluate, load, opa, projection_of

ANSWERS = {"privileges": "needs", "rules": "deny"}
"""What the rules of an area are called by."""
RULES = sorted(
    folder.relative_to(REGO).as_posix()
    for area in ANSWERS
    for folder in (REGO / area).glob("*/*")
    if folder.is_dir()
)
EXAMPLES = [f"{rule}/{example}.yaml" for rule in RULES for example in ("refused", "admitted")]
RISKS = {"risk", "risks"}
"""What test_rego_signals.py asks of the rules of privileges."""
SEVERITIES = {"low", "medium", "high", "critical"}
POD_SECURITY = "https://github.com/kubernetes/pod-security-admission/blob/v0.37.2/"
OF_EVERY_IMAGE = {"privileges/image/registry"}
"""Where an image comes from is always asked."""
ALSO_NEEDS = {
    # The API refuses privileged: true beside allowPrivilegeEscalation: false.
    "privileges/container/privileged": {"privileges/container/privilege_escalation"},
    # Each session is some command's; code is given to a command.
    "privileges/exec/interactive": {"privileges/exec/command"},
    "privileges/exec/code": {"privileges/exec/command"},
    # Another rule asks for the token, the certificate or the image itself.
    "privileges/certificate/identity": {"privileges/certificate/request"},
    "privileges/debug/target": {"privileges/debug/image"},
    "privileges/token/lasting": {"privileges/token/request"},
    # A binding alone does not say what its role holds.
    "privileges/rights/subject": {"privileges/rights/unknown_role"},
    # The API demands the node's network of HostProcess containers.
    "privileges/host/process": {"privileges/host/network"},
    # The API refuses a user namespace beside the node's namespaces and block devices.
    "privileges/host/ipc": {"privileges/run_as/host_users"},
    "privileges/host/network": {"privileges/run_as/host_users"},
    "privileges/host/pid": {"privileges/run_as/host_users"},
    "privileges/volume/block": {"privileges/run_as/host_users"},
    # Without a cluster an inline volume alone is known to be shared.
    "privileges/volume/mount_option": {"privileges/volume/csi"},
    "privileges/volume/secret": {"privileges/volume/csi"},
    "privileges/shared_volume/group": {"privileges/volume/type"},
    "privileges/shared_volume/user": {"privileges/volume/type", "privileges/run_as/root"},
    # In a user namespace the privilege is a weaker one.
    "privileges/run_as/root": {"privileges/run_as/host_users"},
    "privileges/run_as/unset": {"privileges/run_as/host_users"},
}


@pytest.fixture(scope="module")
def metadata() -> dict[str, dict[str, Any]]:
    """The package METADATA of each rule, as OPA reads it."""
    return {
        "/".join(part["value"] for part in entry["path"][2:]): entry["annotations"]
        for entry in opa("inspect", "-a", "-f", "json", ".")["annotations"]
        if entry["annotations"]["scope"] == "package"
        and len(entry["path"]) == 5
        and entry["path"][2]["value"] in ANSWERS
    }


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, list[dict[str, str]]]]:
    """What the entry point says of each example, by the example's path: entries by rule."""
    query = "[r | some p in input; r := data.sallyport.needs.answer with input as p]"
    answers = evaluate(query, [projection_of(load(example)) for example in EXAMPLES])
    return {
        example: {f"privileges/{rule}": entries for rule, entries in answer["needs"].items()}
        | {f"rules/{rule}": entries for rule, entries in answer["denials"].items()}
        for example, answer in zip(EXAMPLES, answers, strict=True)
    }


def _of_every(example: str) -> set[str]:
    return OF_EVERY_IMAGE if load(example)["kind"] == "Pod" else set()


def test_rego_lies_in_rule_folders_only() -> None:
    """No file can be overlooked because it lies elsewhere than in area/family/rule/."""
    depths = {
        len(path.relative_to(REGO).parts) for area in ANSWERS for path in (REGO / area).rglob("*.*")
    }
    assert depths == {4}
    assert len(RULES) >= 45


@pytest.mark.parametrize("rule", RULES)
def test_folder_has_rule_test_and_examples(rule: str) -> None:
    """A rule is five things: rule, test, two examples, and a page in docs/rules."""
    name = rule.rsplit("/", maxsplit=1)[-1]
    files = {path.name for path in (REGO / rule).iterdir()}
    assert files == {f"{name}.rego", f"{name}_test.rego", "refused.yaml", "admitted.yaml"}
    package = "package sallyport." + rule.replace("/", ".")
    source = (REGO / rule / f"{name}.rego").read_text()
    assert package in source.splitlines()
    test = (REGO / rule / f"{name}_test.rego").read_text()
    assert f"{package}_test" in test.splitlines()


@pytest.mark.parametrize("rule", RULES)
def test_tests_have_cases_that_pass_and_that_fail(rule: str) -> None:
    """Each test asserts the whole answer; some cases have entries, some have none."""
    area, _, name = rule.split("/")
    text = (REGO / rule / f"{name}_test.rego").read_text()
    pattern = rf"^test_(\w+?)_\w+ if \{{\n\t(\w+)\.{ANSWERS[area]} == (\S)"
    cases = re.findall(pattern, text, re.MULTILINE)
    assert len(cases) == text.count("\ntest_")
    # `any` is a built-in function too, so its rule is imported by another name.
    assert {subject for _, subject, _ in cases} == {"rule" if name == "any" else name}
    assert {(verdict, value) for verdict, _, value in cases} == {
        ("refused", "{"),
        ("admitted", "s"),
    }


@pytest.mark.parametrize("rule", RULES)
def test_metadata_says_what_people_must_know(
    rule: str, metadata: dict[str, dict[str, Any]]
) -> None:
    """Title, description, sources, severity, message, remedy, privileges, and no more."""
    annotations = metadata[rule]
    assert annotations["title"]
    assert annotations["description"].endswith(".")
    refs = [resource["ref"] for resource in annotations["related_resources"]]
    assert len(refs) >= 2, "METADATA names Kubernetes' documentation first, then a second source"
    assert refs[0].startswith("https://kubernetes.io/docs/")
    assert all(ref.startswith("https://") for ref in refs)
    assert all(resource["description"] for resource in annotations["related_resources"])
    custom = annotations["custom"]
    of_area = {"privileges"} if rule.startswith("privileges/") else set()
    assert set(custom) - RISKS == {"severity", "message", "remedy", "since"} | of_area
    assert custom["severity"] in SEVERITIES
    # The first catalogue is what Pod Security restricts.
    assert custom["since"] in ({1} if refs[1].startswith(POD_SECURITY) else range(2, CATALOGUE + 1))
    assert custom["message"][0].islower()
    assert set(re.findall(r"\{.*?\}", custom["message"])) <= {"{value}", "{rest}"}
    assert custom["remedy"].endswith(".")
    for pattern in custom.get("privileges", ()):
        validate_pattern(pattern, field=rule)


def test_entry_point_asks_every_rule_and_nothing_else() -> None:
    """With every rule's answer replaced by a marker, the result holds each marker in its place."""
    answers = {rule: ANSWERS[rule.partition("/")[0]] for rule in RULES}
    mocks = " ".join(
        f'with data.sallyport.{rule.replace("/", ".")}.{name} as {{"{rule}"}}'
        for rule, name in answers.items()
    )
    asked = {"containers": [], "object": {"kind": "Any"}}
    answer = evaluate(f"data.sallyport.needs.answer {mocks}", asked)
    assert answer["needs"] == _marked("privileges")
    assert answer["denials"] == _marked("rules")


def _marked(area: str) -> dict[str, list[str]]:
    return {rule.split("/", 1)[1]: [rule] for rule in RULES if rule.startswith(f"{area}/")}


@pytest.mark.parametrize("rule", RULES)
def test_refused_example_is_found_by_the_rule(
    rule: str,
    metadata: dict[str, dict[str, Any]],
    found: dict[str, dict[str, list[dict[str, str]]]],
) -> None:
    """By that and no other, save by what every image or the API makes inseparable from it."""
    example = f"{rule}/refused.yaml"
    expected = {rule} | ALSO_NEEDS.get(rule, set()) | _of_every(example)
    assert set(found[example]) == expected, _advice(rule, set(found[example]))
    stated = PatternSet(metadata[rule]["custom"].get("privileges", ()))
    if rule.startswith("privileges/"):
        assert all(stated.covers(entry["privilege"]) for entry in found[example][rule])


def _advice(rule: str, found: set[str]) -> str:
    if rule not in found:
        return (
            f"{rule} does not find its refused.yaml: is the field that it reads in the projection "
            "(policies/projection), and its line in needs.rego?"
        )
    return (
        f"{rule}/refused.yaml needs more than its rule: leave that out of the example, or say in "
        "ALSO_NEEDS why the API makes it inseparable"
    )


@pytest.mark.parametrize("rule", RULES)
def test_admitted_example_needs_its_images_registry_alone(
    rule: str, found: dict[str, dict[str, list[dict[str, str]]]]
) -> None:
    """It is the same object without what is wrong with it, or a Pod that uses what there is."""
    example = f"{rule}/admitted.yaml"
    assert set(found[example]) == _of_every(example)
    for rule_found in _of_every(example):
        (need,) = found[example][rule_found]
        assert need["privilege"] == "image/from/registry.example/research/trainer"


@pytest.mark.parametrize("rule", RULES)
def test_examples_are_named_after_the_rule(rule: str) -> None:
    """Other tests create them in one namespace, so names differ."""
    for example in ("refused", "admitted"):
        name = f"{rule.split('/', 1)[1]}/{example}".replace("/", "-").replace("_", "-")
        assert load(f"{rule}/{example}.yaml")["metadata"]["name"] == name
