"""Ways to have checks relaxed without two people who approved just that: none works."""

from typing import Any

import pytest

from tests.api.admission.objects import new_namespace
from tests.api.people.break_glass.glass import (
    ADMIN,
    ON_CALL,
    OPENED,
    approve,
    change,
    consent,
    creates,
    knows,
    new_name,
    opens,
    sealed,
    set_up,
)
from tests.api.people.exceptions.exceptions import (
    ANN,
    API,
    APPROVERS,
    AUTHOR,
    BEN,
    RUNNER,
    approval,
    begins,
    ends,
    exception,
    in_seconds,
    runs,
    stays_out,
)
from tests.harness.programs.client import APPLY_PATCH, ApiStatusError, Client, Json, Outcome
from tests.harness.worlds.approvals import seen
from tests.harness.worlds.rbac import binding, grant, rule, user

Place = tuple[str, str]
"""A namespace, and the name of the BreakGlass for it."""


@pytest.fixture
async def place(admin: Client) -> Place:
    """A namespace with a BreakGlass that nobody has approved yet."""
    await set_up(admin)
    namespace, name = await new_namespace(admin), new_name()
    await admin.as_user(AUTHOR).create(sealed(namespace, name))
    return namespace, name


async def stays_shut(client: Client, name: str, *words: str) -> None:
    """See that it cannot be opened, and why."""
    status, said = await change(client, name, OPENED)
    assert status == 403, said
    assert "guards.sallyport.dev" in said
    for word in words:
        assert word in said


async def refused(client: Client, item: Json, *words: str) -> None:
    """See an object refused by the webhook, and why."""
    with pytest.raises(ApiStatusError) as error:
        await client.create(item)
    assert error.value.status == 403, error.value
    for word in words:
        assert word in error.value.message


async def test_two_seal_it_one_opens_it_and_deleting_it_ends_it(
    admin: Client, place: Place
) -> None:
    """The positive case: approval alone relaxes nothing; whoever opened it, and when, is kept."""
    namespace, name = place
    await approve(admin, name, ANN, BEN)
    await stays_out(admin, namespace)
    await opens(admin.as_user(ON_CALL), name)
    await begins(admin, namespace)
    stored = await admin.get(API, "BreakGlass", name)
    annotations = stored["metadata"]["annotations"]
    assert annotations["sallyport.dev/activated-by"].startswith("user:")
    assert annotations["sallyport.dev/activated-at"].endswith("Z")
    assert not await runs(admin, await new_namespace(admin))
    await admin.as_user(ON_CALL).delete(sealed(namespace, name))
    await ends(admin, namespace)


async def test_the_local_admin_opens_it_and_cannot_approve_it(admin: Client, place: Place) -> None:
    """When sign-in is down there is no other account; what it opens was approved before."""
    namespace, name = place
    local = admin.as_user(ADMIN, ("system:masters", "system:authenticated"))
    await refused(local, await seen(admin, consent(name, "local")), "system:masters")
    await stays_shut(local, name, "0 of 2")
    await approve(admin, name, ANN, BEN)
    await opens(local, name)
    await begins(admin, namespace)


async def test_break_glass_is_not_created_activated(admin: Client, place: Place) -> None:
    """Nothing can have been approved that is only now created."""
    made = sealed(place[0], new_name(), activated=True)
    await refused(admin.as_user(AUTHOR), made, "must be approved first")
    made["metadata"]["annotations"] = {"sallyport.dev/activated-at": in_seconds(0)}
    del made["spec"]["activated"]
    await admin.as_user(AUTHOR).create(made)
    stored = await admin.get(API, "BreakGlass", made["metadata"]["name"])
    assert "sallyport.dev/activated-at" not in stored["metadata"]["annotations"]


async def test_its_author_alone_opens_nothing(admin: Client, place: Place) -> None:
    """Neither unapproved, nor by approving it, nor with one other."""
    namespace, name = place
    author = admin.as_user(AUTHOR)
    await stays_shut(author, name, "0 of 2")
    own = await seen(admin, consent(name, AUTHOR))
    await refused(author, own, "nobody approves their own")
    await approve(admin, name, ANN)
    await knows(author, name, "1 of 2")
    await stays_out(admin, namespace)


async def test_activation_changes_nothing_else_of_a_break_glass(
    admin: Client, place: Place
) -> None:
    """What is opened is what was approved, in the same words."""
    namespace, name = place
    await approve(admin, name, ANN, BEN)
    for field, value in (("hours", 24), ("namespaces", [namespace, "default"]), ("reason", "x")):
        body = {"spec": {"activated": True, field: value}}
        status, said = await change(admin.as_user(ON_CALL), name, body)
        assert (status, "together with what was approved" in said) == (403, True)
    await stays_out(admin, namespace)


async def test_an_edit_takes_the_approvals_away(admin: Client, place: Place) -> None:
    """And whoever edited approves no more, even after putting it back."""
    _, name = place
    await approve(admin, name, ANN, BEN)
    for reason in ("another", "the fabric is down"):
        assert (await change(admin.as_user(ON_CALL), name, {"spec": {"reason": reason}}))[0] == 200
        if reason == "another":
            await stays_shut(admin.as_user(ON_CALL), name, "0 of 2")
    assert (await change(admin.as_user(BEN), name, {"spec": {"hours": 2}}))[0] == 200
    await admin.as_user(BEN).delete(consent(name, BEN))
    again = await seen(admin, consent(name, BEN))
    await refused(admin.as_user(BEN), again, "nobody approves their own")


@pytest.mark.parametrize(
    "body",
    [
        {"spec": {"hours": 24}},
        {"spec": {"activated": False}},
        {"spec": {"activated": None}},
        {"spec": {"reason": "x"}},
        {"spec": {"namespaces": ["default"]}},
    ],
    ids=str,
)
async def test_what_was_opened_never_changes(
    admin: Client, place: Place, body: dict[str, Any]
) -> None:
    """It is used once, for the hours that were approved; by an administrator too."""
    _, name = place
    await approve(admin, name, ANN, BEN)
    await opens(admin.as_user(ON_CALL), name)
    for client in (admin.as_user(AUTHOR), admin):
        assert (await change(client, name, body))[0] in {403, 422}


@pytest.mark.parametrize("kind", ["application/merge-patch+json", APPLY_PATCH])
async def test_when_it_was_opened_is_not_believed(admin: Client, place: Place, kind: str) -> None:
    """Neither before, nor with, nor after: the gate's clock and the authenticated user count."""
    _, name = place
    await approve(admin, name, ANN, BEN)
    later = {"sallyport.dev/activated-at": "2031-01-01T00:00:00Z"}
    later["sallyport.dev/activated-by"] = later["sallyport.dev/author"] = "user:0"
    body: Json = {"apiVersion": API, "kind": "BreakGlass"}
    body |= {"metadata": {"name": name, "annotations": later}}
    apply = {"fieldManager": "other", "force": "true"} if kind == APPLY_PATCH else {}
    await change(admin.as_user(ON_CALL), name, body, kind, **apply)
    await opens(admin.as_user(ON_CALL), name)
    before = (await admin.get(API, "BreakGlass", name))["metadata"]["annotations"]
    assert not set(before.values()) & set(later.values())
    await change(admin.as_user(ON_CALL), name, body, kind, **apply)
    assert (await admin.get(API, "BreakGlass", name))["metadata"]["annotations"] == before


async def test_what_is_created_again_starts_from_none(admin: Client, place: Place) -> None:
    """The same name and the same words are another object, used or not."""
    namespace, name = place
    await approve(admin, name, ANN, BEN)
    await opens(admin.as_user(ON_CALL), name)
    await begins(admin, namespace)
    await admin.as_user(AUTHOR).delete(sealed(namespace, name))
    await ends(admin, namespace)
    await admin.as_user(AUTHOR).create(sealed(namespace, name))
    await stays_shut(admin.as_user(ON_CALL), name, "0 of 2")


async def test_no_service_account_opens_it(admin: Client, place: Place) -> None:
    """Not even one that may do everything."""
    _, name = place
    await approve(admin, name, ANN, BEN)
    account = "system:serviceaccount:kube-system:deployer"
    client = admin.as_user(account, (APPROVERS, "system:serviceaccounts"))
    await stays_shut(client, name, "a person must")


async def test_the_right_to_approve_exceptions_is_not_enough(admin: Client, place: Place) -> None:
    """A tier is a right of its own, and must be held while it is in use."""
    namespace, name = place
    writers = rule(["sallyport.dev"], "clusterapprovals", "create")
    await admin.apply(grant("glass-mallory", writers, user("mallory@example.com")))
    await admin.apply(
        [binding("sallyport-approve", user("mallory@example.com"), name="mallorys-tier")]
    )
    mallory = admin.as_user("mallory@example.com")
    attributes = {"group": "sallyport.dev", "resource": "clusterapprovals"}
    await mallory.wait_until_can("create", attributes)
    made = await seen(admin, consent(name, "mallory"))
    await refused(mallory, made, "approvaltiers.sallyport.dev/break-glass")
    role = "sallyport-approve-break-glass"
    await admin.apply([binding(role, user("mallory@example.com"), name="mallorys-glass")])
    await approve(admin, name, ANN)
    await creates(mallory, made)
    await opens(admin.as_user(ON_CALL), name)
    await begins(admin, namespace)
    await admin.delete(binding(role, name="mallorys-glass"))
    await ends(admin, namespace)


async def test_each_kind_approves_its_own(admin: Client, place: Place) -> None:
    """An Approval of a namespace says nothing of the cluster, nor the other way round."""
    namespace, name = place
    made = approval(namespace, "far", name)
    made["spec"]["for"]["kind"] = "BreakGlass"
    other = consent(name, ANN)
    other["spec"]["for"]["kind"] = "PolicyException"
    for item in (made, other):
        with pytest.raises(ApiStatusError) as error:
            await admin.as_user(ANN).create(item)
        assert error.value.status in {403, 422}


async def test_a_status_and_a_dry_run_open_nothing(admin: Client, place: Place) -> None:
    """What a status says is never believed, and a dry run leaves it as it was."""
    namespace, name = place
    await approve(admin, name, ANN, BEN)
    active = {"type": "Active", "status": "True", "reason": "Open", "message": "Open"}
    since = {"lastTransitionTime": "2026-01-01T00:00:00Z"}
    said = {"conditions": [active | since]}
    status, _ = await change(admin, f"{name}/status", {"status": said})
    assert status == 200
    await change(admin.as_user(ON_CALL), name, OPENED, dryRun="All")
    await stays_out(admin, namespace)


async def test_what_would_outlive_it_is_refused_while_it_is_open(
    admin: Client, place: Place
) -> None:
    """Exceptions, approvals and rights are judged as ever."""
    namespace, name = place
    await approve(admin, name, ANN, BEN)
    await opens(admin.as_user(ON_CALL), name)
    await begins(admin, namespace)
    await refused(admin.as_user(BEN), exception(namespace), "may use no profile here")
    own = await seen(admin, consent(name, AUTHOR))
    await refused(admin.as_user(AUTHOR), own, "nobody approves their own")


async def test_whoever_is_let_in_is_told(admin: Client, place: Place) -> None:
    """The warning names it, and until when."""
    namespace, name = place
    await approve(admin, name, ANN, BEN)
    await opens(admin.as_user(ON_CALL), name)
    await begins(admin, namespace)
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "llama"},
        "spec": {"hostNetwork": True, "containers": [{"name": "a", "image": "a.example/b:1"}]},
    }
    runner = admin.as_user(RUNNER)
    answer = await runner.dry_run_create(pod, namespace)
    assert answer.outcome is Outcome.ALLOWED
    assert any(f"BREAK GLASS: {name}" in warning for warning in runner.warnings)
