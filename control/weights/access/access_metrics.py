"""What `/metrics` of control shows of who can open the stores; only a leader shows it."""

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge

from core.weights.store_access import StoreAccess
from identity.azure_roles.differences import by_difference


class AccessMetrics:
    """Counters, and gauges that a leader shows."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._differences = Gauge(
            "sallyport_store_access_differences",
            "How Azure's role assignments and settings differ from a WeightStore and its grants.",
            ("store", "difference"),
            registry=registry,
        )
        self._principals = Gauge(
            "sallyport_store_access_principals",
            "Principals whom role assignments let do something to a store.",
            ("store",),
            registry=registry,
        )
        self._gaps = Gauge(
            "sallyport_store_access_gaps",
            "What of a store's role assignments and settings could not be read.",
            ("store",),
            registry=registry,
        )
        self._failures = Counter(
            "sallyport_store_access_failures",
            "Readings of a store that failed: what was known of it is kept.",
            ("store",),
            registry=registry,
        )
        self._tied = Counter(
            "sallyport_store_access_roles",
            "Role assignments of grants: made, removed, or there already by somebody else.",
            ("what",),
            registry=registry,
        )

    def show(self, known: Mapping[str, StoreAccess]) -> None:
        """Show what is known of each store."""
        for gauge in (self._differences, self._principals, self._gaps):
            gauge.clear()
        for name, access in known.items():
            self._principals.labels(name).set(len({one.principal for one in access.holders}))
            self._gaps.labels(name).set(len(access.gaps))
            for difference, count in by_difference(access.differing).items():
                self._differences.labels(name, difference.value).set(count)

    def failed(self, store: str) -> None:
        """Count a reading that failed."""
        self._failures.labels(store).inc()

    def tied(self, what: str) -> None:
        """Count a role assignment."""
        self._tied.labels(what).inc()
