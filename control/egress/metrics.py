"""What `/metrics` shows of egress; only the leader shows it."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client import Counter as Counted

from control.egress.reconciler import NamespaceOutcome

STATES: Final = (
    "Open",
    "PartlyOpen",
    "Learning",
    "Closed",
    "NotApproved",
    "Expired",
    "Deleted",
    "Invalid",
    "NotEnrolled",
    "NameTaken",
    "NotWritten",
)
"""Reasons of an allowlist's condition Ready."""


class EgressMetrics:
    """Gauges of the last looks, and counters."""

    def __init__(self, registry: CollectorRegistry) -> None:
        gauge = partial(Gauge, registry=registry)
        self._enrolled = gauge(
            "sallyport_egress_namespaces_enrolled",
            "Namespaces whose Pods connect only where allowlists say; NaN where another replica "
            "leads.",
        )
        self._opened = gauge(
            "sallyport_egress_namespaces_opened",
            "Namespaces of which a BreakGlass opens egress to all but reserved ranges, of all Pods "
            "or of some workloads; NaN where another replica leads.",
        )
        self._allowlists = gauge(
            "sallyport_egress_allowlists",
            "EgressAllowlists by the reason of their condition Ready; only the leader shows them.",
            ("state",),
        )
        self._ending = gauge(
            "sallyport_egress_allowlists_ending",
            "EgressAllowlists of closed namespaces that are in time, and end within so many days; "
            "only the leader shows them.",
            ("days",),
        )
        self._policies = gauge(
            "sallyport_egress_policies", "Policies that are generated; NaN where another leads."
        )
        self._names = gauge(
            "sallyport_egress_names", "DNS names that are resolved; NaN where another leads."
        )
        self._learning = gauge(
            "sallyport_egress_names_learning",
            "DNS names of which more addresses come than are open yet; NaN where another leads.",
        )
        self._refused = gauge(
            "sallyport_egress_names_refused_ratio",
            "Estimated share of connections that is refused to the name of which most is, because "
            "it is still being learnt; 0 to 1; NaN where another leads.",
        )
        self._failing = gauge(
            "sallyport_egress_namespaces_failing",
            "Namespaces of which something could not be asked or written; NaN where another leads.",
        )
        self._taken = gauge(
            "sallyport_egress_names_taken",
            "Policies of others under names of generated ones; NaN where another leads.",
        )
        self._foreign = gauge(
            "sallyport_egress_foreign_policies",
            "NetworkPolicies of others in enrolled namespaces that open more than allowlists say; "
            "NaN where another leads.",
        )
        self._resync = gauge(
            "sallyport_egress_resync_seconds",
            "Time of the last look at all namespaces; NaN where another leads.",
        )
        self._tags = gauge(
            "sallyport_egress_service_tags_healthy",
            "0 when the file of service tags cannot be read; NaN where another leads.",
        )
        self._logs = gauge(
            "sallyport_egress_dns_logs_open",
            "Pods of the cluster's DNS whose log is being read; NaN where another leads, and where "
            "no logs are set.",
        )
        self._logs_left_out = gauge(
            "sallyport_egress_dns_logs_left_out",
            "Pods of the cluster's DNS whose log is not read, because there are too many; NaN as "
            "before.",
        )
        counter = partial(Counted, registry=registry)
        self._log_messages = counter(
            "sallyport_egress_dns_log_messages", "Messages of DNS logs, whatever they hold."
        )
        self._log_hints = counter(
            "sallyport_egress_dns_log_hints",
            "Answers in DNS logs with an address that was not known, for which a name was asked "
            "sooner.",
        )
        self._log_dropped = counter(
            "sallyport_egress_dns_log_dropped",
            "Answers in DNS logs that were passed over: too many came, they cannot be read, or the "
            "log lacks them (the Corefile's dnstap without `full`).",
        )
        self._log_ends = counter(
            "sallyport_egress_dns_log_ends", "DNS logs that ended, broke, or did not open."
        )
        self._failures = counter(
            "sallyport_egress_resolver_failures", "Answers that name servers did not give."
        )
        self._writes = counter("sallyport_egress_writes", "Policies written or deleted.")
        self._looks = counter("sallyport_egress_looks", "Looks at a namespace.")
        self._counted = 0
        self.forget()

    def look(self) -> None:
        """Count a look at a namespace."""
        self._looks.inc()

    def write(self, count: int) -> None:
        """Count policies that were written or deleted."""
        self._writes.inc(count)

    def resynced(self, seconds: float) -> None:
        """Note how long a look at all namespaces took."""
        self._resync.set(seconds)

    def resolver(self, failures: int) -> None:
        """Note how many answers were not given since the start of the process."""
        self._failures.inc(failures - self._counted)
        self._counted = failures

    def dns_logs(self, is_open: int) -> None:
        """Show how many DNS logs are being read."""
        self._logs.set(is_open)

    def dns_logs_left_out(self, count: int) -> None:
        """Show of how many Pods no log is read, because there are too many."""
        self._logs_left_out.set(count)

    def dns_log_message(self) -> None:
        """Count a message of a DNS log."""
        self._log_messages.inc()

    def dns_log_hint(self) -> None:
        """Count a message for which a name is asked sooner."""
        self._log_hints.inc()

    def dns_log_dropped(self) -> None:
        """Count a message that was not read."""
        self._log_dropped.inc()

    def dns_log_ended(self) -> None:
        """Count a DNS log that ended, or did not open."""
        self._log_ends.inc()

    def ending(self, counts: Mapping[int, int]) -> None:
        """Show how many allowlists end within so many days."""
        for days, count in counts.items():
            self._ending.labels(str(days)).set(count)

    def learning(self, names: int, refused: float) -> None:
        """Show how many names are still being learnt, and the largest share that is refused."""
        self._learning.set(names)
        self._refused.set(refused)

    def show(
        self, outcomes: Iterable[NamespaceOutcome], names: int, failing: int, *, tags: bool
    ) -> None:
        """Show how all namespaces stand."""
        enrolled = policies = taken = foreign = opened = 0
        states: Counter[str] = Counter()
        for each in outcomes:
            enrolled += each.enrolled
            policies += each.policies
            taken += len(each.taken)
            foreign += each.foreign
            opened += each.opened
            states.update(each.states)
        self._enrolled.set(enrolled)
        self._opened.set(opened)
        self._policies.set(policies)
        self._taken.set(taken)
        self._foreign.set(foreign)
        self._names.set(names)
        self._failing.set(failing)
        self._tags.set(tags)
        for state in (*STATES, *states):
            self._allowlists.labels(state).set(states[state])

    def forget(self) -> None:
        """Take back what only a leader knows."""
        for each in (
            self._enrolled,
            self._opened,
            self._policies,
            self._names,
            self._learning,
            self._refused,
            self._failing,
            self._taken,
            self._foreign,
            self._resync,
            self._tags,
            self._logs,
            self._logs_left_out,
        ):
            each.set(math.nan)
        self._allowlists.clear()
        self._ending.clear()
