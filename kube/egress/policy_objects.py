"""What decides about connections in a cluster, as manifests: Pods, Namespaces, all policies.

Kinds that nobody judges are listed too, so that they can be named.
"""

from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Any, Final

import msgspec

from core.base.errors import ClusterError, InvalidObjectError
from kube.client.objects import Objects, list_objects
from kube.manifests.reader import Manifest
from kube.resources.paths import NAMESPACES_PATH

_NEEDED: Final = (
    ("v1", "Namespace", NAMESPACES_PATH),
    ("v1", "Pod", "/api/v1/pods"),
    (
        "networking.k8s.io/v1",
        "NetworkPolicy",
        "/apis/networking.k8s.io/v1/networkpolicies",
    ),
)
_BESIDE: Final = (
    ("networking.k8s.io/v1", "Ingress", "ingresses"),
    ("policy.networking.k8s.io/v1alpha1", "AdminNetworkPolicy", "adminnetworkpolicies"),
    (
        "policy.networking.k8s.io/v1alpha1",
        "BaselineAdminNetworkPolicy",
        "baselineadminnetworkpolicies",
    ),
    ("policy.networking.k8s.io/v1alpha2", "ClusterNetworkPolicy", "clusternetworkpolicies"),
    ("cilium.io/v2", "CiliumNetworkPolicy", "ciliumnetworkpolicies"),
    ("cilium.io/v2", "CiliumClusterwideNetworkPolicy", "ciliumclusterwidenetworkpolicies"),
    ("crd.projectcalico.org/v1", "NetworkPolicy", "networkpolicies"),
    ("crd.projectcalico.org/v1", "GlobalNetworkPolicy", "globalnetworkpolicies"),
    ("projectcalico.org/v3", "NetworkPolicy", "networkpolicies"),
    ("projectcalico.org/v3", "GlobalNetworkPolicy", "globalnetworkpolicies"),
    ("crd.antrea.io/v1beta1", "NetworkPolicy", "networkpolicies"),
    ("crd.antrea.io/v1beta1", "ClusterNetworkPolicy", "clusternetworkpolicies"),
    ("k8s.cni.cncf.io/v1beta1", "MultiNetworkPolicy", "multi-networkpolicies"),
    ("k8s.ovn.org/v1", "EgressFirewall", "egressfirewalls"),
    ("k8s.ovn.org/v1", "UserDefinedNetwork", "userdefinednetworks"),
    ("k8s.ovn.org/v1", "ClusterUserDefinedNetwork", "clusteruserdefinednetworks"),
    ("security.istio.io/v1", "AuthorizationPolicy", "authorizationpolicies"),
)
"""Kinds that a cluster may lack."""


async def list_policy_objects(objects: Objects) -> list[Manifest | InvalidObjectError]:
    """Return them; for what we may not list the error, which says that it is not known.

    Raises:
        ClusterError: kube-apiserver does not answer, or lets us not list Pods, Namespaces and
            NetworkPolicies.
    """
    found: list[Manifest | InvalidObjectError] = []
    for api_version, kind, path in _NEEDED:
        try:
            found += [each async for each in _list(objects, api_version, kind, path)]
        except ClusterError as error:
            message = f"every {kind} at {path} must be listed: {error}"
            raise ClusterError(message, error.status) from None
    for api_version, kind, plural in _BESIDE:
        try:
            path = f"/apis/{api_version}/{plural}"
            found += [each async for each in _list(objects, api_version, kind, path)]
        except ClusterError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                found.append(InvalidObjectError(kind, "", f"cannot be listed: {error}"))
    return found


async def _list(
    objects: Objects, api_version: str, kind: str, path: str
) -> AsyncIterator[Manifest]:
    async for raw in list_objects(objects, path):
        value: dict[str, Any] = msgspec.json.decode(raw)
        meta = value.get("metadata") or {}
        source = f"{kind} {meta.get('namespace', '')}/{meta.get('name', '')}".replace(" /", " ")
        head = {"apiVersion": api_version, "kind": kind}
        yield Manifest("", source, {**value, **head})
