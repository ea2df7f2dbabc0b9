"""The Prometheus operator's CRDs, out of its Go module (tests/tools/prometheus-operator)."""

from typing import Final

from tests.harness.programs.client import Client, Json, read_objects
from tests.harness.published.go_modules import module_folder

_MODULE: Final = "github.com/prometheus-operator/prometheus-operator"
_KINDS: Final = ("servicemonitors", "prometheusrules")


def crds() -> list[Json]:
    """Return the CustomResourceDefinitions; without Go or the module see `skip_or_fail`."""
    folder = module_folder("prometheus-operator", _MODULE, "the Prometheus operator's CRDs")
    where = folder / "example" / "prometheus-operator-crd"
    files = (where / f"monitoring.coreos.com_{kind}.yaml" for kind in _KINDS)
    return [item for file in files for item in read_objects(file)]


async def install_crds(client: Client) -> None:
    """Put the CRDs into the cluster, and wait until they are served."""
    await client.apply(crds())
    for kind in ("ServiceMonitor", "PrometheusRule"):
        await client.wait_for_kind("monitoring.coreos.com/v1", kind)
