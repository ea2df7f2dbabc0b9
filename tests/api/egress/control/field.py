"""An enrolled namespace, and what tests do and see there."""

import datetime as dt
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from core.base import names
from tests.api.kube.objects import wait_for
from tests.harness.programs.client import Client, Json
from tests.harness.sizes import size

OWN: Final = "sallyport-system"
"""The controller's namespace."""
SOON_S: Final = size(30, 2)
"""A single change is applied in less; a busy machine takes longer."""
PATIENCE_S: Final = 60.0
"""A busy machine takes longer; what is measured stands in docs/evidence."""
FLOOR: Final = {"sallyport-default-deny", "sallyport-dns"}

TCP_443: Final = ({"protocol": "TCP", "port": 443},)
FAR: Final = "2027-11-01T00:00:00Z"


def allowlist(namespace: str, name: str, *to: Json, **spec: Any) -> Json:
    """Return an EgressAllowlist for the default service account; entries without ports get 443."""
    entries = [each if "destinations" in each else {"ports": [*TCP_443], **each} for each in to]
    fields = {
        "serviceAccounts": ["default"],
        "to": entries,
        "owner": "team",
        "reason": "a test",
        "expiresAt": FAR,
        **spec,
    }
    metadata = {"name": name, "namespace": namespace}
    return {
        "apiVersion": names.API_VERSION,
        "kind": "EgressAllowlist",
        "metadata": metadata,
        "spec": fields,
    }


def later(seconds: float) -> str:
    """Return the time so many seconds from now, as `expiresAt` says it."""
    time_ = dt.datetime.fromtimestamp(time.time() + seconds, dt.UTC)
    return f"{time_:%Y-%m-%dT%H:%M:%SZ}"


@dataclass
class Field:
    """A namespace."""

    client: Client
    name: str

    async def prepare(self, word: str = "deny") -> None:
        """Make it, enrolled."""
        await self.client.create_namespace(self.name, {names.EGRESS_LABEL: word})

    async def allow(self, name: str, *to: Json, **spec: Any) -> Json:
        """Make an allowlist."""
        return await self.client.create(allowlist(self.name, name, *to, **spec))

    async def policies(self) -> dict[str, Json]:
        """Return the NetworkPolicies, by name."""
        path = f"/apis/networking.k8s.io/v1/namespaces/{self.name}/networkpolicies"
        _, found = await self.client.request("GET", path)
        return {each["metadata"]["name"]: each for each in found["items"]}

    async def settle(self, wanted: Callable[[dict[str, Json]], bool]) -> dict[str, Json]:
        """Wait until the policies are as wanted, and give them."""

        async def is_so() -> bool:
            return wanted(await self.policies())

        await wait_for(is_so, PATIENCE_S)
        return await self.policies()

    async def settle_names(self, *allows: str) -> dict[str, Json]:
        """Wait until there are the floor's policies and these, and no others."""
        return await self.settle(lambda found: found.keys() == FLOOR | set(allows))

    async def intent(self, name: str) -> Json:
        """Return an allowlist."""
        return await self.client.get(names.API_VERSION, "EgressAllowlist", name, self.name)

    async def condition(self, name: str, kind: str = "Ready") -> Mapping[str, Any]:
        """Return a condition of an allowlist; nothing where it has none."""
        status = (await self.intent(name)).get("status") or {}
        found: Sequence[Mapping[str, Any]] = status.get("conditions") or ()
        return next((each for each in found if each["type"] == kind), {})

    async def settle_reason(self, name: str, reason: str, kind: str = "Ready") -> Mapping[str, Any]:
        """Wait until a condition has a reason, and give it."""

        async def is_so() -> bool:
            return (await self.condition(name, kind)).get("reason") == reason

        await wait_for(is_so, PATIENCE_S)
        return await self.condition(name, kind)

    async def events(self, reason: str) -> list[Json]:
        """Return the Events of a reason."""
        _, found = await self.client.request("GET", f"/api/v1/namespaces/{self.name}/events")
        return [each for each in found["items"] if each["reason"] == reason]

    async def settle_event(self, reason: str) -> Json:
        """Wait until there is an Event of a reason, and give the only one."""

        async def is_told() -> bool:
            return bool(await self.events(reason))

        await wait_for(is_told, PATIENCE_S)
        (event,) = await self.events(reason)
        return event

    def policy(self, name: str) -> Json:
        """Name a NetworkPolicy, for the client."""
        return {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": {"name": name, "namespace": self.name},
        }


def cidrs(policy: Json) -> list[str]:
    """Return the networks that a policy opens."""
    rules = policy["spec"].get("egress") or ()
    return [peer["ipBlock"]["cidr"] for rule in rules for peer in rule["to"] if "ipBlock" in peer]
