"""Which WeightStores a scope of Azure's holds: a resource, a group, a subscription, all. Pure."""

from collections.abc import Iterator
from typing import Final

from audit.access.model.detection import EventContext
from core.weights.documents.events import Activity
from core.weights.stores import WeightStore

_SUBSCRIPTION_SLASHES: Final = 4
"""`/subscriptions/ID/resourcegroups/NAME` has four."""


_ID_SLASHES: Final = 2
"""`/subscriptions/ID` has two."""


def is_subscription_or_above(scope: str) -> bool:
    """Return whether a scope lies in no resource group."""
    return scope.count("/") <= _ID_SLASHES


def stores_under(scope: str, event: Activity, known: EventContext) -> Iterator[WeightStore]:
    """Yield the stores at or below a scope, in lower case, by name; what is not known counts.

    A store without a resource id lies in any resource group and subscription: nobody said.
    """
    is_wide = scope.count("/") <= _SUBSCRIPTION_SLASHES and scope.startswith("/subscriptions/")
    for name, store in sorted(known.surroundings.stores.items()):
        resource = (store.spec.resource_id or "").lower()
        is_named = event.store == name or (event.account or "\n") == store.spec.account
        is_above = bool(scope) and f"{resource}/".startswith(f"{scope.rstrip('/')}/")
        is_group = scope.startswith("/providers/microsoft.management/") or scope == "/"
        if is_named or is_above or is_group or (is_wide and not resource):
            yield store
