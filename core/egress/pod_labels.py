"""The labels by which NetworkPolicies select Pods, and that only the gate sets. Pure.

NetworkPolicy selects Pods by labels alone, and the author of a Pod writes its labels. So openings
attach through labels under `egress.sallyport.dev/`, which the gate sets when a Pod is created, from
its service account and from the workload that it is traced to.
"""

import hashlib
from collections.abc import Mapping
from typing import Final

from core.base import names
from core.kubernetes.label_selectors import is_label_value

PREFIX: Final = f"{names.EGRESS_GROUP}/"
NO_WORKLOAD: Final = "none"
"""No workload is shown so: a kind begins with a capital letter."""

_MAX: Final = 63
_DIGEST: Final = 16


def label_value(text: str) -> str:
    """Return the value by which a name is written into a label: itself where it can be one.

    A longer one is cut, and a digest put after it; the separator `--x` keeps it from being taken
    for a name that is no longer than a label may be.
    """
    if is_label_value(text) and "--x" not in text:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]
    kept = "".join(char if char.isascii() and char.isalnum() else "-" for char in text)
    return f"{kept[: _MAX - _DIGEST - 3].strip('-') or 'x'}--x{digest}"


def workload_label(kind: str, name: str) -> str:
    """Return the value for a workload."""
    return label_value(f"{kind}.{name}")


def egress_labels(service_account: str, workload: tuple[str, str] | None) -> dict[str, str]:
    """Return the labels of a Pod with this service account, from this workload (kind and name)."""
    return {
        names.EGRESS_ACCOUNT_LABEL: label_value(service_account),
        names.EGRESS_WORKLOAD_LABEL: workload_label(*workload) if workload else NO_WORKLOAD,
    }


def reserved_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Return those of an object's labels that only the gate may set."""
    return {key: value for key, value in labels.items() if key.startswith(PREFIX)}
