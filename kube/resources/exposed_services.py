"""Services (core/v1) in memory: those that let traffic in from outside of the cluster.

All others are dropped as they are read, 1 µs each. 2,000 that are kept, in 2,000 namespaces, take
1.3 MB, and 1.3 ms after each change of one of them; to ask takes 1 µs.

What counts is what the author asks for: an address beyond the cluster (`LoadBalancer`), a port on
all addresses of every node (`NodePort`; also what the Ingress controllers of EKS and GKE send to),
or addresses that the nodes shall answer (`externalIPs`). A load balancer that an annotation keeps
in the private network does not count, though its node ports are as open as any.

Not seen: ClusterIP Services behind an Ingress or a Gateway. Neither says whether it can be reached
from outside; the Service of its controller does, and no field leads there.
"""

import ipaddress
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from core.base.errors import InvalidObjectError
from core.base.json_errors import decode_json
from kube.client.settings import LiveSettings
from kube.resources.paths import SERVICES_PATH
from kube.watch.listwatch import Resource
from kube.watch.optional import OptionalWatch

if TYPE_CHECKING:  # It imports aiohttp and kubernetes: not for a folder's sake.
    from kube.client.connection import Connection

KIND: Final = "Service"

_AZURE: Final = "service.beta.kubernetes.io/azure-load-balancer-internal"
"""`true` alone (cloud-provider-azure, pkg/provider/azure_loadbalancer.go)."""
_GKE: Final = ("networking.gke.io/load-balancer-type", "cloud.google.com/load-balancer-type")
"""The first that is set counts (cloud-provider-gcp, providers/gce/gce_annotations.go)."""
_AWS_SCHEME: Final = "service.beta.kubernetes.io/aws-load-balancer-scheme"
_AWS: Final = "service.beta.kubernetes.io/aws-load-balancer-internal"
"""Counts where there is no scheme (aws-load-balancer-controller,
pkg/service/model_build_load_balancer.go)."""


class ExposedService(msgspec.Struct, frozen=True, gc=False):
    """A Service that lets traffic in from outside."""

    namespace: str
    name: str
    selector: tuple[tuple[str, str], ...]
    """Labels that a Pod must have, all of them; never empty."""

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Return whether it sends to a Pod with these labels."""
        return all(labels.get(key) == value for key, value in self.selector)


class _Meta(msgspec.Struct):
    name: str
    namespace: str = "default"
    annotations: dict[str, str] | None = None


class _Spec(msgspec.Struct, rename={"external_ips": "externalIPs"}):
    type: str = "ClusterIP"
    selector: dict[str, str] | None = None
    external_ips: list[str] | None = None


class _Ingress(msgspec.Struct):
    ip: str = ""
    hostname: str = ""


class _LoadBalancer(msgspec.Struct):
    ingress: list[_Ingress] | None = None


class _Status(msgspec.Struct, rename="camel"):
    load_balancer: _LoadBalancer | None = None


class _Envelope(msgspec.Struct):
    metadata: _Meta
    spec: _Spec
    status: _Status | None = None


_DECODER = msgspec.json.Decoder(_Envelope)


def parse_exposing(raw: bytes | msgspec.Raw) -> ExposedService | None:
    """Read a Service from its JSON; None for one that lets nothing in, or selects nothing.

    Without a selector, or with an empty one, a Service selects nothing, and an ExternalName none
    of its own (k8s.io/kubernetes pkg/controller/endpointslice, syncService).

    Raises:
        InvalidObjectError: with the field's path and what it must be.
    """
    read = decode_json(_DECODER, raw, KIND)
    if not read.metadata.name:
        raise InvalidObjectError(KIND, "metadata.name", "is missing")
    selector = read.spec.selector
    if not selector or not _lets_in(read):
        return None
    return ExposedService(
        read.metadata.namespace, read.metadata.name, tuple(sorted(selector.items()))
    )


def _lets_in(service: _Envelope) -> bool:
    match service.spec.type:
        case "ExternalName":
            return False
        case "LoadBalancer" if not _stays_inside(service):
            return True
        case "NodePort":
            return True
        case _:
            return bool(service.spec.external_ips)


def _stays_inside(service: _Envelope) -> bool:
    """Return whether its cloud keeps a load balancer in the private network.

    The annotation of another cloud has no effect. Which cloud it is shows once the load balancer
    is there: AWS alone gives it a name, the others an address.
    """
    balancer = service.status.load_balancer if service.status else None
    given = (balancer.ingress if balancer else None) or ()
    annotations = service.metadata.annotations or {}
    if any(each.ip and not _is_private(each.ip) for each in given):
        return False
    named = any(each.hostname and not each.ip for each in given)
    addressed = any(each.ip for each in given)
    by_address = annotations.get(_AZURE) == "true" or _gke(annotations) in {"Internal", "internal"}
    by_name = annotations.get(_AWS_SCHEME, _aws(annotations)) == "internal"
    return (by_address and not named) or (by_name and not addressed)


def _gke(annotations: Mapping[str, str]) -> str | None:
    return next((annotations[key] for key in _GKE if key in annotations), None)


def _aws(annotations: Mapping[str, str]) -> str | None:
    return "internal" if annotations.get(_AWS) == "true" else None


def _is_private(address: str) -> bool:
    try:
        return not ipaddress.ip_address(address).is_global
    except ValueError:
        return False


class Services:
    """The Services that let traffic in, found by namespace.

    By itself it is what a folder of YAML holds.
    """

    def __init__(self, exposing: Iterable[ExposedService] = ()) -> None:
        self._by_namespace: Mapping[str, list[ExposedService]] = {}
        self.take(exposing)

    def take(self, exposing: Iterable[ExposedService]) -> None:
        """Take all of them as they are now."""
        found = defaultdict(list)
        for each in exposing:
            found[each.namespace].append(each)
        self._by_namespace = dict(found)

    def exposing_services(self, namespace: str, labels: Mapping[str, str]) -> tuple[str, ...]:
        """Name those of a namespace that select a Pod with these labels, sorted."""
        found = self._by_namespace.get(namespace, ())
        return tuple(sorted({each.name for each in found if each.selects(labels)}))


class WatchedServices(OptionalWatch[ExposedService]):
    """Those of a real cluster."""

    def __init__(self, connection: "Connection", settings: LiveSettings) -> None:
        self._known = Services()
        resource = Resource("Services", SERVICES_PATH, parse_exposing)
        super().__init__(
            connection, settings, resource, lambda found: self._known.take(found.values())
        )

    def exposing_services(self, namespace: str, labels: Mapping[str, str]) -> tuple[str, ...]:
        """Name those of a namespace that select a Pod with these labels, sorted.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """
        self._watch.require()
        return self._known.exposing_services(namespace, labels)
