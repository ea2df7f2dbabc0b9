"""Writes for the gate which service accounts may connect to model weights, before they may.

One ConfigMap, a key for each namespace that has any: gates watch it, and no allowlist.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from control.egress.desired_state import DesiredState
from core.base.errors import ClusterError
from core.cluster import WeightSource
from core.egress.allowlists import EgressAllowlist, EgressDestinations
from core.egress.enrolment import Closure
from core.weights.egress_openings import WeightOpening, encode_openings
from egress.compiler.weight_openings import glass_to_weights, openings_to_weights
from kube.client.objects import Objects
from kube.leader.lease import Leadership
from kube.weights.openings import OPENINGS_KIND, OPENINGS_NAME


@dataclass
class WeightOpenings:
    """Writes what changed."""

    objects: Objects
    namespace: str
    """Where the ConfigMap lies."""
    weights: WeightSource
    _told: dict[str, str | None] = field(default_factory=dict)
    """What stands there, by namespace; None: nothing."""

    async def tell(  # noqa: PLR0913, PLR0917  All that it depends on.
        self,
        leadership: Leadership,
        namespace: str,
        closure: Closure,
        wanted: DesiredState,
        allowlists: Mapping[str, EgressAllowlist],
        sets: Mapping[str, EgressDestinations],
    ) -> None:
        """Write what is to be open of what is closed; nothing is opened if that cannot be.

        Raises:
            NotSyncedError: the stores are not known.
            ClusterError: kube-apiserver does not answer, or refuses.
            NotLeaderError: leadership was lost.
        """
        stores = self.weights.stores()
        if not stores and not self._told.get(namespace):
            return
        if namespace not in self._told:
            self._told[namespace] = _written(self.weights.openings(namespace))
        by_allowlists = openings_to_weights(wanted.meaning, allowlists, sets, stores)
        text = _written((*by_allowlists, *glass_to_weights(wanted.opened, closure)))
        if self._told[namespace] == text:
            return
        leadership.require()
        await self._write({namespace: text})
        self._told[namespace] = text

    def forget(self) -> None:
        """Forget what stands there: another replica may write meanwhile."""
        self._told.clear()

    async def _write(self, entries: dict[str, str | None]) -> None:
        collection = f"/api/v1/namespaces/{self.namespace}/configmaps"
        try:
            await self.objects.merge(f"{collection}/{OPENINGS_NAME}", {"data": entries})
        except ClusterError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            data = {key: value for key, value in entries.items() if value is not None}
            metadata: dict[str, Any] = {"name": OPENINGS_NAME, "namespace": self.namespace}
            body = {"apiVersion": "v1", "kind": OPENINGS_KIND, "metadata": metadata, "data": data}
            await self.objects.create(collection, body)


def _written(openings: tuple[WeightOpening, ...]) -> str | None:
    return encode_openings(openings) if openings else None
