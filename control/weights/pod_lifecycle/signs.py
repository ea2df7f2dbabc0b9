"""What a Pod shows of whom it signs in as, and of which blobs it mounts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from control.weights.pod_lifecycle.documents import Signs
from core.base.errors import InvalidObjectError
from core.cluster import SignIn
from core.kubernetes.persistent_volumes import PersistentVolume
from core.kubernetes.pod import Pod, decode_pod
from core.weights.pod_mounts import find_mounts
from identity.risk.workload_identity import client_ids_of
from kube.weights.pod_lifecycle import PodLifecycle

_NONE: Final = Signs()

_HINTS: Final = (b"azure", b"blob", b"persistentvolumeclaim", b"volumeclaimtemplate", b'"nfs"')
"""Of a Pod's JSON in lower case: one without any signs in as nobody and mounts no blobs. Labels,
audiences and variables of sign-ins, accounts and drivers all have the first."""

SignInOf = Callable[[str, str], SignIn | None]
"""Gives as whom a service account signs in, by namespace and name."""
ClaimedBy = Callable[[str], tuple[PersistentVolume, ...]]
"""Gives the volumes of a claim, `namespace/name`."""
Named = Callable[[str], PersistentVolume | None]


@dataclass(frozen=True)
class SignsOf:
    """Reads them, by what is known of the cluster from memory."""

    sign_in: SignInOf
    claimed: ClaimedBy
    named: Named

    def __call__(self, pod: PodLifecycle, raw: msgspec.Raw) -> Signs:
        """Give the signs of a Pod.

        Raises:
            NotSyncedError: service accounts or volumes have not been loaded.
        """
        text = bytes(raw).lower()
        if not any(each in text for each in _HINTS):
            return _NONE
        try:
            whole = decode_pod(raw)
            places = self._places(whole, pod.namespace)
        except InvalidObjectError:
            return _NONE
        said = self.sign_in(pod.namespace, pod.service_account) or SignIn()
        found = client_ids_of(whole, said.client_id, said.tenant)
        client_ids = sorted({each.client_id for each in found if each.client_id})
        return Signs(tuple(client_ids), places)

    def _places(self, pod: Pod, namespace: str) -> tuple[str, ...]:
        def claimed(claim: str, volume: str) -> list[PersistentVolume]:
            named = self.named(volume) if volume else None
            return [*self.claimed(f"{namespace}/{claim}"), *([named] if named else [])]

        return tuple(sorted({each.place for each in find_mounts(pod, claimed)}))
