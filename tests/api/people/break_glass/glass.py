"""People who seal, approve and open a BreakGlass."""

import asyncio
import time
import uuid
from typing import Any, Final

from tests.api.people.exceptions.exceptions import (
    ANN,
    API,
    APPROVERS,
    AUTHOR,
    BEN,
    SETTLES_WITHIN_S,
    in_seconds,
)
from tests.api.people.exceptions.exceptions import set_up as set_up_exceptions
from tests.harness.programs.client import ApiStatusError, Client, Json
from tests.harness.worlds.approvals import seen
from tests.harness.worlds.rbac import binding, grant, group, rule, user

ON_CALL: Final = "oncall@example.com"
"""May open what is approved, and approve nothing."""

ADMIN: Final = "masterclient"
"""AKS's local admin account."""

MERGE: Final = "application/merge-patch+json"
TIER: Final = {"group": "sallyport.dev", "resource": "approvaltiers", "name": "break-glass"}
OPENED: Final = {"spec": {"activated": True}}

APPROVE_ROLE: Final[Json] = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "sallyport-approve-break-glass"},
    "rules": [
        {
            "apiGroups": ["sallyport.dev"],
            "resources": ["approvaltiers"],
            "resourceNames": ["break-glass"],
            "verbs": ["approve"],
        }
    ],
}


async def set_up(admin: Client) -> None:
    """Give everyone their rights; return once they have them."""
    await set_up_exceptions(admin)
    people = [*map(user, (AUTHOR, ANN, BEN)), group(APPROVERS)]
    kinds = rule(
        ["sallyport.dev"],
        "breakglasses clusterapprovals",
        "get list create update patch delete",
    )
    await admin.apply(grant("glass-writers", kinds, *people, user(ON_CALL)))
    await admin.apply([APPROVE_ROLE])
    approvers = [user(AUTHOR), user(ANN), user(BEN), group(APPROVERS)]
    role = "sallyport-approve-break-glass"
    await admin.apply([binding(role, *approvers, name="glass-approvers")])
    for name in (AUTHOR, ANN, BEN):
        await admin.as_user(name).wait_until_can("approve", TIER)
    attributes = {"group": "sallyport.dev", "resource": "breakglasses"}
    await admin.as_user(ON_CALL).wait_until_can("patch", attributes)


def new_name() -> str:
    """Return a name that nothing has: these objects lie in no namespace."""
    return f"fire-{uuid.uuid4().hex[:8]}"


def sealed(namespace: str, name: str, **spec: Any) -> Json:
    """Return a BreakGlass for everything in a namespace."""
    fields: Json = {
        "namespaces": [namespace],
        "rules": ["*"],
        "hours": 1,
        "reason": "the fabric is down",
    }
    metadata = {"name": name}
    return {"apiVersion": API, "kind": "BreakGlass", "metadata": metadata} | {"spec": fields | spec}


def consent(of: str, by: str) -> Json:
    """Return a ClusterApproval."""
    return {
        "apiVersion": API,
        "kind": "ClusterApproval",
        "metadata": {"name": f"{of}-{by.lower().partition('@')[0]}"},
        "spec": {"for": {"kind": "BreakGlass", "name": of}, "expiresAt": in_seconds(3600)},
    }


async def approve(admin: Client, of: str, *people: str) -> None:
    """Approve it as each of some people."""
    for name in people:
        await admin.as_user(name).create(await seen(admin, consent(of, name)))


async def change(
    client: Client, name: str, body: Json, kind: str = MERGE, **parameters: str
) -> tuple[int, str]:
    """Patch it; give the status code and the message."""
    path = f"/apis/{API}/breakglasses/{name}"
    status, answer = await client.request(
        "PATCH", path, body, content_type=kind, parameters=parameters or None
    )
    return status, str(answer.get("message", ""))


async def opens(client: Client, name: str) -> None:
    """Open it, once the gate has heard of its approvals."""
    end = time.monotonic() + SETTLES_WITHIN_S
    while True:
        status, said = await change(client, name, OPENED)
        if status == 200:
            return
        assert "is not approved: 1 of 2" in said or "is not approved: 0 of 2" in said, said
        assert time.monotonic() < end, said
        await asyncio.sleep(0.1)


async def knows(client: Client, name: str, words: str) -> None:
    """Try to open it until it is refused with these words: the gate has heard of approvals."""
    end = time.monotonic() + SETTLES_WITHIN_S
    while words not in (said := await change(client, name, OPENED))[1]:
        assert said[0] == 403, said
        assert time.monotonic() < end, said
        await asyncio.sleep(0.1)


async def creates(client: Client, item: Json) -> None:
    """Create it once the gate lets its author: it remembers a refusal for seconds."""
    end = time.monotonic() + SETTLES_WITHIN_S
    while True:
        try:
            await client.create(item)
        except ApiStatusError:
            assert time.monotonic() < end
            await asyncio.sleep(0.1)
        else:
            return
