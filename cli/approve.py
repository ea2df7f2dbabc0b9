"""`sallyport approve`: shows what is to be approved, and writes the Approval."""

import asyncio
import datetime as dt
import sys
import time
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from cli import exits
from cli.output import Format, make_console, print_json
from cli.settings import Settings
from cli.text import safe_line, safe_text
from core import approvals, names
from core.approvals import Approval, parse_approval
from core.errors import ClusterError, SettingsError
from core.exceptions import KIND, Excuse, PolicyException, parse_exception
from core.two_person import write_people, write_person
from kube.connection import Connection
from kube.exceptions import approvals_path, exceptions_path
from kube.objects import Objects

KINDS: Final = ("policyexception", "policyexceptions", "pex")
"""What a person may call the kinds that can be approved."""

_DAY_S: Final = 86_400
_PAGE: Final = 500
_FORBIDDEN: Final = 403


class Answer(msgspec.Struct, frozen=True, rename="camel"):
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


class Approving:
    """One exception of a cluster, and those who have approved it."""

    def __init__(self, objects: Objects, exception: PolicyException) -> None:
        self.exception = exception
        self._objects = objects

    async def earlier(self) -> list[Approval]:
        """Give the approvals of it that there are.

        Raises:
            ClusterError: kube-apiserver does not answer, or refuses.
        """
        found: list[Approval] = []
        token = ""
        while True:
            page = await self._objects.page(
                approvals_path(self.exception.meta.namespace), _PAGE, token
            )
            found += [parse_approval(raw) for raw in page.items]
            if not (token := page.continue_token):
                break
        uid = self.exception.meta.uid
        return [each for each in found if each.consent and each.consent.uid == uid]

    async def approve(self, days: int, reason: str) -> Answer:
        """Write an Approval of it as it was shown; it ends with it, or after so many days.

        Raises:
            ClusterError: kube-apiserver does not answer.
        """
        meta = self.exception.meta
        ends = min(self.exception.expires, time.time() + days * _DAY_S - 60)
        expires = f"{dt.datetime.fromtimestamp(int(ends), dt.UTC):%Y-%m-%dT%H:%M:%SZ}"
        answer = answer_of(self.exception)
        body = _approval(self.exception, expires, reason)
        try:
            made = await self._objects.create(approvals_path(meta.namespace), body)
        except ClusterError as error:
            if error.status != _FORBIDDEN:
                raise
            return msgspec.structs.replace(answer, message=str(error))
        name = str(made["metadata"]["name"])
        return msgspec.structs.replace(answer, approved=True, approval=name, expires_at=expires)


def _approval(exception: PolicyException, expires: str, reason: str) -> dict[str, Any]:
    meta = exception.meta
    seen = {"uid": meta.uid, "digest": exception.approvable.digest}
    spec = {"for": {"kind": KIND, "name": meta.name, **seen}, "expiresAt": expires}
    return {
        "apiVersion": names.API_VERSION,
        "kind": approvals.KIND,
        "metadata": {"generateName": f"{meta.name}-", "namespace": meta.namespace},
        "spec": {**spec, "reason": reason} if reason else spec,
    }


@dataclass(frozen=True)
class Wish:
    """What a person asked for."""

    kind: str
    namespace: str
    name: str
    days: int
    reason: str
    yes: bool
    show: bool


def answer_approval(settings: Settings, wish: Wish, output: Format) -> int:
    """Do what a person asked for, print the answer and give the exit code.

    Raises:
        SettingsError: no cluster is named, or there is no such object.
        ClusterError: kube-apiserver does not answer.
    """
    if wish.kind.lower() not in KINDS:
        raise SettingsError(f"{wish.kind}: approve one of {', '.join(KINDS)}")
    table = output is Format.TABLE
    answer = asyncio.run(run(settings, wish, make_console() if table else None))
    if not table:
        print_json(answer)
    elif answer.approved:
        _line(make_console(), f"approved until {answer.expires_at}: Approval {answer.approval}")
    elif answer.message:
        make_console().print(Text(safe_text(answer.message)))
    return exits.ADMITTED if answer.approved or wish.show else exits.REFUSED


async def run(settings: Settings, wish: Wish, console: Console | None) -> Answer:
    """Show an exception and, once that is wanted, approve it as it was shown.

    Raises:
        SettingsError: no cluster is named, or there is no such exception.
        ClusterError: kube-apiserver does not answer.
    """
    if settings.kubeconfig is None:
        raise SettingsError("say in which cluster: give --kubeconfig FILE")
    connection = Connection(settings.kubeconfig)
    await connection.open()
    try:
        objects = Objects(connection)
        found = await objects.get(f"{exceptions_path(wish.namespace)}/{wish.name}")
        if found is None:
            raise SettingsError(f"{KIND} {wish.namespace}/{wish.name}: there is no such object")
        approving = Approving(objects, parse_exception(msgspec.json.encode(found)))
        if console is not None:
            print_exception(approving.exception, await approving.earlier(), console)
        if wish.show or not (wish.yes or _wanted()):
            return answer_of(approving.exception)
        return await approving.approve(wish.days, wish.reason)
    finally:
        await connection.close()


def answer_of(exception: PolicyException) -> Answer:
    """Give the answer for an exception that was only looked at."""
    meta = exception.meta
    digest = exception.approvable.digest
    return Answer(KIND, meta.namespace, meta.name, meta.uid, digest, approved=False)


def _wanted() -> bool:
    """Ask whether to approve; without a terminal nobody can say yes."""
    if not sys.stdin.isatty():
        raise SettingsError("nobody can be asked here: give --yes to approve, or --show to look")
    return typer.confirm("Approve it as it is shown?")


def print_exception(exception: PolicyException, earlier: list[Approval], console: Console) -> None:
    """Print an exception: what it adds to what its workloads may do, marked with +."""
    meta, spec = exception.meta, exception.spec
    what = exception.approvable
    _line(console, f"{KIND} {meta.namespace}/{meta.name}")
    _line(console, f"  reason:   {spec.reason}")
    _line(console, f"  expires:  {spec.expires_at}")
    _line(console, f"  author:   {write_person(what.author) or 'not recorded'}")
    if what.editors:
        _line(console, f"  editors:  {write_people(what.editors)}")
    _line(console, f"  digest:   {what.digest}")
    for workload in spec.workloads:
        _line(console, f"  {workload.kind} {workload.name} ({workload.api_version}) may also have")
        for excuse in spec.excuses:
            _line(console, f"  + {_excuse(excuse)}", "green")
    for each in earlier:
        now = each.consent is not None and each.consent.digest == what.digest
        state = "as it is" if now else "as it was before it changed"
        by = each.meta.annotation(names.APPROVER_ANNOTATION)
        _line(console, f"  approved {state} by {by}, until {each.spec.expires_at}")


def _excuse(excuse: Excuse) -> str:
    if excuse.privilege is None:
        return f"what {excuse.rule} denies{f': {excuse.value}' if excuse.value else ''}"
    whose = f"in container {excuse.container}" if excuse.container else "for the Pod itself"
    return f"{excuse.privilege}, {whose}"


def _line(console: Console, text: str, style: str = "") -> None:
    console.print(Text(safe_line(text), style=style))
