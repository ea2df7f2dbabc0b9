"""`kubectl get policyexceptions,approvals`: each state of their lives, and why not."""

import pytest

from tests.api.admission.objects import new_namespace
from tests.api.people.exceptions.exceptions import (
    ANN,
    API,
    AUTHOR,
    BEN,
    approval,
    exception,
    in_seconds,
    set_up,
)
from tests.api.people.statuses.writer import StatusWriter
from tests.harness.programs.client import Client
from tests.harness.worlds.approvals import seen

KIND = "policyexceptions"


@pytest.fixture
async def place(admin: Client, writer: StatusWriter) -> str:
    """A namespace with an exception that nobody has approved yet."""
    await set_up(admin)
    namespace = await new_namespace(admin)
    await admin.as_user(AUTHOR).create(exception(namespace))
    return namespace


async def approve(admin: Client, place: str, *people: str) -> None:
    """Approve it as each of some people, by an Approval that has their first name."""
    for name in people:
        made = approval(place, name.partition("@")[0])
        await admin.as_user(name).create(await seen(admin, made))


async def test_an_exception_waits_then_holds_then_ends(
    admin: Client, place: str, writer: StatusWriter
) -> None:
    """Nobody, one person, two; then its time is over. Who approved is told by pseudonyms."""
    row = await writer.until(KIND, "llama", place, APPROVED="False", ACTIVE="False")
    assert row["WHY"] == "WaitsForApproval"
    waits = "people have approved it as it is: it waits for approval by others (sallyport approve)"
    assert row["MESSAGE"] == f"0 of 2 {waits}"
    await approve(admin, place, ANN)
    await writer.until(KIND, "llama", place, WHY="WaitsForApproval", MESSAGE=f"1 of 2 {waits}")
    await approve(admin, place, BEN)
    row = await writer.until(KIND, "llama", place, APPROVED="True", ACTIVE="True", WHY="InForce")
    assert row["MESSAGE"] == f"in force until {row['ENDS']}"
    found = await admin.get(API, "PolicyException", "llama", place)
    assert found["status"]["ends"] == row["ENDS"] == found["spec"]["expiresAt"]
    assert [each.partition(":")[0] for each in found["status"]["approvedBy"]] == ["user", "user"]
    writer.ahead_s = 3700
    row = await writer.until(KIND, "llama", place, ACTIVE="False", WHY="Expired")
    assert row["MESSAGE"] == f"it expired at {found['spec']['expiresAt']}"


async def test_it_ends_when_an_approval_does(
    admin: Client, place: str, writer: StatusWriter
) -> None:
    """The shorter approval says when, before its own time; then it is said why."""
    short = approval(place, "ben")
    short["spec"]["expiresAt"] = ends = in_seconds(1800)
    await approve(admin, place, ANN)
    await admin.as_user(BEN).create(await seen(admin, short))
    row = await writer.until(KIND, "llama", place, ACTIVE="True", ENDS=ends)
    writer.ahead_s = 1900
    row = await writer.until(KIND, "llama", place, ACTIVE="False", WHY="ApprovalExpired")
    assert row["MESSAGE"].endswith("the approval has expired")
    await writer.until("approvals", "ben", place, ACTIVE="False", WHY="ApprovalExpired", ENDS=ends)
    await writer.until("approvals", "ann", place, ACTIVE="True", APPROVED="False")


async def test_a_change_takes_its_approvals_away(
    admin: Client, place: str, writer: StatusWriter
) -> None:
    """It is told of the exception, and of each approval."""
    await approve(admin, place, ANN, BEN)
    await writer.until(KIND, "llama", place, ACTIVE="True")
    await writer.until("approvals", "ann", place, ACTIVE="True", WHY="Counts", APPROVED="True")
    changed = {"spec": {"reason": "it measures more"}}
    await admin.as_user(AUTHOR).patch(exception(place), changed)
    row = await writer.until(KIND, "llama", place, APPROVED="False", ACTIVE="False")
    assert row["WHY"] == "ChangedAfterApproval"
    assert "approved it as it was before it changed" in row["MESSAGE"]
    row = await writer.until("approvals", "ann", place, ACTIVE="False", APPROVED="False")
    assert (row["WHY"], row["KIND"]) == ("ChangedAfterApproval", "PolicyException")
    await admin.delete(exception(place))
    row = await writer.until("approvals", "ben", place, WHY="NoSuchObject")
    assert row["MESSAGE"] == "there is no PolicyException llama"
    await admin.as_user(AUTHOR).create(exception(place))
    row = await writer.until("approvals", "ben", place, WHY="ObjectReplaced")


async def test_risk_suspends_it_and_takes_approvals_away(
    admin: Client, place: str, writer: StatusWriter
) -> None:
    """Approved it stays while its author is at risk; not while an approver is."""
    await approve(admin, place, ANN, BEN)
    await writer.until(KIND, "llama", place, ACTIVE="True")
    writer.at_risk, writer.ahead_s = {AUTHOR}, 61
    row = await writer.until(KIND, "llama", place, APPROVED="True", ACTIVE="False")
    assert row["WHY"] == "Suspended"
    assert row["MESSAGE"] == "its author is at risk: suspended until the risk is gone"
    writer.at_risk, writer.ahead_s = {BEN}, 122
    row = await writer.until(KIND, "llama", place, APPROVED="False", WHY="ApproverAtRisk")
    await writer.until("approvals", "ben", place, ACTIVE="False", WHY="ApproverAtRisk")
    await writer.until("approvals", "ann", place, ACTIVE="True", APPROVED="False")
    writer.at_risk, writer.ahead_s = set(), 183
    await writer.until(KIND, "llama", place, APPROVED="True", ACTIVE="True")


async def test_nothing_is_written_where_nothing_has_changed(
    admin: Client, place: str, writer: StatusWriter
) -> None:
    """A run writes once, and the next ones nothing; nor is an approval lost by a write."""
    await approve(admin, place, ANN, BEN)
    await writer.until(KIND, "llama", place, ACTIVE="True")
    for name in ("ann", "ben"):
        await writer.until("approvals", name, place, ACTIVE="True")
    before = await admin.get(API, "PolicyException", "llama", place)
    writes = writer.writes()
    for ahead in (0, 61, 122):
        writer.ahead_s = ahead
        await writer.until(KIND, "llama", place, ACTIVE="True")
    after = await admin.get(API, "PolicyException", "llama", place)
    assert (writer.writes(), after) == (writes, before)
    assert after["metadata"]["generation"] == 1
