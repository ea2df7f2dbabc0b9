"""Flows merged as they are read: memory goes with what is distinct, not with the length of a log.

What a Pod does is its own choice, and so is how much of it a log holds. So each source has a bound
of its own, below that of all: a Pod that connects everywhere pushes out no flow of others.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Final

import msgspec

from core.base.networks import Address
from core.base.safe_text import safe_excerpt
from core.egress.workload_names import WorkloadName
from egress.flows.records import DnsAnswer, Flow, FlowRecord, SkippedRecord, UnreadableRecord

MOST_FLOWS: Final = 200_000
"""Distinct flows that are kept, some 150 MB."""
MOST_OF_SOURCE: Final = 10_000
"""Of them, of one Pod (where no Pod is known: of one workload, service account or address)."""
MOST_ANSWERS: Final = 200_000
"""Addresses of which names are kept, each for the Pod that asked."""
MOST_NAMES: Final = 16
"""Names kept of one such address."""
MOST_UNREAD: Final = 100
"""Records that could not be read, of which the reason is kept."""
_MOST_REASONS: Final = 100

Asker = tuple[str, str, WorkloadName | None]
"""Namespace, Pod and workload."""


class FlowCollection:
    """Distinct flows with their counts and times, names by the DNS, and what is left out."""

    def __init__(self, placed: Callable[[Flow], Flow] | None = None) -> None:
        """Collect flows; `placed` says whose a flow is, while its own time is still known."""
        self._placed = placed or (lambda flow: flow)
        self._flows: dict[Flow, tuple[int, float | None, float | None]] = {}
        self._of_source: Counter[object] = Counter()
        self._answers: dict[tuple[Asker, Address], set[str]] = defaultdict(set)
        self.unread: list[tuple[str, UnreadableRecord]] = []
        """The first of them, with their files."""
        self.unread_count = 0
        self.left_out = 0
        """Flows, by their counts, beyond a bound."""
        self.left_out_of: set[str] = set()
        """Some of their sources."""
        self.passed: Counter[str] = Counter()
        """How many records were passed over, by reason."""

    def add(self, file: str, record: FlowRecord) -> None:
        """Take in a record of a file."""
        match record:
            case Flow():
                self._add_flow(self._placed(record))
            case DnsAnswer():
                self._add_answer(record)
            case UnreadableRecord():
                self.unread_count += 1
                if len(self.unread) < MOST_UNREAD:
                    why = safe_excerpt(record.why)  # It may quote any part of the log.
                    self.unread.append((file, msgspec.structs.replace(record, why=why)))
            case SkippedRecord(why):
                self.passed[why if len(self.passed) < _MOST_REASONS else "others"] += 1

    def _add_flow(self, flow: Flow) -> None:
        key = msgspec.structs.replace(flow, first=None, last=None, count=0)
        found = self._flows.get(key)
        if found is None:
            source = (flow.namespace, flow.pod or flow.workload or flow.account or flow.source)
            if len(self._flows) >= MOST_FLOWS or self._of_source[source] >= MOST_OF_SOURCE:
                self.left_out += max(flow.count, 1)
                if len(self.left_out_of) < _MOST_REASONS:
                    self.left_out_of.add(f"{source[0]}/{source[1]}")
                return
            self._of_source[source] += 1
            self._flows[key] = (flow.count, flow.first, flow.last)
            return
        count, first, last = found
        self._flows[key] = (
            count + flow.count,
            min(_known(first, flow.first), default=None),
            max(_known(last, flow.first, flow.last), default=None),
        )

    def _add_answer(self, answer: DnsAnswer) -> None:
        asker = (answer.namespace, answer.pod, answer.workload)
        for address in answer.addresses:
            key = (asker, address)
            if key not in self._answers and len(self._answers) >= MOST_ANSWERS:
                self.passed["an answer of the DNS, beyond how many are kept"] += 1
            elif len(self._answers[key]) < MOST_NAMES:
                self._answers[key].add(answer.name)

    def flows(self) -> list[Flow]:
        """Return the distinct flows, each with how often and when it was seen, named by the DNS."""
        return [
            self._named(msgspec.structs.replace(flow, count=count, first=first, last=last))
            for flow, (count, first, last) in self._flows.items()
        ]

    def _named(self, flow: Flow) -> Flow:
        if flow.names or flow.address is None:
            return flow
        asker = (flow.namespace, flow.pod, None if flow.pod else flow.workload)
        found = self._answers.get((asker, flow.address), ())
        return msgspec.structs.replace(flow, names=tuple(sorted(found))) if found else flow


def _known(*times: float | None) -> list[float]:
    return [each for each in times if each is not None]
