"""Claims and volumes of one test, in a namespace of its own, and what becomes of them."""

import asyncio
import re
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from tests.api.objects.other_objects import persistent_volume
from tests.api.objects.people import GROUPS
from tests.harness.programs.client import ApiStatusError, Client, Json, Outcome
from tests.harness.worlds.rbac import GROUP, service_account

WITHIN_S: Final = 60.0
BEGINS_WITHIN_S: Final = 60.0
_POLL_S: Final = 0.1
_REJECTIONS: Final = re.compile(
    r'^apiserver_admission_webhook_rejection_count\{.*name="objects\.sallyport\.dev".*\} (\S+)$',
    re.MULTILINE,
)


@dataclass(frozen=True)
class Storage:
    """A namespace, a class of volumes, and whoever made both."""

    admin: Client
    namespace: str
    class_name: str

    async def volume(self, source: Json, claim: str = "", **spec: Any) -> Json:
        """Make a volume of the class; `claim` of this namespace is what it is kept for."""
        kept = f"{self.namespace}/{claim}" if claim else ""
        name = f"v-{uuid.uuid4().hex[:10]}"
        settings = {"storageClassName": self.class_name, **spec}
        made = await self.admin.create(persistent_volume(name, source, kept, **settings))
        await self.seen()
        return made

    async def seen(self) -> None:
        """Wait until the gate has seen every volume as it is now: a watch keeps their order."""
        name = f"m-{uuid.uuid4().hex[:10]}"
        last = persistent_volume(name, {"hostPath": {"path": "/"}}, "", storageClassName="last")
        await self.admin.create(last)
        nobody = self.admin.as_user("nobody@example.com", GROUPS)
        claim = self.claim("last", name)
        end = time.monotonic() + WITHIN_S
        while await _outcome(nobody, claim) is not Outcome.DENIED:
            assert time.monotonic() < end, "the gate does not know the volume"
            await asyncio.sleep(_POLL_S)

    def claim(self, name: str, volume: str = "", **spec: Any) -> Json:
        """Return a claim for a volume of the class, by its name or whichever fits."""
        named = {"volumeName": volume} if volume else {}
        metadata = {"name": name, "namespace": self.namespace}
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": metadata,
            "spec": self.claim_spec(**named, **spec),
        }

    def claim_spec(self, **spec: Any) -> Json:
        """Return what a claim asks for."""
        return {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": self.class_name,
            **spec,
        }

    async def let_default_account_use(self, profile: str) -> None:
        """Let the namespace's default service account use a profile."""
        reference = {"apiGroup": GROUP, "kind": "ClusterRole", "name": f"use-{profile}"}
        binding = {
            "apiVersion": f"{GROUP}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": f"use-{profile}", "namespace": self.namespace},
            "roleRef": reference,
            "subjects": [service_account("default", self.namespace)],
        }
        await self.admin.create(binding)

    async def soon(self, action: Callable[[], Awaitable[Json]]) -> None:
        """Do it again and again until it is admitted: a new right begins with a delay."""
        end = time.monotonic() + BEGINS_WITHIN_S
        while True:
            try:
                await action()
            except ApiStatusError:
                if time.monotonic() > end:
                    raise
                await asyncio.sleep(_POLL_S)
            else:
                return

    async def bound(self, claim: Json) -> str:
        """Wait until a claim is bound; give its volume's name."""
        end = time.monotonic() + WITHIN_S
        while True:
            found = await self.get_claim(claim["metadata"]["name"])
            if found["status"].get("phase") == "Bound":
                await self.seen()
                return str(found["spec"]["volumeName"])
            assert time.monotonic() < end, f"never bound: {found}"
            # Its controllers look again when it changes, else after 15 s.
            nudge = {"metadata": {"annotations": {"nudge": str(time.monotonic())}}}
            await self.admin.patch(claim, nudge)
            await asyncio.sleep(5 * _POLL_S)

    async def get_claim(self, name: str) -> Json:
        """Return a claim; raise ApiStatusError."""
        return await self.admin.get("v1", "PersistentVolumeClaim", name, self.namespace)

    async def appears(self, name: str) -> None:
        """Wait until a controller has made a claim."""
        end = time.monotonic() + WITHIN_S
        while True:
            try:
                await self.get_claim(name)
            except ApiStatusError:
                if time.monotonic() > end:
                    raise
                await asyncio.sleep(_POLL_S)
            else:
                return

    async def rejections(self) -> float:
        """Count what the webhook for objects has refused to kube-apiserver so far."""
        _, answer = await self.admin.request("GET", "/metrics")
        return sum(float(count) for count in _REJECTIONS.findall(answer["message"]))

    async def refused_since(self, before: float) -> None:
        """Wait until a controller has been refused something."""
        end = time.monotonic() + WITHIN_S
        while await self.rejections() <= before:
            assert time.monotonic() < end, "nothing was refused"
            await asyncio.sleep(_POLL_S)

    async def kept_for(self, volume: Json) -> str:
        """Return the claim that has a volume now; empty where none has."""
        found = await self.admin.get("v1", volume["kind"], volume["metadata"]["name"])
        return str(found["spec"].get("claimRef", {}).get("name", ""))


async def _outcome(client: Client, claim: Json) -> Outcome | None:
    """Ask for a claim; None where the gate does not know the namespace yet."""
    try:
        return (await client.dry_run(claim)).outcome
    except ApiStatusError:
        return None
