"""Service tags behind which every tenant is: as allowlists, ways out for what is stolen. Pure."""

from collections.abc import Mapping
from typing import Final

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


def sharing_warning(tag: str) -> str:
    """Say who else is behind a tag, and what to name instead; empty where that is not known.

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
