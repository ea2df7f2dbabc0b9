"""What Prometheus sees of a candidate bundle that rides along."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from admission.shadowing import Shadow
from audit.ledger.families import counter_of, gauge_of


class ShadowCollector(Collector):
    """Asks the shadow at each scrape."""

    def __init__(self, shadow: Shadow) -> None:
        self._shadow = shadow

    def collect(self) -> Iterator[Metric]:
        """Give the metrics (prometheus_client)."""
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
