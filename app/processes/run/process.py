"""The process `sallyport run`: gate and ledger in one process on this machine."""

import datetime as dt
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import uvloop

from app.processes.auditor.ledger import open_kept_ledger
from app.processes.gate.process import GateSetup, serve_until_signal
from app.processes.run.sample import needs_sample, open_sample_import
from app.records.state_folder import state_folder
from app.settings.records import AnchorPlace
from app.settings.root import Settings
from audit.ledger.records.destination import Destination
from certs.self_signed_pair import make_pair
from core.base.errors import SettingsError
from webhooks.log import LogSettings, get_logger
from webhooks.server import Addresses

_EXAMPLES: Final = Path(__file__).parents[3] / "examples"
"""There in the sources; a wheel has none."""

_LIFETIME: Final = dt.timedelta(days=30)


@dataclass(frozen=True)
class LocalGate:
    """The gate of this machine, as it is known before it listens."""

    reviews: Path | None
    """A folder of example reviews to send; None for none."""
    ca: Path
    log: Path
    next_file: str
    """What to review next."""
    with_sample: bool = False
    """Whether the ledger has, or gets now, a made-up month to report of."""


MakeShowcase = Callable[[LocalGate], Callable[[Addresses], None]]
"""Gives what shows a gate to people, once it listens."""


def serve_locally(settings: Settings, show: MakeShowcase, *, examples: bool) -> None:
    """Serve on this machine, with a folder for a cluster and a certificate made here.

    Raises:
        SettingsError: there is no cluster to serve for, or no place for the certificate.
    """
    state = state_folder()
    settings = _with_ledger(_with_cluster(settings), state)
    try:
        _make_private(state)
        pair = make_pair(state, ["localhost", settings.listen.host], _LIFETIME)
        log = state / "gate.log"
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise SettingsError(
            f"{error.filename or state}: {error.strerror}: "
            "set XDG_STATE_HOME to a folder that you can write to"
        ) from error
    reviews = _EXAMPLES / "reviews" if examples else None
    sample = state if examples and settings.ledger.url is None else None
    gate = LocalGate(reviews, pair.ca, log, _next_file(), with_sample=sample is not None)
    opened = partial(_open_store, sample=sample if sample and needs_sample(sample) else None)
    where = GateSetup(pair, LogSettings(descriptor=descriptor), 0.0, show(gate), opened)
    sys.exit(uvloop.run(serve_until_signal(settings, where)))


@asynccontextmanager
async def _open_store(settings: Settings, sample: Path | None) -> AsyncIterator[Destination]:
    """Keep the records in this process: no auditor runs on a laptop.

    The made-up month goes into the ledger of the folder `sample`.
    """
    async with AsyncExitStack() as stack:
        ledger = await stack.enter_async_context(open_kept_ledger(settings, get_logger()))
        if sample is not None:
            await stack.enter_async_context(open_sample_import(sample, get_logger()))
        yield ledger


def _with_ledger(settings: Settings, state: Path) -> Settings:
    """Keep the spool, and the anchor of the state folder's own ledger, in that folder."""
    if settings.ledger.url is None and not settings.ledger.anchors:
        anchors = [AnchorPlace(file=state / "anchor.jsonl")]
        ledger = settings.ledger.model_copy(update={"anchors": anchors})
        settings = settings.model_copy(update={"ledger": ledger})
    if settings.spool.folder is not None:
        return settings
    spool = settings.spool.model_copy(update={"folder": state / "spool"})
    return settings.model_copy(update={"spool": spool})


def _with_cluster(settings: Settings) -> Settings:
    if settings.kubeconfig is not None:
        return settings
    if settings.cluster is None:
        if not _EXAMPLES.is_dir():
            raise SettingsError("the example folder is not installed: give --cluster DIR")
        settings = settings.model_copy(update={"cluster": _EXAMPLES / "cluster"})
    if not (settings.cluster and settings.cluster.is_dir()):
        raise SettingsError(f"--cluster {settings.cluster}: there is no such folder")
    return settings


def _make_private(folder: Path) -> None:
    """Make a folder that is this user's alone, also where it has been there before."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)


def _next_file() -> str:
    example = _EXAMPLES / "pods" / "first-denial.yaml"
    if not example.exists():
        return "FILE"
    here = Path.cwd()
    return str(example.relative_to(here) if example.is_relative_to(here) else example)
