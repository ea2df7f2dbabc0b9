"""What a review may ask of the cluster about model weights: one part of `core.cluster.Cluster`."""

from typing import Protocol

from core.weights.access_grants import AccessGrant
from core.weights.access_paths import Stores
from core.weights.egress_openings import WeightOpening


class WeightSource(Protocol):
    """The WeightStores of a cluster, and who was given them. All but `read_grant` is from memory.

    Approvals of grants are given by `ExceptionSource.consents`.
    """

    def stores(self) -> Stores:
        """Give all stores: one immutable revision, that is false where there are none.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """

    def grants(self, namespace: str) -> tuple[AccessGrant, ...]:
        """Give the grants of a namespace, by name, whether in force or not.

        Raises:
            NotSyncedError: as `stores`.
        """

    def openings(self, namespace: str) -> tuple[WeightOpening, ...]:
        """Give what allowlists of a namespace open to stores, as `control` says.

        Raises:
            NotSyncedError: as `stores`.
        """

    async def read_grant(self, namespace: str, name: str) -> AccessGrant | None:
        """Give one grant as it is now, from the cluster and not from memory.

        Raises:
            NotSyncedError: the cluster did not say.
        """
