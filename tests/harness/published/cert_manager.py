"""cert-manager's CRDs, out of its Go module (tests/tools/cert-manager pins version and sum)."""

from typing import Final

from tests.harness.programs.client import Client, Json, read_objects
from tests.harness.published.go_modules import module_folder

API_VERSION: Final = "cert-manager.io/v1"
_MODULE: Final = "github.com/cert-manager/cert-manager"


def crds() -> list[Json]:
    """Return the CustomResourceDefinitions; without Go or the module see `skip_or_fail`."""
    folder = module_folder("cert-manager", _MODULE, "cert-manager's CRDs") / "deploy" / "crds"
    files = sorted(folder.glob("cert-manager.io_*.yaml"))
    return [item for file in files for item in read_objects(file)]


async def install_crds(client: Client) -> None:
    """Put the CRDs into the cluster, and wait until they are served."""
    await client.apply(crds())
    for kind in ("Certificate", "CertificateRequest", "Issuer", "ClusterIssuer"):
        await client.wait_for_kind(API_VERSION, kind)
