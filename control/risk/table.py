"""Puts the site's risk table from its ConfigMap into the snapshot, once it is sound.

Gates read the table with the snapshot, so a decision uses one revision of both, and a gate never
sees a broken one. A broken one leaves the old in force: it is said in the log once, and in a metric
for as long as it lasts.
"""

import math
from typing import Any, Final

import msgspec
import structlog
from prometheus_client import CollectorRegistry, Gauge

from control.loop import Loop
from core.base.errors import InvalidObjectError
from core.risk.snapshot import SnapshotDraft
from identity.risk.table import CONFIG_MAP, CONFIG_MAP_KEY, read_rows, write_rows
from kube.client.objects import Objects
from kube.leader.lease import Leadership
from kube.risk.store import RiskStore

INTERVAL_S: Final = 10.0

WHAT: Final = f"ConfigMap {CONFIG_MAP}"

_log = structlog.get_logger(__name__)


class RiskTables:
    """Each run looks at the ConfigMap once. `loop` is its loop."""

    def __init__(
        self, objects: Objects, store: RiskStore, namespace: str, registry: CollectorRegistry
    ) -> None:
        """Take Sallyport's namespace, in which the ConfigMap lies."""
        self._objects = objects
        self._store = store
        self._path = f"/api/v1/namespaces/{namespace}/configmaps/{CONFIG_MAP}"
        self._said = ""
        self._broken = Gauge(
            "sallyport_risk_table_broken",
            "1 while the site's risk table is broken and the one before is in force; NaN where "
            "another replica leads.",
            registry=registry,
        )
        self._forget()
        self.loop = Loop("risk-table", INTERVAL_S, self.run, forget=self._forget)

    async def run(self, leadership: Leadership) -> None:
        """Put the ConfigMap's table into the snapshot, if it is sound and another one is there.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
            NotLeaderError: leadership was lost on the way.
        """
        leadership.require()
        found = await self._objects.get(self._path)
        try:
            table = sound_table(found)
        except InvalidObjectError as error:
            self._broken.set(1)
            if str(error) != self._said:
                _log.error("risk table is broken: the one before stays", problem=str(error))
            self._said = str(error)
            return
        self._broken.set(0)
        self._said = ""
        before = (await self._store.read()).head.table
        if table != before:
            await self._store.update(lambda draft: _put(draft, table), leadership)
            _log.info("risk table is in force", own_rows=bool(table))

    def _forget(self) -> None:
        self._broken.set(math.nan)


def sound_table(found: dict[str, Any] | None) -> str:
    """Return the table of a ConfigMap, without its comments; empty where there is no ConfigMap.

    Raises:
        InvalidObjectError: it is broken; the message names the field and the fix.
    """
    if found is None:
        return ""
    data = found.get("data")
    text = data.get(CONFIG_MAP_KEY) if isinstance(data, dict) else None
    if not isinstance(text, str):
        problem = "is missing: put the table there, or delete the ConfigMap to have none"
        raise InvalidObjectError(WHAT, f"data[{CONFIG_MAP_KEY}]", problem)
    return write_rows(read_rows(text, WHAT))


def _put(draft: SnapshotDraft, table: str) -> None:
    draft.head = msgspec.structs.replace(draft.head, table=table)
