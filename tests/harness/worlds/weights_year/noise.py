"""What a cloud does around weights that is no attack, and looks like one.

Terraform lists keys and looks at accounts with one (`management.plans` has what it does by Resource
Manager); Microsoft Defender's scanner reads each new blob and tags it; lifecycle management deletes
old blobs; clients try again; people look around in the portal, some of them from a VPN whose
addresses change. The user agent of Defender's scanner is a guess: no page of Microsoft's has it.
Its role is Azure's own ("Defender for Storage Data Scanner").
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from tests.harness.worlds.storage_logs import identity, principal
from tests.harness.worlds.weights_year.logs import Year, change_of
from tests.harness.worlds.weights_year.people import (
    DAY,
    GIB,
    HOUR,
    LOG,
    START,
    STORES,
    Happening,
    Job,
    Store,
    shard_of,
    text_of,
)

DEFENDER: Final = principal(9001)
PORTAL: Final = "691458b9-1327-4635-9f55-ed83a7f1b41c"
SCANNER_ROLE: Final = "1e7ca9b1-60d1-4db8-a914-f2ca1ff27c40"
OFFICE: Final = "198.51.100.20"
PEOPLE: Final = tuple(principal(number) for number in range(9100, 9112))
"""The first half may read by a grant, the others look at names."""
_SCAN: Final = {"userAgentHeader": "azsdk-net-Storage.Blobs/12.19.1 (.NET 8.0.8; Linux)"}
_BROWSER: Final = {"userAgentHeader": "Mozilla/5.0 (Windows NT 10.0; Win64; x64)"}
_LIFECYCLE: Final = "xAzure/1.0 AzureStorage/1.0 ObjectLifeCycleScanner/0.50"
_OPERATOR: Final = {"userAgentHeader": "HashiCorp Terraform/1.9.5 azurerm/4.1.0"}


def noise(year: Year, day: int, ordinary: Iterable[Happening]) -> list[Happening]:
    """Return the noise of a day, not in order; `ordinary` is what else happens on it."""
    return [
        *_scans(year, ordinary),
        *_by_key(year, day),
        *_lifecycle(year, day),
        *_tries(year, day),
        *_people(year, day),
    ]


def grants_of_people(year: Year) -> list[Happening]:
    """Let half of the people read each store by a grant of their own."""
    del year
    people = [f"oid:{one}" for one in PEOPLE[: len(PEOPLE) // 2]]
    return [
        change_of(
            START + 1,
            "approved",
            "AccessGrant",
            "team-0",
            f"people-{store.name}",
            {
                "store": store.name,
                "rights": ["read"],
                "reason": "look",
                "expiresAt": text_of(START + 90 * DAY)[:19] + "Z",
                "people": people,
            },
            ["oid:1", "oid:2"],
        )
        for store in STORES
    ]


def _scanner() -> dict[str, Any]:
    told = identity("OAuth", objectId=DEFENDER, appId=principal(9002))
    granted = [{**one, "roleDefinitionId": SCANNER_ROLE} for one in told["authorization"]]
    return {**told, "authorization": granted}


def _scans(year: Year, ordinary: Iterable[Happening]) -> Iterator[Happening]:
    """Yield what Defender does with each blob that was put: it reads it, and tags it."""
    held = {store.account: store for store in STORES}
    for one in ordinary:
        if one.kind != LOG or b'"PutBlob"' not in one.content:
            continue
        record = msgspec.json.decode(one.content)
        _, account, _, blob = record["properties"]["objectKey"].split("/", 3)
        store = held[account]
        told: dict[str, Any] = {
            "identity": _scanner(),
            "address": "10.12.7.9:40100",
            "properties": _SCAN,
        }
        amount = store.shard_gib * GIB
        yield from year.access(None, one.at + 20, "GetBlobProperties", store, blob, **told)
        yield from year.access(None, one.at + 21, "GetBlob", store, blob, amount=amount, **told)
        yield from year.access(None, one.at + 90, "SetBlobTags", store, blob, status=204, **told)


def _by_key(year: Year, day: int) -> Iterator[Happening]:
    """Yield what Terraform looks at with the key that it listed, twice a day."""
    told: dict[str, Any] = {
        "identity": identity("AccountKey"),
        "address": f"{OFFICE}:50100",
        "properties": _OPERATOR,
    }
    store = STORES[0]
    above = Store("", store.account, "", 1, 1)
    for half in range(2):
        at = START + day * DAY + (6 + 12 * half) * HOUR + 30
        yield from year.access(None, at, "GetBlobServiceProperties", above, **told)
        yield from year.access(None, at + 1, "GetContainerProperties", store, **told)


def _lifecycle(year: Year, day: int) -> Iterator[Happening]:
    """Yield what lifecycle management deletes and moves at night, in each account."""
    told: dict[str, Any] = {
        "identity": {"type": "TrustedAccess"},
        "address": "10.74.16.5:443",
        "properties": {"userAgentHeader": _LIFECYCLE},
    }
    for store in STORES:
        for number in range(120):
            at, blob = START + day * DAY + 3 * HOUR + number, f"old/{day}-{number}.bin"
            yield from year.access(None, at, "DeleteBlob", store, blob, status=202, **told)
            if number < 20:
                tier = {**told, "properties": {**told["properties"], "accessTier": "Archive"}}
                cold = f"cold/{day}-{number}.bin"
                yield from year.access(None, at, "SetBlobTier", store, cold, **tier)


def _tries(year: Year, day: int) -> Iterator[Happening]:
    """Yield requests that are refused, throttled, challenged, or for what is not there yet."""
    one = year.named(Job.EVALUATE, year.draw.randrange(10))
    by, found = year.session(one, START + day * DAY + 8 * HOUR, 4 * HOUR)
    yield from found
    store = one.store
    for number in range(40):
        at, blob = by.begin + 20 + number * 3, shard_of(900, number % store.shards)
        told: dict[str, Any] = {"status": 403, "statusText": "AuthorizationPermissionMismatch"}
        yield from year.access(by, at, "GetBlob", store, blob, **told)
        told = {"status": 404, "statusText": "BlobNotFound"}
        yield from year.access(by, at + 900, "GetBlob", store, "run/_SUCCESS", **told)
        told = {"status": 503, "statusText": "ServerBusy"}
        yield from year.access(by, at + 1800, "GetBlob", store, blob, **told)
        told = {"status": 412, "statusText": "ConditionNotMet"}
        yield from year.access(by, at + 2700, "PutBlob", store, blob, **told)
    yield from year.access(by, by.begin + 300, "GetBlob", store, shard_of(900, 0), amount=GIB)
    unsigned: dict[str, Any] = {"identity": identity("Anonymous"), "status": 401}
    for number in range(60):
        at = by.begin + number * 5
        where: dict[str, Any] = {
            "address": f"{by.address}:40200",
            "statusText": "NoAuthenticationInformation",
        }
        yield from year.access(None, at, "GetBlob", store, shard_of(900, 0), **unsigned, **where)


def _people(year: Year, day: int) -> Iterator[Happening]:
    """Yield what people do in the portal, and some of them by a program over the VPN."""
    if day % 7 > 4:
        return
    for place, who in enumerate(PEOPLE):
        if year.draw.random() > 0.4:
            continue
        at = START + day * DAY + year.draw.uniform(7, 17) * HOUR
        store = STORES[place % len(STORES)]
        vpn = f"[2001:db8:{year.draw.randrange(3) + 1}::{place + 16:x}]:50200"
        told: dict[str, Any] = {
            "identity": {
                **identity("OAuth", objectId=who, appId=PORTAL),
                "tokenHash": f"{year.draw.getrandbits(128):032X}",
            },
            "address": vpn if place % 2 else f"{OFFICE}:50300",
            "properties": _BROWSER,
        }
        for number in range(6):
            yield from year.access(None, at + number, "ListBlobs", store, **told)
            blob = shard_of(900, number)
            yield from year.access(None, at + 10 + number, "GetBlobProperties", store, blob, **told)
        if place < len(PEOPLE) // 2:
            yield from year.access(
                None, at + 30, "GetBlob", store, "run/config.json", amount=4096, **told
            )
