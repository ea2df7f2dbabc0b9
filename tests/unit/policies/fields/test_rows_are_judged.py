"""A row that says which rule judges a field is true: another value changes what the rule finds.

The objects are the examples of the rules and a Pod that sets all that is read. Each field is taken
away, and given other values, wherever its type stands in one of them.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import pytest

from core.base.errors import InvalidObjectError
from core.kubernetes.field_rows import split_shape
from policies.engine.embedded_engine import EmbeddedEngine
from policies.fields.table import built_in_rows
from policies.projection.objects import OBJECT_KINDS, read_settings
from tests.tools.field_table import read_rows
from tests.unit.policies.projection.whole_pod import POD
from tests.unit.policies.rego.rego_folder import REGO, load, projection_of

Row = tuple[str, str]
Findings = Mapping[str, object]


WHOLE: Final = frozenset({"privileges/volume/type"})
"""A volume of such a type needs a privilege whatever it says: its fields are not read apart."""

VALUES: Final[tuple[Any, ...]] = (
    None, True, False, 0, 5, "", "x", "windows", "Always", "Exists", [], {}, ["x"],
    [{"name": "x"}], [{"key": "x"}], {"host": "x"}, {"x": "1"}, [{}],
    {"name": "windows"}, {"exec": {"command": ["x"]}}, {"path": "x"}, {"cpu": "1", "memory": "1"},
)  # fmt: skip

_CLUSTER: Final = "the cluster says what a claim is bound to: admission/objects, profiles"
_WHATEVER: Final = "making one needs the privilege, whatever it says"
_RANGES: Final = (
    "where the namespace has numbers of its own: admission/profiles/test_shared_volumes"
)

_ROLES: Final = "the cluster says what a role holds: admission/objects/test_rbac_changes"

EXCEPT: Final[Mapping[Row, str]] = {
    **dict.fromkeys(
        (
            ("core/ObjectReference", "name"),
            ("core/ObjectReference", "namespace"),
            ("core/PersistentVolumeClaimSpec", "volumeName"),
            ("core/PersistentVolumeClaimVolumeSource", "claimName"),
            ("core/PersistentVolumeClaimVolumeSource", "readOnly"),
            ("core/PersistentVolumeSpec", "accessModes"),
            ("core/PersistentVolumeSpec", "claimRef"),
            ("core/PersistentVolumeSpec", "volumeMode"),
            ("core/Volume", "ephemeral"),
            ("core/Volume", "persistentVolumeClaim"),
        ),
        _CLUSTER,
    ),
    **dict.fromkeys(
        (
            ("rbac/ClusterRoleBinding", "roleRef"),
            ("rbac/RoleBinding", "roleRef"),
            ("rbac/RoleRef", "apiGroup"),
            ("rbac/RoleRef", "kind"),
            ("rbac/RoleRef", "name"),
            ("rbac/Subject", "namespace"),
        ),
        _ROLES,
    ),
    ("core/Binding", "target"): _WHATEVER,
    ("core/PodSecurityContext", "supplementalGroupsPolicy"): _RANGES,
    (
        "core/Secret",
        "type",
    ): "only Secrets of the type are read: admission/objects/test_token_secrets",
}
"""Rows that this test cannot show, and why."""

_DEBUGGING: Final = {
    "name": "debug",
    "image": "registry.example/a:1",
    "targetContainerName": "main",
    "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}],
    "stdin": True,
    "tty": True,
    "volumeDevices": [{"name": "data", "devicePath": "/dev/xvda"}],
    "volumeMounts": [{"name": "log", "mountPath": "/var/run/nvidia-container-devices/all"}],
}
_INSTALLING: Final = ["sh", "-c", "pip install a"]


def _made(kind: str, api_version: str = "v1", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **fields}


BESIDES: Final = (
    {"apiVersion": "v1", "kind": "Pod", **POD},
    _made("Pod", spec={"containers": [_DEBUGGING], "ephemeralContainers": [_DEBUGGING]}),
    _made(
        "Pod",
        spec={
            "containers": [{"name": "a", "volumeMounts": [{"name": "log", "readOnly": True}]}],
            "volumes": [{"name": "log", "hostPath": {"path": "/var/log", "type": "Socket"}}],
        },
    ),
    *(
        _made("Pod", spec={"containers": [each], "ephemeralContainers": [each]})
        for each in (
            {"name": "a", "command": _INSTALLING},
            {"name": "a", "args": _INSTALLING},
            {"name": "a", "lifecycle": {"postStart": {"exec": {"command": _INSTALLING}}}},
        )
    ),
    _made("PersistentVolume", spec={"csi": {"driver": "a"}}),
    _made("PersistentVolume", spec={"local": {"path": "/mnt"}}),
    _made("PersistentVolume", spec={"hostPath": {"path": "/mnt", "type": ""}}),
    _made("Secret", type="kubernetes.io/service-account-token"),
    _made("PriorityClass", "scheduling.k8s.io/v1", value=1, globalDefault=True),
    _made("CSIDriver", "storage.k8s.io/v1", spec={"tokenRequests": [{"audience": "a"}]}),
    _made(
        "DeviceClass",
        "resource.k8s.io/v1",
        spec={"config": [{"opaque": {"driver": "a", "parameters": {}}}]},
    ),
    _made(
        "ResourceClaim",
        "resource.k8s.io/v1",
        spec={"devices": {"requests": [{"firstAvailable": [{"tolerations": [{"key": "a"}]}]}]}},
    ),
    _made(
        "StorageClass",
        "storage.k8s.io/v1",
        allowedTopologies=[{"matchLabelExpressions": [{"key": "a", "values": ["b"]}]}],
    ),
    _made(
        "RuntimeClass",
        "node.k8s.io/v1",
        overhead={"podFixed": {"cpu": "1"}},
        scheduling={"nodeSelector": {"a": "b"}},
    ),
    _made(
        "ClusterRole",
        "rbac.authorization.k8s.io/v1",
        aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]},
        rules=[
            {"verbs": ["*"], "nonResourceURLs": ["*"]},
            {
                "verbs": ["use"],
                "apiGroups": ["sallyport.dev"],
                "resources": ["containerprofiles"],
                "resourceNames": ["a"],
            },
        ],
    ),
    _made(
        "ClusterRoleBinding",
        "rbac.authorization.k8s.io/v1",
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "a"},
        subjects=[{"kind": "ServiceAccount", "name": "default", "namespace": "a"}],
    ),
)
"""Objects in which the other fields stand."""

SETTINGS: Final = "settings"


def _examples(rules: list[str]) -> Iterator[dict[str, Any]]:
    for rule in rules:
        for name in ("refused.yaml", "riskier.yaml", "admitted.yaml"):
            if (REGO / rule / name).is_file():
                yield load(f"{rule}/{name}")
    yield from BESIDES


def _root(made: dict[str, Any]) -> str:
    group = made["apiVersion"].rpartition("/")[0]
    return built_in_rows().kinds.get(f"{group}/{made['kind']}", "")


def _places(of: str, part: Any, wanted: str) -> Iterator[dict[str, Any]]:
    """Yield the parts of an object that are of the type `wanted`."""
    if not isinstance(part, dict):
        return
    if of == wanted:
        yield part
    for name, row in built_in_rows().types.get(of, {}).items():
        shape, held = split_shape(row.type)
        value = part.get(name)
        if not held or value is None:
            continue
        parts = [value] if not shape else value.values() if shape == "{}" else value
        for each in parts:
            yield from _places(held, each, wanted)


def _changed(made: dict[str, Any], row: Row) -> Iterator[dict[str, Any]]:
    """Yield the object with the field taken away, and with other values."""
    of, field = row
    text = json.dumps(made)
    for at, _ in enumerate(_places(_root(made), made, of)):
        for value in VALUES:
            copy = json.loads(text)
            place = list(_places(_root(made), copy, of))[at]
            place.pop(field, None)
            if value is not None:
                place[field] = value
            yield copy


@pytest.fixture(scope="session")
def find(builtin_engine: EmbeddedEngine) -> Callable[[dict[str, Any]], Findings | None]:
    """Return what each rule finds in an object; None where it has not its kind's shape."""

    def ask(made: dict[str, Any]) -> Findings | None:
        group = made["apiVersion"].rpartition("/")[0]
        try:
            answer = builtin_engine.evaluate(json.dumps(projection_of(made)).encode())
            found: dict[str, Any] = {}
            for need in answer.needs:
                found.setdefault(need.rule, set()).add((need.privilege, need.path))
            for denial in answer.denials:
                found.setdefault(denial.rule, set()).add((denial.value, denial.path))
            for signal in answer.signals:
                found.setdefault(signal.rule, set()).add((signal.value, signal.path))
            if (group, made["kind"]) in OBJECT_KINDS:
                found[SETTINGS] = read_settings(group, made["kind"], json.dumps(made).encode())
        except (InvalidObjectError, KeyError):
            return None
        return found

    return ask


JUDGED: Final = {
    row: text.removeprefix("judged: ").split(", ")
    for row, text in read_rows().items()
    if text.startswith("judged: ")
}
SHOWN: Final = sorted(
    row
    for row, rules in JUDGED.items()
    if any((REGO / rule).is_dir() for rule in rules)
    and not (WHOLE.issuperset(rules) and row[0] not in {"core/Volume", "core/PersistentVolumeSpec"})
)


@pytest.mark.parametrize("row", SHOWN, ids=".".join)
def test_a_judged_field_is_read_by_its_rules(
    row: Row, find: Callable[[dict[str, Any]], Findings | None]
) -> None:
    """By one of them at least; whoever makes a class or a driver was judged for its settings."""
    rules = JUDGED[row]
    proved = False
    for made in _examples(rules):
        before = find(made)
        if before is None:
            continue
        for copy in _changed(made, row):
            after = find(copy)
            if after is not None and any(
                before.get(rule) != after.get(rule) for rule in (*rules, SETTINGS)
            ):
                proved = True
                break
        if proved:
            break
    assert proved != (row in EXCEPT), f"{row} is judged by {rules}, and no change of it is seen"
