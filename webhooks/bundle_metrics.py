"""What Prometheus sees of the policy bundles of a process."""

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from admission.bundles import Counts
from audit.ledger.families import counter_of, gauge_of
from core.policy_bundles import BASE, GateAnnouncement


class BundleCollector(Collector):
    """Asks for what is in force, ready and refused at each scrape."""

    def __init__(
        self, standing: Callable[[], GateAnnouncement], counts: Callable[[], Counts]
    ) -> None:
        """Take what gives both, from memory."""
        self._standing = standing
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        """Give the metrics (prometheus_client)."""
        said, counts = self._standing(), self._counts()
        info = GaugeMetricFamily(
            "sallyport_bundle_info",
            "Policy bundles that this process has: in force, ready to be, or refused. `base` is "
            "that of its own settings.",
            labels=["bundle", "revision", "state"],
        )
        info.add_metric([said.in_force, said.revision, "in-force"], 1)
        for name in said.loaded:
            if name != said.in_force:
                info.add_metric([name, "" if name == BASE else name, "ready"], 1)
        for name in said.refused:
            info.add_metric([name, "" if name == BASE else name, "refused"], 1)
        yield info
        yield gauge_of(
            "sallyport_bundle_refused",
            "Policy bundles that this process should have and refuses; its log says why.",
            len(said.refused),
        )
        yield counter_of(
            "sallyport_bundle_changes",
            "Policy bundles that came: put in force, or refused.",
            "result",
            {"in-force": counts.swapped, "refused": counts.refused},
        )
        yield CounterMetricFamily(
            "sallyport_bundle_following_restarts",
            "Times that a defect ended the following of policy bundles, and it began again.",
            counts.restarts,
        )
        yield counter_of(
            "sallyport_bundle_compared",
            "Inputs of lately that new bundles judged before they were put in force, by whether "
            "the one before said the same.",
            "result",
            {"same": counts.compared - counts.differing, "otherwise": counts.differing},
        )
