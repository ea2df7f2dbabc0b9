"""Objects that are no Pods, judged for their authors by the privileges that they hand out."""

import pytest

from tests.api.objects.conftest import Refused
from tests.api.objects.other_objects import MAKINGS, Making
from tests.api.objects.people import People
from tests.harness.programs.client import ApiStatusError, Client, Json, Outcome

pytestmark = pytest.mark.proof

every_making = pytest.mark.parametrize("making", MAKINGS, ids=lambda making: making.name)


@every_making
async def test_its_author_needs_the_privileges(
    people: People, making: Making, refused: Refused
) -> None:
    """Whoever has `restricted`, `baseline` or nothing is refused, and told the privileges."""
    for asked_by in (people.using("restricted"), people.using("baseline"), people.nobody()):
        answer = await asked_by.dry_run(making.item)
        assert answer.outcome is Outcome.DENIED, answer.body
        missing = [each for each in making.privileges if f"privilege {each}," not in answer.message]
        assert missing == []
    refused[f"{making.name} ({making.item['kind']})"] = making.privileges


@every_making
async def test_its_author_needs_no_others(people: People, making: Making) -> None:
    """Whoever has these privileges makes it."""
    answer = await people.using(f"may-{making.name}").dry_run(making.item)
    assert answer.outcome is Outcome.ALLOWED, answer.message


async def test_a_runtime_class_cannot_be_made_anew_with_another_handler(
    people: People, admin: Client
) -> None:
    """Deleting `gvisor` is left to RBAC; making it again with runc takes that very privilege."""
    gvisor: Json = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "gvisor"},
        "handler": "runsc",
    }
    await admin.create(gvisor)
    researcher = people.using("restricted")
    with pytest.raises(ApiStatusError, match="handler"):  # The API has it immutable.
        await researcher.patch(gvisor, {"handler": "runc"})
    await researcher.delete(gvisor)
    for asked_by in (researcher, people.using("may-runtime-class")):
        answer = await asked_by.dry_run({**gvisor, "handler": "runc"})
        assert answer.outcome is Outcome.DENIED
        assert "privilege runtime-class/gvisor/runc," in answer.message


async def test_a_class_cannot_be_widened_later(people: People, admin: Client) -> None:
    """What an object gains by an update is judged for whoever updates it; labels are not."""
    driver = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": "widened.example.com"},
        "spec": {"podInfoOnMount": True},
    }
    await admin.create(driver)
    researcher = people.using("restricted")
    await researcher.patch(driver, {"metadata": {"labels": {"harmless": "yes"}}})
    wider = {"spec": {"tokenRequests": [{"audience": "vault"}]}}
    with pytest.raises(ApiStatusError, match="token/audience/vault"):
        await researcher.patch(driver, wider)
    await admin.delete(driver)


async def test_a_priority_cannot_become_the_default(people: People, admin: Client) -> None:
    """Whoever may make the class cannot make it everyone's: that is a privilege of its own."""
    made = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "made"},
        "value": 10,
    }
    holder = people.using("may-priority")
    await holder.create(made)
    with pytest.raises(ApiStatusError, match="privilege scheduling/priority-default,"):
        await holder.patch(made, {"globalDefault": True})
    await admin.delete(made)
