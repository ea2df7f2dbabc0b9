"""Reads what a request does to the marks of a Namespace that only few may set."""

import msgspec

from admission.model.facts import Facts, MarkFacts
from core.base import names
from core.base.errors import InvalidObjectError
from core.cluster import Cluster
from core.decision.namespaces import guarded_marks
from core.decision.request import Request
from core.kubernetes.pod import ObjectMeta, decode_metadata


async def with_marks(cluster: Cluster, request: Request, facts: Facts) -> Facts:
    """Give the facts with the marks that change, and whether the requester may change them.

    Raises:
        AccessReviewError: the cluster did not say.
        InvalidObjectError: the metadata has not the shape that Kubernetes gives it.
    """
    metadata = _metadata(request.object)
    new = _marks(metadata)
    old = _marks(_metadata(request.old_object)) if request.old_object is not None else {}
    paths = sorted(new.keys() | old.keys())
    changed = tuple(path for path in paths if new.get(path) != old.get(path))
    exempt = bool(changed) and await cluster.allowed(
        request.subject, names.EXEMPT_VERB, names.NAMESPACES_RESOURCE, request.name, ""
    )
    return msgspec.structs.replace(
        facts, marks=MarkFacts(changed, exempt), object_uid=metadata.uid or ""
    )


def _metadata(raw: msgspec.Raw | None) -> ObjectMeta:
    if raw is None:
        raise InvalidObjectError("Namespace", "object", "the review holds none")
    return decode_metadata(raw, "Namespace")


def _marks(metadata: ObjectMeta) -> dict[str, str]:
    return guarded_marks(metadata.labels or {}, metadata.annotations or {})
