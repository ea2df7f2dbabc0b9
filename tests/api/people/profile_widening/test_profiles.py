"""Where profiles need approval: none becomes wider than two people have said, by any way."""

import asyncio
import json
import time
from pathlib import Path

import pytest

from core.approvals.break_glass import parse_break_glass
from tests.api.people.profile_widening.profiles import (
    ANN,
    API,
    AUTHOR,
    BEN,
    EVE,
    MERGE,
    TIER,
    approve,
    consent,
    existing,
    knows,
    new_name,
    profile,
    stays,
    write,
)
from tests.harness.programs.client import APPLY_PATCH, ApiStatusError, Client, Json
from tests.harness.programs.gate import PROGRAM
from tests.harness.programs.guarded_apiserver import Installation
from tests.harness.worlds.rbac import binding, user

WIDE = ["host/port/80", "host/network"]


def wider(item: Json) -> Json:
    """Return a profile that covers more."""
    return {**item, "spec": {**item["spec"], "privileges": WIDE}}


async def refused(client: Client, item: Json, *words: str) -> None:
    """See an object refused by the webhook, and why."""
    with pytest.raises(ApiStatusError) as error:
        await client.create(item)
    assert error.value.status == 403, error.value
    for word in words:
        assert word in error.value.message


async def test_two_people_approve_what_a_third_writes(admin: Client) -> None:
    """New, then wider; what is narrower, and what says nothing, needs nobody."""
    author = admin.as_user(AUTHOR)
    item = profile(new_name())
    await stays(author, item, "is new", "0 of 2 people", "sallyport approve profile FILE")
    async with existing(admin) as (there, uid):
        await stays(author, wider(there), "covers host/network")
        await approve(admin, wider(there), ANN, BEN, uid=uid)
        await write(author, wider(there))
        await author.apply([there])
        await author.patch(there, {"metadata": {"labels": {"team": "a"}}})
        await author.patch(there, {"spec": {"description": "less"}})


async def test_an_approval_of_a_profile_that_exists_states_its_uid(admin: Client) -> None:
    """Without one it would wait for the profile to be deleted and made again."""
    async with existing(admin) as (there, uid):
        approver = admin.as_user(ANN)
        blind, said = consent(wider(there), ANN), ""
        end = time.monotonic() + 10
        while not said:  # Until the gate has heard of the profile.
            assert time.monotonic() < end
            said = (await approver.dry_run(blind)).message
        assert "spec.for.uid" in said
        assert "sallyport approve containerprofile FILE" in said
        await approver.create(consent(wider(there), ANN, uid=uid))


async def test_one_person_is_not_two(admin: Client) -> None:
    """One approval; two of one person; one with the author's own; one by who may not."""
    author, item = admin.as_user(AUTHOR), profile(new_name())
    await approve(admin, item, ANN, ANN)
    await stays(author, item, "1 of 2")
    await approve(admin, item, AUTHOR)
    await stays(author, item, "its author or an editor approved it")
    await refused(admin.as_user(EVE), consent(item, EVE), "approvaltiers.sallyport.dev/profiles")
    await refused(admin, consent(item, "admin"), "system:masters")
    robot = admin.as_user("system:serviceaccount:default:robot", ("system:masters",))
    await refused(robot, consent(item, "robot"), "service account cannot approve")
    await stays(admin.as_user(ANN), item, "its author or an editor approved it")


async def test_what_was_approved_is_what_is_written(admin: Client) -> None:
    """Another spec, another name, a generated one, however it is sent, or as a dry run: none."""
    author, item = admin.as_user(AUTHOR), profile(new_name())
    await approve(admin, item, ANN, BEN)
    await stays(author, wider(item), "0 of 2")
    await stays(author, profile(new_name()), "0 of 2")
    for path, body in (
        ("?dryRun=All", wider(item)),
        ("", {**item, "metadata": {"generateName": "widening-"}}),
    ):
        status, answer = await author.request("POST", f"/apis/{API}/containerprofiles{path}", body)
        assert status == 403, answer
    await write(author, item)
    path = f"/apis/{API}/containerprofiles/{item['metadata']['name']}"
    for content, parameters in (
        (MERGE, {}),
        (APPLY_PATCH, {"fieldManager": "another", "force": "true"}),
    ):
        body = wider(item) if content == APPLY_PATCH else {"spec": {"privileges": WIDE}}
        status, answer = await author.request(
            "PATCH", path, body, content_type=content, parameters=parameters or None
        )
        assert (status, "covers host/network" in str(answer["message"])) == (403, True), answer
    await admin.delete(item)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"includes": ["pss-privileged"]}, "includes pss-privileged"),
        (
            {"relaxations": [{"minimumVersion": "1.20", "privileges": ["host/**"]}]},
            "covers host/** from Kubernetes 1.20 on",
        ),
        ({"catalogue": 1}, "only warns"),
        ({"rank": 0}, "is tried at rank 0"),
        ({"privileges": ["host/port/*"]}, "covers host/port/*"),
    ],
)
async def test_every_field_that_widens_counts(admin: Client, spec: Json, says: str) -> None:
    """Whatever lets more in, or in its place."""
    async with existing(admin) as (there, _):
        changed = {**there, "spec": {**there["spec"], **spec}}
        await stays(admin.as_user(AUTHOR), changed, says)


async def test_approvals_of_one_object_are_not_those_of_the_next(admin: Client) -> None:
    """Deleted and created again it is another one; nor do approvals of a new one widen an old."""
    author = admin.as_user(AUTHOR)
    async with existing(admin) as (there, uid):
        again = f"{uid[:-1]}{'0' if uid[-1] != '0' else '1'}"
        await approve(admin, wider(there), ANN, BEN, uid=again)
        await stays(author, wider(there), "0 of 2")
        other = profile(new_name())
        await approve(admin, other, ANN, BEN, uid=uid)
        await stays(author, other, "0 of 2")


async def test_an_approval_that_is_taken_back_counts_no_more(admin: Client) -> None:
    """Until then it would have; nobody can change whose it is, or prolong it."""
    author, item = admin.as_user(AUTHOR), profile(new_name())
    (anns, _) = await approve(admin, item, ANN, BEN)
    await knows(author, item, "")
    await admin.as_user(ANN).delete(anns)
    await knows(author, item, "1 of 2")
    await stays(author, item, "1 of 2")
    await refused(admin.as_user(ANN), consent(item, ANN, days=8), "at most 7 days ahead")
    with pytest.raises(ApiStatusError, match=r"digest"):
        await admin.as_user(ANN).create(consent(item, ANN, digest=None))
    bens = await admin.as_user(BEN).create(consent(item, BEN))
    forged = {"metadata": {"annotations": {"sallyport.dev/approver": "user:0123456789abcdef"}}}
    await admin.as_user(BEN).patch(bens, forged)
    stored = await admin.get(API, "ClusterApproval", bens["metadata"]["name"])
    assert stored["metadata"]["annotations"] == bens["metadata"]["annotations"]
    later = {"spec": {"expiresAt": "2099-01-01T00:00:00Z"}}
    with pytest.raises(ApiStatusError, match="never changes"):
        await admin.as_user(BEN).patch(bens, later)


async def test_an_approval_of_a_profile_opens_no_break_glass(admin: Client) -> None:
    """Whatever UID and digest it states: it is found as one of a profile alone."""
    sealed = {
        "apiVersion": API,
        "kind": "BreakGlass",
        "metadata": {"name": new_name()},
        "spec": {"namespaces": ["train"], "rules": ["*"], "hours": 1, "reason": "it burns"},
    }
    stored = await admin.as_user(AUTHOR).create(sealed)
    uid = stored["metadata"]["uid"]
    digest = parse_break_glass(json.dumps(stored).encode()).approvable.digest
    for name in (ANN, BEN):
        body = consent(profile(new_name()), name, uid=uid, digest=digest)
        await admin.as_user(name).create(body)
    await asyncio.sleep(0.7)
    with pytest.raises(ApiStatusError, match="0 of 2"):
        await admin.as_user(AUTHOR).patch(sealed, {"spec": {"activated": True}})
    await admin.delete(sealed)


async def test_the_command_approves_what_it_has_shown(
    admin: Client, installation: Installation, tmp_path: Path
) -> None:
    """From a file, before it is applied; what is no wider is not approved."""
    item = profile(new_name())
    file = tmp_path / "profile.json"
    file.write_text(json.dumps(item))
    await _bind_command_users(admin)
    for name, expected in (("alice", 0), ("bob", 0), ("admin", 1)):
        done = await _approve(installation, name, str(file), "--yes", "--reason", "for the lab")
        assert done[0] == expected, done
    assert "+ covers host/port/80" in done[1]
    await write(admin.as_user(AUTHOR), item)
    file.write_text(json.dumps(wider(item)))
    code, shown, _ = await _approve(installation, "alice", str(file), "--yes", "-o", "json")
    answer = json.loads(shown)
    assert (code, answer["approved"], bool(answer["uid"])) == (0, True, True)
    file.write_text(json.dumps(item))
    code, _, errors = await _approve(installation, "alice", str(file), "--yes")
    assert (code, "nothing of it becomes wider" in errors) == (64, True)
    await admin.delete(item)


async def _bind_command_users(admin: Client) -> None:
    people = binding(
        "sallyport-approve-profiles", user("alice"), user("bob"), name="profile-people"
    )
    await admin.apply([people])
    for name in ("alice", "bob"):
        await admin.as_user(name).wait_until_can("approve", TIER)


async def _approve(
    installation: Installation, who: str, *arguments: str
) -> tuple[int | None, str, str]:
    process = await asyncio.create_subprocess_exec(
        PROGRAM,
        "approve",
        "profile",
        *arguments,
        "--kubeconfig",
        installation.apiserver.kubeconfig(who),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await process.communicate()
    return process.returncode, output.decode(), errors.decode()
