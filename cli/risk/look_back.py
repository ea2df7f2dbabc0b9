"""`sallyport risk look-back`: what an identity did before its risk was known, and what is left."""

import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from app.records.ledger import make_store, open_ledger
from app.settings.messages import name_setting
from app.settings.root import Settings
from audit.access.server.reads import LedgerReads
from audit.access.server.reads_protocol import ReadsSource
from audit.clients.auditor import AuditorChannel
from audit.clients.look_back import AuditorActs, AuditorReads
from audit.ledger.server.acts import LedgerActs
from audit.ledger.server.acts_protocol import ActsSource
from cli import exits
from cli.shared.decision_queries import make_query
from control.risk.look_back.search import NAMES_KEPT, NO_RECORDS, Sources, look_back
from core.base.errors import ClusterError, LedgerError, SettingsError
from core.base.ids import uuid7
from core.risk.look_back import LookBackDocument
from core.risk.snapshot import RiskSnapshot
from identity.look_back.subjects import IdentityAtRisk, clients_of, identity_at_risk, parse_subject
from kube.client.objects import Objects, open_objects
from kube.risk.store import RiskStore

MOST_RECORDED: Final = 20
"""Look backs shown of one identity, the newest."""

_PROGRESS_EVERY_S: Final = 2.0
_NO_SNAPSHOT: Final = (
    "the risk snapshot could not be read: whether it is at risk, since when, and its client ids "
    "are not known"
)
_SYSTEM: Final = "/api/v1/namespaces/kube-system"


async def look_back_on(
    settings: Settings, subject: str, since: str | None
) -> list[LookBackDocument]:
    """Return the look back on one identity; `since` is where the window begins, as typed.

    Raises:
        SettingsError: the subject or the time is none, or the credentials are missing.
        ClusterError: kube-apiserver does not answer, or refuses.
        LedgerError: what is recorded cannot be read now.
    """
    now = time.time()
    asked = parse_subject(subject)
    if asked is None:
        raise SettingsError(
            f"{subject[:80]}: give an object id (oid:… or a GUID), client:… with a client id, or "
            "user:… with the 16 digits that decisions show"
        )
    begin = None if since is None else (make_query({}, None, since).since_ms or 0) // 1000
    async with AsyncExitStack() as stack:
        objects = await stack.enter_async_context(open_objects(settings.kubeconfig))
        cluster = settings.cluster_id or await _cluster_id(objects)
        snapshot, gaps = await _snapshot(objects, settings)
        days = settings.identity.look_back.days
        risen = _risen(asked(snapshot), snapshot, now, days)
        if begin is not None:
            risen = replace(risen, begin=min(begin, int(now)))
        acts, reads = await stack.enter_async_context(_open_records(settings, cluster))
        if acts is None:
            gaps.append(NO_RECORDS)
        elif settings.record.people == "name":
            gaps.append(NAMES_KEPT)
        sources = Sources(
            objects,
            acts,
            cluster,
            tuple(gaps),
            reads,
            suspends=settings.identity.suspend_exceptions and risen.standing is not None,
            on_progress=_Progress().tell,
        )
        return await look_back(sources, [risen], lambda _: uuid7(int(now * 1000)), now)


async def recorded_of(
    settings: Settings, subject: str, cluster: str | None
) -> list[LookBackDocument]:
    """Return the earlier look backs on an identity in the ledger, the newest first.

    Raises:
        SettingsError: the subject is none.
        LedgerError: there is no ledger, or it cannot be read.
    """
    asked = parse_subject(subject)
    if asked is None:
        raise SettingsError(f"{subject[:80]}: give an object id, oid:… or a GUID")
    async with open_ledger(settings) as store:
        return await store.look_backs(asked(None).labels[0], cluster, MOST_RECORDED)


def exit_code(documents: list[LookBackDocument]) -> int:
    """Return the exit code: whether something is still there."""
    return exits.REFUSED if any(each.items for each in documents) else exits.ADMITTED


def _risen(
    asked: IdentityAtRisk, snapshot: RiskSnapshot | None, now: float, days: int
) -> IdentityAtRisk:
    """Return the identity that was asked about, with the risk that the snapshot has."""
    found = snapshot and identity_at_risk(snapshot, asked.key, now, days, clients_of(snapshot))
    if not found:
        return replace(asked, begin=int(now) - days * 86_400)
    labels = tuple(dict.fromkeys((*asked.labels, *found.labels)))
    return replace(found, labels=labels, client_ids=found.client_ids | asked.client_ids)


async def _cluster_id(objects: Objects) -> str:
    body = await objects.get(_SYSTEM)
    if body is None:
        raise ClusterError(f"the cluster has no kube-system: set {name_setting('cluster_id')}")
    return str(body["metadata"]["uid"])


async def _snapshot(objects: Objects, settings: Settings) -> tuple[RiskSnapshot | None, list[str]]:
    try:
        snapshot = await RiskStore(objects, settings.namespace).read()
    except ClusterError as error:
        if not error.status:  # It does not answer at all.
            raise
        return None, [_NO_SNAPSHOT]
    return (snapshot, []) if snapshot.head.version else (None, [_NO_SNAPSHOT])


@asynccontextmanager
async def _open_records(
    settings: Settings, cluster: str
) -> AsyncIterator[tuple[ActsSource | None, ReadsSource | None]]:
    """Yield where the records are: the auditor that is set, else the ledger.

    None without either.
    """
    shipping = settings.shipping
    if shipping.url is not None:
        files = [shipping.ca, shipping.cert, shipping.key]
        ca, cert, key = (Path(path) for path in files if path is not None) if all(files) else _no()
        channel = AuditorChannel(shipping.url, ca, cert, key)
        try:
            yield AuditorActs(channel, cluster), AuditorReads(channel, cluster)
        finally:
            await channel.close()
        return
    async with AsyncExitStack() as stack:
        store = make_store(settings, stack)
        stack.push_async_callback(store.close)
        try:
            await store.open(make=False)
        except LedgerError:
            if settings.ledger.url is not None:
                raise
            yield None, None
        else:
            yield LedgerActs(store.find, cluster), LedgerReads(store, cluster)


def _no() -> tuple[Path, Path, Path]:
    names = ", ".join(name_setting(f"shipping.{each}") for each in ("ca", "cert", "key"))
    raise SettingsError(f"{names}: the auditor is reached over mutual TLS only; give all three")


@dataclass
class _Progress:
    """Says now and then on standard error how far it is, where a person waits."""

    write: Callable[[str], object] = field(default_factory=lambda: sys.stderr.write)
    _next: float = 0.0

    def tell(self, what: str) -> None:
        """Say it, if the last time is some seconds ago."""
        now = time.monotonic()
        if not self._next:
            self._next = now + _PROGRESS_EVERY_S
        elif now >= self._next:
            self._next = now + _PROGRESS_EVERY_S
            self.write(f"{what}\n")
