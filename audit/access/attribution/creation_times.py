"""When a decision on an object's creation is taken, and by which name its requester is compared.

An object's UID alone proves nothing: whoever may read the object can name it in a made-up request,
and a gate that is taken over dates its decisions as it likes.
"""

from typing import Final

from core.people.subject import Subject

BEFORE_CREATION_S: Final = 5.0
AFTER_CREATION_S: Final = 35.0
"""Seconds around the creation. kube-apiserver gives an object its `creationTimestamp`, in whole
seconds, before it asks the webhooks, which have 30 s at most; clocks differ by some seconds."""

_LABELS: Final = ("oid:", "user:", "system:")


def is_of_creation(decided_s: float, made_s: float) -> bool:
    """Return whether a decision can be the one on the creation of an object; Unix seconds."""
    return made_s - BEFORE_CREATION_S <= decided_s <= made_s + AFTER_CREATION_S


def label_of(requester: str) -> str:
    """Return the label by which gates know whoever is recorded by name."""
    return requester if requester.startswith(_LABELS) else Subject(requester).label
