"""`sallyport egress explain`: whether one connection is open, and why."""

from app.settings.root import Settings
from cli import exits
from cli.egress.inputs import look, make_world, open_source, site_of
from core.base.errors import SettingsError
from egress.analysis.cluster_egress import ClusterEgress, EgressSettings
from egress.analysis.connection import parse_target
from egress.analysis.explanation import Explanation, explain
from egress.analysis.overlay import FileIntents
from kube.egress.pods import EgressPod


async def explain_connection(
    settings: Settings, pod: tuple[str | None, str], to: str
) -> Explanation:
    """Answer for a Pod (namespace, if given, and name) and `HOST:PORT`.

    Raises:
        SettingsError: no cluster is named, or there is no such Pod or destination.
        ClusterError, AccessReviewError: the cluster does not answer.
    """
    if settings.cluster is None and settings.kubeconfig is None:
        raise SettingsError("say in which cluster: give --cluster DIR or --kubeconfig FILE")
    namespace, name = split_pod_name(*pod)
    site = site_of(settings)
    within = {namespace, *_aimed_at(to), *dns_namespaces(site)}
    async with open_source(settings) as source:
        seen = await look(settings, source, within, FileIntents())
        world = await make_world(seen, site, source.ask)
    return explain(pod_of(world, namespace, name), parse_target(to, world), world)


def dns_namespaces(site: EgressSettings) -> frozenset[str]:
    """Return the namespaces of the cluster's DNS."""
    return frozenset(each.namespace for each in site.target.dns.pods)


def _aimed_at(to: str) -> list[str]:
    """Return the namespace that a destination may be in, by how it is written."""
    host = to.rpartition(":")[0]
    kind, *rest = host.split("/")
    if rest:
        return rest[:1] if kind in {"pod", "service"} else []
    return host.split(".")[1:2]


def split_pod_name(namespace: str | None, name: str) -> tuple[str, str]:
    """Return namespace and name of a Pod; what it is written with counts before -n.

    `kubectl sallyport` gives the context's namespace with every command.
    """
    first, _, second = name.removeprefix("pod/").rpartition("/")
    return (first or namespace or "default"), second


def pod_of(world: ClusterEgress, namespace: str, name: str) -> EgressPod:
    """Return a Pod.

    Raises:
        SettingsError: there is none of that name, or it has ended.
    """
    here = {each.name: each for each in world.snapshot.pods if each.namespace == namespace}
    if name not in here:
        some = ", ".join(sorted(here)[:5]) or "none"
        raise SettingsError(f"{namespace}/{name}: no such Pod runs; there: {some}")
    return here[name]


def exit_code(found: Explanation) -> int:
    """Return the exit code: whether the connection is open."""
    return exits.ADMITTED if found.verdict in {"open", "unlimited"} else exits.REFUSED
