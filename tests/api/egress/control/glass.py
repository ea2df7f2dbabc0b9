"""BreakGlasses as the gate records them: who wrote, approved and opened one, and when.

No gate stands before this folder's cluster, so a test writes what it would have recorded.
"""

import time
from typing import Any, Final

import msgspec

from core.approvals.approvals import account_of
from core.approvals.break_glass import parse_break_glass
from core.base import names
from core.base.times import time_text
from core.people.subject import Subject
from core.people.two_person import person_of, write_person
from tests.harness.programs.client import Client, Json
from tests.harness.worlds.rbac import grant, rule, user

ADA: Final = Subject("ada@example.com")
ANN: Final = Subject("ann@example.com")
BEN: Final = Subject("ben@example.com")
HOUR_S: Final = 3600
END: Final = "2027-11-01T00:00:00Z"


async def let_approve(client: Client, *people: Subject) -> None:
    """Give people the right to approve BreakGlasses."""
    rules = rule(["sallyport.dev"], "approvaltiers", "approve", names.BREAK_GLASS_TIER)
    await client.apply(grant("glass-approvers", rules, *(user(each.username) for each in people)))


async def seal(client: Client, name: str, *namespaces: str, **spec: Any) -> Json:
    """Write one that Ada wrote, for egress."""
    fields: Json = {"namespaces": [*namespaces], "hours": 1, "reason": "a test", "egress": {}}
    annotations = {names.AUTHOR_ANNOTATION: write_person(person_of(ADA))}
    head = {"apiVersion": names.API_VERSION, "kind": "BreakGlass"}
    metadata = {"name": name, "annotations": annotations}
    said = {key: each for key, each in {**fields, **spec}.items() if each is not None}
    return await client.create({**head, "metadata": metadata, "spec": said})


async def approve(client: Client, glass: Json, *people: Subject) -> list[Json]:
    """Approve one as it is."""
    what = parse_break_glass(msgspec.json.encode(glass))
    return [await client.create(_approval(what.meta.name, what.approvable, who)) for who in people]


def _approval(name: str, what: Any, who: Subject) -> Json:
    annotations = {
        names.APPROVER_ACCOUNT_ANNOTATION: msgspec.json.encode(account_of(who)).decode(),
        names.APPROVED_UID_ANNOTATION: what.uid,
        names.APPROVED_DIGEST_ANNOTATION: what.digest,
    }
    by = who.username.partition("@")[0]
    return {
        "apiVersion": names.API_VERSION,
        "kind": "ClusterApproval",
        "metadata": {"name": f"{name}-{by}", "annotations": annotations},
        "spec": {"for": {"kind": "BreakGlass", "name": name}, "expiresAt": END},
    }


async def activate(client: Client, glass: Json, left_s: float = HOUR_S) -> None:
    """Open one, so that so many seconds of its one hour are left."""
    began = time_text(time.time() + left_s - HOUR_S)
    by = write_person(person_of(ADA))
    annotations = {
        names.ACTIVATED_AT_ANNOTATION: began,
        names.ACTIVATED_BY_ANNOTATION: by,
    }
    body = {"metadata": {"annotations": annotations}, "spec": {"activated": True}}
    await client.patch(glass, body)


async def break_glass(client: Client, name: str, *namespaces: str, **spec: Any) -> Json:
    """Write one, have it approved by two people, and open it."""
    glass = await seal(client, name, *namespaces, **spec)
    await approve(client, glass, ANN, BEN)
    await activate(client, glass)
    return glass
