"""Writing intents: who wrote them is recorded, what may not be is refused, what is odd is told."""

import asyncio
import time

import pytest

from tests.api.egress.intents.people import (
    API,
    AUTHOR,
    CLOSER,
    allowlist,
    let_use,
    new_name,
    shared,
)
from tests.harness.programs.client import ApiStatusError, Client, Json, Outcome
from tests.harness.worlds.rbac import grant, rule, user

NARROW = {"dnsName": "packages.example.org"}
FINALIZER = "egress.sallyport.dev/close"
SETTLES_WITHIN_S = 60.0


async def refused(client: Client, item: Json, *words: str) -> None:
    """See an object refused by the webhook, and why."""
    with pytest.raises(ApiStatusError) as error:
        await client.create(item)
    assert error.value.status == 403, error.value
    assert "guards.sallyport.dev" in error.value.message
    for word in words:
        assert word in error.value.message


async def test_its_author_is_recorded_whatever_is_written(admin: Client, place: str) -> None:
    """A forged author is replaced by the mutating webhook; an ordinary one is taken silently."""
    author = admin.as_user(AUTHOR)
    item = allowlist(place, NARROW)
    item["metadata"]["annotations"] = {"sallyport.dev/author": "user:0123456789abcdef"}
    stored = await author.create(item)
    marks = stored["metadata"]["annotations"]["sallyport.dev/author"]
    assert marks.startswith("user:")
    assert marks != "user:0123456789abcdef"
    assert author.warnings == []
    changed = {"metadata": {"annotations": {"sallyport.dev/author": "user:0123456789abcdef"}}}
    again = await author.patch(item, changed)
    assert again["metadata"]["annotations"]["sallyport.dev/author"] == marks
    edited = await admin.patch(item, {"spec": {"reason": "more"}})
    assert edited["metadata"]["annotations"]["sallyport.dev/editors"].startswith("user:")


async def test_what_only_code_can_say_is_said_with_its_field(admin: Client, place: str) -> None:
    """What the definition takes and the types refuse never gets in."""
    author = admin.as_user(AUTHOR)
    for entry, words in (
        ({"cidr": "10.0.0.1/8"}, ("spec.to[0].cidr", "write 10.0.0.0/8")),
        ({"cidr": "010.0.0.0/8"}, ("spec.to[0].cidr", "CIDR notation")),
        ({"cidr": "::ffff:10.0.0.0/104"}, ("spec.to[0].cidr", "IPv4-mapped")),
        ({"dnsName": "xn--a.example"}, ("spec.to[0].dnsName", "punycode")),
    ):
        await refused(author, allowlist(place, entry), *words)


async def test_a_broad_one_is_taken_with_warnings(admin: Client, place: str) -> None:
    """Kubectl prints them: what is broad, and who must do what; 120 characters at most."""
    author = admin.as_user(AUTHOR)
    await author.create(allowlist(place, {"cidr": "10.0.0.0/8"}, {"serviceTag": "Storage"}))
    told = [line.split('"')[1] for line in author.warnings]
    assert "spec.to: 10.0.0.0/8 is broader than /16. Narrow it, or have it approved." in told
    command = f"sallyport approve eal packages -n {place}"
    assert f"it opens nothing until two others approve it: {command}" in told
    assert any("Storage covers the accounts of every tenant" in line for line in told)
    assert all(len(line) <= 120 for line in told)


async def test_a_typo_in_an_account_is_told(admin: Client, place: str) -> None:
    """It is taken: the account may come later."""
    author = admin.as_user(AUTHOR)
    item = allowlist(place, NARROW, serviceAccounts=["trainer", "trianer"])
    deadline = time.monotonic() + SETTLES_WITHIN_S
    while True:  # The gate's watch brings the account that was made a moment ago.
        author.warnings.clear()
        await author.dry_run(item)
        told = [line.split('"')[1] for line in author.warnings]
        if len(told) == 1 or time.monotonic() > deadline:
            break
        await asyncio.sleep(0.1)
    assert told == ["spec.serviceAccounts[1]: there is no such ServiceAccount here. Create it."]


async def test_a_set_is_for_those_who_may_use_it(admin: Client, place: str) -> None:
    """The service accounts' right counts, and not that of whoever writes the allowlist."""
    name = new_name("registry")
    await admin.as_user(AUTHOR).create(shared(name, NARROW))
    item = allowlist(place, {"destinations": {"name": name}})
    for client in (admin, admin.as_user(AUTHOR)):
        await refused(
            client,
            item,
            f"service account trainer may not use EgressDestinations {name}",
            "spec.to[0].destinations",
            "rule egress/sets",
        )
    await let_use(admin, place, "trainer", name)
    await _taken(admin.as_user(AUTHOR), item)


async def _taken(client: Client, item: Json) -> None:
    """Create it as soon as a right that was given has arrived."""
    deadline = time.monotonic() + SETTLES_WITHIN_S
    while (await client.dry_run(item)).outcome is not Outcome.ALLOWED:
        assert time.monotonic() < deadline, "the right never arrived"
        await asyncio.sleep(0.1)
    await client.create(item)


async def test_two_halves_of_the_internet_in_two_allowlists(admin: Client, place: str) -> None:
    """What no single one may open without two people, no two of them may either."""
    author = admin.as_user(AUTHOR)
    parts = [f"20.{number * 2}.0.0/17" for number in range(3)]
    for number, cidr in enumerate(parts[:2]):
        await author.create(allowlist(place, {"cidr": cidr}, name=f"part-{number}"))
    item = allowlist(place, {"cidr": parts[2]}, name="part-2")
    await refused(author, item, "with part-0 or part-1", "together more than a /16", "spec.to")
    half = allowlist(place, {"cidr": "0.0.0.0/1"}, {"cidr": "128.0.0.0/1"}, name="all")
    author.warnings.clear()
    await author.create(half)
    assert any("0.0.0.0/0 is broader than /16" in line for line in author.warnings)


async def test_it_goes_only_once_who_closes_lets_it_go(admin: Client, place: str) -> None:
    """Deleting is free; the finalizer is control's, whatever else the author may."""
    author, closer = admin.as_user(AUTHOR), admin.as_user(CLOSER)
    item = allowlist(place, NARROW)
    await author.create(item)
    await closer.patch(item, {"metadata": {"finalizers": [FINALIZER]}})
    await author.delete(item)
    with pytest.raises(ApiStatusError) as error:
        await author.patch(item, {"metadata": {"finalizers": None}})
    assert error.value.status == 403
    assert "egress/finalizer" in error.value.message
    held = await author.get(API, "EgressAllowlist", "packages", place)
    assert held["metadata"]["deletionTimestamp"]
    await closer.patch(item, {"metadata": {"finalizers": None}})
    with pytest.raises(ApiStatusError) as gone:
        await author.get(API, "EgressAllowlist", "packages", place)
    assert gone.value.status == 404


async def test_status_and_the_rest_are_apart(admin: Client, place: str) -> None:
    """The webhook is not asked of status: who may write that alone changes nothing else."""
    reporter = "egress-reporter@example.com"
    parts = rule(["sallyport.dev"], "egressallowlists/status", "get update patch")
    await admin.apply(grant("egress-reporters", parts, user(reporter)))
    item = allowlist(place, NARROW)
    stored = await admin.as_user(AUTHOR).create(item | {"status": {"addresses": 7}})
    assert "status" not in stored
    client = admin.as_user(reporter)
    resource = {"group": "sallyport.dev", "resource": "egressallowlists", "subresource": "status"}
    await client.wait_until_can("patch", {**resource, "namespace": place})
    path = f"/apis/{API}/namespaces/{place}/egressallowlists/packages/status"
    forged: Json = {
        "metadata": {
            "annotations": {"sallyport.dev/author": "user:0"},
            "finalizers": ["x.example/y"],
            "labels": {"a": "b"},
        },
        "spec": {"to": [{"cidr": "0.0.0.0/0", "ports": [{"protocol": "TCP", "port": 1}]}]},
        "status": {"addresses": 3, "observedGeneration": 1},
    }
    status, answer = await client.request(
        "PATCH", path, forged, content_type="application/merge-patch+json"
    )
    assert status == 200, answer
    assert answer["status"] == {"addresses": 3, "observedGeneration": 1}
    for field in ("annotations", "finalizers", "labels"):
        assert answer["metadata"].get(field) == stored["metadata"].get(field)
    assert (answer["spec"], answer["metadata"]["generation"]) == (stored["spec"], 1)
