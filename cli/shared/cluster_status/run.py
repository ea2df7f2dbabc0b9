"""Asks a cluster for all of a status at once, and puts together what came back in time."""

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from app.settings.root import Settings
from cli.shared.cluster_status.certificates import read_certificate_ends
from cli.shared.cluster_status.control_lease import read_control_lease
from cli.shared.cluster_status.kubernetes import read_kubernetes
from cli.shared.cluster_status.model import (
    ApprovalsStatus,
    AreaFindings,
    AreaState,
    InstallationStatus,
    LeaderStatus,
    ModesStatus,
    RegistrationStatus,
)
from cli.shared.cluster_status.namespaces import read_namespaces
from cli.shared.cluster_status.processes import ProcessesSeen, read_processes
from cli.shared.cluster_status.questions import StatusQuestions
from cli.shared.cluster_status.records import read_ledger, read_recording, unrecorded
from cli.shared.cluster_status.registrations import judge_comparison, read_registrations
from cli.shared.cluster_status.relaxations import read_relaxations
from cli.shared.cluster_status.signals import read_egress, read_identity
from core.base.errors import SallyportError, SettingsError
from core.base.times import time_text
from kube.client.connection import Connection

DEADLINE_S: Final = 20.0
"""After so many seconds it ends, with what it has."""

_LATE: Final = f"no answer within {DEADLINE_S:.0f} s"


@dataclass
class _Read:
    """What was read; what was not is as it is here."""

    kubernetes: str = ""
    seen: ProcessesSeen | None = None
    leader: LeaderStatus | None = None
    registrations: list[RegistrationStatus] | None = None
    modes: ModesStatus | None = None
    approvals: ApprovalsStatus | None = None


class _Areas:
    """The areas, in the order in which they are shown."""

    def __init__(self) -> None:
        self.kubernetes = AreaFindings("kubernetes")
        self.registrations = AreaFindings("registrations")
        self.processes = AreaFindings("processes")
        self.leader = AreaFindings("leader")
        self.certificates = AreaFindings("certificates")
        self.recording = AreaFindings("recording")
        self.ledger = AreaFindings("ledger")
        self.modes = AreaFindings("modes")
        self.approvals = AreaFindings("approvals")
        self.egress = AreaFindings("egress")
        self.identity = AreaFindings("identity")

    @property
    def all(self) -> list[AreaFindings]:
        """Each of them."""
        return list(vars(self).values())


async def read_installation(
    settings: Settings, clock: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC)
) -> InstallationStatus:
    """Ask the cluster; end within `DEADLINE_S`, whatever hangs.

    Raises:
        SettingsError: no cluster is named, or its credentials are missing or broken.
    """
    if settings.cluster is not None:
        raise SettingsError("a folder has no status: give --kubeconfig FILE")
    connection = Connection(settings.kubeconfig)
    await connection.open()
    try:
        return await _read(connection, settings, clock())
    finally:
        await connection.close()


async def _read(connection: Connection, settings: Settings, now: dt.datetime) -> InstallationStatus:
    questions = StatusQuestions(connection)
    areas, read = _Areas(), _Read()
    left_out: asyncio.Future[list[str] | None] = asyncio.get_running_loop().create_future()

    async def registrations() -> None:
        names = None
        try:
            read.registrations, names = await read_registrations(
                questions, areas.registrations, now
            )
        finally:
            left_out.set_result(names)

    async def kubernetes() -> None:
        read.kubernetes = await read_kubernetes(questions, areas.kubernetes)

    async def processes() -> None:
        read.seen = await read_processes(questions, settings.namespace, areas.processes, now)

    async def leader() -> None:
        read.leader = await read_control_lease(questions, settings.namespace, areas.leader, now)

    async def modes() -> None:
        read.modes = await read_namespaces(questions, settings, left_out, areas.modes)

    async def approvals() -> None:
        read.approvals = await read_relaxations(questions, areas.approvals, now)

    await _within_deadline(
        (areas.registrations, registrations()),
        (areas.kubernetes, kubernetes()),
        (areas.processes, processes()),
        (areas.leader, leader()),
        (areas.modes, modes()),
        (areas.approvals, approvals()),
    )
    return _put_together(areas, read, settings, now)


async def _within_deadline(*questions: tuple[AreaFindings, Awaitable[None]]) -> None:
    tasks = [asyncio.create_task(_ask(found, asked)) for found, asked in questions]
    _, late = await asyncio.wait(tasks, timeout=DEADLINE_S)
    for task in late:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _ask(found: AreaFindings, asked: Awaitable[None]) -> None:
    try:
        await asked
    except SallyportError as error:
        found.gap(str(error))
    except asyncio.CancelledError:
        found.gap(_LATE)
    except Exception as error:  # noqa: BLE001 -- whatever it is, what was not judged is not well
        # Its text may hold what was read.
        found.gap(f"what the cluster answers cannot be read: {type(error).__name__}")


def _put_together(
    areas: _Areas, read: _Read, settings: Settings, now: dt.datetime
) -> InstallationStatus:
    seen = read.seen
    recording, ends, ledger = [], [], None
    if seen is None:
        for each in (
            areas.registrations,
            areas.recording,
            areas.ledger,
            areas.certificates,
            areas.egress,
            areas.identity,
        ):
            each.gap("the processes could not be asked: see processes")
    else:
        judge_comparison(seen, areas.registrations)
        recording = read_recording(seen, areas.recording, now)
        ledger = read_ledger(seen, areas.ledger, now)
        ends = read_certificate_ends(seen, areas.certificates, now)
        read_egress(seen, areas.egress)
        read_identity(seen, areas.identity)
    problems = sorted(
        (problem for each in areas.all for problem in each.problems),
        key=lambda problem: problem.severity != "critical",
    )
    gaps = [gap for each in areas.all for gap in each.gaps]
    state = AreaState.PROBLEM if problems else AreaState.UNKNOWN if gaps else AreaState.WELL
    return InstallationStatus(
        at=time_text(now.timestamp()),
        namespace=settings.namespace,
        state=state,
        summary=_summary(areas, read, len(problems), problems[0].what if problems else ""),
        kubernetes=read.kubernetes,
        problems=problems,
        unknown=gaps,
        notes=[note for each in areas.all for note in each.notes],
        areas=[each.area for each in areas.all],
        processes=list(seen.processes.values()) if seen else [],
        leader=read.leader,
        registrations=read.registrations or [],
        certificates=ends,
        recording=recording,
        ledger=ledger,
        modes=read.modes,
        approvals=read.approvals,
    )


def _summary(areas: _Areas, read: _Read, problems: int, worst: str) -> str:
    unknown = [each.name for each in areas.all if each.gaps]
    if problems:
        others = problems - 1
        more = f", and {others} more problem{'s' * (others > 1)}" if others else ""
        return f"Not well: {worst}{more}."
    if len(unknown) == len(areas.all):
        return "Not known: the cluster answers nothing of what matters."
    if unknown:
        return f"Not known whether all is well: {', '.join(unknown)} could not be asked."
    gates = read.seen.processes["gate"] if read.seen else None
    ready = f"{gates.ready} of {gates.wanted} gates are ready" if gates else ""
    modes = read.modes
    what = "enforces" if modes and modes.enforce else "judges and refuses nothing"
    return f"All is well: Sallyport {what}, {ready}, and {recorded_words(read.seen)}."


def recorded_words(seen: ProcessesSeen | None) -> str:
    """Say whether what is decided is recorded: where nothing else is amiss."""
    if seen is None or "auditor" not in seen.processes:
        return "what it decides is in the log alone, for there is no auditor"
    if any(map(unrecorded, seen.of("gate").values())):
        return "what it decides is recorded again, but not all was: see the notes"
    return "what it decides is recorded"
