"""The CRDs of policy engines, out of their Go modules (tests/tools/policy-crds pins these)."""

from typing import Final

from tests.harness.programs.client import Client, Json, read_objects
from tests.harness.published.go_modules import module_folder

_FILES: Final = {
    "github.com/cilium/cilium": "pkg/k8s/apis/cilium.io/client/crds/v2/ciliumnetworkpolicies.yaml",
    # The standard channel, which has neither nodes nor names; both are called the same.
    "sigs.k8s.io/network-policy-api": (
        "config/crd/standard/policy.networking.k8s.io_clusternetworkpolicies.yaml"
    ),
}
_KINDS: Final = (
    ("cilium.io/v2", "CiliumNetworkPolicy"),
    ("policy.networking.k8s.io/v1alpha2", "ClusterNetworkPolicy"),
)


def crds() -> list[Json]:
    """Return the CustomResourceDefinitions; without Go or a module see `skip_or_fail`."""
    return [
        item
        for module, file in _FILES.items()
        for item in read_objects(
            module_folder("policy-crds", module, "policy engines' CRDs") / file
        )
    ]


async def install_crds(client: Client) -> None:
    """Put the CRDs into the cluster, and wait until they are served."""
    await client.apply(crds())
    for api_version, kind in _KINDS:
        await client.wait_for_kind(api_version, kind)
