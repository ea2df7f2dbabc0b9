"""A made-up file of Azure's service tags, of the real one's shape and size; a seed makes it."""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Address, IPv6Network
from typing import Any, Final, TypeVar

_Net = TypeVar("_Net", IPv4Network, IPv6Network)

CLOUD_V4: Final = (11_229, 2_809)
"""Prefixes of AzureCloud, and how many are left once they are collapsed (June 2026)."""
CLOUD_V6: Final = (4_093, 2_032)
COUNTS: Final[Mapping[str, tuple[int, int]]] = {
    "AzureCloud": (CLOUD_V4[0], CLOUD_V6[0]),
    "AzureMonitor": (1_865, 1_226),
    "Storage": (496, 79),
    "Storage.WestEurope": (101, 1),
    "AzureKeyVault.WestEurope": (5, 7),
}
"""IPv4 and IPv6 prefixes of the tags whose size is known."""

REGION: Final = "WestEurope"
_REGIONS: Final = tuple(
    f"{land}{part}"
    for land in (
        *("Australia", "Austria", "Belgium", "Brazil", "Canada", "Chile", "Denmark", "France"),
        *("Germany", "India", "Indonesia", "Israel", "Italy", "Japan", "Korea", "Malaysia"),
        *("Mexico", "Norway", "Poland", "Qatar", "Spain", "Sweden", "Switzerland", "Taiwan"),
        *("UAE", "UK", "US", "SouthAfrica", "NewZealand"),
    )
    for part in ("East", "West")
)
REGIONS: Final = (REGION, *_REGIONS)

_SERVICES: Final = (
    *("ActionGroup", "ApiManagement", "AppConfiguration", "AppService", "AutonomousPlatform"),
    *("AzureActiveDirectory", "AzureAttestation", "AzureBackup", "AzureBotService"),
    *("AzureCognitiveSearch", "AzureConnectors", "AzureContainerRegistry", "AzureCosmosDB"),
    *("AzureDatabricks", "AzureDataExplorerManagement", "AzureDeviceUpdate", "AzureDevSpaces"),
    *("AzureDigitalTwins", "AzureEventGrid", "AzureFrontDoor", "AzureInformationProtection"),
    *("AzureIoTHub", "AzureLoadTesting", "AzureMachineLearning", "AzureManagedGrafana"),
    *("AzureResourceManager", "AzureSecurityCenter", "AzureSentinel", "AzureSignalR"),
    *("AzureSiteRecovery", "AzureSpringCloud", "AzureStack", "AzureTrafficManager"),
    *("AzureUpdateDelivery", "AzureVideoAnalyzer", "AzureWebPubSub", "BatchNodeManagement"),
    *("CognitiveServicesFrontend", "CognitiveServicesManagement", "DataFactory", "Dynamics365"),
    *("EventHub", "GatewayManager", "GenevaActions", "GuestAndHybridManagement", "HDInsight"),
    *("LogicApps", "MicrosoftCloudAppSecurity", "MicrosoftContainerRegistry", "PowerBI"),
    *("PowerPlatformInfra", "ServiceBus", "ServiceFabric", "Sql", "SqlManagement"),
)
_FIRST_OCTETS: Final = (4, 13, 20, 23, 40, 51, 52, 65, 68, 70, 74, 98, 102, 104, 108, 131, 134)
_AZURE_V6: Final = int(IPv6Address("2603:1000::"))
_IPV4_LONGEST: Final = 31
_IPV6_LONGEST: Final = 64


@dataclass(frozen=True)
class _Pool:
    """Prefixes by region, of which services have theirs."""

    four: tuple[tuple[IPv4Network, ...], ...]
    six: tuple[tuple[IPv6Network, ...], ...]


def service_tags(seed: int = 1) -> dict[str, Any]:
    """Return the content of a file: over 3,000 tags, about 4 MB of JSON."""
    chance = random.Random(seed)  # noqa: S311  Any numbers will do.
    pool = _pool(chance)
    values = list(_cloud(pool))
    values += _spread(chance, pool, "Storage", COUNTS["Storage"], COUNTS["Storage.WestEurope"])
    values += _spread(chance, pool, "AzureMonitor", COUNTS["AzureMonitor"], (40, 20))
    values += _spread(chance, pool, "AzureKeyVault", (310, 420), COUNTS["AzureKeyVault.WestEurope"])
    for service in _SERVICES:
        four, six = chance.randint(120, 900), chance.randint(0, 400)
        values += _spread(chance, pool, service, (four, six), (max(1, four // 30), six // 40))
    values.sort(key=lambda value: str(value["name"]))
    return {"changeNumber": 400 + seed, "cloud": "Public", "values": values}


def encoded(content: Mapping[str, Any]) -> bytes:
    """Write a file as Microsoft does: indented by two."""
    return json.dumps(content, indent=2).encode()


def prefixes(content: Mapping[str, Any], name: str) -> list[str]:
    """Return the prefixes of a tag, as they are written."""
    found: list[str] = next(
        value["properties"]["addressPrefixes"]
        for value in content["values"]
        if value["name"] == name
    )
    return found


def _tag(
    name: str, service: str, region: str, networks: Sequence[IPv4Network | IPv6Network]
) -> dict[str, Any]:
    """Return an entry of `values`, as the file has it."""
    ordered = sorted(networks, key=lambda one: (one.version, int(one.network_address)))
    properties = {
        "changeNumber": len(ordered),
        "region": region.lower(),
        "regionId": REGIONS.index(region) + 1 if region else 0,
        "platform": "Azure",
        "systemService": service,
        "addressPrefixes": [str(each) for each in ordered],
        "networkFeatures": ["API", "NSG", "UDR", "FW"],
    }
    return {"name": name, "id": name, "properties": properties}


def _cloud(pool: _Pool) -> Iterator[dict[str, Any]]:
    """Yield AzureCloud, and one of each region; the file writes their regions small."""
    everything: list[IPv4Network | IPv6Network] = []
    for place in range(len(REGIONS)):
        everything += [*pool.four[place], *pool.six[place]]
    yield _tag("AzureCloud", "", "", everything)
    for place, region in enumerate(REGIONS):
        networks: list[IPv4Network | IPv6Network] = [*pool.four[place], *pool.six[place]]
        yield _tag(f"AzureCloud.{region.lower()}", "", region, networks)


def _spread(
    chance: random.Random,
    pool: _Pool,
    service: str,
    whole: tuple[int, int],
    first: tuple[int, int],
) -> Iterator[dict[str, Any]]:
    """Yield a service's tag with `whole` prefixes, and its regions', `first` in the first."""
    four = _shares(whole[0], first[0])
    six = _shares(whole[1], first[1])
    everything: list[IPv4Network | IPv6Network] = []
    regional = []
    for place, region in enumerate(REGIONS):
        networks: list[IPv4Network | IPv6Network] = [
            *_parts(chance, pool.four[place], four[place]),
            *_parts(chance, pool.six[place], six[place]),
        ]
        everything += networks
        if networks:
            regional.append(_tag(f"{service}.{region}", service, region, networks))
    yield _tag(service, service, "", everything)
    yield from regional


def _shares(whole: int, first: int) -> list[int]:
    rest, over = divmod(whole - first, len(_REGIONS))
    return [first, *(rest + (place < over) for place in range(len(_REGIONS)))]


def _parts(chance: random.Random, networks: Sequence[_Net], count: int) -> Iterator[_Net]:
    """Yield networks in different ones of a region, as large or smaller."""
    for network in chance.sample(networks, count):
        length = min(network.max_prefixlen, network.prefixlen + chance.randint(0, 6))
        yield type(network)((network.network_address, length))


def _pool(chance: random.Random) -> _Pool:
    """Return AzureCloud by region."""
    slots = chance.sample(
        [(octet, slot) for octet in _FIRST_OCTETS for slot in range(4096)], CLOUD_V4[1]
    )
    four = [
        IPv4Network((octet << 24 | slot << 12 | _half(chance, 11), 21 + chance.randint(0, 6)))
        for octet, slot in slots
    ]
    six = [
        IPv6Network((_AZURE_V6 + (slot << 96) | _half(chance, 85), 43 + chance.randint(0, 9)))
        for slot in range(CLOUD_V6[1])
    ]
    return _Pool(
        _regions_of(chance, four, CLOUD_V4[0], _IPV4_LONGEST),
        _regions_of(chance, six, CLOUD_V6[0], _IPV6_LONGEST),
    )


def _half(chance: random.Random, bit: int) -> int:
    """Return one of the halves of a slot.

    The other stays free, so that nothing collapses into it.
    """
    return chance.randint(0, 1) << bit


def _regions_of(
    chance: random.Random, networks: Sequence[_Net], count: int, longest: int
) -> tuple[tuple[_Net, ...], ...]:
    """Deal networks to regions, and split them until there are `count` in all."""
    regions = [list(networks[place :: len(REGIONS)]) for place in range(len(REGIONS))]
    missing = count - len(networks)
    while missing:
        mine = regions[missing % len(regions)]
        place = chance.randrange(len(mine))
        if mine[place].prefixlen < longest:
            mine += mine.pop(place).subnets(1)
            missing -= 1
    return tuple(tuple(mine) for mine in regions)
