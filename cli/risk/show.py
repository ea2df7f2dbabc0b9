"""`sallyport risk show`: what is known of one identity, and what it may do."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from app.settings.root import Settings
from cli.risk.snapshot import freshness_of, read_snapshot, table_in_force
from cli.risk.words import effect_word, format_age, shown_time, standing_word
from core.base.errors import SettingsError
from core.base.safe_text import safe_line
from core.cluster import AccountSignIn
from core.risk.model import (
    Effect,
    OperationClass,
    PrincipalKind,
    RiskEntry,
    RiskSource,
    Role,
    Standing,
    identity_key,
)
from core.risk.snapshot import RiskSnapshot
from identity.risk.decision import NamespaceRisk, decide
from identity.risk.principals import (
    GUID,
    Principal,
    PrincipalNature,
    principal_of_client,
    principal_of_note,
)
from identity.risk.standings import Freshness, standing_of
from identity.risk.table import RiskTable
from kube.client.objects import open_objects
from kube.cluster.folder import FolderCluster
from kube.resources.service_accounts import parse_written, sign_in_of

_OBJECT_ID: Final = "oid:"
_CLIENT: Final = "client:"
_ACCOUNT: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}/[a-z0-9][a-z0-9.-]{0,252}")
_USER: Final = re.compile(r"user:[0-9a-f]{8,64}")

_FORMS: Final = (
    "give oid:OBJECT-ID (or the object id alone), client:CLIENT-ID, NAMESPACE/SERVICE-ACCOUNT, or "
    "the user:… of a decision"
)


_OF_WORKLOADS: Final = frozenset(
    {OperationClass.CREATE_WORKLOAD, OperationClass.EXEC, OperationClass.MAKE_CREDENTIALS}
)
"""What the identity of a workload counts for; for anything else it asks itself, as a requester."""

FORMAT: Final = 1
"""Version of what programs read."""


class Said(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What one family says."""

    family: str
    level: str
    state: str
    deleted: bool
    updated: int
    """Unix seconds, as all times here; 0 is not known."""
    since: int
    active: int
    revoked: int
    event_id: str
    event_type: str


class Answer(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What the table says of one operation."""

    operation: OperationClass
    effect: Effect
    standing: Standing
    row: str


class Shown(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What `-o json` prints."""

    format: int = FORMAT
    subject: str
    who: str
    """As decisions name it."""
    role: Role
    """In which it was asked for."""
    application: str
    """What its client id stands for; empty for a person."""
    object_id: str
    standings: list[Standing]
    """The worst first."""
    age_seconds: float | None
    said: list[Said]
    behaviour: list[str]
    answers: list[Answer]
    snapshot: int
    table_digest: str


@dataclass(frozen=True)
class ShowRequest:
    """Whom, and of what sort of namespace, somebody asks."""

    subject: str
    namespace_class: str = ""


async def show_subject(settings: Settings, asked: ShowRequest, now: float) -> Shown:
    """Return the facts of an identity at a time (Unix seconds).

    Raises:
        SettingsError: it is named in no form that there is, or no cluster is named.
        ClusterError: the cluster does not answer, or has no snapshot.
    """
    sign_in = await _sign_in(settings, asked.subject)
    snapshot = await read_snapshot(settings)
    principal = principal_named(asked.subject, snapshot, sign_in)
    freshness = freshness_of(settings.identity, snapshot)
    return make_shown(principal, asked, snapshot, table_in_force(snapshot), freshness, now)


def principal_named(
    subject: str, snapshot: RiskSnapshot, sign_in: AccountSignIn | None
) -> Principal:
    """Return the identity that a person means; `sign_in` is that of a service account.

    Raises:
        SettingsError: it is named in no form that there is.
    """
    if sign_in is not None:
        return principal_of_client(sign_in.client_id, sign_in.tenant)
    client = subject.removeprefix(_CLIENT)
    if client != subject and GUID.fullmatch(client):
        return principal_of_client(client)
    label = f"{_OBJECT_ID}{subject.removeprefix(_OBJECT_ID).lower()}"
    if _USER.fullmatch(subject):
        label = subject
    elif not GUID.fullmatch(label.removeprefix(_OBJECT_ID)):
        raise SettingsError(f"{subject}: names no identity: {_FORMS}")
    principal = principal_of_note(label)
    if principal is None:
        raise SettingsError(f"{subject}: names no identity: {_FORMS}")
    nature = principal.nature
    if _kind(snapshot, principal.key) is PrincipalKind.SERVICE_PRINCIPAL:
        nature = PrincipalNature.APPLICATION
    return msgspec.structs.replace(principal, role=Role.REQUESTER, nature=nature)


def make_shown(  # noqa: PLR0913, PLR0917 (all that a decision depends on)
    principal: Principal,
    asked: ShowRequest,
    snapshot: RiskSnapshot,
    table: RiskTable,
    freshness: Freshness,
    now: float,
) -> Shown:
    """Return the effects of a snapshot and a table for one identity."""
    known = standing_of(principal, snapshot, freshness, now)
    application = snapshot.application(principal.client_id) if principal.client_id else None
    key = principal.key
    if application is not None and application.object_id:
        key = identity_key(application.object_id)
    return Shown(
        subject=asked.subject,
        who=principal.who,
        role=principal.role,
        application=application.kind.value if application else "",
        object_id=application.object_id if application else "",
        standings=list(known.standings),
        age_seconds=known.age_s,
        said=list(_said(snapshot, key)),
        behaviour=list(snapshot.behaviour(principal.key, now).words),
        answers=list(_answers(principal, asked, snapshot, table, freshness, now)),
        snapshot=snapshot.head.version,
        table_digest=table.digest,
    )


def _answers(  # noqa: PLR0913, PLR0917 (as above)
    principal: Principal,
    asked: ShowRequest,
    snapshot: RiskSnapshot,
    table: RiskTable,
    freshness: Freshness,
    now: float,
) -> Iterator[Answer]:
    place = NamespaceRisk(asked.namespace_class)
    for operation in OperationClass:
        if principal.role is Role.WORKLOAD and operation not in _OF_WORKLOADS:
            continue
        worst = decide([principal], operation, place, snapshot, table, freshness, now)[0]
        yield Answer(
            operation=operation, effect=worst.effect, standing=worst.standing, row=worst.row
        )


def _said(snapshot: RiskSnapshot, key: bytes) -> Iterator[Said]:
    for family in RiskSource:
        if (entry := snapshot.entry(family, key)) is not None:
            yield _of_entry(family, entry)


def _of_entry(family: RiskSource, entry: RiskEntry) -> Said:
    return Said(
        family=family.name.lower(),
        level=entry.level.value,
        state=entry.state.value,
        deleted=entry.deleted,
        updated=entry.updated,
        since=entry.since,
        active=entry.active,
        revoked=entry.revoked,
        event_id=entry.event_id,
        event_type=entry.event_type,
    )


def _kind(snapshot: RiskSnapshot, key: bytes) -> PrincipalKind | None:
    entries = (snapshot.entry(family, key) for family in RiskSource)
    return next((entry.kind for entry in entries if entry is not None), None)


async def _sign_in(settings: Settings, subject: str) -> AccountSignIn | None:
    """Return whom a service account signs in as; None where the subject is not one.

    Raises:
        SettingsError: there is no such service account.
    """
    if not _ACCOUNT.fullmatch(subject):
        return None
    namespace, _, name = subject.partition("/")
    found: AccountSignIn | None = None
    if settings.cluster is not None:
        found = FolderCluster(settings.cluster).service_account_sign_in(namespace, name)
    elif settings.kubeconfig is not None:
        async with open_objects(settings.kubeconfig) as objects:
            path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}"
            account = await objects.get(path)
        if account is None:
            raise SettingsError(f"{subject}: there is no such service account")
        found = sign_in_of(parse_written(msgspec.json.encode(account)))
    if found is not None and not found.client_id:
        message = f"{subject}: names no client id (azure.workload.identity/client-id), so it signs "
        raise SettingsError(message + "in to Entra as nobody by itself; its Pods may still")
    return found


def print_shown(shown: Shown, console: Console, now: float) -> None:
    """Print it for people."""
    console.print(Text(safe_line(shown.who), style="bold"))
    if shown.application:
        what = f"  {shown.application}, service principal {shown.object_id or 'unknown'}"
        console.print(Text(safe_line(what)))
    words = [standing_word(each) for each in shown.standings]
    console.print(Text("  standing   ").append(Text(", ").join(words)))
    age = (
        "nothing complete is known" if shown.age_seconds is None else format_age(shown.age_seconds)
    )
    console.print(Text(f"  known as of {age}{'' if shown.age_seconds is None else ' ago'}"))
    for said in shown.said:
        console.print(Text(safe_line(f"  {said.family:<11}{_sentence(said, now)}")))
    if shown.behaviour:
        console.print(Text(f"  behaviour  {', '.join(shown.behaviour)}"))
    console.print()
    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for column in ("OPERATION", "EFFECT", "BECAUSE OF", "ROW"):
        grid.add_column(column, overflow="fold")
    for each in shown.answers:
        grid.add_row(
            each.operation.value,
            effect_word(each.effect),
            each.standing.value,
            Text(safe_line(each.row)),
        )
    console.print(grid)
    console.print(Text(f"\nsnapshot {shown.snapshot}, table {shown.table_digest[:19]}"))


def _sentence(said: Said, now: float) -> str:
    parts = [f"level {said.level}, state {said.state}"]
    parts += ["deleted"] if said.deleted else []
    parts += [f"at risk since {shown_time(said.since)}"] if said.since else []
    parts += [f"sessions revoked {format_age(now - said.revoked)} ago"] if said.revoked else []
    if said.event_id:
        what = f"{said.event_type} " if said.event_type else ""
        parts.append(f"event {what}{said.event_id}")
    parts.append(f"updated {shown_time(said.updated)}")
    return "; ".join(parts)
