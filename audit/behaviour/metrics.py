"""Prometheus metrics of what the auditor learns, and of the questions to it."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from audit.behaviour.cluster_habits import ClusterHabits
from audit.behaviour.confirmed_acts import RESULTS
from network.metric_families import counter_of, gauge_of


class BehaviourCollector(Collector):
    """Asks at each scrape. No identity and no cluster is named."""

    def __init__(
        self,
        clusters: Callable[[], Mapping[str, ClusterHabits]],
        confirmed: Callable[[], Mapping[str, int]],
        answers: Callable[[], Mapping[int, int]],
    ) -> None:
        self._clusters = clusters
        self._confirmed = confirmed
        self._answers = answers

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics (prometheus_client)."""
        every: Iterable[ClusterHabits] = list(self._clusters().values())
        yield gauge_of(
            "sallyport_behaviour_identities",
            "Identities whose habits are remembered.",
            sum(len(each.people) + len(each.machines) for each in every),
        )
        yield gauge_of(
            "sallyport_behaviour_unusual",
            "Identities that do something unusual now.",
            sum(len(each.acting) for each in every),
        )
        totals = {
            "learnt": sum(each.learnt for each in every),
            "forgotten": sum(each.people.forgotten + each.machines.forgotten for each in every),
            "dropped": sum(each.acting.dropped for each in every),
        }
        yield counter_of(
            "sallyport_behaviour_acts",
            "Acts learnt; identities forgotten, and unusual ones dropped, for want of room.",
            "result",
            totals,
        )
        found = self._confirmed()
        yield counter_of(
            "sallyport_behaviour_confirmations",
            "Decisions on people and machines that kube-apiserver's audit log or an object "
            "confirmed; what contradicted its decision (differs) or had none (unrecorded).",
            "result",
            {result: found.get(result, 0) for result in RESULTS},
        )
        answers = {str(status): total for status, total in self._answers().items()}
        yield counter_of("sallyport_questions", "Questions by HTTP status.", "status", answers)
