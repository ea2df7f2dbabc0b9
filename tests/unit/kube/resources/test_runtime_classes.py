"""What is read of a RuntimeClass."""

from typing import Any

import msgspec
import pytest

from core.base.errors import InvalidObjectError
from core.sandbox.capacity import Toleration
from core.sandbox.decision import RuntimeClass
from kube.resources.runtime_classes import parse_runtime_class


def test_what_is_read_of_a_runtime_class() -> None:
    """Where its Pods run, and what each takes besides its own requests."""
    made: dict[str, Any] = {
        "metadata": {"name": "gvisor"},
        "handler": "runsc",
        "overhead": {"podFixed": {"cpu": "50m", "memory": "64Mi"}},
        "scheduling": {
            "nodeSelector": {"pool": "sandbox"},
            "tolerations": [{"key": "sandbox", "operator": "Exists"}],
        },
    }
    assert parse_runtime_class(msgspec.json.encode(made)) == RuntimeClass(
        "gvisor",
        "runsc",
        {"pool": "sandbox"},
        (Toleration("sandbox", "Exists"),),
        {"cpu": 50, "memory": 64 << 20},
    )
    empty: tuple[dict[str, Any], ...] = (
        {"overhead": None, "scheduling": None},
        {"overhead": {}, "scheduling": {}},
    )
    for absent in empty:
        bare = parse_runtime_class(msgspec.json.encode(made | absent))
        assert bare == RuntimeClass("gvisor", "runsc")
    made["overhead"]["podFixed"]["cpu"] = "much"
    with pytest.raises(InvalidObjectError, match=r"RuntimeClass: overhead.podFixed: cpu: 'much'"):
        parse_runtime_class(msgspec.json.encode(made))
