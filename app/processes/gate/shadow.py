"""Lets a candidate bundle ride along in a gate, where the settings name one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry

from admission.bundles.shadow import ActiveBundle, Shadow
from app.embedded import load_embedded
from app.settings.root import Settings
from core.cluster import Cluster
from policies.bundle.format import Bundle, read_bundle
from policies.engine.interface import Engine
from webhooks.bundle_metrics import ShadowCollector


@contextmanager
def open_shadow(
    settings: Settings,
    cluster: Cluster,
    in_force: Callable[[], ActiveBundle],
    registry: CollectorRegistry,
) -> Iterator[Shadow | None]:
    """Give the shadow, started, and show it to Prometheus.

    A candidate that cannot be loaded keeps no gate from starting: it is logged and shown.
    """
    path = settings.shadow.bundle
    if path is None:
        yield None
        return

    def load() -> tuple[Bundle, Engine]:
        bundle = read_bundle(path)
        return bundle, load_embedded(bundle, settings.evaluation, shadow.observe)

    budget, points = settings.shadow.budget, settings.sandbox.points
    shadow = Shadow(load, cluster.profiles, in_force, budget, points)
    registry.register(ShadowCollector(shadow))
    shadow.start()
    try:
        yield shadow
    finally:
        shadow.stop()
