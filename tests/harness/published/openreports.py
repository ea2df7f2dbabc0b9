"""OpenReports' own CRDs, out of its Go module (tests/tools/openreports pins version and sum)."""

from typing import Final

from tests.harness.programs.client import Client, Json, read_objects
from tests.harness.published.go_modules import module_folder

API_VERSION: Final = "openreports.io/v1alpha1"
_MODULE: Final = "github.com/openreports/reports-api"


def crds() -> list[Json]:
    """Return the CustomResourceDefinitions; without Go or the module see `skip_or_fail`."""
    folder = module_folder("openreports", _MODULE, "OpenReports' CRDs") / "config" / "crd"
    return [item for file in sorted(folder.glob("*.yaml")) for item in read_objects(file)]


async def install_crds(client: Client) -> None:
    """Put the CRDs into the cluster, and wait until they are served."""
    await client.apply(crds())
    for kind in ("Report", "ClusterReport"):
        await client.wait_for_kind(API_VERSION, kind)
