"""Debug containers: what an update adds to a Pod that runs."""

import msgspec

from core.kubernetes.pod import Pod
from policies.projection.pods import Projection


def mark_added(projection: Projection, before: Pod) -> Projection:
    """Mark the ephemeral containers of a Pod that it did not have before. Pure."""
    old = {each.name for each in before.spec.ephemeral_containers or ()}
    return msgspec.structs.replace(
        projection,
        containers=[
            msgspec.structs.replace(each, added=True)
            if each.kind == "ephemeral" and each.name not in old
            else each
            for each in projection.containers
        ],
    )
