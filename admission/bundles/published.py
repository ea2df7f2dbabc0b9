"""What a process sees of the bundles that are published in its cluster."""

from typing import Protocol

from core.policy_bundles import BundleHead, GateAnnouncement, PublishedBundle


class Published(Protocol):
    """What is published in the cluster. Implemented by `kube.bundles.watch`."""

    @property
    def head(self) -> BundleHead | None:
        """The last head that could be read; None before the cluster's first answer."""

    @property
    def problem(self) -> str:
        """Why `head` is not known; empty where it is."""

    async def run(self) -> None:
        """Keep the head until cancelled."""

    async def fetch(self, stored: PublishedBundle) -> bytes:
        """Give the file of a bundle; raises ClusterError."""

    async def announce(self, name: str, announcement: GateAnnouncement) -> None:
        """Write what this process has loaded; raises ClusterError."""

    async def leave(self, name: str) -> None:
        """Take that back; raises ClusterError."""
