"""Approvals as people write them: with the UID and the digest of the object that they saw."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Final

import msgspec

from core.approvals.break_glass import parse_break_glass
from core.approvals.exceptions import parse_exception
from core.egress.allowlists import parse_allowlist, parse_destinations
from core.people.two_person import Approvable
from core.weights.access_grants import parse_grant
from tests.harness.programs.client import Client, Json

_PARSERS: Final[Mapping[str, Callable[[bytes], Any]]] = {
    "PolicyException": parse_exception,
    "BreakGlass": parse_break_glass,
    "EgressAllowlist": parse_allowlist,
    "EgressDestinations": parse_destinations,
    "AccessGrant": parse_grant,
}


def stated(approval: Json, of: Json) -> Json:
    """Return an approval that states the UID and the digest of an object as a cluster holds it.

    What it states already stays.
    """
    what: Approvable = _PARSERS[of["kind"]](msgspec.json.encode(of)).approvable
    made = deepcopy(approval)
    made["spec"]["for"] = {"uid": what.uid, "digest": what.digest, **made["spec"]["for"]}
    return made


async def seen(client: Client, approval: Json) -> Json:
    """Look at what an approval is for, as `client`; return the approval with what it states.

    Raises:
        ApiStatusError: there is no such object.
    """
    wanted, metadata = approval["spec"]["for"], approval["metadata"]
    version = str(approval["apiVersion"])
    found = await client.get(version, wanted["kind"], wanted["name"], metadata.get("namespace"))
    return stated(approval, found)
