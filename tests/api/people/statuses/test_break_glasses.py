"""`kubectl get breakglasses,clusterapprovals`: each state of their lives, and why not."""

import pytest

from tests.api.admission.objects import new_namespace
from tests.api.people.break_glass.glass import (
    ON_CALL,
    approve,
    creates,
    new_name,
    opens,
    sealed,
    set_up,
)
from tests.api.people.exceptions.exceptions import ANN, API, AUTHOR, BEN, in_seconds
from tests.api.people.statuses.writer import StatusWriter
from tests.harness.programs.client import Client, Json
from tests.harness.worlds.rbac import grant, rule, user

KIND = "breakglasses"
DIGEST = f"sha256:{64 * 'a'}"


@pytest.fixture
async def glass(admin: Client, writer: StatusWriter) -> str:
    """A BreakGlass of a namespace that nobody has approved yet."""
    await set_up(admin)
    name = new_name()
    await admin.as_user(AUTHOR).create(sealed(await new_namespace(admin), name))
    return name


async def test_a_break_glass_is_sealed_then_opened_then_over(
    admin: Client, glass: str, writer: StatusWriter
) -> None:
    """Unapproved, sealed, open for its hours, and over; ENDS is empty while it is sealed."""
    row = await writer.until(KIND, glass, APPROVED="False", ACTIVE="False", WHY="WaitsForApproval")
    assert (row["ENDS"], row["HOURS"]) == ("", "1")
    await approve(admin, glass, ANN, BEN)
    row = await writer.until(KIND, glass, APPROVED="True", ACTIVE="False", WHY="Sealed")
    assert row["MESSAGE"] == "sealed: setting spec.activated to true opens it"
    await opens(admin.as_user(ON_CALL), glass)
    row = await writer.until(KIND, glass, APPROVED="True", ACTIVE="True", WHY="Open")
    assert row["MESSAGE"] == f"open until {row['ENDS']}"
    writer.ahead_s = 61
    writer.at_risk = {ON_CALL}
    await writer.until(KIND, glass, APPROVED="True", ACTIVE="False", WHY="OpenerAtRisk")
    writer.ahead_s, writer.at_risk = 3601, set()
    row = await writer.until(KIND, glass, ACTIVE="False", WHY="Over")
    assert row["MESSAGE"] == f"it ended at {row['ENDS']}; it is used once"


async def test_an_open_one_is_not_active_without_its_approvals(
    admin: Client, glass: str, writer: StatusWriter
) -> None:
    """Whoever withdraws an approval ends it; the other approval counts, and is one of two."""
    await approve(admin, glass, ANN, BEN)
    await opens(admin.as_user(ON_CALL), glass)
    await writer.until(KIND, glass, ACTIVE="True")
    await admin.as_user(BEN).delete(consent_of(glass, "ben"))
    row = await writer.until(KIND, glass, APPROVED="False", ACTIVE="False")
    assert row["MESSAGE"].startswith("1 of 2 people have approved it as it is: it waits")
    await writer.until("clusterapprovals", f"{glass}-ann", ACTIVE="True", APPROVED="False")


async def test_approvals_of_a_change_count_by_its_digest(
    admin: Client, glass: str, writer: StatusWriter
) -> None:
    """A profile's: what they approve is not written yet. Two of the same digest are two."""
    tier = rule(["sallyport.dev"], "approvaltiers", "approve")
    role, binding = grant("status-profiles", tier, user(ANN), user(BEN))
    await admin.apply([role, binding])
    attributes = {"group": "sallyport.dev", "resource": "approvaltiers", "name": "profiles"}
    for name in (ANN, BEN):
        await admin.as_user(name).wait_until_can("approve", attributes)
    await creates(admin.as_user(ANN), proposal(f"{glass}-a"))
    row = await writer.until("clusterapprovals", f"{glass}-a", ACTIVE="True", WHY="Counts")
    assert (row["APPROVED"], row["KIND"]) == ("False", "ContainerProfile")
    await creates(admin.as_user(BEN), proposal(f"{glass}-b"))
    for each in ("a", "b"):
        await writer.until("clusterapprovals", f"{glass}-{each}", ACTIVE="True", APPROVED="True")
    await admin.delete(binding)
    writer.step_s = 61
    await writer.until("clusterapprovals", f"{glass}-a", ACTIVE="False", WHY="ApproverMayNot")


def consent_of(glass: str, by: str) -> Json:
    """Return what names an approval of a BreakGlass."""
    return {"apiVersion": API, "kind": "ClusterApproval", "metadata": {"name": f"{glass}-{by}"}}


def proposal(name: str) -> Json:
    """Return an approval of a profile that is not there yet."""
    wanted = {"kind": "ContainerProfile", "name": name[:-2], "digest": DIGEST}
    return {
        "apiVersion": API,
        "kind": "ClusterApproval",
        "metadata": {"name": name},
        "spec": {"for": wanted, "expiresAt": in_seconds(3600)},
    }
