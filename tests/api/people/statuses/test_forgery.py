"""Nobody but control writes a status; whoever could, would deceive readers for one run, no gate."""

import asyncio
from copy import deepcopy
from typing import Final

import pytest

from control.approvals.loop import NoStatusError
from tests.api.admission.objects import new_namespace
from tests.api.people.exceptions.exceptions import (
    ANN,
    API,
    AUTHOR,
    BEN,
    approval,
    begins,
    exception,
    set_up,
    stays_out,
)
from tests.api.people.statuses.writer import StatusWriter
from tests.harness.programs.client import Client, Json, read_objects
from tests.harness.programs.webhooks import CRDS
from tests.harness.worlds.approvals import seen
from tests.harness.worlds.rbac import user

RESEARCHER: Final = "researcher@example.com"
MERGE: Final = "application/merge-patch+json"
KIND: Final = "policyexceptions"
FORGED: Final[Json] = {
    "observedGeneration": 1,
    "ends": "2099-01-01T00:00:00Z",
    "approvedBy": ["user:0123456789abcdef", "user:fedcba9876543210"],
    "conditions": [
        {
            "type": kind,
            "status": "True",
            "reason": "TwoPeople",
            "message": "approved",
            "lastTransitionTime": "2020-01-01T00:00:00Z",
        }
        for kind in ("Approved", "Active")
    ],
}


@pytest.fixture
async def place(admin: Client, writer: StatusWriter) -> str:
    """A namespace with an exception that one person has approved; a researcher may do all in it."""
    await set_up(admin)
    namespace = await new_namespace(admin)
    await admin.as_user(AUTHOR).create(exception(namespace))
    await admin.as_user(ANN).create(await seen(admin, approval(namespace, "ann")))
    group = "rbac.authorization.k8s.io"
    role: Json = {
        "apiVersion": f"{group}/v1",
        "kind": "Role",
        "metadata": {"name": "all", "namespace": namespace},
        "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
    }
    binding: Json = {
        **role,
        "kind": "RoleBinding",
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "all"},
        "subjects": [user(RESEARCHER)],
    }
    del binding["rules"]
    await admin.apply([role, binding])
    attributes = {"group": "sallyport.dev", "resource": KIND, "subresource": "status"}
    await admin.as_user(RESEARCHER).wait_until_can("update", {**attributes, "namespace": namespace})
    await writer.until(KIND, "llama", namespace, WHY="WaitsForApproval")
    await _until_guarded(admin.as_user(RESEARCHER), namespace)
    return namespace


async def _until_guarded(researcher: Client, place: str) -> None:
    """Wait until kube-apiserver evaluates the policy."""
    whole = path(place, "/status")
    dry = {"dryRun": "All"}
    async with asyncio.timeout(60):
        while True:
            body = {"status": FORGED}
            answer = await researcher.request(
                "PATCH", whole, body, parameters=dry, content_type=MERGE
            )
            if answer[0] == 403:
                return
            await asyncio.sleep(0.1)


def path(place: str, subresource: str = "", name: str = f"{KIND}/llama") -> str:
    """Return where it lies."""
    return f"/apis/{API}/namespaces/{place}/{name}{subresource}"


async def test_a_researcher_writes_no_status(
    admin: Client, place: str, writer: StatusWriter
) -> None:
    """Neither by PATCH nor by PUT, of exception and approval, nor by writing the object itself."""
    researcher = admin.as_user(RESEARCHER)
    before = await admin.get(API, "PolicyException", "llama", place)
    for name in (f"{KIND}/llama", "approvals/ann"):
        status, answer = await researcher.request(
            "PATCH", path(place, "/status", name), {"status": FORGED}, content_type=MERGE
        )
        assert (status, "status-guard.sallyport.dev" in answer["message"]) == (403, True), answer
    status, _ = await researcher.request("PUT", path(place, "/status"), {**before, "status": {}})
    assert status == 403
    status, answer = await researcher.request("PUT", path(place), {**before, "status": FORGED})
    assert status == 200, answer
    status, answer = await researcher.request(
        "PATCH", path(place), {"status": FORGED}, content_type=MERGE
    )
    assert (status, answer["status"]) == (200, before["status"])
    assert await admin.get(API, "PolicyException", "llama", place) == before
    await writer.run()
    assert (await writer.row(KIND, "llama", place))["ACTIVE"] == "False"


async def test_a_new_object_brings_no_status(
    admin: Client, place: str, writer: StatusWriter
) -> None:
    """What its author writes there is not stored."""
    made = exception(place, "other")
    found = await admin.as_user(AUTHOR).create({**made, "status": FORGED})
    assert "status" not in found
    await writer.until(KIND, "other", place, APPROVED="False", ACTIVE="False")


async def test_a_forged_status_puts_nothing_in_force_and_lasts_one_run(
    admin: Client, place: str, writer: StatusWriter
) -> None:
    """Whoever may do everything can forge and erase it: no gate believes it, one run mends it."""
    before = (await admin.get(API, "PolicyException", "llama", place))["status"]
    forgeries: tuple[Json | None, ...] = (
        FORGED,
        {"conditions": None},
        None,
        {"ends": None, "conditions": [], "x": 1},
    )
    for forged in forgeries:
        status, answer = await admin.request(
            "PATCH", path(place, "/status"), {"status": forged}, content_type=MERGE
        )
        assert (status, answer.get("status") == before) == (200, False), answer
        await stays_out(admin, place)
        await writer.run()
        found = await admin.get(API, "PolicyException", "llama", place)
        assert found["status"] == before


async def test_the_status_subresource_changes_nothing_else(admin: Client, place: str) -> None:
    """Neither the spec nor who wrote it, for whoever may write a status."""
    before = await admin.get(API, "PolicyException", "llama", place)
    forged = deepcopy(before)
    forged["metadata"]["annotations"]["sallyport.dev/author"] = "user:0123456789abcdef"
    forged["spec"]["reason"] = "other"
    forged["status"]["approvedBy"] = []
    status, after = await admin.request("PUT", path(place, "/status"), forged)
    assert status == 200
    for field in ("annotations", "generation"):
        assert after["metadata"][field] == before["metadata"][field]
    assert after["spec"] == before["spec"]


async def test_objects_of_definitions_without_status_go_on(
    admin: Client, place: str, writer: StatusWriter
) -> None:
    """Before the kinds are upgraded all but the status works; nobody approves anew afterwards."""
    (new,) = read_objects(CRDS / f"{KIND}.yaml")
    old = deepcopy(new)
    version = old["spec"]["versions"][0]
    del version["subresources"], version["schema"]["openAPIV3Schema"]["properties"]["status"]
    version["additionalPrinterColumns"] = version["additionalPrinterColumns"][-1:]
    await admin.apply([old])
    try:
        await _until_status_is(admin, place, served=False)
        with pytest.raises(NoStatusError, match=f"{KIND}[.]sallyport[.]dev: it has no status"):
            await _run_for_long(writer)
        await admin.as_user(BEN).create(await seen(admin, approval(place, "ben")))
        await begins(admin, place)
    finally:
        await admin.apply([new])
    await _until_status_is(admin, place, served=True)
    await writer.until(KIND, "llama", place, APPROVED="True", ACTIVE="True", WHY="InForce")
    await begins(admin, place)


async def _run_for_long(writer: StatusWriter) -> None:
    for _ in range(100):
        await writer.run()
        await asyncio.sleep(0.1)


async def _until_status_is(admin: Client, place: str, *, served: bool) -> None:
    """Wait until kube-apiserver serves the definition that was applied."""
    async with asyncio.timeout(60):
        while True:
            status, _ = await admin.request("GET", path(place, "/status"))
            kept = "status" in (await admin.get(API, "PolicyException", "llama", place))
            if (status == 200) == served and (served or not kept):
                return
            await asyncio.sleep(0.1)
