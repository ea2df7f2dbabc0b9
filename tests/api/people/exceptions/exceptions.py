"""People who write and approve exceptions, and whether one is in force."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Final

from tests.api.admission.objects import privileged
from tests.harness.programs.client import Client, Json, Outcome
from tests.harness.worlds.rbac import binding, grant, group, rule, use_of, user

API: Final = "sallyport.dev/v1alpha1"
AUTHOR: Final = "author@example.com"
ANN: Final = "ann@example.com"
BEN: Final = "ben@example.com"
RUNNER: Final = "runner@example.com"
APPROVERS: Final = "approvers"
"""A group whose members may approve, besides Ann and Ben."""

SETTLES_WITHIN_S: Final = 60.0
"""So soon an exception must be in force or no longer: watches, and a right that is remembered for
3 s here."""

_STAYS_S: Final = 0.7
"""So long nothing must change, where nothing is to."""

TIER: Final = {"group": "sallyport.dev", "resource": "approvaltiers", "name": "exceptions"}


async def set_up(admin: Client) -> None:
    """Give everyone their rights, in all namespaces; return once they have them."""
    people = [*map(user, (AUTHOR, ANN, BEN, RUNNER)), group(APPROVERS)]
    kinds = rule(
        ["sallyport.dev"],
        "policyexceptions approvals",
        "get list create update patch delete",
    )
    await admin.apply(grant("exception-writers", kinds, *people))
    pods = rule([""], "pods", "create get update patch delete")
    await admin.apply(grant("exception-runners", pods, user(RUNNER)))
    await admin.apply(grant("exception-run", use_of("pss-restricted"), user(RUNNER)))
    await admin.apply(grant("exception-use", use_of("pss-privileged"), user(AUTHOR), user(ANN)))
    approvers = [user(AUTHOR), user(ANN), user(BEN), group(APPROVERS)]
    await admin.apply([binding("sallyport-approve", *approvers, name="exception-approvers")])
    for name in (AUTHOR, ANN, BEN):
        await admin.as_user(name).wait_until_can("approve", TIER)
        for kind in ("policyexceptions", "approvals"):
            await admin.as_user(name).wait_until_can("create", {**TIER, "resource": kind})
    profile = {**TIER, "resource": "containerprofiles", "name": "pss-privileged"}
    await admin.as_user(AUTHOR).wait_until_can("use", profile)
    await admin.as_user(RUNNER).wait_until_can("create", {"resource": "pods"})


def in_seconds(seconds: float) -> str:
    """Return a time as exceptions write it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


def exception(namespace: str, name: str = "llama", **spec: Any) -> Json:
    """Return a PolicyException that excuses the host network for the Pod `llama`."""
    fields: Json = {
        "workloads": [{"apiVersion": "v1", "kind": "Pod", "name": "llama"}],
        "excuses": [{"privilege": "host/network"}],
        "reason": "it measures the network",
        "expiresAt": in_seconds(3600),
    }
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": API, "kind": "PolicyException", "metadata": metadata} | {
        "spec": fields | spec
    }


def approval(
    namespace: str, name: str, of: str = "llama", seen: Mapping[str, str] | None = None
) -> Json:
    """Return an Approval of an exception; `seen` is its uid or digest as the approver saw it."""
    return {
        "apiVersion": API,
        "kind": "Approval",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "for": {"kind": "PolicyException", "name": of, **(seen or {})},
            "expiresAt": in_seconds(3600),
        },
    }


async def runs(admin: Client, namespace: str, pod: Json | None = None) -> bool:
    """Return whether a runner may run a Pod on the host network now."""
    made = pod or named(privileged(), "llama")
    answer = await admin.as_user(RUNNER).dry_run_create(made, namespace)
    assert answer.outcome is not Outcome.INVALID, answer.message
    return answer.outcome is Outcome.ALLOWED


def named(pod: Json, name: str) -> Json:
    """Give a Pod a name."""
    pod["metadata"] = {**pod.get("metadata", {}), "name": name}
    return pod


async def begins(admin: Client, namespace: str) -> None:
    """Wait until the exception is in force."""
    await _becomes(admin, namespace, expected=True)


async def ends(admin: Client, namespace: str) -> None:
    """Wait until the exception is no longer in force."""
    await _becomes(admin, namespace, expected=False)


async def _becomes(admin: Client, namespace: str, *, expected: bool) -> None:
    end = time.monotonic() + SETTLES_WITHIN_S
    while await runs(admin, namespace) is not expected:
        assert time.monotonic() < end, f"never {'in' if expected else 'out of'} force"
        await asyncio.sleep(0.05)


async def stays_out(admin: Client, namespace: str) -> None:
    """See for a while that the exception is not in force."""
    end = time.monotonic() + _STAYS_S
    while time.monotonic() < end:
        assert not await runs(admin, namespace)
        await asyncio.sleep(0.1)
