"""`kubectl get accessgrants`, and approvals of grants and allowlists: each state, and why not."""

import pytest

from tests.api.admission.objects import new_namespace
from tests.api.people.exceptions.exceptions import ANN, API, AUTHOR, BEN, approval, in_seconds
from tests.api.people.exceptions.exceptions import set_up as set_up_exceptions
from tests.api.people.statuses.writer import StatusWriter
from tests.harness.programs.client import Client, Json
from tests.harness.worlds.approvals import seen
from tests.harness.worlds.rbac import grant, rule, user

KIND = "accessgrants"
PERSON = "oid:00000000-0000-4000-8000-00000000000a"


def access(namespace: str, **spec: str) -> Json:
    """Return an AccessGrant."""
    fields: Json = {
        "store": "status-llama",
        "rights": ["read"],
        "people": [PERSON],
        "reason": "it trains",
        "expiresAt": in_seconds(3600),
    }
    metadata = {"name": "train", "namespace": namespace}
    return {"apiVersion": API, "kind": "AccessGrant", "metadata": metadata, "spec": fields | spec}


def allowlist(namespace: str) -> Json:
    """Return an EgressAllowlist."""
    spec = {
        "serviceAccounts": ["default"],
        "to": [{"cidr": "192.0.2.0/24", "ports": [{"protocol": "TCP", "port": 443}]}],
        "owner": "train-team",
        "reason": "it downloads",
        "expiresAt": in_seconds(3600),
    }
    metadata = {"name": "hub", "namespace": namespace}
    return {"apiVersion": API, "kind": "EgressAllowlist", "metadata": metadata, "spec": spec}


@pytest.fixture
async def place(admin: Client, writer: StatusWriter) -> str:
    """A namespace, and people who may write and approve grants and allowlists."""
    await set_up_exceptions(admin)
    kinds = rule(["sallyport.dev"], "accessgrants egressallowlists", "get list create delete")
    approve = rule(["sallyport.dev"], "approvaltiers", "approve")
    people = [*map(user, (AUTHOR, ANN, BEN))]
    await admin.apply(grant("status-writers", kinds, *people))
    await admin.apply(grant("status-approvers", approve, *people))
    for tier in ("grants", "egress"):
        for name in (ANN, BEN):
            attributes = {"group": "sallyport.dev", "resource": "approvaltiers", "name": tier}
            await admin.as_user(name).wait_until_can("approve", attributes)
    return await new_namespace(admin)


async def approve(admin: Client, place: str, kind: str, name: str, *people: str) -> None:
    """Approve an object as each of some people, by an Approval that has their first name."""
    for who in people:
        made = approval(place, who.partition("@")[0], of=name)
        made["spec"]["for"]["kind"] = kind
        await admin.as_user(who).create(await seen(admin, made))


async def test_a_grant_waits_begins_and_ends(
    admin: Client, place: str, writer: StatusWriter
) -> None:
    """Without approvals, before its time, in force, and after it."""
    begins = in_seconds(1800)
    await admin.as_user(AUTHOR).create(access(place, notBefore=begins))
    row = await writer.until(KIND, "train", place, APPROVED="False", ACTIVE="False", WHY="NotBegun")
    await approve(admin, place, "AccessGrant", "train", ANN, BEN)
    row = await writer.until(KIND, "train", place, APPROVED="True", ACTIVE="False")
    assert (row["WHY"], row["MESSAGE"]) == ("NotBegun", f"it begins at {begins}")
    writer.ahead_s = 1801
    row = await writer.until(KIND, "train", place, ACTIVE="True", WHY="InForce")
    gone = "there is no WeightStore status-llama, so it gives nothing"
    assert row["MESSAGE"] == f"in force until {row['ENDS']}; {gone}"
    writer.ahead_s = 3601
    row = await writer.until(KIND, "train", place, ACTIVE="False", WHY="Expired")
    assert row["MESSAGE"] == f"it expired at {row['ENDS']}"


async def test_approvals_of_an_allowlist_count(
    admin: Client, place: str, writer: StatusWriter
) -> None:
    """What they are of has a status of its own; theirs says that they count, and for how many."""
    await admin.as_user(AUTHOR).create(allowlist(place))
    await approve(admin, place, "EgressAllowlist", "hub", ANN)
    row = await writer.until("approvals", "ann", place, ACTIVE="True", WHY="Counts")
    assert (row["APPROVED"], row["KIND"], row["FOR"]) == ("False", "EgressAllowlist", "hub")
    await approve(admin, place, "EgressAllowlist", "hub", BEN)
    await writer.until("approvals", "ann", place, ACTIVE="True", APPROVED="True")
    await admin.delete(allowlist(place))
    await writer.until("approvals", "ann", place, ACTIVE="False", WHY="NoSuchObject")
