"""A container that mounts what others mount is marked, and the namespace's IDs are beside it."""

import json
from typing import Any

import jsonschema
import pytest

from core.base.errors import NamespaceMarkError
from core.decision.id_ranges import IdRanges, parse_id_ranges
from core.kubernetes.pod import decode_pod
from policies.projection.model import encode
from policies.projection.pods import project
from policies.projection.volumes import KnownVolumes
from tests.unit.policies.projection.whole_pod import SCHEMA

CLAIM = {"persistentVolumeClaim": {"claimName": "data"}}


def found(source: dict[str, Any], known: KnownVolumes, mounted: str = "data") -> dict[str, Any]:
    """Return the projection of a Pod with one volume, that one of its two containers mounts."""
    mounts = [{"name": mounted, "mountPath": "/data"}]
    containers = [{"name": "main", "volumeMounts": mounts}, {"name": "other"}]
    pod = {"spec": {"containers": containers, "volumes": [{"name": "data", **source}]}}
    projection = encode(project(decode_pod(json.dumps(pod).encode()), known, weighed=False))
    seen: dict[str, Any] = json.loads(projection)
    jsonschema.validate(seen, SCHEMA)
    return seen


def ranges() -> IdRanges | None:
    """Return those of a namespace."""
    return parse_id_ranges("train", {"sallyport.dev/uid-range": "1/5"})


def unreadable() -> IdRanges | None:
    """Fail as a namespace whose annotation is no range."""
    raise NamespaceMarkError("it is no range")


@pytest.mark.parametrize(
    "source",
    [
        CLAIM,
        {"nfs": {"server": "s", "path": "/"}},
        {"csi": {"driver": "blob.csi.azure.com"}},
        {"flexVolume": {"driver": "azure/blobfuse"}},
        {"ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
    ],
    ids=str,
)
def test_whoever_mounts_it_is_marked_and_the_ids_are_given(source: dict[str, Any]) -> None:
    """Inline by its type or driver; a claim by what it is bound to."""
    seen = found(source, KnownVolumes(shares=lambda *_: True, ranges=ranges, filled=True))
    assert [each.get("shares") for each in seen["containers"]] == [True, None]
    block = [{"first": 1, "last": 5}]
    assert seen["ids"] == {"users": block, "groups": block}
    assert seen["idsFilled"] is True


@pytest.mark.parametrize(
    ("source", "mounted"),
    [
        ({"emptyDir": {}}, "data"),
        ({"csi": {"driver": "disk.csi.azure.com"}}, "data"),
        ({"hostPath": {"path": "/data"}}, "data"),
        ({"nfs": None, "emptyDir": {}}, "data"),
        (CLAIM, "data"),
        ({"nfs": {"server": "s", "path": "/"}}, "another"),
    ],
    ids=str,
)
def test_projection_without_a_shared_mount_has_no_ids(source: dict[str, Any], mounted: str) -> None:
    """The namespace's IDs are not even read: other Pods do not depend on them."""
    seen = found(source, KnownVolumes(ranges=unreadable, filled=True), mounted)
    assert [each.get("shares") for each in seen["containers"]] == [None, None]
    assert not {"ids", "idsFilled"} & seen.keys()


def test_ids_that_cannot_be_read_are_an_error() -> None:
    """Where a Pod shares a file system."""
    with pytest.raises(NamespaceMarkError):
        found(CLAIM, KnownVolumes(shares=lambda *_: True, ranges=unreadable))
