"""Evicts the Pods of an allowlist that has expired and says so: connections outlive policies."""

from dataclasses import dataclass
from typing import Final

from control.egress.status import EVICTED, allowlist_event
from control.egress.writer import PolicyWriter
from control.eviction import evict
from core.base import names
from core.egress.allowlists import EgressAllowlist
from core.kubernetes.conditions import Condition
from core.kubernetes.label_selectors import Requirements, matches
from egress.compiler.allowlists import selects_of
from kube.client.objects import Objects
from kube.egress.watch import Intent
from kube.leader.lease import Leadership
from kube.resources.live_pods import list_live_pods

_SHOWN: Final = 5


def is_due(intent: Intent, now: float) -> bool:
    """Return whether Pods are to be evicted: once, of an allowlist that has opened something."""
    allowlist = intent.allowlist
    if allowlist is None or allowlist.spec.when_expired != "Evict" or now < allowlist.expires:
        return False
    done = intent.status.condition(EVICTED)
    over = done is not None and done.status == "True"
    return not over and names.EGRESS_FINALIZER in intent.finalizers


@dataclass(frozen=True)
class Evictions:
    """Asks kube-apiserver to evict Pods."""

    objects: Objects
    writer: PolicyWriter

    async def run(
        self,
        leadership: Leadership,
        intent: Intent,
        allowlist: EgressAllowlist,
        now: float,
        closed: Requirements = (),
    ) -> Condition:
        """Evict what is left of the Pods, and say how far it is; of those that are `closed` alone.

        Pods that were made after it expired have no connection of its time: they stay, also where
        this process was away meanwhile.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
            NotLeaderError: leadership was lost.
        """
        selects = (*selects_of(allowlist), *closed)
        pods = [
            pod
            for pod in await list_live_pods(self.objects, intent.namespace)
            if pod.created < allowlist.expires and matches(selects, pod.labels)
        ]
        kept, evicted = [], 0
        for pod in pods:
            leadership.require()
            if why := await evict(self.objects, intent.namespace, pod):
                kept.append(f"{pod.name}: {why}")
            else:
                evicted += 1
        if evicted:
            what = ("Normal", "Evicted", f"{evicted} Pods, since it has expired")
            await self.writer.tell(leadership, allowlist_event(intent, what, now))
        if kept:
            message = f"{len(kept)} Pods are kept: {'; '.join(sorted(kept)[:_SHOWN])}"
            await self.writer.tell(
                leadership, allowlist_event(intent, ("Warning", "NotEvicted", message), now)
            )
            return Condition(EVICTED, "False", "Waiting", message[:1000])
        return Condition(EVICTED, "True", "Done", "no Pod from before it expired is left")
