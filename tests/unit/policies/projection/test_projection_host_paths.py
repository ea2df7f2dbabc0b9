"""When a hostPath volume counts as read-only, and how broken volumes are refused."""

import json
from typing import Any

import pytest

from core.base.errors import InvalidObjectError
from core.kubernetes.pod import decode_pod
from policies.projection.model import HostPath, Projection, Volume
from policies.projection.pods import project

RO = {"name": "v", "readOnly": True}
RW = {"name": "v", "readOnly": False}
UNSAID = {"name": "v"}
OTHER = {"name": "other", "readOnly": False}


def projected(
    source: object, *, main: Any = None, init: Any = None, ephemeral: Any = None
) -> Projection:
    """Return the projection of a Pod with the hostPath volume `v` and these mounts."""
    pod = {
        "spec": {
            "volumes": [{"name": "v", "hostPath": source}],
            "containers": [{"name": "a", "volumeMounts": main}],
            "initContainers": [{"name": "b", "volumeMounts": init}],
            "ephemeralContainers": [{"name": "c", "volumeMounts": ephemeral}],
        }
    }
    return project(decode_pod(json.dumps(pod).encode()))


@pytest.mark.parametrize(
    ("main", "init", "ephemeral", "read_only"),
    [
        ([RO], None, None, True),
        ([RO, RO], [RO], [RO], True),
        ([RO, OTHER], None, None, True),
        (None, [RO], None, True),
        (None, None, [RO], True),
        (None, None, None, False),
        ([], [], [], False),
        ([OTHER], None, None, False),
        ([RW], None, None, False),
        ([UNSAID], None, None, False),
        ([RO, RW], None, None, False),
        ([RO], [RW], None, False),
        ([RO], [UNSAID], None, False),
        ([RO], None, [RW], False),
        ([RO], None, [UNSAID], False),
    ],
)
def test_read_only_needs_a_mount_and_no_other_kind(
    main: Any, init: Any, ephemeral: Any, *, read_only: bool
) -> None:
    """It is mounted, and by every container of every sort read-only; said, not assumed."""
    found = projected({"path": "/log"}, main=main, init=init, ephemeral=ephemeral)
    path = HostPath("/log", read_only)
    assert found.volumes == [Volume("spec.volumes[0]", ["hostPath"], path)]


@pytest.mark.parametrize(
    ("kind", "read_only"),
    [
        (None, True),
        ("", True),
        ("Directory", True),
        ("File", True),
        ("Socket", False),
        ("CharDevice", False),
        ("BlockDevice", False),
        ("DirectoryOrCreate", False),
        ("FileOrCreate", False),
    ],
)
def test_types_that_write_are_never_read_only(kind: str | None, *, read_only: bool) -> None:
    """The kubelet makes the directory; a socket or device takes what it is sent."""
    found = projected({"path": "/log", "type": kind}, main=[RO])
    assert [volume.host_path for volume in found.volumes] == [HostPath("/log", read_only)]


@pytest.mark.parametrize(
    ("volume", "field", "problem"),
    [
        ({"name": "v", "hostPath": "/x"}, "hostPath", "Expected `object`, got `str`"),
        ({"name": "v", "hostPath": [1]}, "hostPath", "Expected `object`, got `array`"),
        ({"name": "v", "hostPath": {"path": 1}}, "hostPath.path", "Expected `str`, got `int`"),
        ({"name": "v", "hostPath": {"path": None}}, "hostPath.path", "got `null`"),
        ({"name": "v", "hostPath": {"type": {}}}, "hostPath.type", "got `object`"),
        ({"name": 1, "nfs": {}}, "name", "Expected `str`, got `int`"),
        ({"name": None, "nfs": {}}, "name", "Expected `str`, got `null`"),
    ],
)
def test_broken_volume_is_refused_with_its_field(
    volume: dict[str, Any], field: str, problem: str
) -> None:
    """A volume that cannot be read is an error that names the field, never left out."""
    pod = decode_pod(json.dumps({"spec": {"volumes": [{"emptyDir": {}}, volume]}}).encode())
    with pytest.raises(InvalidObjectError) as refused:
        project(pod)
    assert (refused.value.what, refused.value.field) == ("Pod", f"spec.volumes[1].{field}")
    assert problem in refused.value.problem


@pytest.mark.parametrize("volume", [{"hostPath": None}, {"name": "v"}, {}, {"name": 1}])
def test_volume_without_a_type_is_left_out(volume: dict[str, Any]) -> None:
    """The API makes it an emptyDir."""
    assert project(decode_pod(json.dumps({"spec": {"volumes": [volume]}}).encode())).volumes == []
