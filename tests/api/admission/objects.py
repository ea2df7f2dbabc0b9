"""Objects that the tests of admission make."""

import asyncio
import time
import uuid
from typing import Final

from tests.harness.programs.client import ApiStatusError, Client, Json, Outcome
from tests.harness.sizes import size
from tests.harness.worlds.pods import BARE, RESTRICTED
from tests.harness.worlds.rbac import grant, rule, user

BEGINS_WITHIN_S: Final = size(60, 5)
"""So soon after a RoleBinding is made its subject must be admitted: the 2 s for which
the gate remembers a refusal by default, and 3 s for RBAC's own propagation; a busy machine takes
longer."""

BAD = BARE.pod
"""A Pod that says nothing about its security, and so needs what pss-restricted lacks."""
GOOD = RESTRICTED.pod
"""A Pod that needs nothing."""


def privileged() -> Json:
    """Return a Pod that only pss-privileged covers."""
    pod = GOOD()
    pod["spec"]["hostNetwork"] = True
    return pod


async def new_namespace(client: Client, annotations: dict[str, str] | None = None) -> str:
    """Make a namespace of its own for a test, without a mode, that the gate knows."""
    name = f"test-{uuid.uuid4().hex[:10]}"
    metadata = {"name": name, "annotations": annotations or {}}
    await client.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}])
    await client.create_service_account("default", name)
    await until_known(client, name)
    return name


async def until_known(client: Client, namespace: str) -> None:
    """Wait until the gate knows a namespace: it follows new ones by a watch.

    Before, it answers with an error; and what fails open, as the mutating webhook, does nothing.
    """
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            await client.dry_run_create(GOOD(), namespace)
        except ApiStatusError as error:
            if "is not known yet" in error.message:
                await asyncio.sleep(0.1)
                continue
        return
    raise TimeoutError(f"the gate does not know {namespace}")


async def allow_pods(admin: Client, namespace: str, *users: str) -> None:
    """Let users make and change Pods in a namespace; return once they may."""
    rights = rule([""], "pods pods/ephemeralcontainers", "create get update patch")
    await admin.apply(grant("pod-creators", rights, *map(user, users), namespace=namespace))
    for name in users:
        attributes = {"resource": "pods", "namespace": namespace}
        await admin.as_user(name).wait_until_can("create", attributes)


async def seconds_until(client: Client, namespace: str, pod: Json, outcome: Outcome) -> float:
    """Ask again and again; give the seconds until the answer is `outcome` (at most 60)."""
    start = time.monotonic()
    while (await client.dry_run_create(pod, namespace)).outcome is not outcome:
        assert time.monotonic() - start < 60, f"never {outcome}"
        await asyncio.sleep(0.1)
    return time.monotonic() - start


async def assert_begins_in_time(client: Client, namespace: str, pod: Json) -> None:
    """Ask until the Pod is admitted, which must be soon."""
    assert await seconds_until(client, namespace, pod, Outcome.ALLOWED) < BEGINS_WITHIN_S
