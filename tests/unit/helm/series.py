"""Which series an expression of PromQL names, and which there are."""

import re
from typing import Final

from docs.generate.names import PAGE
from tests.harness.evidence import ROOT

_NAME: Final = re.compile(r"(?<![\w.])((?:sallyport|apiserver|process|python)_\w+)")

_LISTED: Final = dict(
    re.findall(r"^\| `(sallyport_\w+)` \| (\w+) \|", (ROOT / PAGE).read_text(), re.MULTILINE)
)

_ENDS: Final = {"histogram": ("_bucket", "_count", "_sum"), "info": ("_info",)}

KUBE_APISERVER: Final = frozenset(
    {
        "apiserver_admission_webhook_rejection_count",
        "apiserver_validating_admission_policy_check_total",
    }
)
"""Of kube-apiserver's own: tests/api/install/test_disaster.py finds them there."""

KNOWN: Final = (
    KUBE_APISERVER
    | {name + end for name, kind in _LISTED.items() for end in _ENDS.get(kind, ("",))}
    | {
        # Shown once a certificate is loaded: tests/unit/webhooks/test_what_operators_see.py.
        "sallyport_certificate_not_after_seconds",
        "process_resident_memory_bytes",
        "process_cpu_seconds_total",
    }
)
"""Names of series that a scrape of all processes has."""


def metrics_in(expression: str) -> set[str]:
    """Return the names of series in an expression."""
    return set(_NAME.findall(expression))
