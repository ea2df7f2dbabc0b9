"""Prometheus metrics of the auditor's receiver."""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from audit.ledger.records.destination import Receipt
from network.metric_families import counter_of


class ReceiverCollector(Collector):
    """Asks the auditor's receiver at each scrape."""

    def __init__(
        self,
        receipt: Callable[[], Receipt],
        answers: Callable[[], Mapping[int, int]],
        unproved: Callable[[], Mapping[str, int]],
    ) -> None:
        """Take who tells; `unproved` by the setting `receive.instances` that allows it."""
        self._receipt = receipt
        self._answers = answers
        self._unproved = unproved

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics (prometheus_client)."""
        receipt = self._receipt()
        totals = {
            "stored": receipt.stored,
            "known": receipt.known,
            "quarantined": receipt.quarantined,
        }
        yield counter_of("sallyport_received_records", "Records, by result.", "result", totals)
        yield counter_of(
            "sallyport_unproved_records",
            "Records that were taken without proof of who made them, by receive.instances.",
            "instances",
            self._unproved(),
        )
        answers = {str(status): total for status, total in self._answers().items()}
        yield counter_of("sallyport_receive_answers", "Answers by HTTP status.", "status", answers)
