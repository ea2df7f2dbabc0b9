"""The metrics of a process: what happens on each review, and what is asked at each scrape.

What happens on each review is counted here; what another part already knows (cache hits,
revisions, the certificate, the risk snapshot) is asked of it when Prometheus scrapes.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.core import CounterMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from admission.fields.facts import UNKNOWN
from admission.objects.reader import JUDGED_KINDS
from core.decision.decision import Action, Decision, TraceOutcome
from core.decision.namespaces import Mode
from core.decision.request import Kind, Request
from core.sandbox.decision import SandboxDecision
from network.metric_families import counter_of, gauge_of
from policies.site.fields import kind_name

KNOWN_KINDS = frozenset({"Namespace", *(kind for _, kind in JUDGED_KINDS)})
"""Values of the label `kind`: what is judged, besides what a site's rules declare."""

OTHER = "other"
"""All other kinds: the caller chooses their names."""

MOST_DECLARED = 50
"""Names of kinds that rules declare, of all bundles so far; what comes after them is `other`."""

# Seconds. The target is well under 1 ms of CPU; the end is kube-apiserver's longest timeout.
DURATION_BUCKETS = (
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
)  # fmt: skip
EVALUATION_BUCKETS = (
    0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1, 5,
)  # fmt: skip


@dataclass(frozen=True)
class MetricSources:
    """What is asked at each scrape. Each must answer from memory, from any thread."""

    missing: Callable[[], list[str]] = list
    """What the process still needs before it is ready."""
    access_reviews: Callable[[], Mapping[str, int]] = dict
    """Totals by result: `hit`, `miss`, `error`."""
    evaluations: Callable[[], Mapping[str, int]] = dict
    """Totals by result: `remembered`, `evaluated`."""
    policy_revision: Callable[[], str] = str
    profiles_revision: Callable[[], str] = str
    certificate_not_after: Callable[[], float | None] = lambda: None
    """Unix time; None while no certificate is loaded."""
    certificate_reloads: Callable[[], Mapping[str, int]] = dict
    """Totals by result: `ok`, `error`."""
    log_lines_dropped: Callable[[], int] = int
    declared_kinds: Callable[[], Collection[str]] = tuple
    """Kinds that the rules in force are asked about (policies/site/fields.py). Asked at each review
    of a kind that is not among `KNOWN_KINDS`."""


class Metrics:
    """Counters of the review path. Safe to use from several threads."""

    def __init__(self, version: str) -> None:
        self.registry = process_registry(version)
        counter = partial(Counter, registry=self.registry)
        histogram = partial(Histogram, registry=self.registry)
        self._admissions = counter(
            "sallyport_admissions", "Reviews answered.", ("webhook", "operation", "kind", "verdict")
        )
        self._durations = histogram(
            "sallyport_admission_duration_seconds",
            "Time from a review's first byte to its answer.",
            ("webhook",),
            buckets=DURATION_BUCKETS,
        )
        evaluation = histogram(
            "sallyport_evaluation_seconds",
            "Time in the policy engine for each evaluation.",
            buckets=EVALUATION_BUCKETS,
        )
        self.observe_evaluation: Callable[[float], None] = evaluation.observe
        """Count one evaluation that took so many seconds."""
        self._findings = counter("sallyport_findings", "Findings by rule.", ("rule", "action"))
        for action in Action:  # From zero, or the first would be no increase.
            self._findings.labels(UNKNOWN, action.value)
        self._errors = counter("sallyport_errors", "Reviews nobody could judge.", ("kind",))
        self._rejected = counter(
            "sallyport_rejected_bodies",
            "Requests answered without a review, by HTTP status.",
            ("status",),
        )
        self._dropped = counter(
            "sallyport_dropped_connections",
            "Connections that were cut, by reason.",
            ("reason",),
        )
        self._unrecorded = counter(
            "sallyport_unrecorded_decisions",
            "Decisions that could not be recorded, by what the caller was told.",
            ("outcome",),
        )
        for outcome in ("admitted", "refused"):  # From zero, or the first would be no increase.
            self._unrecorded.labels(outcome)
        self._unrecorded_at = Gauge(
            "sallyport_unrecorded_last_timestamp_seconds",
            "Unix time at which a decision last could not be recorded; 0: none since the start.",
            registry=self.registry,
        )
        traced = counter(
            "sallyport_traced",
            "What controllers made, by whether its root says who asked for it.",
            ("result",),
        )
        self._traced = {result: traced.labels(result.value) for result in TraceOutcome}
        self._broken = counter(
            "sallyport_break_glass_relaxed",
            "Requests that would be refused and were admitted by an open BreakGlass.",
            ("name",),
        )
        self._sandboxed = counter(
            "sallyport_sandboxed",
            "Objects admitted whose Pods must run in a sandbox, by RuntimeClass and by what "
            "demanded it: asked, identity, required, risk.",
            ("runtime", "reason"),
        )
        self._admission_children: dict[tuple[str, str, str, str], Counter] = {}
        self._duration_children = {
            webhook: self._durations.labels(webhook) for webhook in ("validate", "mutate")
        }
        self._finding_children: dict[tuple[str, str], Counter] = {}
        self._declared_kinds: Callable[[], Collection[str]] = tuple
        self._declared_names: set[str] = set()

    def watch(self, sources: MetricSources) -> None:
        """Ask `sources` at each scrape, and for the kinds that rules declare. Call once."""
        self._declared_kinds = sources.declared_kinds
        self.registry.register(_Scraped(sources))

    def count_decision(
        self, webhook: str, request: Request, decision: Decision, seconds: float
    ) -> None:
        """Count one answered review that took `seconds`."""
        kind = self._name_of(request.kind)
        key = (webhook, request.operation.value, kind, decision.verdict.value)
        child = self._admission_children.get(key)
        if child is None:
            child = self._admission_children[key] = self._admissions.labels(*key)
        child.inc()
        self._duration_children[webhook].observe(seconds)
        if decision.evidence.traced is not None and webhook == "validate":
            self._traced[decision.evidence.traced].inc()
        for one in decision.evidence.break_glass if webhook == "validate" else ():
            self._broken.labels(one.partition("@")[0]).inc()
        sandbox = decision.sandbox
        if sandbox is not None and sandbox.runtime and webhook == "validate":
            self._count_sandboxed(sandbox, decision)
        for finding in decision.findings:
            self._count_finding(finding.rule, finding.action.value)
        if decision.error_kind:
            self.count_error(decision.error_kind)

    def _name_of(self, kind: Kind) -> str:
        if kind.kind in KNOWN_KINDS:
            return kind.kind
        if kind_name(kind.group, kind.kind) not in self._declared_kinds():
            return OTHER
        if len(self._declared_names) < MOST_DECLARED:
            self._declared_names.add(kind.kind)
        return kind.kind if kind.kind in self._declared_names else OTHER

    def _count_sandboxed(self, sandbox: SandboxDecision, decision: Decision) -> None:
        if decision.allowed and decision.mode == Mode.ENFORCE.value:
            self._sandboxed.labels(sandbox.runtime, sandbox.reason).inc()

    def _count_finding(self, rule: str, action: str) -> None:
        child = self._finding_children.get((rule, action))
        if child is None:
            child = self._findings.labels(rule, action)
            self._finding_children[(rule, action)] = child
        child.inc()

    def count_error(self, kind: str) -> None:
        """Count one review that nobody could judge."""
        self._errors.labels(kind).inc()

    def count_unrecorded(self, *, allowed: bool) -> None:
        """Count one decision that could not be recorded."""
        self._unrecorded.labels("admitted" if allowed else "refused").inc()
        self._unrecorded_at.set_to_current_time()

    def count_rejected(self, status: int) -> None:
        """Count one request that was answered without a review."""
        self._rejected.labels(str(status)).inc()

    def count_dropped(self, reason: str) -> None:
        """Count one connection that was cut."""
        self._dropped.labels(reason).inc()


def process_registry(version: str) -> CollectorRegistry:
    """Return a registry that knows this process and its build."""
    disable_created_metrics()  # type: ignore[no-untyped-call]  # They double the series and say little.
    registry = CollectorRegistry(auto_describe=False)
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    registry.register(_Build(version))
    return registry


class _Build(Collector):
    def __init__(self, version: str) -> None:
        self._version = version

    def collect(self) -> Iterator[Metric]:
        yield _info("sallyport_build", "This build of Sallyport.", {"version": self._version})


class _Scraped(Collector):
    """Turns `MetricSources` into metrics."""

    def __init__(self, sources: MetricSources) -> None:
        self._sources = sources

    def collect(self) -> Iterator[Metric]:
        sources = self._sources
        yield gauge_of("sallyport_ready", "1 when reviews can be judged.", not sources.missing())
        yield counter_of(
            "sallyport_access_reviews", "Access reviews.", "result", sources.access_reviews()
        )
        yield counter_of(
            "sallyport_evaluations",
            "What the policies were asked, by whether the answer was remembered.",
            "result",
            sources.evaluations(),
        )
        yield _revision("sallyport_policy", "Policies in force.", sources.policy_revision())
        yield _revision("sallyport_profiles", "Profiles in force.", sources.profiles_revision())
        yield counter_of(
            "sallyport_certificate_reloads",
            "Attempts to load a changed certificate pair.",
            "result",
            sources.certificate_reloads(),
        )
        dropped = CounterMetricFamily(
            "sallyport_log_lines_dropped", "Log lines that could not be written."
        )
        dropped.add_metric([], sources.log_lines_dropped())
        yield dropped
        not_after = sources.certificate_not_after()
        if not_after is not None:
            text = "Unix time at which the serving certificate expires."
            yield gauge_of("sallyport_certificate_not_after_seconds", text, not_after)


def _revision(name: str, text: str, revision: str) -> Metric:
    return _info(name, text, {"revision": revision})


def _info(name: str, text: str, labels: dict[str, str]) -> Metric:
    return InfoMetricFamily(name, text, value=labels)
