"""A BreakGlass of the people of these tests."""

import time
from functools import partial

from tests.api.weights.granting.conftest import ANN, API, BEN, human, in_seconds, soon
from tests.harness.programs.client import Client, Json
from tests.harness.worlds.rbac import binding, user

SEALER = "sealer@example.com"
ON_CALL = "oncall@example.com"
_TIER = {"group": "sallyport.dev", "resource": "approvaltiers", "name": "break-glass"}
_APPROVE = "sallyport-approve-break-glass"


def sealed(namespace: str, *rules: str, privileges: list[str] | None = None) -> Json:
    """Return one for a namespace."""
    fields: Json = {"namespaces": [namespace], "hours": 1, "reason": "the fabric is down"}
    fields |= {"rules": list(rules)} if rules else {}
    fields |= {"privileges": privileges} if privileges else {}
    metadata = {"name": f"{namespace}-{time.monotonic_ns()}"}
    return {"apiVersion": API, "kind": "BreakGlass", "metadata": metadata, "spec": fields}


async def open_glass(admin: Client, glass: Json) -> Json:
    """Have it sealed, approved by two others, and opened."""
    await admin.apply([binding(_APPROVE, user(ANN), user(BEN), name="weights-glass")])
    for name in (ANN, BEN):
        await admin.as_user(name).wait_until_can("approve", _TIER)
    await human(admin, SEALER).create(glass)
    for name in (ANN, BEN):
        named = {"kind": "BreakGlass", "name": glass["metadata"]["name"]}
        metadata = {"name": f"{named['name']}-{name.partition('@')[0]}"}
        await human(admin, name).create(
            {
                "apiVersion": API,
                "kind": "ClusterApproval",
                "metadata": metadata,
                "spec": {"for": named, "expiresAt": in_seconds(3600)},
            }
        )
    opens = partial(human(admin, ON_CALL).patch, glass, {"spec": {"activated": True}})
    opened: Json = await soon(opens)
    return opened
