"""Words for whoever is not let into a Pod: what is the Pod's cannot be mended at their command."""

from collections.abc import Iterable
from typing import Final

import msgspec

from core.decision.decision import Finding

ADVICE: Final = "Entering a Pod takes one profile of your own that covers the way in and the Pod."

_REMEDY: Final = "Enter Pods that a profile of yours covers, or ask for one that covers this too."


def in_pod(path: str, pod: str) -> str:
    """Give the path of a field of the Pod that is entered, apart from those of the options."""
    return f"{path} of Pod {pod}"


def for_visitor(findings: Iterable[Finding], pod: str) -> list[Finding]:
    """Give findings with what a visitor can do about those that are of the Pod."""
    return [
        msgspec.structs.replace(finding, remedy=_REMEDY)
        if finding.path.endswith(in_pod("", pod))
        else finding
        for finding in findings
    ]
