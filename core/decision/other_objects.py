"""Whose a need or finding is: the submitted object's, or another's that it names or enters. Pure.

What another object holds is told to fewer people: an answer to a caller who proved nothing
(`admission/answers.py`) and the view of a requester (`core/decision/requester_view.py`) both ask
here, so that neither tells what the other keeps (docs/adr/0061). The path says it: what is looked
up has a path in the Pod that is entered, under the role that a binding names, or under the claim of
a volume.
"""

import re
from enum import Enum
from typing import Final

ROLE_PATH: Final = "roleRef"
"""Of all that the role holds which a binding names."""

_OF_POD: Final = " of Pod "
_OF_NEEDS: Final = ("privileges/", "rules/", "profiles/many", "profiles/more")
"""Rules about what an object needs or may never have: only these look into other objects."""

_OF_VOLUME: Final = re.compile(
    r"(?:^|\.)volumes\[\d+\]\.(?:persistentVolumeClaim|ephemeral)(?![A-Za-z])|^spec\.volumeName"
)
"""In a Pod or a template the claim of a volume, in a claim the volume that it asks for."""


class OtherObject(Enum):
    """What holds what is needed, where the submitted object does not itself."""

    POD = "pod"
    ROLE = "role"
    VOLUME = "volume"


def path_in_pod(path: str, pod: str) -> str:
    """Return the path of a field of the Pod that is entered, apart from those of the options."""
    return f"{path}{_OF_POD}{pod}"


def other_object_of(rule: str, path: str) -> OtherObject | None:
    """Return what other object a rule's need or finding is about; None where it is the own one."""
    if not rule.startswith(_OF_NEEDS):
        return None
    if _OF_POD in path:
        return OtherObject.POD
    if path.startswith(ROLE_PATH):
        return OtherObject.ROLE
    return OtherObject.VOLUME if _OF_VOLUME.search(path) else None
