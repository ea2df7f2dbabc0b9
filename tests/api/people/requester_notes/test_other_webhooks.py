"""A mutating webhook of somebody else's beside the gate's, asked before it or after it.

kube-apiserver asks them in the order of their configurations' names, and the gate's once more where
a later one changed the Pod (`reinvocationPolicy: IfNeeded`).
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import pytest

from tests.api.people.requester_notes.conftest import (
    NAMESPACE,
    Installation,
    human,
    of_pod,
    soon,
    template,
    workload,
)
from tests.api.people.requester_notes.profiles import PROFILE, naming, profile
from tests.api.people.requester_notes.test_orphans import until
from tests.harness.fakes.sidecar_webhook import LABEL, injecting, registration
from tests.harness.programs.client import Client, Json, Outcome
from tests.harness.worlds.rbac import grant, service_account, use_of, user

REQUESTER: Final = "sallyport.dev/requester"
EVE_OID: Final = "44444444-aaaa-bbbb-cccc-dddddddddddd"
EVE: Final = f"oid:{EVE_OID}"
FILLED: Final = "noting-filled"
STRONG: Final = "noting-sidecar"
NAMES: Final = ("aaa-sidecars", "zzz-sidecars")
"""Before and after `sallyport`."""
PLAIN: Final[Json] = {"name": "plain", "image": "registry.example/proxy:1"}
NETWORK: Final[Json] = {
    "name": "network",
    "image": "registry.example/proxy:1",
    "securityContext": {"capabilities": {"add": ["NET_ADMIN"]}},
}


@asynccontextmanager
async def sidecars(installation: Installation, admin: Client, name: str) -> AsyncIterator[None]:
    """Have the other webhook asked, under a configuration's name."""
    authority = installation.apiserver.authority
    with injecting(authority, PLAIN, NETWORK) as url:
        item = registration(name, url, authority.pem)
        await admin.apply([item])
        try:
            await _until(admin, 2)
            yield
        finally:
            await admin.delete(item)
            await _until(admin, 1)


async def _until(admin: Client, containers: int) -> None:
    """Wait until a Pod has so many containers: registrations are followed with a delay."""
    for _ in range(600):
        answer = await admin.dry_run(pod("probe", "plain"))
        if len(answer.body.get("spec", {}).get("containers", ())) == containers:
            return
        await asyncio.sleep(0.1)
    raise TimeoutError(f"no Pod of {containers} containers: {answer.message}")


def pod(name: str, sidecar: str, **annotations: str) -> Json:
    """Return a Pod that gets a sidecar."""
    made: Json = {"apiVersion": "v1", "kind": "Pod", **template(name)}
    # A token's volume has another name each time.
    made["spec"]["automountServiceAccountToken"] = False
    made["metadata"]["labels"][LABEL] = sidecar
    made["metadata"] |= {"name": name, "namespace": NAMESPACE, "annotations": annotations}
    return made


@pytest.fixture
async def eve(admin: Client) -> Client:
    """She and a service account may use a profile that fills in, and one with NET_ADMIN."""
    await admin.create_service_account("injected", NAMESPACE)
    filled = profile(FILLED, rank=50)
    filled["spec"]["defaults"] = {
        "seccompProfile": {"type": "RuntimeDefault"},
        "allowPrivilegeEscalation": False,
    }
    strong = profile(STRONG, "capability/NET_ADMIN", rank=60)
    everyone = (user("eve@example.com"), service_account("injected", NAMESPACE))
    await admin.apply(
        (
            filled,
            strong,
            *grant(FILLED, use_of(FILLED), *everyone),
            *grant(STRONG, use_of(STRONG), *everyone),
        )
    )
    made = human(admin, "eve@example.com", EVE_OID)
    for name in (FILLED, STRONG):

        async def known(name: str = name) -> bool:
            answer = await made.dry_run(pod("known", "none", **{PROFILE: name}))
            return answer.outcome is Outcome.ALLOWED

        await until(known, f"the gate does not let Eve use {name}")
    return made


def of_uid(uid: str) -> Callable[[Json], bool]:
    """Say of a decision whether it is of this object."""
    return lambda d: bool(d["request"].get("objectUid") == uid)


async def test_before_or_after_is_the_same(
    installation: Installation, admin: Client, eve: Client
) -> None:
    """One sidecar, filled in as the rest is; one note; the validating pass agrees."""
    found, uids = [], list[str]()
    for name in NAMES:
        async with sidecars(installation, admin, name):
            made = await soon(lambda: eve.create(pod("both", "plain", **{PROFILE: FILLED})))
            await admin.delete(made)
            uids.append(made["metadata"]["uid"])
            found.append((made["metadata"]["annotations"], made["spec"]["containers"]))
    (notes, containers), after = found
    assert (notes, containers) == after
    assert notes == {REQUESTER: EVE, PROFILE: FILLED}
    assert [each["name"] for each in containers] == ["main", "plain"]
    for each in containers:
        assert each["securityContext"]["allowPrivilegeEscalation"] is False
    for uid in uids:
        decision = await installation.decision(of_uid(uid))
        assert (decision["verdict"], decision["profile"]) == ("allow", FILLED)


async def test_what_has_its_sidecar_and_defaults_stays_as_it_is(
    installation: Installation, admin: Client, eve: Client
) -> None:
    """Both webhooks twice are both once: the result, submitted anew, comes out unchanged."""
    for name in NAMES:
        async with sidecars(installation, admin, name):
            once = (await eve.dry_run(pod("twice", "plain", **{PROFILE: FILLED}))).body
            again = pod("twice", "plain", **once["metadata"]["annotations"])
            again["spec"] = once["spec"]
            twice = (await eve.dry_run(again)).body
            assert twice["spec"] == once["spec"]
            assert twice["metadata"]["annotations"] == once["metadata"]["annotations"]


async def test_a_sidecar_that_needs_more_before_the_gate(
    installation: Installation, admin: Client, eve: Client, ben: Client
) -> None:
    """The gate sees it and chooses a profile that covers it, if its author may use one."""
    async with sidecars(installation, admin, "aaa-sidecars"):
        taken = await soon(lambda: eve.create(pod("more-before", "network")))
        refused = await ben.dry_run(pod("more-bens", "network"))
    await admin.delete(taken)
    assert taken["metadata"]["annotations"][PROFILE] == STRONG
    assert refused.outcome is Outcome.DENIED
    assert "spec.containers[1].securityContext.capabilities.add[0]" in refused.message
    assert "capability/NET_ADMIN" in refused.message


async def test_a_sidecar_that_needs_more_after_the_gate(
    installation: Installation, admin: Client, eve: Client
) -> None:
    """Refused where the profile was chosen without it; taken where the author named one."""
    async with sidecars(installation, admin, "zzz-sidecars"):
        refused = await eve.dry_run(pod("more-after", "network"))
        taken = await eve.dry_run(pod("more-named", "network", **{PROFILE: STRONG}))
    assert refused.outcome is Outcome.DENIED
    assert "spec.containers[1].securityContext.capabilities.add[0]" in refused.message
    assert taken.outcome is Outcome.ALLOWED, taken.message


async def test_a_sidecar_that_a_workloads_author_did_not_ask_for(
    installation: Installation, admin: Client, eve: Client
) -> None:
    """Its Pods are refused under the profile that was noted; its template may name a wider one."""
    spec = template("injected", serviceAccountName="injected", automountServiceAccountToken=False)
    spec["metadata"]["labels"][LABEL] = "network"
    async with sidecars(installation, admin, "zzz-sidecars"):
        made = await eve.create(naming("pss-baseline", "ReplicaSet", "injected", template=spec))
        refused = await installation.decision(of_pod("injected-"))
        await admin.delete(made)
        spec["metadata"]["labels"]["app"] = "named"
        spec["metadata"]["annotations"] = {PROFILE: STRONG}
        named = await eve.create(workload("ReplicaSet", "named", template=spec))
        taken = await installation.decision(of_pod("named-"))
        await admin.delete(named)
    assert refused["verdict"] == "deny"
    assert "notes/root" in {each["rule"] for each in refused["findings"]}
    assert (taken["verdict"], taken["root"]["requester"]) == ("allow", EVE)
