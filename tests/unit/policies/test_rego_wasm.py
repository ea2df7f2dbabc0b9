"""The compiled policies: what they make of any text, and that they agree with OPA itself.

Inputs are encoded as the product does it, with characters as UTF-8: OPA's WebAssembly reads a
surrogate pair of JSON escapes (seen from U+203AA) as another character (seen with 1.22.0).
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import jsonschema
import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from core.decision import Need
from core.privileges import validate_pattern
from policies.build import build
from policies.bundle import read_bundle
from policies.engine.embedded import EmbeddedEngine
from tests.tools.provide import provide

REGO = Path(__file__).parents[3] / "policies" / "rego"
SCHEMA = json.loads((REGO / "schema/projection.json").read_text())

ODD = ["", ".", "..", "/", "*", "a/**", "%00", "\0", "~ +:", "é\U0001f600", "-._:", "ALL", "{}"]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(ODD)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedEngine]:
    """The embedded engine on a bundle compiled from the sources of now."""
    bundle = tmp_path_factory.mktemp("bundle") / "bundle.tar.gz"
    build(provide("opa"), REGO, bundle)
    engine = EmbeddedEngine(read_bundle(bundle))
    yield engine
    engine.close()


def security_contexts() -> st.SearchStrategy[object]:
    """Security contexts as the schema has them, of the Pod and of containers in one."""
    profile = st.fixed_dictionaries(
        {},
        optional={"type": st.sampled_from(["RuntimeDefault", "Localhost", "Unconfined"]) | TEXTS},
    )
    labels = st.fixed_dictionaries({}, optional={"user": TEXTS, "role": TEXTS, "type": TEXTS})
    capabilities = st.fixed_dictionaries(
        {}, optional={"add": st.lists(TEXTS, max_size=2), "drop": st.lists(TEXTS, max_size=2)}
    )
    return st.fixed_dictionaries(
        {},
        optional={
            "privileged": st.booleans(),
            "allowPrivilegeEscalation": st.booleans(),
            "runAsUser": st.integers(0, 2),
            "runAsNonRoot": st.booleans(),
            "procMount": st.just("Default") | TEXTS,
            "capabilities": capabilities,
            "seccompProfile": profile,
            "appArmorProfile": profile,
            "seLinuxOptions": labels,
            "windowsOptions": st.fixed_dictionaries({}, optional={"hostProcess": st.booleans()}),
        },
    )


def projections() -> st.SearchStrategy[dict[str, object]]:
    """Projections as the schema has them, with odd texts everywhere."""
    container = st.fixed_dictionaries(
        {"path": st.just("spec.containers[0]"), "name": TEXTS},
        optional={
            "securityContext": security_contexts(),
            "hostPorts": st.lists(
                st.builds(lambda port: {"path": "p", "port": port}, st.integers()), max_size=2
            ),
            "handlerHosts": st.lists(
                st.builds(lambda host: {"path": "p", "host": host}, TEXTS), max_size=2
            ),
        },
    )
    volume = st.fixed_dictionaries(
        {"path": st.just("spec.volumes[0]")},
        optional={
            "types": st.lists(st.sampled_from(["hostPath", "nfs", "emptyDir"]) | TEXTS, max_size=2),
            "hostPath": st.fixed_dictionaries(
                {}, optional={"path": TEXTS, "readOnly": st.booleans()}
            ),
        },
    )
    pod = security_contexts().map(
        lambda given: {
            key: value
            for key, value in given.items()  # type: ignore[attr-defined] # A fixed dictionary.
            if key not in {"privileged", "allowPrivilegeEscalation", "procMount", "capabilities"}
        }
    )
    return st.fixed_dictionaries(
        {"containers": st.lists(container, max_size=2)},
        optional={
            "os": st.sampled_from(["windows", "linux"]),
            "hostNetwork": st.booleans(),
            "hostPID": st.booleans(),
            "hostIPC": st.booleans(),
            "hostUsers": st.booleans(),
            "securityContext": pod,
            "annotations": st.dictionaries(
                st.just("container.apparmor.security.beta.kubernetes.io/c") | TEXTS, TEXTS
            ),
            "volumes": st.lists(volume, max_size=2),
        },
    )


@given(text=TEXTS)
def test_any_text_is_one_segment_of_its_own(engine: EmbeddedEngine, text: str) -> None:
    """A capability of any name gives `capability/<segment>`, and the name can be read off it."""
    container = {
        "path": "spec.containers[0]",
        "name": "c",
        "securityContext": {"capabilities": {"add": [text]}},
    }
    needs = engine.evaluate(msgspec.json.encode({"containers": [container]}))
    (privilege,) = {need.privilege for need in needs if need.rule == "privileges/capability/add"}
    family, segment = privilege.split("/")
    assert family == "capability"
    assert unquote(segment, errors="strict") == (text or "\0")
    validate_pattern(privilege, field="privilege")


@given(projection=projections())
def test_every_privilege_follows_the_grammar(
    engine: EmbeddedEngine, projection: dict[str, object]
) -> None:
    """Whatever the Pod says, a privilege is no wildcard and has no `.`, `..` or empty segment."""
    jsonschema.validate(projection, SCHEMA)
    for need in engine.evaluate(msgspec.json.encode(projection)):
        validate_pattern(need.privilege, field="privilege")
        assert "*" not in need.privilege


def test_compiled_policies_agree_with_opa(engine: EmbeddedEngine) -> None:
    """For 200 projections, WebAssembly and OPA's interpreter give the same needs."""
    cases: list[dict[str, object]] = []

    @settings(max_examples=200, database=None, derandomize=True, phases=[Phase.generate])
    @given(projection=projections())
    def collect(projection: dict[str, object]) -> None:
        cases.append(projection)

    collect()
    query = "[r | some p in input; r := data.sallyport.needs.result with input as p]"
    done = subprocess.run(
        [provide("opa"), "eval", "-b", ".", "-I", "-f", "json", query],
        cwd=REGO,
        input=msgspec.json.encode(cases),
        capture_output=True,
        check=True,
    )
    answers = json.loads(done.stdout)["result"][0]["expressions"][0]["value"]
    assert len(answers) == len(cases) >= 200
    for case, answer in zip(cases, answers, strict=True):
        expected = {
            Need(f"privileges/{rule}", entry["privilege"], entry["path"], entry.get("container"))
            for rule, entries in answer.items()
            for entry in entries
        }
        assert set(engine.evaluate(msgspec.json.encode(case))) == expected, case
