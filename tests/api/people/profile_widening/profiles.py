"""People who write profiles, and those who approve them."""

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, Final

from core.approvals.profile_widening import profile_digest
from core.profiles.container_profiles import parse_profile
from tests.harness.programs.client import ApiStatusError, Client, Json
from tests.harness.worlds.rbac import binding, grant, rule, user

API: Final = "sallyport.dev/v1alpha1"
PREFIX: Final = "widening-"

AUTHOR: Final = "profile-author@example.com"
ANN: Final = "profile-ann@example.com"
BEN: Final = "profile-ben@example.com"
EVE: Final = "profile-eve@example.com"
"""May write approvals; nobody lets her approve."""

TIER: Final = {"group": "sallyport.dev", "resource": "approvaltiers", "name": "profiles"}
MERGE: Final = "application/merge-patch+json"

_STAYS_S: Final = 0.7
_SETTLES_S: Final = 60.0


async def set_up(admin: Client) -> None:
    """Give everyone their rights; return once they have them."""
    kinds = rule(
        ["sallyport.dev"],
        "containerprofiles clusterapprovals breakglasses",
        "get list create update patch delete",
    )
    people = [*map(user, (AUTHOR, ANN, BEN, EVE))]
    await admin.apply(grant("profile-writers", kinds, *people))
    approvers = [user(AUTHOR), user(ANN), user(BEN)]
    await admin.apply([binding("sallyport-approve-profiles", *approvers, name="profile-approvers")])
    for name in (AUTHOR, ANN, BEN):
        await admin.as_user(name).wait_until_can("approve", TIER)


def new_name() -> str:
    """Return a name that nothing has."""
    return f"{PREFIX}{uuid.uuid4().hex[:8]}"


def profile(name: str, **spec: Any) -> Json:
    """Return a profile that covers little."""
    fields = {"rank": 900, "catalogue": 2, "privileges": ["host/port/80"]}
    made = {"apiVersion": API, "kind": "ContainerProfile", "metadata": {"name": name}}
    return {**made, "spec": {**fields, **spec}}


def consent(of: Json, by: str, *, uid: str = "", days: float = 1, **wanted: Any) -> Json:
    """Return a ClusterApproval of a profile as it is to be."""
    digest = profile_digest(
        parse_profile(json.dumps({**of, "metadata": {"name": _name(of)}}).encode())
    )
    ends = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + days * 86_400))
    what = {"kind": "ContainerProfile", "name": _name(of), "digest": digest, **wanted}
    return {
        "apiVersion": API,
        "kind": "ClusterApproval",
        "metadata": {"name": f"{by.partition('@')[0]}-{uuid.uuid4().hex[:8]}"},
        "spec": {"for": what | ({"uid": uid} if uid else {}), "expiresAt": ends},
    }


def _name(of: Json) -> str:
    return str(of["metadata"]["name"])


async def approve(admin: Client, of: Json, *people: str, uid: str = "") -> list[Json]:
    """Approve it as each of some people."""
    return [await admin.as_user(name).create(consent(of, name, uid=uid)) for name in people]


async def attempt(client: Client, item: Json, **parameters: str) -> str:
    """Create or replace a profile; give why the gate refuses, empty where it does not."""
    try:
        await client.apply([item], **parameters)
    except ApiStatusError as error:
        if error.status != HTTPStatus.FORBIDDEN or "profiles.sallyport.dev" not in error.message:
            raise
        return error.message
    return ""


async def write(client: Client, item: Json) -> None:
    """Create or replace a profile, once the gate has heard of its approvals."""
    end = time.monotonic() + _SETTLES_S
    while said := await attempt(client, item):
        assert " of 2 people have approved it" in said
        assert time.monotonic() < end, said
        await asyncio.sleep(0.1)


async def knows(client: Client, item: Json, says: str) -> None:
    """Wait until it would be refused with these words; without any, until it would be written."""
    end = time.monotonic() + _SETTLES_S
    while True:
        said = await attempt(client, item, dryRun="All")
        if says in said if says else not said:
            return
        assert time.monotonic() < end, said
        await asyncio.sleep(0.1)


async def stays(client: Client, item: Json, *words: str) -> None:
    """See for a while that it cannot be written, and why in the end."""
    began, said = time.monotonic(), ""
    while (took := time.monotonic() - began) < _STAYS_S or not all(each in said for each in words):
        assert took < _SETTLES_S, said
        said = await attempt(client, item)
        assert said, "it was written"
        await asyncio.sleep(0.1)


@asynccontextmanager
async def existing(admin: Client) -> AsyncIterator[tuple[Json, str]]:
    """Have a profile that two people approved, for a while: as it is written, and its UID."""
    item = profile(new_name())
    await approve(admin, item, ANN, BEN)
    await write(admin.as_user(AUTHOR), item)
    stored = await admin.get(API, "ContainerProfile", _name(item))
    yield item, str(stored["metadata"]["uid"])
    await admin.delete(item)
