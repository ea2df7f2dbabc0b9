"""Whose a flow is, by the workloads and Pods of a cluster, ended ones too. Pure.

An address is a Pod's only from its start to its end: clusters give addresses again. A name of which
no object is left counts by what Kubernetes makes names of, and only where what it would be made by
is there (a ReplicaSet's Deployment, a Job's CronJob).
"""

from collections import defaultdict
from typing import Final

from core.base.networks import Address
from core.egress.workload_names import (
    WorkloadName,
    cron_job_of,
    deployment_of,
    makers_of,
)
from kube.egress.workloads import SeenPod, WorkloadSnapshot

_SLACK_S: Final = 60.0
"""Clocks differ, and flow logs collect for up to a minute before they write."""

_DEEPEST: Final = 8
"""Owners of owners that are followed."""

_MAKERS: Final = ("ReplicaSet", "Job", "DaemonSet", "StatefulSet")
"""Kinds whose names, and a hyphen, are the `generateName` of their Pods."""

NO_WORKLOADS: Final = WorkloadSnapshot()


class WorkloadIndex:
    """Looks up Pods and workloads."""

    def __init__(self, seen: WorkloadSnapshot = NO_WORKLOADS) -> None:
        self.seen = seen
        self._pods = {(each.namespace, each.name): each for each in seen.pods}
        self._at: dict[Address, list[SeenPod]] = defaultdict(list)
        for each in seen.pods:
            for address in each.addresses:
                self._at[address].append(each)

    def pod(self, namespace: str, name: str) -> SeenPod | None:
        """Return a Pod that is still there, though it may have ended."""
        return self._pods.get((namespace, name))

    def has_address(self, address: Address) -> bool:
        """Return whether any Pod that is still there has or had an address."""
        return address in self._at

    def pod_at(self, address: Address, first: float | None, last: float | None) -> SeenPod | None:
        """Return the one Pod that had an address all through a time; None where two may have."""
        found = [each for each in self._at.get(address, ()) if _lived(each, first, last)]
        return found[0] if len(found) == 1 else None

    def root(self, namespace: str, name: WorkloadName) -> WorkloadName:
        """Return the outermost workload that a workload is of; itself where nothing is known."""
        for _ in range(_DEEPEST):
            owner = self._owner(namespace, name)
            if owner is None:
                break
            name = owner
        return name

    def _owner(self, namespace: str, name: WorkloadName) -> WorkloadName | None:
        seen = self.seen.workloads.get((namespace, name))
        if seen is not None:
            return seen.owner
        if name.kind == "ReplicaSet":
            return self._there(namespace, WorkloadName("Deployment", deployment_of(name.name)))
        if name.kind == "Job":
            return self._there(namespace, WorkloadName("CronJob", cron_job_of(name.name)))
        return None

    def _there(self, namespace: str, name: WorkloadName) -> WorkloadName | None:
        return name if (namespace, name) in self.seen.workloads else None

    def account(self, namespace: str, name: WorkloadName) -> str:
        """Return the service account of a workload's Pods; empty where it is not known."""
        for _ in range(_DEEPEST):
            seen = self.seen.workloads.get((namespace, name))
            if seen is not None and seen.service_account:
                return seen.service_account
            owner = self._owner(namespace, name)
            if owner is None:
                return ""
            name = owner
        return ""

    def maker(self, namespace: str, pod: str) -> WorkloadName | None:
        """Return what made a Pod that has gone, by its name; None where no such thing is there."""
        known = pod and self.seen.workloads
        for each in makers_of(pod) if known else ():
            if (namespace, each) in self.seen.workloads:
                return each
            owner = self._owner(namespace, each)
            if owner is not None:
                return each
        return None

    def of_stem(self, namespace: str, stem: str) -> WorkloadName | None:
        """Return what makes Pods whose names begin so; None where no such thing is there."""
        for kind in _MAKERS if stem else ():
            name = WorkloadName(kind, stem)
            if (namespace, name) in self.seen.workloads or self._owner(namespace, name):
                return name
        return None

    def workload_of(self, pod: SeenPod) -> WorkloadName | None:
        """Return the outermost workload that a Pod is of."""
        return self.root(pod.namespace, pod.owner) if pod.owner else None


def _lived(pod: SeenPod, first: float | None, last: float | None) -> bool:
    began = first is None or pod.started is None or pod.started - _SLACK_S <= first
    goes_on = last is None or pod.ended is None or last <= pod.ended + _SLACK_S
    return began and goes_on
