"""`sallyport approve`: shows what is to be approved, and writes the Approval."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from app.settings.root import Settings
from cli import exits
from cli.approve.kinds import KINDS, ApprovableKind
from cli.approve.profile_proposal import PROFILE_CALLED, ProfileProposal
from cli.approve.store_proposal import REMOVAL_CALLED, STORE_CALLED, StoreProposal
from cli.output import Format, make_console, print_json
from cli.shared.profile_files import read_profile
from core.approvals.approvals import (
    CLUSTER_KIND,
    MAX_DAYS_OF_PROPOSAL,
    PROFILE,
    Approval,
    parse_approval,
)
from core.approvals.break_glass import BreakGlass
from core.approvals.exceptions import PolicyException
from core.base import names
from core.base.errors import ClusterError, SettingsError
from core.base.safe_text import safe_line, safe_text
from core.base.times import DAY_S, time_text
from core.egress.allowlists import EgressAllowlist, EgressDestinations
from core.people.two_person import write_people, write_person
from core.weights import stores
from core.weights.access_grants import AccessGrant
from kube.approvals.watch import CLUSTER_APPROVALS_PATH
from kube.client.connection import Connection
from kube.client.objects import PAGE, Objects

_FORBIDDEN: Final = 403
_PROPOSED: Final = (*PROFILE_CALLED, *STORE_CALLED, *REMOVAL_CALLED)


class ApprovalResult(msgspec.Struct, frozen=True, rename="camel"):
    """What `-o json` prints."""

    kind: str
    namespace: str
    name: str
    uid: str
    digest: str
    approved: bool
    """Whether an Approval was written."""
    approval: str = ""
    """Its name."""
    expires_at: str = ""
    message: str = ""
    """Why it was refused, in the gate's words."""


Approvable = PolicyException | BreakGlass | EgressAllowlist | EgressDestinations | AccessGrant


class ApprovalSession:
    """One object of a cluster that two people approve, and those who have approved it."""

    def __init__(self, objects: Objects, kind: ApprovableKind, found: Mapping[str, Any]) -> None:
        self.kind = kind
        self.what: Approvable = kind.parse(msgspec.json.encode(found))
        self._objects = objects

    async def earlier(self) -> list[Approval]:
        """Return the approvals of it that there are.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
        """
        found: list[Approval] = []
        token = ""
        while True:
            page = await self._objects.page(
                self.kind.approvals(self.what.meta.namespace), PAGE, token
            )
            found += [parse_approval(raw, kind=self.kind.approval) for raw in page.items]
            if not (token := page.continue_token):
                break
        uid = self.what.meta.uid
        return [each for each in found if each.consent and each.consent.uid == uid]

    async def approve(self, days: int, reason: str) -> ApprovalResult:
        """Write an Approval of it as it was shown; it ends with it, or after so many days.

        Raises:
            ClusterError: kube-apiserver does not answer.
        """
        meta = self.what.meta
        ends = time.time() + days * DAY_S - 60
        if not isinstance(self.what, BreakGlass) and self.what.expires is not None:
            ends = min(self.what.expires, ends)
        body = self._approval(time_text(ends), reason)
        path = self.kind.approvals(meta.namespace)
        return await _create(self._objects, path, body, self.looked_at())

    def looked_at(self) -> ApprovalResult:
        """Return the answer for an object that was only looked at."""
        meta, digest = self.what.meta, self.what.approvable.digest
        kind = self.kind.kind
        return ApprovalResult(kind, meta.namespace, meta.name, meta.uid, digest, approved=False)

    def _approval(self, expires: str, reason: str) -> dict[str, Any]:
        meta = self.what.meta
        seen = {"uid": meta.uid, "digest": self.what.approvable.digest}
        wanted = {"kind": self.kind.kind, "name": meta.name, **seen}
        spec = {"for": wanted, "expiresAt": expires}
        place = {"namespace": meta.namespace} if self.kind.namespaced else {}
        return {
            "apiVersion": names.API_VERSION,
            "kind": self.kind.approval,
            "metadata": {"generateName": f"{meta.name}-", **place},
            "spec": {**spec, "reason": reason} if reason else spec,
        }


@dataclass(frozen=True)
class ApprovalOptions:
    """What a person asked for."""

    kind: str
    namespace: str
    name: str
    days: int
    reason: str
    yes: bool
    show: bool


def answer_approval(settings: Settings, options: ApprovalOptions, output: Format) -> int:
    """Do what a person asked for, print the answer and give the exit code.

    Raises:
        SettingsError: no cluster is named, or there is no such object.
        ClusterError: kube-apiserver does not answer.
    """
    table = output is Format.TABLE
    console = make_console() if table else None
    if options.kind.lower() in _PROPOSED:
        approval = CLUSTER_KIND
        answer = asyncio.run(_run_proposal(settings, options, console))
    else:
        kind = kind_of(options.kind)
        approval = kind.approval
        answer = asyncio.run(run(settings, kind, options, console))
    if not table:
        print_json(answer)
    elif answer.approved:
        _line(make_console(), f"approved until {answer.expires_at}: {approval} {answer.approval}")
    elif answer.message:
        make_console().print(Text(safe_text(answer.message)))
    return exits.ADMITTED if answer.approved or options.show else exits.REFUSED


def kind_of(called: str) -> ApprovableKind:
    """Return the kind that a person means.

    Raises:
        SettingsError: it is none that can be approved.
    """
    for each in KINDS:
        if called.lower() in each.called:
            return each
    known = ", ".join((*(name for each in KINDS for name in each.called), *_PROPOSED))
    raise SettingsError(f"{called}: approve one of {known}")


async def run(
    settings: Settings, kind: ApprovableKind, options: ApprovalOptions, console: Console | None
) -> ApprovalResult:
    """Show an object and, once that is wanted, approve it as it was shown.

    Raises:
        SettingsError: no cluster is named, or there is no such object.
        ClusterError: kube-apiserver does not answer.
    """
    async with _opened(settings) as objects:
        found = await objects.get(f"{kind.path(options.namespace)}/{options.name}")
        if found is None:
            place = f"{options.namespace}/" if kind.namespaced else ""
            raise SettingsError(f"{kind.kind} {place}{options.name}: there is no such object")
        session = ApprovalSession(objects, kind, found)
        if console is not None:
            print_approvable(session, await session.earlier(), console)
        if options.show or not (options.yes or _wanted()):
            return session.looked_at()
        return await session.approve(options.days, options.reason)


async def _run_proposal(
    settings: Settings, options: ApprovalOptions, console: Console | None
) -> ApprovalResult:
    """Show what a file would make of a profile or a store, and approve just that once it is wanted.

    Raises:
        SettingsError: no cluster is named, or the file holds not one of them.
        InvalidObjectError: it is broken.
        ClusterError: kube-apiserver does not answer.
    """
    called = options.kind.lower()
    profile = read_profile(Path(options.name)) if called in PROFILE_CALLED else None
    async with _opened(settings) as objects:
        proposal: ProfileProposal | StoreProposal
        if profile is not None:
            kind, name, proposal = PROFILE, profile.name, await ProfileProposal.of(objects, profile)
        else:
            proposal = await StoreProposal.of(objects, called, options.name)
            kind, name = stores.KIND, proposal.name
        if console is not None:
            for line, colour in proposal.lines():
                _line(console, line, colour)
        what = proposal.what
        answer = ApprovalResult(kind, "", name, proposal.uid, what.digest, approved=False)
        if options.show or not (options.yes or _wanted()):
            return answer
        days = min(options.days, MAX_DAYS_OF_PROPOSAL)
        expires = time_text(time.time() + days * DAY_S - 60)
        body = proposal.approval(expires, options.reason)
        return await _create(objects, CLUSTER_APPROVALS_PATH, body, answer)


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[Objects]:
    if settings.kubeconfig is None:
        raise SettingsError("say in which cluster: give --kubeconfig FILE")
    connection = Connection(settings.kubeconfig)
    await connection.open()
    try:
        yield Objects(connection)
    finally:
        await connection.close()


async def _create(
    objects: Objects, path: str, body: dict[str, Any], answer: ApprovalResult
) -> ApprovalResult:
    try:
        made = await objects.create(path, body)
    except ClusterError as error:
        if error.status != _FORBIDDEN:
            raise
        return msgspec.structs.replace(answer, message=str(error))
    name, expires = str(made["metadata"]["name"]), str(body["spec"]["expiresAt"])
    return msgspec.structs.replace(answer, approved=True, approval=name, expires_at=expires)


def _wanted() -> bool:
    """Ask whether to approve; without a terminal nobody can say yes."""
    if not sys.stdin.isatty():
        raise SettingsError("nobody can be asked here: give --yes to approve, or --show to look")
    return typer.confirm("Approve it as it is shown?")


def print_approvable(session: ApprovalSession, earlier: list[Approval], console: Console) -> None:
    """Print an object: what it adds to what may be done, marked with +; and who approved it."""
    meta, what = session.what.meta, session.what.approvable
    place = f"{meta.namespace}/" if meta.namespace else ""
    _line(console, f"{session.kind.kind} {place}{meta.name}")
    _line(console, f"  reason:   {session.what.spec.reason}")
    if not isinstance(session.what, BreakGlass):
        _line(console, f"  expires:  {session.what.spec.expires_at or 'never'}")
    _line(console, f"  author:   {write_person(what.author) or 'not recorded'}")
    if what.editors:
        _line(console, f"  editors:  {write_people(what.editors)}")
    _line(console, f"  digest:   {what.digest}")
    for line, colour in session.kind.lines(session.what):
        _line(console, f"  {line}", colour)
    for each in earlier:
        now = each.consent is not None and each.consent.digest == what.digest
        state = "as it is" if now else "as it was before it changed"
        by = each.meta.annotation(names.APPROVER_ANNOTATION)
        _line(console, f"  approved {state} by {by}, until {each.spec.expires_at}")


def _line(console: Console, text: str, style: str = "") -> None:
    console.print(Text(safe_line(text), style=style))
