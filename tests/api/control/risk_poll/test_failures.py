"""Whatever goes wrong with Entra ends in the stated result. The table says which."""

import asyncio
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from structlog.testing import capture_logs

from core.risk.model import RiskSource, RiskState, identity_key
from core.risk.snapshot import RiskSnapshot
from identity.entra.graph_requests import Resource
from kube.client.objects import Objects
from tests.api.control.risk_poll.polls import Polled, polled, quick, until
from tests.api.kube.objects import new_name
from tests.harness.fakes.entra.entra import FakeEntra, Fault
from tests.harness.programs.client import Client

Act = Callable[[FakeEntra], Any]

USERS = Resource.USERS
PERMISSION, LICENCE = USERS.permission, USERS.licence


def failing(fault: Fault, times: int = 1) -> Act:
    """Let requests for users fail."""
    return lambda entra: entra.fail(fault, USERS, times)


def heal(entra: FakeEntra) -> None:
    """Let nothing fail any more."""
    entra.heal()


def nothing(_: FakeEntra) -> None:
    """Do nothing: it mends itself."""


def without_permission(entra: FakeEntra) -> None:
    """Take a permission away; tokens that were issued before had it."""
    entra.permissions.discard(PERMISSION)
    entra.expire_tokens()


def without_sign_in(code: int, error: str = "invalid_client", status: int = 400) -> Act:
    """Let Entra refuse tokens."""

    def act(entra: FakeEntra) -> None:
        entra.fail_sign_in(error, code, status)
        entra.expire_tokens()

    return act


def without_token_file(entra: FakeEntra) -> None:
    """Take the cluster's token away."""
    entra.desk.token_file.unlink()
    entra.expire_tokens()


def with_expired_token_file(entra: FakeEntra) -> None:
    """Leave the cluster's token as it was an hour ago: it is not renewed."""
    entra.desk.project_token(entra.now(), -60)
    entra.expire_tokens()


def renew_token_file(entra: FakeEntra) -> None:
    """Renew it."""
    entra.desk.project_token(entra.now())


@dataclass(frozen=True)
class Row:
    """What goes wrong, and what must come of it."""

    what: str
    act: Act
    result: str
    """Of `sallyport_risk_requests_total{resource="users"}`."""
    says: str = ""
    """In `Coverage.problem` and in the log; nothing for what passes by itself."""
    mend: Act = heal
    unlicensed: bool = False
    timeout_s: float = field(default=10.0)


TABLE = (
    Row("429 without Retry-After", failing(Fault.THROTTLED), "throttled"),
    Row("429 with Retry-After", failing(Fault.RETRY_AFTER), "throttled"),
    Row("429 again", failing(Fault.THROTTLED, 2), "throttled", "too many requests", nothing),
    Row("503", failing(Fault.UNAVAILABLE), "server-error"),
    Row("no answer", failing(Fault.SLOW), "timeout", timeout_s=3.0),
    Row("half of the JSON", failing(Fault.TRUNCATED), "unreadable"),
    Row("cut in the answer", failing(Fault.CUT), "cut"),
    Row("cut before the answer", failing(Fault.RESET), "cut"),
    Row("a page of HTML", failing(Fault.NO_JSON), "unreadable"),
    Row("9 MiB", failing(Fault.LONG, 0), "too-large", "more than"),
    Row("302", failing(Fault.REDIRECT, 0), "redirected", "not followed"),
    Row("a next page elsewhere", failing(Fault.FOREIGN_LINK, 0), "foreign-link", "elsewhere"),
    Row("pages without an end", failing(Fault.ENDLESS, 0), "foreign-link", "without an end"),
    Row("401 once", failing(Fault.UNAUTHORIZED), "ok", mend=nothing),
    Row("401 always", failing(Fault.UNAUTHORIZED, 0), "unauthorized", "token is not accepted"),
    Row("the token expires", lambda entra: entra.expire_tokens(), "ok", mend=nothing),
    Row("403, a permission", without_permission, "permission", PERMISSION),
    Row(
        "403, the licence",
        lambda entra: entra.licences.discard(LICENCE),
        *("licence", LICENCE),
        unlicensed=True,
    ),
    Row("no such subject", without_sign_in(700213), "token", "AADSTS700213"),
    Row("sign-in is throttled", without_sign_in(90055, "x", 429), "token", "AADSTS90055"),
    Row("no token file", without_token_file, "token", "cannot be read", renew_token_file),
    Row("an old token file", with_expired_token_file, "token", "clock", renew_token_file),
    Row("nobody there", FakeEntra.down, "unreachable", mend=FakeEntra.up),
)


def is_risky(snapshot: RiskSnapshot, object_id: str) -> bool:
    """Return whether somebody is at risk."""
    entry = snapshot.entry(RiskSource.ENTRA, identity_key(object_id))
    return entry is not None and entry.state is RiskState.AT_RISK


async def play(row: Row, objects: Objects, client: Client, folder: Path) -> None:
    """Let one thing go wrong, and be mended."""
    namespace = new_name("poll")
    await client.create_namespace(namespace)
    entra = FakeEntra(folder).start()
    before, after = str(uuid.uuid4()), str(uuid.uuid4())
    entra.put_user(before, level="high", state="atRisk", updated=entra.now() - 86_400)
    try:
        async with polled(objects, namespace, entra, quick(entra, row.timeout_s)) as poller:
            await poller.until("known", lambda each: each.head.users.as_of is not None)
            await go_wrong(row, poller, before, after)
            row.mend(entra)

            def mended(snapshot: RiskSnapshot) -> bool:
                users = snapshot.head.users
                return not users.problem and not users.unlicensed

            await poller.until(f"{row.what}: mended", mended, 120)
            what = f"{row.what}: who changed meanwhile is not lost"
            await poller.until(what, lambda each: is_risky(each, after), 120)
            assert is_risky(await poller.snapshot(), before), row.what
            assert entra.violations == 0, row.what
    finally:
        entra.stop()


async def go_wrong(row: Row, poller: Polled, before: str, after: str) -> None:
    """Let it go wrong, and see what comes of it."""
    entra = poller.entra
    row.act(entra)
    began = entra.now()
    name, labels = "sallyport_risk_requests_total", {"resource": "users", "result": row.result}
    count = poller.metric(name, **labels)
    entra.put_user(after, level="medium", state="atRisk")

    async def is_counted() -> bool:
        return poller.metric(name, **labels) > count

    await until(f"{row.what}: counted", is_counted)
    if row.says:
        snapshot = await poller.until(
            f"{row.what}: said", lambda each: row.says in each.head.users.problem
        )
        users = snapshot.head.users
        assert users.unlicensed is row.unlicensed, row.what
        assert users.as_of is not None
        assert users.as_of <= began + 1, f"{row.what}: what was not read is not known"
        assert snapshot.head.users.full is not None, "what was known is known"
    assert is_risky(await poller.snapshot(), before), f"{row.what}: nobody is cleared"


async def test_every_failure_ends_in_its_row_of_the_table(
    objects: Objects, client: Client, tmp_path: Path
) -> None:
    """Counted, said where it lasts; nobody is cleared, nothing is lost; and it mends itself.

    All rows at once, each with an Entra and a namespace of its own.
    """
    with capture_logs() as logs:
        folders = [tmp_path / str(number) for number in range(len(TABLE))]
        for folder in folders:
            folder.mkdir()
        plays = (
            play(row, objects, client, folder) for row, folder in zip(TABLE, folders, strict=True)
        )
        ends = await asyncio.gather(*plays, return_exceptions=True)
    failed = {row.what: end for row, end in zip(TABLE, ends, strict=True) if end is not None}
    assert not failed
    texts = [str(each) for each in logs]
    for row in TABLE:
        assert any(row.says in each for each in texts), row.what
    assert not [each for each in texts if "anary" in each], "Entra's texts are not quoted"
