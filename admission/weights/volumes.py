"""What speaks against a PersistentVolume that shows model weights. Pure.

A Pod is judged by the volumes that its claims are bound to or kept for. So such a volume says from
the beginning which claim it is kept for: bound later, it would give weights to Pods that were
judged before, without them (docs/adr/0039).
"""

from typing import Final

from core.base.errors import InvalidObjectError
from core.decision.decision import Action, Finding
from core.decision.request import Operation, Request
from core.kubernetes.persistent_volumes import PersistentVolume, parse_persistent_volume
from core.weights.access_paths import WeightStoreSet

VOLUME: Final = "weights/volume"

_PATH: Final = "spec.claimRef"
_ANEW: Final = (
    "Create the volume by hand, with spec.claimRef naming namespace and name of its claim, before "
    "the claim is there; to give it to another claim, delete it and create it anew."
)


def is_volume(request: Request) -> bool:
    """Say whether a request makes or changes a PersistentVolume."""
    kind = (request.kind.group, request.kind.kind) == ("", "PersistentVolume")
    return kind and request.operation in {Operation.CREATE, Operation.UPDATE}


def against_volume(request: Request, stores: WeightStoreSet) -> tuple[Finding, ...]:
    """Say what speaks against a volume that shows a store; nothing against any other.

    Raises:
        InvalidObjectError: it does not have its kind's shape.
    """
    if request.object is None:
        raise InvalidObjectError("PersistentVolume", "object", "the review holds none")
    volume = parse_persistent_volume(request.object)
    reached = _shown(volume, stores)
    if not reached:
        return ()
    why = _wrong(request, volume, reached, stores)
    if not why:
        return ()
    message = f"shows the weights of {', '.join(reached)}, and {why}"
    return (Finding(VOLUME, Action.DENY, _PATH, message, _ANEW),)


def _wrong(
    request: Request, volume: PersistentVolume, reached: list[str], stores: WeightStoreSet
) -> str:
    if request.operation is Operation.CREATE or request.old_object is None:
        if not volume.claim:
            return "does not say which claim it is kept for"
        return "is made for a claim that is there already" if volume.claim_uid else ""
    before = parse_persistent_volume(request.old_object)
    if volume.claim not in {"", before.claim}:
        return "is given to another claim"
    if not set(reached) <= set(_shown(before, stores)):
        return "did not before: its mount options were changed"
    return ""


def _shown(volume: PersistentVolume, stores: WeightStoreSet) -> list[str]:
    return sorted({way.store.name for way in stores.mounting(volume.mounts)})
