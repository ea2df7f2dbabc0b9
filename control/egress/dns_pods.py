"""Finds the Pods of the cluster's DNS, so that each one's cache is asked, not that of a Service."""

from collections.abc import Callable, Sequence
from typing import Final

from control.loop import Loop
from egress.dns.resolver import NameServer
from kube.client.objects import Objects
from kube.leader.lease import Leadership
from kube.resources.live_pods import list_live_pods

INTERVAL_S: Final = 10.0

LabelledPods = tuple[str, dict[str, str]]
"""A namespace, and the labels of Pods in it."""


class DnsPods:
    """Tells a resolver which Pods there are. `loop` is its loop."""

    def __init__(
        self,
        objects: Objects,
        where: Sequence[LabelledPods],
        port: int,
        tell: Callable[[Sequence[NameServer]], None],
        tell_pods: Callable[[Sequence[str]], None] | None = None,
    ) -> None:
        """Take where the Pods are, on which port they answer, and whom to tell.

        `tell` is told all their addresses, `tell_pods` one of each Pod.
        """
        self._objects = objects
        self._where = where
        self._port = port
        self._tell = tell
        self._tell_pods = tell_pods
        self.loop = Loop("egress-dns-pods", INTERVAL_S, self.run)

    async def run(self, leadership: Leadership) -> None:
        """Look once.

        Raises:
            ClusterError: kube-apiserver does not answer; the Pods stay as they were.
            NotLeaderError: leadership was lost.
        """
        leadership.require()
        pods = [
            pod
            for namespace, labels in self._where
            for pod in await list_live_pods(self._objects, namespace, labels)
        ]
        found = {NameServer(str(each), self._port) for pod in pods for each in pod.addresses}
        self._tell(sorted(found, key=str))
        if self._tell_pods:
            self._tell_pods(sorted({str(pod.addresses[0]) for pod in pods if pod.addresses}))
