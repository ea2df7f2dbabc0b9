"""Records the objects of files in the ledger, and says what to do next with it."""

import shlex
import time
from collections.abc import AsyncIterator
from typing import Final

import msgspec

from app.processes.auditor.weight_logs import cluster_of
from app.records.ledger import ledger_url
from app.records.state_folder import state_folder
from app.settings.root import Settings
from audit.ledger.records.frames import Frame, FrameKind, decision_frame_id
from audit.ledger.store.store import Store
from cli.weights.file_changes import FileGrant, changes_of, object_key
from cli.weights.store_files import StoreFiles
from core.base.times import day_text
from core.people.two_person import SHARED_ACCOUNTS, ApprovalTerms
from core.weights.documents.object_change import ObjectChange, decode_change, encode_change
from core.weights.stores import KIND as STORE

FILES_CLUSTER: Final = "files"
"""The cluster's id under which what is judged by files is kept, where nothing names another."""

_PAGE: Final = 1000
_LAST_MS: Final = 2**48 - 1
"""The last moment that an id can name."""
_DAY_S: Final = 86_400


class FileObjects(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What --stores held, and what it comes to."""

    stores: list[str]
    grants: list[FileGrant]
    approvals: int
    """Approvals of AccessGrants."""
    skipped: dict[str, int]
    """Objects of other kinds, by kind."""
    undated: list[str]
    """Objects without `metadata.creationTimestamp`."""
    unknown_stores: list[str]
    """Names of WeightStores that are granted, and that neither files nor the ledger have."""
    recorded: int
    """Changes that were not in the ledger before."""
    judged_before: bool
    """Whether the ledger had accesses of this cluster before: they are not judged again."""
    pods_recorded: bool
    """Whether the ledger has a record of this cluster's Pods."""


async def record_objects(settings: Settings, store: Store, files: StoreFiles) -> FileObjects:
    """Record what the files say, where the ledger does not have it; give what it comes to.

    Raises:
        LedgerError: the ledger fails; nothing is recorded.
    """
    cluster = cluster_of(settings)
    shared = frozenset(name.casefold() for name in settings.shared_accounts)
    last: dict[tuple[str, str], ObjectChange] = {}
    async for change in _changes(store, cluster):
        key = object_key(change.kind, change.namespace, change.name, change.uid)
        before = last.get(key)
        if before is None or (before.time, before.id) <= (change.time, change.id):
            last[key] = change
    terms = ApprovalTerms(SHARED_ACCOUNTS | shared)
    changes, grants = changes_of(files, cluster, time.time(), last, terms)
    frames = [
        Frame(FrameKind.CHANGE, decision_frame_id(each.id), encode_change(each)) for each in changes
    ]
    receipt = await store.deliver(cluster, frames)
    lives, accesses = [
        await store.documents(kind, 0, _LAST_MS, cluster=cluster, limit=1)
        for kind in (FrameKind.POD_LIFE, FrameKind.ACCESS)
    ]
    there = {each.name for each in files.stores}
    there |= {name for kind, name in last if kind == STORE and last[kind, name].event != "deleted"}
    return FileObjects(
        stores=[each.name for each in files.stores],
        grants=grants,
        approvals=len(files.approvals),
        skipped=dict(files.skipped),
        undated=sorted(files.undated),
        unknown_stores=sorted({each.store for each in grants} - there),
        recorded=receipt.stored,
        judged_before=bool(accesses),
        pods_recorded=bool(lives),
    )


async def _changes(store: Store, cluster: str) -> AsyncIterator[ObjectChange]:
    """Yield what the ledger has of changes in a cluster; what cannot be read, is none."""
    after = None
    while True:
        page = await store.documents(
            FrameKind.CHANGE, 0, _LAST_MS, cluster=cluster, after=after, limit=_PAGE
        )
        for each in page:
            yield decode_change(each.payload)
        if len(page) < _PAGE:
            return
        after = page[-1].key


def make_state_folder(settings: Settings) -> None:
    """Make the folder of the ledger that `sallyport run` keeps, where that is the ledger.

    Raises:
        SettingsError: nothing says where this user's home is.
    """
    if settings.ledger.url is None:
        state_folder().mkdir(mode=0o700, parents=True, exist_ok=True)


def report_command(settings: Settings, first_s: float, last_s: float) -> str:
    """Return the command that makes a report of what lies between two times, in Unix seconds."""
    month = day_text(first_s)[:7]
    when = ["--period", month]
    if month != day_text(last_s)[:7]:
        when = ["--since", day_text(first_s), "--until", day_text(last_s + _DAY_S)]
    url = ledger_url(settings)
    is_own = settings.ledger.url is None or not url.startswith("sqlite:")
    ledger = [] if is_own else ["--ledger", url]  # Of others the URL may hold a password.
    cluster = ["--cluster-id", cluster_of(settings)]
    return shlex.join(["sallyport", "report", *when, *cluster, *ledger])
