"""The Prometheus operator's CRDs, out of its Go module (tests/tools/prometheus-operator).

Azure's managed Prometheus serves the same definitions under a group of its own: "the same custom
resource definitions … except for a change in the group name"
(https://learn.microsoft.com/azure/azure-monitor/containers/prometheus-metrics-scrape-crd).
"""

import copy
from typing import Final

from tests.harness.programs.client import Client, Json, read_objects
from tests.harness.published.go_modules import module_folder

_MODULE: Final = "github.com/prometheus-operator/prometheus-operator"
_KINDS: Final = ("servicemonitors", "prometheusrules")
_AZURE: Final = "azmonitoring.coreos.com"
_OF_AZURE: Final = ("ServiceMonitor",)


def crds() -> list[Json]:
    """Return the CustomResourceDefinitions; without Go or the module see `skip_or_fail`."""
    folder = module_folder("prometheus-operator", _MODULE, "the Prometheus operator's CRDs")
    where = folder / "example" / "prometheus-operator-crd"
    files = (where / f"monitoring.coreos.com_{kind}.yaml" for kind in _KINDS)
    return [item for file in files for item in read_objects(file)]


def azure_crds() -> list[Json]:
    """Return those of managed Prometheus: ServiceMonitors of Azure's group."""
    found = [copy.deepcopy(each) for each in crds() if each["spec"]["names"]["kind"] in _OF_AZURE]
    for each in found:
        each["spec"]["group"] = _AZURE
        each["metadata"]["name"] = f"{each['spec']['names']['plural']}.{_AZURE}"
    return found


async def install_crds(client: Client) -> None:
    """Put the CRDs into the cluster, and wait until they are served."""
    await client.apply([*crds(), *azure_crds()])
    for kind in ("ServiceMonitor", "PrometheusRule"):
        await client.wait_for_kind("monitoring.coreos.com/v1", kind)
    await client.wait_for_kind(f"{_AZURE}/v1", "ServiceMonitor")
