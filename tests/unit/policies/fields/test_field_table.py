"""The table of fields: each field of each supported minor has a row, and rows name real rules."""

import json
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import yaml

from admission.objects.reader import JUDGED_KINDS
from core.base.errors import InvalidObjectError
from core.kubernetes.field_rows import FieldRow, FieldRows, decode_rows
from docs.generate.rule_ids import find_rule_ids
from policies.fields import MINORS, TABLE
from policies.fields.minors import built_in_lacks, expected_fields
from policies.fields.openapi import read_types
from policies.fields.table import (
    BEYOND,
    MOST_FOUND,
    MOST_PARTS,
    STEP,
    FieldTable,
    built_in_rows,
)
from tests.compat.product import structs
from tests.harness.evidence import ROOT
from tests.tools.field_table import made_minors, made_table, missing_rows, read_rows
from tests.tools.openapi import KINDS, PINS, supported

EXAMPLES: Final = sorted((ROOT / "examples").rglob("*.yaml"))


def table(added: FieldRows | None = None) -> FieldTable:
    """Return the table of this release."""
    return FieldTable(built_in_rows(), added)


def paths(of: FieldTable, made: object, kind: str = "Pod", group: str = "") -> list[str]:
    """Return the unknown fields of an object."""
    found = of.search(group, kind, msgspec.json.encode(made))
    return [each.path for each in found if each is not None]


@pytest.mark.parametrize("minor", PINS)
def test_each_field_of_a_minor_has_a_row(minor: str) -> None:
    """Of all kinds that are judged, as Kubernetes' own OpenAPI of that minor has them."""
    found = supported(minor)
    assert {"core/PodSpec", "core/Container", "rbac/PolicyRule"} <= found.keys()
    problems = [each for each in missing_rows(found) if each.endswith("has no row")]
    assert problems == []


def test_a_field_without_a_row_is_found() -> None:
    """The test above can fail."""
    types = {"core/SecurityContext": {"privileged": "", "writableCgroups": ""}}
    assert "core/SecurityContext.writableCgroups has no row" in missing_rows(types)


def test_the_table_is_made_of_its_rows() -> None:
    """`python -m tests.tools.field_table` writes what is there already."""
    assert TABLE.read_bytes() == made_table()
    assert MINORS.read_bytes() == made_minors()


@pytest.mark.parametrize("minor", PINS)
def test_a_minor_must_have_the_fields_that_each_of_its_versions_has(minor: str) -> None:
    """A cluster may serve resource.k8s.io/v1 alone: what v1beta1 had is no field that it lacks."""
    found = supported(minor)
    expected = expected_fields(built_in_rows(), built_in_lacks(), f"v{minor}.9-any.1")
    assert {"core/PodSpec", "resource/DeviceRequest"} <= expected.keys() <= found.keys()
    assert expected["resource/DeviceRequest"] == ["firstAvailable", "name"]
    assert [of for of in expected if not found[of].keys() >= {*expected[of]}] == []
    assert {*expected["core/PodSpec"]} == found["core/PodSpec"].keys()


def test_rows_name_rules_that_there_are() -> None:
    """A rule of Rego is a folder, one in Python a word that its check writes."""
    python = find_rule_ids()
    named = {
        rule
        for row in read_rows().values()
        if row.startswith("judged: ")
        for rule in row.removeprefix("judged: ").split(", ")
    }
    assert [
        rule
        for rule in sorted(named)
        if rule not in python and not (ROOT / "policies" / "rego" / rule).is_dir()
    ] == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_have_no_unknown_field(path: Path) -> None:
    """What people really submit."""
    known = table()
    for made in yaml.safe_load_all(path.read_text()):
        if not isinstance(made, dict) or "kind" not in made:
            continue
        group = made["apiVersion"].rpartition("/")[0]
        raw = json.dumps(made, default=str).encode()
        assert known.knows_all(group, made["kind"], raw), paths(known, made, made["kind"], group)


UNKNOWN: Final = {
    "metadata": {"name": "a", "labels": {"any": "label"}},
    "spec": {
        "containers": [
            {"name": "a", "securityContext": {"writableCgroups": True, "privileged": True}},
            {"name": "b", "securityContext": {"writableCgroups": True}, "image": None},
        ],
        "volumes": [{"name": "v", "quantumDisk": {"size": 1}}],
        "nodeSelector": {"any": "key"},
    },
    "status": {"any": "thing"},
}


def test_unknown_fields_are_named_with_their_places() -> None:
    """Each once a place and value; status is never submitted."""
    known = table()
    assert not known.knows_all("", "Pod", msgspec.json.encode(UNKNOWN))
    found = [each for each in known.search("", "Pod", msgspec.json.encode(UNKNOWN)) if each]
    field = "securityContext.writableCgroups"
    everywhere = f"spec.containers[*].{field}"
    assert sorted(found) == [
        (f"spec.containers[0].{field}", everywhere, b"true", f"spec.containers[a].{field}"),
        (f"spec.containers[1].{field}", everywhere, b"true", f"spec.containers[b].{field}"),
        (
            "spec.volumes[0].quantumDisk",
            "spec.volumes[*].quantumDisk",
            b'{"size":1}',
            "spec.volumes[v].quantumDisk",
        ),
    ]


def test_a_field_that_is_known_elsewhere_is_unknown_here() -> None:
    """A name alone says nothing."""
    made = {"spec": {"containers": [{"name": "a", "privileged": True}]}}
    assert paths(table(), made) == ["spec.containers[0].privileged"]


def test_templates_of_workloads_are_looked_through() -> None:
    """With paths from the object's root."""
    spec = {"containers": [{"name": "a", "example": 1}]}
    job = {"spec": {"jobTemplate": {"spec": {"template": {"spec": spec}}}}}
    found = paths(table(), job, "CronJob", "batch")
    assert found == ["spec.jobTemplate.spec.template.spec.containers[0].example"]


def test_rows_can_be_added() -> None:
    """As a ConfigMap adds them: no new release is needed."""
    row = {"writableCgroups": FieldRow("harmless: it is a test")}
    volume = {"quantumDisk": FieldRow("judged: privileges/volume/type", "core/QuantumDisk")}
    disk = {"size": FieldRow("harmless: how large it is")}
    added = FieldRows(
        types={"core/SecurityContext": row, "core/Volume": volume, "core/QuantumDisk": disk}
    )
    assert table(added).knows_all("", "Pod", msgspec.json.encode(UNKNOWN))


def test_kinds_without_rows_have_nothing_unknown() -> None:
    """Custom kinds are judged by their Pods."""
    assert table().knows_all("example.com", "Widget", b'{"spec":{"any":1}}')
    assert paths(table(), {"spec": {"any": 1}}, "Widget", "example.com") == []


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"spec":[1]}', b'{"spec":{"containers":{"a":1}}}'])
def test_what_has_another_shape_has_nothing_unknown(raw: bytes) -> None:
    """Whoever reads it says so; here it only must not fail."""
    assert [each for each in table().search("", "Pod", raw) if each] == []


def test_the_search_is_bounded() -> None:
    """In what is found, in what is looked through, and in how long a name is."""
    many = {"spec": {f"field{n}": n for n in range(10_000)}}
    assert len(paths(table(), many)) == MOST_FOUND
    long = {"spec": {"x" * 100_000: 1}}
    assert len(paths(table(), long)[0]) < 300
    wide = {"spec": {"containers": [{"name": "a"}] * 100_000 + [{"name": "a", "late": 1}]}}
    steps = list(table().search("", "Pod", msgspec.json.encode(wide)))
    assert len(steps) <= MOST_PARTS // STEP + 1
    assert [each for each in steps if each] == [BEYOND]


def test_what_is_ignored_takes_no_place() -> None:
    """Else what was there before would hide what is new."""
    made = {"spec": {f"field{n:02}": n for n in range(MOST_FOUND + 1)}}
    raw = msgspec.json.encode(made)
    last = f"spec.field{MOST_FOUND}"
    found = table().search("", "Pod", raw, is_ignored=lambda each: each.path != last)
    assert [each.path for each in found if each] == [last]


def test_recursive_rows_end() -> None:
    """A table that is shipped may name a type within itself."""
    loop = {"core/PodSpec": {"again": FieldRow("harmless: test", "core/PodSpec")}}
    known = table(FieldRows(types=loop))
    deep: dict[str, Any] = {"again": {"again": {}}}
    assert known.knows_all("", "Pod", msgspec.json.encode({"spec": deep}))


@pytest.mark.parametrize(
    "text", [b'{"format":2}', b"[]", b'{"types":{"core/Pod":[]}}', b" " * (1024 * 1024 + 1)]
)
def test_broken_tables_are_refused(text: bytes) -> None:
    """With what is wrong."""
    with pytest.raises(InvalidObjectError):
        decode_rows(text, "table.json")


def test_openapi_of_a_cluster_reads_as_that_of_the_repository() -> None:
    """Version 3 has `allOf` around references, and `components.schemas`."""
    name = "io.k8s.api.core.v1."
    three = {
        "components": {
            "schemas": {
                f"{name}Pod": {
                    "properties": {
                        "spec": {"allOf": [{"$ref": f"#/components/schemas/{name}PodSpec"}]}
                    }
                },
                f"{name}PodSpec": {"properties": {"hostIPC": {"type": "boolean"}}},
            }
        }
    }
    found = read_types([three], KINDS)
    assert found == {"core/Pod": {"spec": "core/PodSpec"}, "core/PodSpec": {"hostIPC": ""}}


def test_each_kind_of_kubernetes_own_that_is_judged_has_rows() -> None:
    """A kind without rows would have nothing unknown, whatever a later minor adds to it."""
    of_definitions = {
        "groupsnapshot.storage.k8s.io",
        "snapshot.storage.k8s.io",
        "sparkoperator.k8s.io",
    }
    own = {
        f"{group}/{kind}"
        for group, kind in JUDGED_KINDS
        if ("." not in group or group.endswith(".k8s.io")) and group not in of_definitions
    }
    assert own <= KINDS.keys()


def test_types_that_are_made_of_rows_are_none_of_the_products() -> None:
    """The list of all that is read would else depend on what was searched before."""
    before = structs()
    assert FieldTable(built_in_rows()).knows_all("", "Pod", b"{}")
    assert structs() == before
