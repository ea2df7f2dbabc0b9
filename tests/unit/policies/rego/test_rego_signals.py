"""Each signal of risk is complete, argued, asked by the entry point, and found where it should."""

import json
import re
from typing import Any

import jsonschema
import msgspec
import pytest
import yaml

from core.profiles.privileges import covers, validate_pattern
from policies.bundle.format import Rule
from policies.engine.embedded_engine import EmbeddedEngine
from policies.projection.model import Context, encode_context
from tests.unit.policies.rego.rego_folder import REGO, evaluate, load, opa, projection_of

SIGNALS = sorted(
    folder.relative_to(REGO).as_posix()
    for folder in (REGO / "sandbox").glob("*/*")
    if folder.is_dir()
)
EXAMPLES = [f"{rule}/{which}.yaml" for rule in SIGNALS for which in ("riskier", "ordinary")]
ALONE_ENOUGH = {"sandbox/code/generated", "sandbox/code/environment"}
"""Signals that reach the threshold by themselves: code that a model chooses."""
THRESHOLD = 50
JUDGE_SCHEMA = json.loads((REGO / "schema/judge.json").read_text())
FREE = {
    "privileges/image/digest": "a signal counts it whatever the profile says",
    "privileges/limits/unset": "the same",
    "privileges/token/automount": "the same",
    "privileges/token/audience": "the same",
    "privileges/run_as/host_users": "nearly every Pod has it",
    "privileges/debug/image": "added to what runs: its runtime cannot change",
    "privileges/debug/target": "the same",
    "privileges/dns/host_alias": "misleads the Pod itself",
    "privileges/dns/settings": "the same",
    "privileges/identity/gmsa": "of Windows, whose Pods no sandbox of ours runs",
    "privileges/run_as/administrator": "the same",
    "privileges/scheduling/anti_affinity": "who runs beside it, not what it can do",
    "privileges/scheduling/node_name": "where it runs, not what it can do",
    "privileges/scheduling/priority": "the same",
    "privileges/scheduling/toleration": "the same",
    "privileges/volume/mount_option": "how a volume is mounted whose author was judged for it",
    "privileges/volume/secret": "the same",
}
"""Privileges of Pods that add nothing when had by an exception, and why."""


@pytest.fixture(scope="module")
def metadata() -> dict[str, dict[str, Any]]:
    """The package METADATA of each signal and of each rule of privileges, as OPA reads it."""
    return {
        "/".join(part["value"] for part in entry["path"][2:]): entry["annotations"]
        for entry in opa("inspect", "-a", "-f", "json", ".")["annotations"]
        if entry["annotations"]["scope"] == "package"
        and len(entry["path"]) == 5
        and entry["path"][2]["value"] in {"sandbox", "privileges"}
    }


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, Any]]:
    """The signals of each example, by the example's path and by rule."""
    examples = [(example, load(example)) for example in EXAMPLES]
    objects = [(name, projection_of(made)) for name, made in examples if made["kind"] != "Context"]
    contexts = [(name, input_of(made)) for name, made in examples if made["kind"] == "Context"]
    return _signals_of("needs", objects) | _signals_of("judge", contexts)


def _signals_of(entry: str, inputs: list[tuple[str, Any]]) -> dict[str, dict[str, Any]]:
    query = f"[r | some p in input; r := data.sallyport.{entry}.answer.signals with input as p]"
    answers = evaluate(query, [each for _, each in inputs])
    return {
        name: {f"sandbox/{rule}": entries for rule, entries in answer.items()}
        for (name, _), answer in zip(inputs, answers, strict=True)
    }


def input_of(made: dict[str, Any]) -> dict[str, Any]:
    """Return what judge sees in an example: what it does not state is as a Context has it."""
    validator = jsonschema.Draft7Validator(
        {**JUDGE_SCHEMA["properties"]["context"], "required": ["operation"]}
    )
    validator.validate(made["context"])
    context = msgspec.convert(made["context"], Context)
    return {"context": msgspec.json.decode(encode_context(context))}


def reads_context(rule: str) -> bool:
    """Return whether a signal is one of judge's, by the schema of its input."""
    text = (REGO / rule / f"{rule.rsplit('/', maxsplit=1)[-1]}.rego").read_text()
    return "# - input: schema.judge\n" in text


def test_rego_lies_in_signals_folders_only() -> None:
    """No file can be overlooked because it lies elsewhere than in sandbox/family/signal/."""
    paths = (REGO / "sandbox").rglob("*.*")
    assert {len(path.relative_to(REGO).parts) for path in paths} == {4}
    assert len(SIGNALS) >= 16


@pytest.mark.parametrize("rule", SIGNALS)
def test_folder_has_signal_test_and_examples(rule: str) -> None:
    """A signal is rule, test and two examples, each in the package of its folder."""
    name = rule.rsplit("/", maxsplit=1)[-1]
    files = {path.name for path in (REGO / rule).iterdir()}
    assert files == {f"{name}.rego", f"{name}_test.rego", "riskier.yaml", "ordinary.yaml"}
    package = "package sallyport." + rule.replace("/", ".")
    assert package in (REGO / rule / f"{name}.rego").read_text().splitlines()
    assert f"{package}_test" in (REGO / rule / f"{name}_test.rego").read_text().splitlines()


@pytest.mark.parametrize("rule", SIGNALS)
def test_tests_have_cases_with_the_signal_and_without(rule: str) -> None:
    """Each test asserts the whole answer; some cases have entries, some have none."""
    name = rule.rsplit("/", maxsplit=1)[-1]
    text = (REGO / rule / f"{name}_test.rego").read_text()
    cases = re.findall(rf"^test_(\w+?)_\w+ if \{{\n\t{name}\.signals == (\S)", text, re.MULTILINE)
    assert len(cases) == text.count("\ntest_")
    assert set(cases) == {("riskier", "{"), ("ordinary", "s")}


@pytest.mark.parametrize("rule", SIGNALS)
def test_metadata_argues_the_points(rule: str, metadata: dict[str, dict[str, Any]]) -> None:
    """Title, description, points, reason, remedy, and a technique of ATT&CK or a project's word."""
    annotations = metadata[rule]
    assert annotations["title"]
    assert annotations["description"].endswith(".")
    refs = [resource["ref"] for resource in annotations["related_resources"]]
    assert any(
        ref.startswith(("https://attack.mitre.org/techniques/T", "https://github.com/kubernetes"))
        for ref in refs
    )
    assert len(refs) >= 2
    assert all(resource["description"] for resource in annotations["related_resources"])
    custom = annotations["custom"]
    assert set(custom) == {"since", "points", "message", "remedy"}
    assert custom["since"] == 1
    assert 0 < custom["points"] <= 100
    assert (custom["points"] >= THRESHOLD) is (rule in ALONE_ENOUGH)
    assert custom["message"][0].islower()
    assert set(re.findall(r"\{.*?\}", custom["message"])) <= {"{value}"}
    assert custom["remedy"].endswith(".")


def test_entry_points_ask_every_signal_and_nothing_else() -> None:
    """With every signal's answer replaced by a marker, each marker is in its place.

    What reads the context is asked by judge, all else by needs, whose answer is remembered.
    """
    mocks = " ".join(
        f'with data.sallyport.{rule.replace("/", ".")}.signals as {{"{rule}"}}' for rule in SIGNALS
    )
    mocks += ' with data.sallyport.features.features as {"features"}'
    answer = evaluate(f"data.sallyport.needs.answer {mocks}", {"containers": [], "weighed": True})
    assert answer["features"] == ["features"]
    judged = evaluate(f"data.sallyport.judge.answer {mocks}", {"context": {"absent": []}})
    for found, of_context in ((answer, False), (judged, True)):
        expected = [rule for rule in SIGNALS if reads_context(rule) is of_context]
        assert found["signals"] == {rule.split("/", 1)[1]: [rule] for rule in expected}
        assert len(expected) >= 3


@pytest.mark.parametrize("rule", SIGNALS)
def test_riskier_example_has_the_signal_alone(rule: str, found: dict[str, dict[str, Any]]) -> None:
    """Found by that rule and no other, and in the other example by none."""
    assert set(found[f"{rule}/riskier.yaml"]) == {rule}
    assert found[f"{rule}/ordinary.yaml"] == {}


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_are_named_after_the_signal(example: str) -> None:
    """Other tests may create them in one namespace, so names differ."""
    name = example.removeprefix("sandbox/").removesuffix(".yaml")
    expected = name.replace("/", "-").replace("_", "-")
    assert yaml.safe_load((REGO / example).read_text())["metadata"]["name"] == expected


def test_every_privilege_of_a_pod_has_a_risk_or_a_reason_for_none(
    metadata: dict[str, dict[str, Any]],
) -> None:
    """What leads out of a container counts where an exception alone allows it."""
    text = (REGO / "needs.rego").read_text()
    of_pods = text[text.index("of_pods :=") : text.index("# title: Needs of what is no Pod")]
    rules = {f"privileges/{rule}" for rule in re.findall(r'"([\w/]+)": privileges', of_pods)}
    assert len(rules) > 35
    risky = {rule for rule, found in metadata.items() if "risk" in found["custom"]}
    assert risky == rules - FREE.keys()
    assert FREE.keys() <= rules


def test_risks_of_some_privileges_are_of_their_rule(metadata: dict[str, dict[str, Any]]) -> None:
    """A pattern that its rule never names would weigh nothing."""
    for annotations in metadata.values():
        for pattern, points in annotations["custom"].get("risks", {}).items():
            validate_pattern(pattern, field="risks")
            assert 0 <= points <= 100
            example = pattern.replace("/*/", "/hostPath:rw/").replace("**", "x")
            assert any(covers(each, example) for each in annotations["custom"]["privileges"])


@pytest.mark.parametrize(
    ("rule", "privilege", "points"),
    [
        ("container/privileged", "container/privileged", 60),
        ("capability/add", "capability/SYS_ADMIN", 60),
        ("capability/add", "capability/NET_ADMIN", 30),
        ("capability/add", "capability/NET_BIND_SERVICE", 0),
        ("host/pid", "host/pid", 40),
        ("volume/host_path", "volume/hostPath:ro/var/log", 30),
        ("volume/host_path", "volume/hostPath:rw/var/log", 40),
        ("volume/host_path", "volume/hostPath:ro/run/containerd/containerd.sock", 60),
        ("volume/host_path", "volume/hostPath:ro/%2F", 60),
        ("volume/host_path", "volume/hostPath:ro/run/containerd", 60),
        ("volume/host_path", "volume/hostPath:ro/var/run/crio", 60),
        ("volume/host_path", "volume/hostPath:ro/var", 60),
        ("volume/host_path", "volume/hostPath:ro/var/lib/kubelet/pki", 60),
        ("volume/host_path", "volume/hostPath:ro/etc/kubernetes/admin.conf", 60),
        ("volume/host_path", "volume/hostPath:ro/var/lib/docker", 30),
        ("image/digest", "image/unpinned", 0),
    ],
)
def test_risk_is_that_of_the_heaviest_pattern(
    builtin_engine: EmbeddedEngine, rule: str, privilege: str, points: int
) -> None:
    """A socket of the runtime is root on the node, whether it is mounted read-only or not."""
    assert builtin_engine.rules[f"privileges/{rule}"].risk_of(privilege) == points


def test_signals_come_with_points_and_without_severity(builtin_engine: EmbeddedEngine) -> None:
    """The manifest tells the gate what a signal weighs."""
    rule = builtin_engine.rules["sandbox/code/notebook"]
    assert isinstance(rule, Rule)
    assert (rule.points, rule.severity, rule.risk) == (40, "", 0)


def test_answer_is_ordered_and_whole(builtin_engine: EmbeddedEngine) -> None:
    """Signals and features come by path, with container and value."""
    example = load("sandbox/code/notebook/riskier.yaml")
    example["spec"]["hostNetwork"] = True
    example["spec"]["containers"][0]["resources"]["limits"]["rdma/hca"] = 1
    answer = builtin_engine.evaluate(json.dumps(projection_of(example)).encode())
    (signal,) = answer.signals
    assert (signal.rule, signal.value, signal.container) == (
        "sandbox/code/notebook",
        "jupyter",
        "trainer",
    )
    assert signal.path == "spec.containers[0].image"
    assert [(each.name, each.path, each.container) for each in answer.features] == [
        ("rdma", "spec.containers[0].resources.limits['rdma/hca']", "trainer"),
        ("host-network", "spec.hostNetwork", None),
        ("user-namespace", "spec.hostUsers", None),
    ]
    assert any(need.privilege == "host/network" for need in answer.needs)
