"""What relaxes the rules now, and what waits for people: exceptions and BreakGlasses."""

import asyncio
import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

import msgspec

from cli.shared.cluster_status.model import ApprovalsStatus, AreaFindings, EndingObject, alert
from cli.shared.cluster_status.questions import StatusQuestions
from core.approvals import break_glass, exceptions
from core.approvals.approvals import CLUSTER_KIND, Approval, parse_approval
from core.approvals.break_glass import BreakGlass, parse_break_glass
from core.approvals.exceptions import PolicyException, parse_exception
from core.base.errors import InvalidObjectError
from core.base.safe_text import join_some
from core.base.times import DAY_S, time_text
from core.people.two_person import ORDINARY_TERMS, Approvable, Approved, Consent, judge_approval
from kube.approvals.watch import (
    APPROVALS_PATH,
    BREAK_GLASSES_PATH,
    CLUSTER_APPROVALS_PATH,
    EXCEPTIONS_PATH,
)

_PATHS: Final = (EXCEPTIONS_PATH, APPROVALS_PATH, BREAK_GLASSES_PATH, CLUSTER_APPROVALS_PATH)
_NAMED: Final = 4

_T = TypeVar("_T")


async def read_relaxations(
    questions: StatusQuestions, found: AreaFindings, now: dt.datetime
) -> ApprovalsStatus:
    """Read the objects, and say which wait, which end soon and which are open.

    Raises:
        ClusterError: kube-apiserver does not answer in time, or refuses.
    """
    raws = await asyncio.gather(*(questions.list(path) for path in _PATHS))
    excepted = list(_readable(raws[0], parse_exception, found))
    sealed = list(_readable(raws[2], parse_break_glass, found))
    approvals = [
        *_readable(raws[1], parse_approval, found),
        *_readable(raws[3], lambda raw: parse_approval(raw, kind=CLUSTER_KIND), found),
    ]
    return judge_relaxations(excepted, sealed, approvals, found, now.timestamp())


def _readable(
    raws: Iterable[msgspec.Raw], parse: Callable[[msgspec.Raw], _T], found: AreaFindings
) -> Iterator[_T]:
    for raw in raws:
        try:
            yield parse(raw)
        except InvalidObjectError as error:
            found.notes.append(f"it counts for nothing: {error}")


def judge_relaxations(
    excepted: list[PolicyException],
    sealed: list[BreakGlass],
    approvals: list[Approval],
    found: AreaFindings,
    now: float,
) -> ApprovalsStatus:
    """Say which wait, which end soon and which are open. Pure, but for `found`.

    Whether an approver still has the right to approve is not asked: it is taken so.
    """
    consents = [each.consent for each in approvals if each.consent is not None]
    in_time = [each for each in excepted if each.in_time(now)]
    waiting = [
        _shown(exceptions.KIND, each.meta.namespace, each.meta.name, each.expires)
        for each in in_time
        if not is_approved(each.approvable, consents, now)
    ]
    waiting += [
        _shown(break_glass.KIND, "", each.meta.name, 0.0)
        for each in sealed
        if each.began is None and not is_approved(each.approvable, consents, now)
    ]
    ending = [
        _shown(exceptions.KIND, each.meta.namespace, each.meta.name, each.expires)
        for each in in_time
        if each.expires < now + DAY_S and is_approved(each.approvable, consents, now)
    ]
    opened = [
        _shown(break_glass.KIND, "", each.meta.name, each.ends)
        for each in sealed
        if each.is_open(now)
    ]
    found.says.append(
        f"{len(in_time)} exceptions, {len(waiting)} wait for approval, {len(ending)} end within a "
        f"day; {len(opened)} BreakGlasses are open"
    )
    if opened:
        found.notes.append(f"open: {_named(opened)} ({alert('SallyportBreakGlassOpen')})")
    if ending:
        found.notes.append(f"end within a day: {_named(ending)}")
    return ApprovalsStatus(exceptions=len(in_time), waiting=waiting, ending=ending, open=opened)


def is_approved(approvable: Approvable, consents: Sequence[Consent], now: float) -> bool:
    """Return whether two people approve it, by the gate's rule; that each still may is taken so."""
    holders = {each.approval for each in consents}
    judged = judge_approval(approvable, consents, holders, now, ORDINARY_TERMS)
    return isinstance(judged, Approved)


def _shown(kind: str, namespace: str, name: str, ends: float) -> EndingObject:
    return EndingObject(kind, namespace, name, time_text(ends) if ends else "")


def _named(objects: list[EndingObject]) -> str:
    shown = [
        f"{each.kind} {each.namespace + '/' if each.namespace else ''}{each.name} until {each.ends}"
        for each in objects
    ]
    return join_some(shown, _NAMED)
