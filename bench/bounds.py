"""The CPU that bounds and fair shares add to one review, in this process, part by part.

Each part is timed on the usual Pod of five containers. What is large is counted, queued and cut
besides: an ordinary review is not. With `--record` the result is written to
docs/evidence/bounds-cost.md.
"""

import argparse
import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Final
from unittest.mock import patch

from app.records.record_shares import make_share_of
from audit.ledger.records import recorder
from audit.ledger.records.admission_shares import AdmissionShares
from audit.ledger.records.recorder import LedgerRecorder
from audit.ledger.records.refusal_budget import RefusalBudget
from bench.review_stages import Bench, Case, median_us, opened
from bench.reviews import USUAL
from core.decision.document import DecisionDocument, encode_document
from core.kubernetes.pod import decode_pod
from policies.projection.pods import bound_lists
from tests.harness.evidence import record
from webhooks.exchange import BodyBudget, BodyShare

MOST_US: Final = 15.0
"""What all parts may add, on the average of an admitted and a refused Pod."""

_ROUNDS: Final = 9


class EmptySpool:
    """Takes every record, and stays empty."""

    max_bytes = 64 << 20
    held_bytes = 0
    freed_bytes = 0

    def append(self, kind: int, frame_id: bytes, payload: bytes) -> None:
        """Take a record."""


def main(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Print what each part adds, in microseconds."""
    parser.add_argument("--record", action="store_true", help="write docs/evidence/bounds-cost.md")
    given = parser.parse_args(arguments)
    with opened() as bench:
        columns = [_parts(bench, bench.case(USUAL, number)) for number in (0, 1)]
    added = statistics.mean(sum(column.values()) for column in columns)
    lines = [
        f"- {name}: {admitted:.1f} us for an admitted Pod, {refused:.1f} us for a refused one"
        for (name, admitted), refused in zip(columns[0].items(), columns[1].values(), strict=True)
    ]
    holds = "holds" if added < MOST_US else "DOES NOT HOLD"
    lines.append(f"- In all, on the average of both: {added:.1f} us; under {MOST_US:.0f}: {holds}")
    print("\n".join(lines))
    if given.record:
        record("bounds-cost", lines)


def _parts(bench: Bench, case: Case) -> Mapping[str, float]:
    pod = decode_pod(case.request.object or b"")
    return {
        "bytes of bodies that are held": median_us(partial(_hold_body, case.body)),
        "lengths of the Pod's lists": median_us(partial(bound_lists, pod)),
        "shares and sizes of records": _added_by_shares(bench, case),
    }


def _added_by_shares(bench: Bench, case: Case) -> float:
    """Return what a record takes more than one of any size that nobody counts."""
    limited, plain = (
        partial(each.record, "validate", case.request, case.decision, [], 0.001)
        for each in (_limited(bench), LedgerRecorder(EmptySpool(), _cluster, attrgetter("label")))
    )
    added = []
    for _ in range(_ROUNDS):
        with_shares = median_us(limited)
        with patch.object(recorder, "bound_document", _encode_whole):
            added.append(with_shares - median_us(plain))
    return statistics.median(added)


def _limited(bench: Bench) -> LedgerRecorder:
    """Return what records as a gate does; its budget is never used up."""
    spool = EmptySpool()
    return LedgerRecorder(
        spool,
        _cluster,
        attrgetter("label"),
        budget=RefusalBudget(per_minute=10**9),
        share_of=make_share_of(bench.cluster, attrgetter("label")),
        shares=AdmissionShares(spool),
    )


def _cluster() -> str:
    return "bench"


def _encode_whole(document: DecisionDocument, _most: int) -> bytes:
    return encode_document(document)


def _hold_body(body: bytes) -> None:
    with BodyShare(BodyBudget(1 << 26)) as share:
        share.take(len(body), whole=True)
