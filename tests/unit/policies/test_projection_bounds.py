"""More of something than any real Pod has is refused before the policies see it."""

from typing import Any

import msgspec
import pytest

from core.errors import InvalidObjectError
from core.pod import decode_pod
from policies.projection import MAX_NAMES, MAX_PATH, project

APPARMOR = "container.apparmor.security.beta.kubernetes.io/"


def pod(*, add: int = 0, sysctls: int = 0, annotations: int = 0, path: int = 1) -> dict[str, Any]:
    """Give a Pod with so many of each."""
    capabilities = {"add": [f"C{n}" for n in range(add)]}
    return {
        "metadata": {"annotations": {f"{APPARMOR}c{n}": "x" for n in range(annotations)}},
        "spec": {
            "securityContext": {"sysctls": [{"name": f"a.{n}"} for n in range(sysctls)]},
            "containers": [{"name": "c", "securityContext": {"capabilities": capabilities}}],
            "volumes": [{"name": "v", "hostPath": {"path": "/" + "a" * (path - 1)}}],
        },
    }


@pytest.mark.parametrize(
    ("what", "most", "field"),
    [
        ("add", MAX_NAMES, "spec.containers[0].securityContext.capabilities.add"),
        ("sysctls", MAX_NAMES, "spec.securityContext.sysctls"),
        ("annotations", MAX_NAMES, f"metadata.annotations[{APPARMOR}*]"),
        ("path", MAX_PATH, "spec.volumes[0].hostPath.path"),
    ],
)
def test_too_much_is_refused_by_field(what: str, most: int, field: str) -> None:
    """The bound itself is fine; one more names the field."""
    project(decode_pod(msgspec.json.encode(pod(**{what: most}))))
    with pytest.raises(InvalidObjectError) as refused:
        project(decode_pod(msgspec.json.encode(pod(**{what: most + 1}))))
    assert refused.value.field == field
