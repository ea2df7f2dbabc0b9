"""The compiled policies: what they make of any text, and that they agree with OPA itself.

Inputs are encoded as the product does it, with characters as UTF-8: OPA's WebAssembly reads a
surrogate pair of JSON escapes (seen from U+203AA) as another character (seen with 1.22.0).
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from core.decision.decision import Denial, Need
from core.profiles.privileges import validate_pattern
from core.sandbox.decision import Feature, Signal
from policies.build.builder import build
from policies.bundle.format import read_bundle
from policies.engine.embedded_engine import EmbeddedEngine
from policies.projection.hints import KINDS
from policies.projection.images import origin
from tests.tools.provide import provide

REGO = Path(__file__).parents[4] / "policies" / "rego"
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
    added = st.lists(TEXTS | st.just("cap_net_raw"), max_size=2)
    capabilities = st.fixed_dictionaries({}, optional={"add": added, "drop": st.lists(TEXTS)})
    return st.fixed_dictionaries(
        {},
        optional={
            "privileged": st.booleans(),
            "allowPrivilegeEscalation": st.booleans(),
            "readOnlyRootFilesystem": st.booleans(),
            "runAsUser": st.integers(0, 2),
            "runAsGroup": st.integers(0, 1001),
            "runAsNonRoot": st.booleans(),
            "procMount": st.just("Default") | TEXTS,
            "capabilities": capabilities,
            "seccompProfile": profile,
            "appArmorProfile": profile,
            "seLinuxOptions": labels,
            "windowsOptions": st.fixed_dictionaries({}, optional={"hostProcess": st.booleans()}),
        },
    )


NAMES = TEXTS | st.sampled_from(
    ["NVIDIA_VISIBLE_DEVICES", "NVIDIA_GDS", "X_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"]
)
IMAGES = TEXTS | st.sampled_from(["a", "a/b@sha256:" + "0" * 64, "[::1]:1/a", "A/b", "sha256:0"])
SOURCES = IMAGES.map(lambda reference: origin(reference).source)
ANNOTATIONS = TEXTS | st.sampled_from(
    [
        "container.apparmor.security.beta.kubernetes.io/c",
        "seccomp.security.alpha.kubernetes.io/pod",
        "security.alpha.kubernetes.io/sysctls",
        "dev.gvisor.spec.mount.v.share",
        "dev.gvisor.flag.debug",
        "devices.crio.io",
        "a.nri.io/b",
    ]
)


PATHS = TEXTS | st.sampled_from(["/", "/var/run/a", "//run/./s", "/a/../b", "/dev/a", "/a.sock"])
RESOURCES = TEXTS | st.sampled_from(
    ["nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "hugepages-2Mi", "rdma/hca", "a/IB", "amd.com/gpu"]
)


def entries(**optional: st.SearchStrategy[Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Lists of objects with a path and any of these keys."""
    one = st.fixed_dictionaries({"path": st.just("p")}, optional=optional)
    return st.lists(one, max_size=2)


def named(
    given: st.SearchStrategy[list[dict[str, Any]]], key: str
) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Return those objects each with a text under `key`."""
    return given.map(lambda found: [{key: "", **each} for each in found])


def containers() -> st.SearchStrategy[dict[str, object]]:
    """Containers as the schema has them."""
    variables = entries(name=NAMES)
    return st.fixed_dictionaries(
        {"path": st.just("spec.containers[0]"), "name": TEXTS},
        optional={
            "kind": st.sampled_from(["container", "init", "ephemeral"]),
            "image": IMAGES,
            "imageFrom": SOURCES,
            "pinned": st.booleans(),
            "public": st.booleans(),
            "interactive": st.booleans(),
            "installs": st.lists(st.sampled_from(["apt", "pip"]), unique=True),
            "scripts": st.lists(st.just("curl"), max_size=1),
            "resources": st.lists(RESOURCES, max_size=2),
            "securityContext": security_contexts(),
            "hostPorts": entries(port=st.integers()).map(
                lambda found: [{"port": 0, **each} for each in found]
            ),
            "handlerHosts": named(entries(host=TEXTS), "host"),
            "unlimited": st.lists(st.sampled_from(["cpu", "memory"]), max_size=2),
            "env": named(variables, "name"),
            "mounts": entries(mountPath=TEXTS),
            "blockDevices": st.lists(st.just("p"), max_size=2),
            "shares": st.booleans(),
            "recursiveReadOnly": st.lists(st.just("p"), max_size=2),
        },
    )


TOKENS = entries(audience=TEXTS)


def volumes() -> st.SearchStrategy[dict[str, object]]:
    """Volumes as the schema has them."""
    places = ["spec", "spec.volumes[0]", "spec.volumes[0].persistentVolumeClaim"]
    types = st.sampled_from(["hostPath", "nfs", "emptyDir", "csi", "image", "projected"])
    return st.fixed_dictionaries(
        {"path": st.sampled_from(places)},
        optional={
            "types": st.lists(types | TEXTS, max_size=2),
            "hostPath": st.fixed_dictionaries(
                {}, optional={"path": PATHS, "readOnly": st.booleans()}
            ),
            "csi": st.fixed_dictionaries({}, optional={"driver": TEXTS}),
            "image": st.fixed_dictionaries(
                {},
                optional={"reference": IMAGES, "from": SOURCES, "pinned": st.booleans()}
                | {"public": st.booleans()},
            ),
            "tokens": TOKENS,
            "certificates": entries(signer=TEXTS),
        },
    )


def hints() -> st.SearchStrategy[list[dict[str, Any]]]:
    """Hints as the schema has them."""
    one = st.fixed_dictionaries(
        {"path": st.just("p"), "kind": st.sampled_from(KINDS), "word": TEXTS},
        optional={"container": TEXTS},
    )
    return st.lists(one, max_size=2)


def objects() -> st.SearchStrategy[dict[str, object]]:
    """Objects that are no Pods, as the schema has them."""
    kinds = ["RuntimeClass", "StorageClass", "CSIDriver", "PriorityClass", "ResourceClaim"]
    return st.fixed_dictionaries(
        {"kind": st.sampled_from(kinds)},
        optional={
            "name": TEXTS,
            "handler": TEXTS,
            "provisioner": TEXTS,
            "globalDefault": st.booleans(),
            "tokens": TOKENS,
            "requests": entries(adminAccess=st.booleans()),
            "configs": entries(driver=TEXTS),
        },
    )


def projections() -> st.SearchStrategy[dict[str, object]]:
    """Projections as the schema has them, with odd texts everywhere."""
    of_containers = {"privileged", "allowPrivilegeEscalation", "procMount", "capabilities"}
    of_containers |= {"readOnlyRootFilesystem"}
    groups = st.fixed_dictionaries(
        {},
        optional={
            "fsGroup": st.integers(0, 1001),
            "supplementalGroups": st.lists(st.integers(0, 1001), max_size=2),
            "supplementalGroupsPolicy": st.sampled_from(["Merge", "Strict"]),
        },
    )
    pod = st.tuples(security_contexts(), groups).map(
        lambda given: (
            given[1]
            | {
                key: value
                for key, value in given[0].items()  # type: ignore[attr-defined] # A fixed dictionary.
                if key not in of_containers
            }
        )
    )
    block = {"first": st.integers(1, 1000), "last": st.integers(1, 1000)}
    blocks = st.lists(st.fixed_dictionaries(block), max_size=2)
    return st.fixed_dictionaries(
        {"containers": st.lists(containers(), max_size=2)},
        optional={
            "object": objects(),
            "os": st.sampled_from(["windows", "linux"]),
            "hostNetwork": st.booleans(),
            "hostPID": st.booleans(),
            "hostIPC": st.booleans(),
            "hostUsers": st.booleans(),
            "automount": st.booleans(),
            "nodeName": TEXTS,
            "tolerations": entries(
                key=TEXTS | st.just("CriticalAddonsOnly"), operator=st.just("Exists")
            ),
            "priorityClass": TEXTS | st.just("system-a b"),
            "shareProcessNamespace": st.booleans(),
            "dnsPolicy": TEXTS | st.sampled_from(["None", "Default", "ClusterFirst"]),
            "nameservers": st.lists(TEXTS, max_size=2),
            "hostAliases": entries(hostnames=st.lists(TEXTS, max_size=2)),
            "securityContext": pod,
            "annotations": st.dictionaries(ANNOTATIONS, TEXTS, max_size=3),
            "volumes": st.lists(volumes(), max_size=2),
            "ids": st.fixed_dictionaries({}, optional={"users": blocks, "groups": blocks}),
            "idsFilled": st.booleans(),
            "hints": hints(),
            "resources": st.lists(RESOURCES, max_size=2),
            "resourceClaims": st.booleans(),
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
    needs = engine.evaluate(msgspec.json.encode({"containers": [container]})).needs
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
    for need in engine.evaluate(msgspec.json.encode(projection)).needs:
        validate_pattern(need.privilege, field="privilege")
        assert "*" not in need.privilege


def test_compiled_policies_agree_with_opa(engine: EmbeddedEngine) -> None:
    """For 200 projections, WebAssembly and OPA's interpreter give the same answer."""
    cases: list[dict[str, object]] = []

    @settings(max_examples=200, database=None, derandomize=True, phases=[Phase.generate])
    @given(projection=projections())
    def collect(projection: dict[str, object]) -> None:
        cases.append(projection)

    collect()
    query = "[r | some p in input; r := data.sallyport.needs.answer with input as p]"
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
        compiled = engine.evaluate(msgspec.json.encode(case))
        assert set(compiled.needs) == {
            Need(f"privileges/{rule}", entry["privilege"], entry["path"], entry.get("container"))
            for rule, found in answer["needs"].items()
            for entry in found
        }, case
        assert set(compiled.denials) == {
            Denial(f"rules/{rule}", entry["path"], entry["value"])
            for rule, found in answer["denials"].items()
            for entry in found
        }, case
        assert set(compiled.signals) == {
            Signal(f"sandbox/{rule}", entry["path"], entry["value"], entry.get("container"))
            for rule, found in answer["signals"].items()
            for entry in found
        }, case
        assert set(compiled.features) == {
            Feature(entry["name"], entry["path"], entry.get("container"))
            for entry in answer["features"]
        }, case
