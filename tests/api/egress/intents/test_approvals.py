"""What is broad is approved by two others, from the command line too; each consent is recorded."""

import json

import msgspec
import pytest

from core.approvals.approvals import CLUSTER_KIND, parse_approval
from core.egress.allowlists import parse_allowlist, parse_destinations
from core.people.two_person import ApprovalTerms, Approved, NotApproved, judge_approval
from tests.api.egress.intents.people import (
    ANN,
    API,
    AUTHOR,
    BEN,
    allowlist,
    approval,
    new_name,
    shared,
)
from tests.api.people.exceptions.test_approve_command import approve
from tests.harness.programs.client import ApiStatusError, Client, Json
from tests.harness.programs.guarded_apiserver import Installation
from tests.harness.worlds.approvals import seen

BROAD = {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}


async def counted(admin: Client, item: Json) -> Approved | NotApproved:
    """Ask the two-person rule about an intent and its approvals as they are stored."""
    meta = item["metadata"]
    place = f"namespaces/{meta['namespace']}/" if "namespace" in meta else ""
    stored = await admin.get(API, item["kind"], meta["name"], meta.get("namespace"))
    raw = msgspec.json.encode(stored)
    what = parse_allowlist(raw) if place else parse_destinations(raw)
    kind = "Approval" if place else CLUSTER_KIND
    _, listed = await admin.request("GET", f"/apis/{API}/{place}{kind.lower()}s")
    found = [parse_approval(msgspec.json.encode(each), kind=kind) for each in listed["items"]]
    consents = [each.consent for each in found if each.consent]
    everyone = {each.approval for each in consents}
    return judge_approval(what.approvable, consents, everyone, 0.0, ApprovalTerms())


@pytest.mark.parametrize("cluster", [False, True])
async def test_broad_allowlist_needs_two_other_approvers(
    admin: Client, place: str, *, cluster: bool
) -> None:
    """Not its author; and a change starts from none."""
    item = shared(new_name("all"), BROAD) if cluster else allowlist(place, BROAD)
    await admin.as_user(AUTHOR).create(item)
    base = new_name("by")
    with pytest.raises(ApiStatusError) as error:
        await admin.as_user(AUTHOR).create(await seen(admin, approval(item, base)))
    assert "nobody approves their own" in error.value.message
    await admin.as_user(ANN).create(await seen(admin, approval(item, f"{base}-ann")))
    assert isinstance(await counted(admin, item), NotApproved)
    await admin.as_user(BEN).create(await seen(admin, approval(item, f"{base}-ben")))
    assert isinstance(await counted(admin, item), Approved)
    await admin.as_user(AUTHOR).patch(item, {"spec": {"reason": "another"}})
    assert isinstance(await counted(admin, item), NotApproved)


async def test_each_kind_has_its_own_approvals(admin: Client, place: str) -> None:
    """Neither approves the other's: their definitions say so."""
    name = new_name("all")
    await admin.as_user(AUTHOR).create(shared(name, BROAD))
    crossed = approval(allowlist(place, BROAD), "crossed")
    crossed["spec"]["for"]["kind"] = "EgressDestinations"
    with pytest.raises(ApiStatusError) as error:
        await admin.as_user(ANN).create(crossed)
    assert error.value.status == 422


async def test_the_command_shows_what_it_opens(
    admin: Client, place: str, installation: Installation
) -> None:
    """Each destination with a plus, its owner and its end; what is approved is what was shown."""
    entries = (
        BROAD,
        {"dnsName": "xn--bcher-kva.example", "within": ["10.8.0.0/24"]},
        {"serviceTag": "AzureCloud"},
        {"service": {"name": "db", "namespace": "eval"}},
        {"pods": {"namespace": "eval", "serviceAccounts": ["a"]}},
    )
    await admin.as_user(AUTHOR).create(allowlist(place, *entries))
    code, shown, errors = await approve(installation, "alice", "eal", "packages", "-n", place, "-y")
    assert code == 0, errors
    for words in (
        f"EgressAllowlist {place}/packages",
        "owner:    platform",
        "expires:",
        "Pods of trainer may connect to",
        "+ 10.0.0.0/8 but 10.1.0.0/16, TCP 443",
        "+ xn--bcher-kva.example ('b\\xfccher.example') within 10.8.0.0/24, TCP 443",
        "+ service tag AzureCloud, TCP 443",
        "+ Service eval/db, TCP 443",
        "+ Pods of a in eval, TCP 443",
    ):
        assert words in shown
    code, shown, errors = await approve(
        installation, "bob", "egressallowlist", "packages", "-n", place, "-y", "-o", "json"
    )
    assert code == 0, errors
    assert json.loads(shown)["approved"]
    assert isinstance(await counted(admin, allowlist(place, *entries)), Approved)


async def test_the_command_approves_sets(
    admin: Client, place: str, installation: Installation
) -> None:
    """They lie in no namespace, and need not end."""
    assert place
    name = new_name("all")
    item = shared(name, BROAD)
    await admin.as_user(AUTHOR).create(item)
    code, shown, errors = await approve(installation, "alice", "eds", name, "--yes")
    assert code == 0, errors
    assert "expires:  never" in shown
    code, shown, _ = await approve(installation, "bob", "egressdestinations", name, "--show")
    assert (code, "approved as it is by user:" in shown) == (0, True)
    assert isinstance(await counted(admin, item), NotApproved)
