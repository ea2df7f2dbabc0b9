"""Destinations that many owners share: names behind shared front ends, tags of all tenants. Pure.

Behind a CDN, a load balancer or a cloud's storage one address serves the names of many customers:
opening one opens its neighbours, and is a way out for what is stolen.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Final

from core.base.networks import Network, network_of, span_of
from core.egress.dns_names import is_wildcard, labels_after_wildcard

FRONT_ENDS: Final[Mapping[str, str]] = {
    "akamai.net": "Akamai",
    "akamaiedge.net": "Akamai",
    "akamaized.net": "Akamai",
    "azureedge.net": "Azure CDN",
    "azurefd.net": "Azure Front Door",
    "b-cdn.net": "Bunny",
    "cdn.cloudflare.net": "Cloudflare",
    "cloudfront.net": "Amazon CloudFront",
    "edgekey.net": "Akamai",
    "edgesuite.net": "Akamai",
    "fastly.net": "Fastly",
    "fastlylb.net": "Fastly",
    "pages.dev": "Cloudflare",
    "trafficmanager.net": "Azure Traffic Manager",
    "vercel.app": "Vercel",
    "workers.dev": "Cloudflare",
}
"""Whose edge a name leads to. From the operators' own pages on the names that they give customers:
https://learn.microsoft.com/azure/frontdoor/front-door-faq, .../cdn/cdn-create-new-endpoint,
.../traffic-manager/traffic-manager-overview; https://docs.aws.amazon.com/AmazonCloudFront,
https://techdocs.akamai.com/property-mgr (edge hostnames), https://www.fastly.com/documentation,
https://developers.cloudflare.com, https://vercel.com/docs, https://docs.bunny.net."""

FRONT_END_NETWORKS: Final[Mapping[str, tuple[Network, ...]]] = {
    owner: tuple(map(network_of, texts))
    for owner, texts in {
        "Cloudflare": (
            *("103.21.244.0/22", "103.22.200.0/22", "103.31.4.0/22", "104.16.0.0/13"),
            *("104.24.0.0/14", "108.162.192.0/18", "131.0.72.0/22", "141.101.64.0/18"),
            *("162.158.0.0/15", "172.64.0.0/13", "173.245.48.0/20", "188.114.96.0/20"),
            *("190.93.240.0/20", "197.234.240.0/22", "198.41.128.0/17", "2400:cb00::/32"),
            *("2405:8100::/32", "2405:b500::/32", "2606:4700::/32", "2803:f800::/32"),
            *("2a06:98c0::/29", "2c0f:f248::/32"),
        ),
        "Fastly": (
            *("103.244.50.0/24", "103.245.222.0/23", "103.245.224.0/24", "104.156.80.0/20"),
            *("140.248.128.0/17", "140.248.64.0/18", "146.75.0.0/17", "151.101.0.0/16"),
            *("157.52.64.0/18", "167.82.0.0/17", "167.82.128.0/20", "167.82.160.0/20"),
            *("167.82.224.0/20", "172.111.64.0/18", "185.31.16.0/22", "199.232.0.0/16"),
            *("199.27.72.0/21", "23.235.32.0/20", "43.249.72.0/22", "2a04:4e40::/32"),
            "2a04:4e42::/32",
        ),
    }.items()
}
"""Whose edge an address is, where names lead to it without an alias, as those of package registries
do. From https://www.cloudflare.com/ips and https://api.fastly.com/public-ip-list; other CDNs are
known by aliases (CNAME), and Azure's addresses by the operator's file of service tags."""


class OwnedAddresses:
    """Networks and whose they are, looked up by bisection: names have hundreds of addresses."""

    def __init__(self, owned: Iterable[tuple[str, Iterable[Network]]]) -> None:
        """Take networks by owner; where they overlap, whose begins first counts."""
        spans = sorted((*span_of(each), owner) for owner, networks in owned for each in networks)
        self._spans: dict[int, list[tuple[int, int, str]]] = {4: [], 6: []}
        for version, first, last, owner in spans:
            before = self._spans[version][-1] if self._spans[version] else None
            if before is not None and first <= before[1]:
                self._spans[version][-1] = (before[0], max(before[1], last), before[2])
            else:
                self._spans[version].append((first, last, owner))

    def owner_in(self, network: Network) -> str:
        """Return who owns an address of a network; empty where nobody does."""
        found = self._spans[network.version]
        index = bisect_right(found, int(network.broadcast_address), key=lambda each: each[0]) - 1
        first = int(network.network_address)
        return found[index][2] if index >= 0 and found[index][1] >= first else ""


_FRONT_ENDS: Final = OwnedAddresses(FRONT_END_NETWORKS.items())

SHARED_SERVICES: Final[Mapping[str, str]] = {
    "amazonaws.com": "Amazon Web Services",
    "azconfig.io": "Azure App Configuration",
    "azure-api.net": "Azure API Management",
    "azure-devices.net": "Azure IoT Hub",
    "azurecr.io": "Azure Container Registry",
    "azuredatabricks.net": "Azure Databricks",
    "azurewebsites.net": "Azure App Service",
    "blob.core.chinacloudapi.cn": "Azure Storage",
    "blob.core.usgovcloudapi.net": "Azure Storage",
    "blob.core.windows.net": "Azure Storage",
    "blob.storage.azure.net": "Azure Storage",
    "cognitiveservices.azure.com": "Azure AI services",
    "database.windows.net": "Azure SQL",
    "dev.azure.com": "Azure DevOps",
    "dfs.core.windows.net": "Azure Storage",
    "documents.azure.com": "Azure Cosmos DB",
    "eventgrid.azure.net": "Azure Event Grid",
    "file.core.windows.net": "Azure Storage",
    "github.io": "GitHub Pages",
    "googleapis.com": "Google Cloud",
    "logic.azure.com": "Azure Logic Apps",
    "opinsights.azure.com": "Azure Monitor",
    "openai.azure.com": "Azure OpenAI",
    "queue.core.windows.net": "Azure Storage",
    "r2.cloudflarestorage.com": "Cloudflare R2",
    "search.windows.net": "Azure AI Search",
    "service.signalr.net": "Azure SignalR",
    "servicebus.windows.net": "Azure Service Bus",
    "table.core.windows.net": "Azure Storage",
    "vault.azure.net": "Azure Key Vault",
    "web.core.windows.net": "Azure Storage",
}
"""Where anybody can have an account of their own, under a name of their own. Azure's from
https://learn.microsoft.com/azure/private-link/private-endpoint-dns (public zones)."""

_CLOUD: Final = "azurecloud"

_SHARED: Final[Mapping[str, str]] = {
    "apimanagement": "gateways",
    "appconfiguration": "stores",
    "appservice": "sites and functions",
    "azurecognitivesearch": "search services",
    "azurecontainerregistry": "registries",
    "azurecosmosdb": "databases",
    "azuredatabricks": "workspaces",
    "azuredatalake": "accounts",
    "azuredevops": "organisations",
    "azureeventgrid": "topics",
    "azurefrontdoor": "sites",
    "azureiothub": "hubs",
    "azurekeyvault": "vaults",
    "azuremachinelearning": "workspaces",
    "azuremonitor": "workspaces",
    "azuresignalr": "hubs",
    "azurewebpubsub": "hubs",
    "cognitiveservicesfrontend": "accounts",
    "cognitiveservicesmanagement": "accounts",
    "datafactory": "factories",
    "eventhub": "namespaces",
    "logicapps": "workflows",
    "powerbi": "workspaces",
    "servicebus": "namespaces",
    "sql": "databases",
    "storage": "accounts",
}
"""Services where any customer can own an endpoint behind the same addresses, and keep there what is
sent to it; by the tag's first part, in small letters, with what customers own.

Source: https://learn.microsoft.com/azure/virtual-network/service-tags-overview, the services' pages
on private endpoints. A service that is not here is not known to be safe.
"""


def name_sharing_warning(name: str) -> str:
    """Return who else shares a DNS name or a pattern of names; empty where that is not known."""
    if service := _owner(name, SHARED_SERVICES):
        if is_wildcard(name):
            return f"every customer's {service}: data can leave to a stranger's account"
        return f"{service} shares addresses among customers: use a private endpoint and `within`"
    if front_end := _owner(name, FRONT_ENDS):
        return f"{front_end} serves many customers by the same addresses: they are open too"
    return ""


def network_sharing_warning(network: Network) -> str:
    """Return who else shares addresses of a network; empty where that is not known."""
    owner = _FRONT_ENDS.owner_in(network)
    return (
        f"{owner} serves many customers by the same addresses: they are open too" if owner else ""
    )


def _owner(name: str, owners: Mapping[str, str]) -> str:
    """Return whose a name is, by its own end; of a pattern, whose names are among its own."""
    labels = labels_after_wildcard(name)
    ends = (".".join(labels[start:]) for start in range(len(labels)))
    if found := next((owners[end] for end in ends if end in owners), ""):
        return found
    whole = ".".join(["", *labels])
    among = (owner for end, owner in owners.items() if is_wildcard(name) and end.endswith(whole))
    return next(among, "") if labels else ""


def is_shared_tag(tag: str) -> bool:
    """Return whether a service's tag has addresses behind which any customer can be."""
    return tag.partition(".")[0].lower() in _SHARED


def tag_sharing_warning(tag: str) -> str:
    """Return who else shares a tag, and what to name instead; empty where that is not known.

    A regional tag (`Storage.WestEurope`) is the same way out, through fewer doors.
    """
    service = tag.partition(".")[0].lower()
    if service == _CLOUD:
        return (
            f"{tag} covers public addresses of every tenant, anybody's own machines included: data "
            "can leave through it; name the services that are needed, by private endpoint"
        )
    if owned := _SHARED.get(service):
        return (
            f"{tag} covers the {owned} of every tenant: data can leave to one of a stranger's; use "
            "a private endpoint, as dnsName with `within`"
        )
    return ""
