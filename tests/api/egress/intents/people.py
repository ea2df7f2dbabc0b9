"""People who write and approve intents, and the objects that they write."""

import asyncio
import time
import uuid
from contextlib import suppress
from typing import Any, Final

from tests.harness.programs.client import ApiStatusError, Client, Json
from tests.harness.worlds.rbac import binding, grant, rule, service_account, user

API: Final = "sallyport.dev/v1alpha1"
AUTHOR: Final = "egress-author@example.com"
ANN: Final = "egress-ann@example.com"
BEN: Final = "egress-ben@example.com"
CLOSER: Final = "egress-closer@example.com"
"""Whoever may `close`, as control may."""
HTTPS: Final = [{"protocol": "TCP", "port": 443}]
TIER: Final = {"group": "sallyport.dev", "resource": "approvaltiers", "name": "egress"}


async def set_up(admin: Client) -> None:
    """Give everyone their rights; return once they have them."""
    writers = [*map(user, (AUTHOR, CLOSER))]
    await admin.apply([binding("sallyport-write-egress", *writers, name="egress-writers")])
    sets = rule(["sallyport.dev"], "egressdestinations", "get create update patch delete")
    await admin.apply(grant("egress-set-writers", sets, user(AUTHOR)))
    close = rule(["sallyport.dev"], "egressallowlists", "close")
    await admin.apply(grant("egress-closers", close, user(CLOSER)))
    approvers = map(user, (AUTHOR, ANN, BEN, "alice", "bob"))
    await admin.apply([binding("sallyport-approve-egress", *approvers, name="egress-approvers")])
    for name in (AUTHOR, ANN, BEN, "alice", "bob"):
        await admin.as_user(name).wait_until_can("approve", TIER)
    for kind in ("egressallowlists", "egressdestinations"):
        wanted = {"group": TIER["group"], "resource": kind}
        await admin.as_user(AUTHOR).wait_until_can("create", wanted)


async def until_known(admin: Client, namespace: str) -> None:
    """Wait until the gate knows a namespace and its service account."""
    author, asked = admin.as_user(AUTHOR), allowlist(namespace, {"cidr": "192.0.2.1/32"})
    end = time.monotonic() + 60
    while True:
        author.warnings.clear()
        with suppress(ApiStatusError):
            await author.dry_run(asked)
            if not any("no such ServiceAccount" in line for line in author.warnings):
                return
        assert time.monotonic() < end, author.warnings
        await asyncio.sleep(0.1)


async def let_use(admin: Client, namespace: str, account: str, name: str) -> None:
    """Let a service account of a namespace use a set there."""
    using = rule(["sallyport.dev"], "egressdestinations", "use", name)
    who = service_account(account, namespace)
    await admin.apply(grant(f"use-{name}-{account}", using, who, namespace=namespace))


def new_name(prefix: str) -> str:
    """Return a name that no other test has: sets lie in no namespace."""
    return f"{prefix}-{uuid.uuid4().hex[:8]}"


def in_days(days: float) -> str:
    """Return a time as intents write it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + days * 86_400))


def allowlist(namespace: str, *to: Json, name: str = "packages", **spec: Any) -> Json:
    """Return an allowlist; entries without ports get 443."""
    fields: Json = {"serviceAccounts": ["trainer"], **_spec(to), "expiresAt": in_days(30)}
    return {
        "apiVersion": API,
        "kind": "EgressAllowlist",
        "metadata": {"name": name, "namespace": namespace},
        "spec": fields | spec,
    }


def shared(name: str, *to: Json, **spec: Any) -> Json:
    """Return a set."""
    head = {"apiVersion": API, "kind": "EgressDestinations", "metadata": {"name": name}}
    return {**head, "spec": _spec(to) | spec}


def approval(of: Json, name: str) -> Json:
    """Return an approval of an intent, as it is by then."""
    meta = of["metadata"]
    placed = "namespace" in meta
    place = {"namespace": meta["namespace"]} if placed else {}
    return {
        "apiVersion": API,
        "kind": "Approval" if placed else "ClusterApproval",
        "metadata": {"name": name, **place},
        "spec": {"for": {"kind": of["kind"], "name": meta["name"]}, "expiresAt": in_days(7)},
    }


def _spec(to: tuple[Json, ...]) -> Json:
    entries = [each if "destinations" in each else {"ports": HTTPS, **each} for each in to]
    return {"to": entries, "owner": "platform", "reason": "packages"}
