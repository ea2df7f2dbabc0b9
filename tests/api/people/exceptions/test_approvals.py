"""Ways to have an exception in force without two people who approved it: none works."""

import pytest

from tests.api.admission.objects import new_namespace
from tests.api.people.exceptions.exceptions import (
    ANN,
    API,
    APPROVERS,
    AUTHOR,
    BEN,
    TIER,
    approval,
    begins,
    ends,
    exception,
    in_seconds,
    set_up,
    stays_out,
)
from tests.harness.programs.client import APPLY_PATCH, ApiStatusError, Client, Json
from tests.harness.worlds.approvals import seen
from tests.harness.worlds.rbac import binding, grant, rule, user

MERGE = "application/merge-patch+json"


@pytest.fixture
async def place(admin: Client) -> str:
    """A namespace with an exception that nobody has approved yet."""
    await set_up(admin)
    namespace = await new_namespace(admin)
    await admin.as_user(AUTHOR).create(exception(namespace))
    return namespace


async def refused(client: Client, item: Json, *words: str) -> None:
    """See an object refused by the webhook, and why."""
    with pytest.raises(ApiStatusError) as error:
        await client.create(item)
    assert error.value.status == 403, error.value
    assert "guards.sallyport.dev" in error.value.message
    for word in words:
        assert word in error.value.message


async def may_approve(admin: Client, name: str) -> None:
    """Wait until somebody has both rights."""
    client = admin.as_user(name)
    await client.wait_until_can("approve", TIER)
    await client.wait_until_can("create", {"group": TIER["group"], "resource": "approvals"})


async def approve(admin: Client, place: str, *people: str) -> None:
    """Approve the exception as each of some people."""
    for index, name in enumerate(people):
        made = approval(place, f"by-{index}-{name.lower().partition('@')[0]}")
        await admin.as_user(name).create(await seen(admin, made))


async def patch(client: Client, place: str, path: str, body: Json, kind: str = MERGE) -> int:
    """Patch an object of Sallyport's; give the status code."""
    parameters = {"fieldManager": "other", "force": "true"} if kind == APPLY_PATCH else None
    whole = f"/apis/{API}/namespaces/{place}/{path}"
    status, _ = await client.request("PATCH", whole, body, content_type=kind, parameters=parameters)
    return status


async def test_two_others_put_it_in_force_and_either_can_end_it(admin: Client, place: str) -> None:
    """The positive case that all others rest on; deleting an approval withdraws it."""
    await stays_out(admin, place)
    await approve(admin, place, ANN, BEN)
    await begins(admin, place)
    await admin.as_user(BEN).delete(approval(place, "by-1-ben"))
    await ends(admin, place)


async def test_nobody_approves_their_own(admin: Client, place: str) -> None:
    """The author may approve, but not this."""
    await refused(
        admin.as_user(AUTHOR),
        await seen(admin, approval(place, "own")),
        "nobody approves their own",
    )


async def test_one_person_is_one_person(admin: Client, place: str) -> None:
    """Twice by one account, and by the same name in another case, is not twice."""
    await admin.apply(
        [binding("sallyport-approve", user(ANN.upper()), name="exception-approvers-2")]
    )
    await admin.apply(
        grant(
            "exception-shouters",
            rule(["sallyport.dev"], "approvals", "create"),
            user(ANN.upper()),
        )
    )
    await may_approve(admin, ANN.upper())
    await approve(admin, place, ANN, ANN, ANN.upper())
    await stays_out(admin, place)
    await approve(admin, place, BEN)
    await begins(admin, place)


async def test_an_edit_takes_the_approvals_away(admin: Client, place: str) -> None:
    """What was approved is what counts; one who edits can approve no more, even after a return."""
    await approve(admin, place, ANN, BEN)
    await begins(admin, place)
    old = exception(place)["spec"]["reason"]
    for reason in ("another one", old):
        body = {"spec": {"reason": reason}}
        assert await patch(admin.as_user(ANN), place, "policyexceptions/llama", body) == 200
        await ends(admin, place)
    again = await seen(admin, approval(place, "again"))
    await refused(admin.as_user(ANN), again, "nobody approves their own")
    stored = await admin.get(API, "PolicyException", "llama", place)
    assert stored["metadata"]["annotations"]["sallyport.dev/editors"].startswith("user:")


async def test_an_edit_between_looking_and_approving_is_noticed(admin: Client, place: str) -> None:
    """An approval that names the digest or UID that was seen is refused for anything else."""
    for other in ({"digest": f"sha256:{64 * '0'}"}, {"uid": "0"}):
        late = await seen(admin, approval(place, "late", seen=other))
        await refused(admin.as_user(ANN), late, "no longer as you saw it")


@pytest.mark.parametrize("left_out", [("uid",), ("digest",), ("uid", "digest")])
async def test_an_approval_states_what_its_author_saw(
    admin: Client, place: str, left_out: tuple[str, ...]
) -> None:
    """Without UID or digest it would approve what the object has become; both are named."""
    made = await seen(admin, approval(place, "blind"))
    for field in left_out:
        del made["spec"]["for"][field]
    fields = [f"spec.for.{field}" for field in left_out]
    how = f"sallyport approve policyexception llama -n {place}"
    await refused(admin.as_user(ANN), made, "is missing", how, *fields)


@pytest.mark.parametrize(
    ("name", "groups", "why"),
    [
        ("system:serviceaccount:kube-system:deployer", (APPROVERS,), "a person must"),
        ("system:node:a", (APPROVERS,), "a person must"),
        ("masterclient", (APPROVERS,), "shared account"),
        ("clusterAdmin", (APPROVERS,), "shared account"),
        ("kubernetes-admin", (APPROVERS, "system:masters"), "system:masters"),
        ("dan@example.com", ("system:masters",), "system:masters"),
        ("dan@example.com", ("others",), "do not have the right"),
    ],
)
async def test_who_is_no_person_or_has_no_right_is_refused(
    admin: Client, place: str, name: str, groups: tuple[str, ...], why: str
) -> None:
    """Service accounts, shared admin accounts, all-powerful groups, groups without the right."""
    writers = rule(["sallyport.dev"], "approvals", "create")
    await admin.apply(grant("exception-others", writers, user(name)))
    client = admin.as_user(name, (*groups, "system:authenticated"))
    attributes = {"group": "sallyport.dev", "resource": "approvals", "namespace": place}
    await client.wait_until_can("create", attributes)
    await refused(client, await seen(admin, approval(place, "other")), why)


async def test_a_namespace_admins_star_is_not_enough(admin: Client, place: str) -> None:
    """Tiers lie in no namespace: a Role with everything does not give them."""
    everything = rule(["*"], "*", "*")
    await admin.apply(grant("star", everything, user("boss@example.com"), namespace=place))
    boss = admin.as_user("boss@example.com")
    await boss.wait_until_can("create", {**TIER, "resource": "approvals", "namespace": place})
    await refused(boss, await seen(admin, approval(place, "star")), "do not have the right")


async def test_the_right_that_is_taken_away_counts_no_more(admin: Client, place: str) -> None:
    """Approvals of a group's members end with the group's binding."""
    await admin.apply([binding("sallyport-approve", user("eve@example.com"), name="eves-right")])
    writers = rule(["sallyport.dev"], "approvals", "create")
    await admin.apply(grant("eves-approvals", writers, user("eve@example.com")))
    await may_approve(admin, "eve@example.com")
    await approve(admin, place, ANN, "eve@example.com")
    await begins(admin, place)
    await admin.delete(binding("sallyport-approve", name="eves-right"))
    await ends(admin, place)


async def test_a_name_in_the_body_is_not_believed(admin: Client, place: str) -> None:
    """Annotations that somebody wrote are replaced by those of who asked."""
    forged = await seen(admin, approval(place, "forged"))
    account = '{"user":"ben@example.com","groups":["system:authenticated"]}'
    forged["metadata"]["annotations"] = {
        "sallyport.dev/approver": "user:0",
        "sallyport.dev/approver-account": account,
    }
    await admin.as_user(ANN).create(forged)
    await approve(admin, place, ANN)
    stored = await admin.get(API, "Approval", "forged", place)
    assert ANN in stored["metadata"]["annotations"]["sallyport.dev/approver-account"]
    await stays_out(admin, place)


@pytest.mark.parametrize("kind", [MERGE, APPLY_PATCH])
async def test_what_was_recorded_cannot_be_changed(admin: Client, place: str, kind: str) -> None:
    """Neither by a patch nor by another manager's apply: it stays, whatever the answer."""
    await approve(admin, place, ANN)
    for path, what, annotation in (
        ("approvals/by-0-ann", "Approval", "sallyport.dev/approver-account"),
        ("approvals/by-0-ann", "Approval", "sallyport.dev/approved-digest"),
        ("policyexceptions/llama", "PolicyException", "sallyport.dev/author"),
        ("policyexceptions/llama", "PolicyException", "sallyport.dev/editors"),
    ):
        name = path.partition("/")[2]
        before = await admin.get(API, what, name, place)
        metadata = {"name": name, "annotations": {annotation: "user:0"}}
        body: Json = {"apiVersion": API, "kind": what, "metadata": metadata}
        await patch(admin.as_user(AUTHOR), place, path, body, kind)
        after = await admin.get(API, what, name, place)
        kept = before["metadata"]["annotations"].get(annotation)
        assert after["metadata"]["annotations"].get(annotation) == kept


async def test_an_approval_is_not_moved_to_another_object(admin: Client, place: str) -> None:
    """Its `spec` never changes; and one of another namespace names nothing here."""
    await approve(admin, place, ANN)
    body = {"spec": {"for": {"name": "other"}}}
    assert await patch(admin.as_user(ANN), place, "approvals/by-0-ann", body) in {403, 422}
    elsewhere = await new_namespace(admin)
    await refused(admin.as_user(ANN), approval(elsewhere, "far"), "there is no PolicyException")


async def test_a_status_puts_nothing_in_force(admin: Client, place: str) -> None:
    """What an exception is worth follows from its approvals; a status brings no annotation."""
    await approve(admin, place, ANN)
    before = await admin.get(API, "PolicyException", "llama", place)
    told = {"approvedBy": ["user:a", "user:b"], "conditions": []}
    body = {"status": told, "metadata": {"annotations": {"sallyport.dev/author": "user:c"}}}
    for path in ("policyexceptions/llama/status", "approvals/by-0-ann/status"):
        assert await patch(admin, place, path, body) == 200
    after = await admin.get(API, "PolicyException", "llama", place)
    assert (after["status"], after["metadata"]["annotations"]) == (
        told,
        before["metadata"]["annotations"],
    )
    await stays_out(admin, place)


async def test_what_is_created_again_starts_from_none(admin: Client, place: str) -> None:
    """The same name and the same words are another object."""
    await approve(admin, place, ANN, BEN)
    await begins(admin, place)
    spec = (await admin.get(API, "PolicyException", "llama", place))["spec"]
    await admin.as_user(AUTHOR).delete(exception(place))
    await ends(admin, place)
    await admin.as_user(AUTHOR).create({**exception(place), "spec": spec})
    await stays_out(admin, place)


async def test_generated_names_and_dry_runs_change_nothing(admin: Client, place: str) -> None:
    """An approval by a generated name is one person's, and a dry run is nobody's."""
    path = f"/apis/{API}/namespaces/{place}/approvals"
    made = await seen(admin, approval(place, ""))
    made["metadata"] = {"generateName": "llama-", "namespace": place}
    for name, parameters in ((ANN, None), (ANN, None), (BEN, {"dryRun": "All"})):
        client = admin.as_user(name)
        status, _ = await client.request("POST", path, made, parameters=parameters)
        assert status == 201
    await stays_out(admin, place)


async def test_an_approval_that_is_held_back_from_deletion_ends(admin: Client, place: str) -> None:
    """A finalizer keeps the object, not the consent."""
    held = await seen(admin, approval(place, "held"))
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await admin.as_user(BEN).create(held)
    await approve(admin, place, ANN)
    await begins(admin, place)
    await admin.as_user(BEN).delete(held)
    await ends(admin, place)
    assert await patch(admin, place, "approvals/held", {"metadata": {"finalizers": None}}) == 200


async def test_an_approval_cannot_be_for_ever(admin: Client, place: str) -> None:
    """At most 90 days; and not in the past."""
    for seconds in (-10, 91 * 86_400):
        made = await seen(admin, approval(place, "long"))
        made["spec"]["expiresAt"] = in_seconds(seconds)
        await refused(admin.as_user(ANN), made, "at most 90 days")
