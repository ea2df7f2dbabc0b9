"""How large an installation a cluster of this size needs, by docs/operate/sizing.md. Pure."""

import math
from typing import Any, Final

from cli.preflight.cluster.model import ClusterSizes, PreflightNotes

_GANG: Final = 5000
"""Pods that arrive at once, at most as many as run now."""
_ARRIVE_S: Final = 20.0
_WEBHOOKS: Final = 2
"""The mutating and the validating one."""
_REVIEW_S: Final = 0.00065
"""CPU of a review."""
_CORES_EACH: Final = 0.5
"""Of a gate, so that one may fail while another is replaced."""
_LEAST_GATES: Final = 2
_LARGE_PODS: Final = 50_000
"""Beyond, control takes twice the memory."""
_REPLACED_A_DAY: Final = 2
"""Decisions a day for each Pod that runs: itself and what made it, once."""
_DECISION_BYTES: Final = 1.4 * 1024
_INDEXES: Final = 2
_KEEP_DAYS: Final = 90
_GIB: Final = 1024**3
_LEAST_GIB: Final = 50
_SQLITE_GIB: Final = 500


def judge_sizes(sizes: ClusterSizes, notes: PreflightNotes) -> None:
    """Propose replicas, requests and the ledger's size, and say from what they follow."""
    burst = min(max(sizes.pods, 1), _GANG)
    rate = burst / _ARRIVE_S * _WEBHOOKS
    gates = _LEAST_GATES + math.ceil(rate * _REVIEW_S / _CORES_EACH)
    cores = max(0.25, math.ceil(rate * _REVIEW_S / gates * 20) / 20)
    decisions = sizes.pods * _REPLACED_A_DAY
    gib = math.ceil(decisions * _DECISION_BYTES * _KEEP_DAYS * _INDEXES / _GIB)
    size = max(_LEAST_GIB, 10 * math.ceil(gib / 10))
    memory = "512Mi" if sizes.pods > _LARGE_PODS else "256Mi"
    limit = "1Gi" if sizes.pods > _LARGE_PODS else "512Mi"
    notes.values["gate"] = {
        "replicas": gates,
        "resources": {"requests": {"cpu": f"{cores * 1000:.0f}m", "memory": "256Mi"}},
    }
    notes.values["control"] = {
        "resources": {"requests": {"memory": memory}, "limits": {"memory": limit}}
    }
    ledger: dict[str, Any] = {"size": f"{size}Gi"}
    notes.values["auditor"] = {"ledger": ledger}
    notes.find(
        "sizes",
        "note",
        f"nodes: {sizes.nodes}; Pods: {sizes.pods}; namespaces: {sizes.namespaces}. {gates} gates "
        f"take {burst} Pods in {_ARRIVE_S:.0f} s, and {decisions:,} decisions a day for "
        f"{_KEEP_DAYS} days need {gib} GiB",
        "raise them if Pods come in larger gangs, or are replaced more often than once a day",
        "sizing.md",
    )
    if size > _SQLITE_GIB:
        notes.find(
            "sizes",
            "warning",
            f"a ledger of {size} GiB is too large for one volume of SQLite",
            "use PostgreSQL (auditor.ledger.existingSecret)",
            "sizing.md#the-ledger",
        )
