"""The metrics of policy bundles: those of a process, and the candidate judged beside them."""

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from admission.bundles.active import BundleCounts
from admission.bundles.shadow import Shadow
from core.policy_bundles import BASE, GateAnnouncement
from network.metric_families import counter_of, gauge_of


class ShadowCollector(Collector):
    """Asks the shadow at each scrape."""

    def __init__(self, shadow: Shadow) -> None:
        self._shadow = shadow

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics (prometheus_client)."""
        shadow, counts = self._shadow, self._shadow.counts
        yield InfoMetricFamily(
            "sallyport_shadow",
            "The candidate, and the bundle in force that it is compared with.",
            value={"revision": shadow.revision, "in_force": counts.against},
        )
        refused = bool(shadow.problem)
        yield gauge_of("sallyport_shadow_refused", "1 where it cannot be loaded.", refused)
        yield counter_of(
            "sallyport_shadow_reviews",
            "Reviews offered to the candidate: compared, beside (about what no policy is asked), "
            "dropped (over its budget), stale (decided by a bundle no more in force).",
            "result",
            {
                "compared": counts.compared,
                "beside": counts.beside,
                "dropped": counts.dropped,
                "stale": counts.stale,
            },
        )
        yield counter_of(
            "sallyport_shadow_unknown",
            "Reviews of which nobody can say what the candidate would do, by reason.",
            "reason",
            dict(counts.unknown),
        )
        yield counter_of(
            "sallyport_shadow_unread",
            "Reviews of which one rule of the candidate could not be asked, by rule.",
            "rule",
            dict(counts.unread),
        )
        changes = CounterMetricFamily(
            "sallyport_shadow_changes",
            "Reviews that the candidate would end otherwise, by effect and rule; with an empty "
            "rule, by effect alone.",
            labels=("effect", "rule"),
        )
        for (effect, rule), count in sorted(dict(counts.changes).items()):
            changes.add_metric([effect, rule], count)
        yield changes
        spent = CounterMetricFamily(
            "sallyport_shadow_cpu_seconds", "CPU time that the candidate has taken."
        )
        spent.add_metric([], counts.cpu_s)
        yield spent


class BundleCollector(Collector):
    """Asks for what is in force, ready and refused at each scrape."""

    def __init__(
        self, standing: Callable[[], GateAnnouncement], counts: Callable[[], BundleCounts]
    ) -> None:
        """Take what gives both, from memory."""
        self._standing = standing
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics (prometheus_client)."""
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
