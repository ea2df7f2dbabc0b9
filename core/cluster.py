"""What a review may ask of the cluster: the one seam between judging and Kubernetes.

`kube.live` answers from a real kube-apiserver, `kube.folder` from a folder of YAML.
"""

from collections.abc import Mapping
from typing import Protocol

from core.namespaces import Namespace
from core.profiles import ProfileSet
from core.storage import PersistentVolume
from core.subject import Subject


class Cluster(Protocol):
    """Facts of a cluster. All but `allowed` are answered from memory."""

    def missing(self) -> list[str]:
        """Name what has not been loaded, for a person; empty when reviews can be judged."""

    def identity(self) -> str:
        """Give what tells this cluster from all others: the UID of its Namespace kube-system.

        Raises:
            NotSyncedError: the namespaces have not been loaded.
        """

    def access_reviews(self) -> Mapping[str, int]:
        """Count access reviews: answered from memory (`hit`), asked (`miss`), failed (`error`)."""

    def profiles(self) -> ProfileSet:
        """Give the profiles in force: one immutable snapshot.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """

    async def namespace(self, name: str) -> Namespace:
        """Give a namespace; waits briefly for one that the watch has not brought yet.

        Raises:
            NotSyncedError: it is unknown, or the watch has been down too long.
        """

    def volume(self, name: str) -> PersistentVolume | None:
        """Give a PersistentVolume.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """

    def claimed(self, claim: str) -> tuple[PersistentVolume, ...]:
        """Give the volumes on a node that a claim, `namespace/name`, has or that are kept for it.

        More than one may be kept for a claim; any of them may be what it is bound to.

        Only volumes that show a path of the node are given: they are what a Pod could also
        have mounted by itself.

        Raises:
            NotSyncedError: as `volume`.
        """

    def known(
        self, subject: Subject, verb: str, resource: str, name: str, namespace: str
    ) -> bool | None:
        """Say what `allowed` would without asking anyone; None where the cluster must be asked."""

    async def allowed(
        self, subject: Subject, verb: str, resource: str, name: str, namespace: str
    ) -> bool:
        """Say whether RBAC (or any authorizer) lets `subject` do `verb` on a Sallyport resource.

        `resource` is of the group `sallyport.dev`; `namespace` is empty for all of them.

        Raises:
            AccessReviewError: the cluster did not say.
        """
