"""`sallyport rollout status`: what would be refused, namespace by namespace, if it enforced now."""

import datetime as dt
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from app.records.ledger import open_ledger
from app.settings.root import Settings
from cli.rollout.cluster import RolloutCluster, read_rollout_cluster, some_pods
from cli.rollout.evidence import Evidence, EvidenceReader, Period
from cli.rollout.verdicts import Standing, Status, SweptLast, standing_of, workloads_of
from cli.shared.decision_queries import read_since
from core.base.errors import SettingsError
from core.base.times import milli_text
from core.decision.namespaces import Mode, Namespace, enforce_from
from kube.client.objects import Objects, open_objects

_TELL_EVERY_S: Final = 5.0
_SHIPPED_S: Final = 120
"""Decisions that are younger may still be on their way to the ledger."""

_NAMED: Final = 3


@dataclass(frozen=True)
class RolloutRequest:
    """What a person asked for."""

    namespaces: tuple[str, ...] = ()
    """Empty: all."""
    since: str = "7d"
    sweep_age: str = "3h"


class StatusProgress:
    """Says on standard error how far it has come, a line each few seconds."""

    def __init__(self) -> None:
        self._said = time.monotonic()

    def __call__(self, text: str) -> None:
        """Say it, if the last time is long ago."""
        if time.monotonic() - self._said >= _TELL_EVERY_S:
            self._said = time.monotonic()
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()


@asynccontextmanager
async def open_cluster_objects(settings: Settings) -> AsyncIterator[Objects]:
    """Yield the objects of the cluster that is named.

    Raises:
        SettingsError: none is named, or the credentials are missing or broken.
    """
    if settings.kubeconfig is None:
        raise SettingsError(
            "say which cluster is rolled out to: give --kubeconfig FILE or SALLYPORT_KUBECONFIG"
        )
    async with open_objects(settings.kubeconfig) as objects:
        yield objects


async def read_status(settings: Settings, asked: RolloutRequest) -> Status:
    """Read what is known of each namespace.

    Raises:
        ClusterError: kube-apiserver does not answer, or refuses to list namespaces.
        LedgerError: there is no ledger, or it cannot be read.
        SettingsError: no cluster is named, a time is none, or a namespace is not there.
    """
    period = _period(asked)
    async with open_cluster_objects(settings) as objects, open_ledger(settings) as store:
        ground = await read_rollout_cluster(objects, settings)
        chosen = ground.chosen(sorted(asked.namespaces))
        teller = StatusProgress()
        reader = EvidenceReader(store, ground.cluster, period, teller)
        evidence = await reader.read(frozenset(each.name for each in chosen))
        standings = []
        for number, namespace in enumerate(chosen):
            teller(f"{number} of {len(chosen)} namespaces looked at")
            standings.append(
                await _standing(_Look(objects, reader, ground, evidence, period), namespace)
            )
    return Status(
        cluster=ground.cluster,
        since=milli_text(period.since_ms),
        sweep=_last(evidence),
        namespaces=standings,
        notes=list(ground.notes),
    )


@dataclass(frozen=True)
class _Look:
    objects: Objects
    reader: EvidenceReader
    ground: RolloutCluster
    evidence: Evidence
    period: Period


async def _standing(look: _Look, namespace: Namespace) -> Standing:
    name, ground = namespace.name, look.ground
    mode = ground.modes.of(namespace)
    left_out = name in ground.left_out
    problems = [*ground.problems, *look.evidence.problems]
    if mode is not Mode.ENFORCE and not left_out:
        problems += await _unrecorded(look, name)
    rows = workloads_of(look.evidence.swept.get(name, ()), look.evidence.asked.get(name, ()))
    counts = look.evidence.sweep.pods if look.evidence.sweep else {}
    return standing_of(
        name,
        mode,
        rows,
        problems,
        decided_by=ground.modes.why(namespace),
        enforce_from=enforce_from(namespace),
        pods=counts.get(name, 0) if counts else None,
        left_out=left_out,
    )


async def _unrecorded(look: _Look, namespace: str) -> list[str]:
    """Return a note on Pods that came without a recorded decision; empty if none did."""
    since = _moment(look.period.since_ms)
    until = _moment(look.period.now_ms) - dt.timedelta(seconds=_SHIPPED_S)
    pods = await some_pods(look.objects, namespace, since, until)
    lost = await look.reader.unrecorded(pods)
    if not lost:
        return []
    named = ", ".join(lost[:_NAMED])
    return [
        f"of {len(lost)} of {len(pods)} Pods that were looked at the ledger has no decision "
        f"({named}): they are older than the webhooks, or records were lost"
    ]


def _moment(unix_ms: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(unix_ms / 1000, dt.UTC)


def _period(asked: RolloutRequest) -> Period:
    now_ms = int(time.time() * 1000)
    since_ms = read_since(asked.since, now_ms)
    return Period(since_ms, now_ms, now_ms - read_since(asked.sweep_age, now_ms, "--sweep-age"))


def _last(evidence: Evidence) -> SweptLast | None:
    sweep = evidence.sweep
    return SweptLast(sweep.id, sweep.finished, sweep.objects) if sweep else None
