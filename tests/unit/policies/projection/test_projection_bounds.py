"""More of something than any real Pod has is refused before the policies see it."""

import inspect
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from core.base.errors import InvalidObjectError
from core.kubernetes.pod import decode_pod
from policies.projection.model import (
    MAX_CONTAINERS,
    MAX_ENV,
    MAX_IMAGE,
    MAX_MARKS,
    MAX_NAMES,
    MAX_PATH,
    MAX_VOLUMES,
)
from policies.projection.pods import project

APPARMOR = "container.apparmor.security.beta.kubernetes.io/"


def pod(**count: int) -> dict[str, Any]:
    """Return a Pod with so many of each."""

    def times(what: str, of: Callable[[int], Any]) -> list[Any]:
        return [of(n) for n in range(count.get(what, 0))]

    names = times("env", "N{}_VISIBLE_DEVICES".format)
    audience = {"serviceAccountToken": {"audience": "a"}}
    return {
        "metadata": {
            "annotations": dict(
                times("annotations", lambda n: (f"{APPARMOR}c{n}", "x"))
                + times("notes", lambda n: (f"n{n}", ""))
            ),
            "labels": dict(times("labels", lambda n: (f"l{n}", ""))),
        },
        "spec": {
            "securityContext": {"sysctls": times("sysctls", lambda n: {"name": f"a.{n}"})},
            "tolerations": times("tolerations", lambda n: {"key": f"k{n}"}),
            "dnsConfig": {"nameservers": times("nameservers", str)},
            "initContainers": times("more", lambda n: {"name": f"i{n}"}),
            "hostAliases": [{"hostnames": times("hostnames", str)}],
            "containers": [
                {
                    "name": "c",
                    "image": "a" * count.get("image", 1),
                    "securityContext": {"capabilities": {"add": times("add", "C{}".format)}},
                    "env": [{"name": name, "value": "all"} for name in names]
                    + times("variables", lambda n: {"name": f"V{n}"}),
                    "volumeMounts": times(
                        "mounts", lambda n: {"mountPath": f"/run/nvidia-container-devices/{n}"}
                    )
                    + times("recursive", lambda _: {"recursiveReadOnly": "Enabled"}),
                }
            ],
            "volumes": [
                {"name": "v", "hostPath": {"path": "/" + "a" * (count.get("path", 1) - 1)}},
                {"name": "t", "projected": {"sources": times("tokens", lambda _: audience)}},
                *times("volumes", lambda n: {"name": f"v{n}", "emptyDir": {}}),
            ],
        },
    }


@pytest.mark.parametrize(
    ("what", "most", "field"),
    [
        ("add", MAX_NAMES, "spec.containers[0].securityContext.capabilities.add"),
        ("sysctls", MAX_NAMES, "spec.securityContext.sysctls"),
        ("annotations", MAX_NAMES, "metadata.annotations"),
        ("notes", MAX_MARKS, "metadata.annotations"),
        ("labels", MAX_MARKS, "metadata.labels"),
        ("volumes", MAX_VOLUMES - 2, "spec.volumes"),
        ("variables", MAX_ENV, "spec.containers[*].env"),
        ("tolerations", MAX_NAMES, "spec.tolerations"),
        ("hostnames", MAX_NAMES, "spec.hostAliases"),
        ("nameservers", MAX_NAMES, "spec.dnsConfig.nameservers"),
        ("more", MAX_CONTAINERS - 1, "spec.containers"),
        ("image", MAX_IMAGE, "spec.containers[0].image"),
        ("env", MAX_NAMES, "spec.containers[0].env"),
        ("mounts", MAX_NAMES, "spec.containers[0].volumeMounts"),
        ("recursive", MAX_NAMES, "spec.containers[0].volumeMounts"),
        ("tokens", MAX_NAMES, "spec.volumes[1].projected.sources"),
        ("path", MAX_PATH, "spec.volumes[0].hostPath.path"),
    ],
)
def test_too_much_is_refused_by_field(what: str, most: int, field: str) -> None:
    """The bound itself is fine; one more names the field."""
    project(decode_pod(msgspec.json.encode(pod(**{what: most}))))
    with pytest.raises(InvalidObjectError) as refused:
        project(decode_pod(msgspec.json.encode(pod(**{what: most + 1}))))
    assert refused.value.field == field


@pytest.mark.parametrize("kind", ["projected", "hostPath", "csi", "image", "ephemeral"])
def test_a_volume_that_is_nested_too_deeply_is_named(kind: str) -> None:
    """What was shallow enough for the whole Pod may not be so further down Python's stack."""
    inner = "[" * 900 + "]" * 900
    volume = f'{{"name": "v", "{kind}": {{"x": {inner}}}}}'
    read = decode_pod(f'{{"spec": {{"containers": [{{}}], "volumes": [{volume}]}}}}'.encode())

    def below(calls: int) -> None:
        if calls:
            below(calls - 1)
        else:
            project(read)

    with pytest.raises(InvalidObjectError) as error:
        below(150 - len(inspect.stack()))
    assert error.value.field == f"spec.volumes[0].{kind}"
