"""Ledgers with what a sweep found outside the sandbox, and the report of them."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft202012Validator

from audit.ledger.store.store import Store
from core.base.ids import uuid7
from core.decision.decision import Action, Finding, Running, Verdict
from core.decision.document import CountedSignal, DecisionDocument, Isolated, TracedRoot
from core.decision.sweep_document import SweepDocument
from core.people.subject import Subject
from core.sandbox.decision import NAMESPACE, REQUIRED, ModeSource
from tests.unit.audit.ledger.store.documents import NOW_MS, document, frame, sweep, sweep_frame
from tests.unit.cli.conftest import Run

SCHEMA: Final = Path(__file__).parents[4] / "docs" / "reference" / "sandbox-report.schema.json"
HOUR: Final = 3_600_000
EARLIER: Final = NOW_MS - HOUR
ALICE: Final = Subject(username="alice").label
SIGNALS: Final = [
    CountedSignal(rule="sandbox/code/notebook", points=40, path="spec.containers[0].image"),
    CountedSignal(rule="sandbox/code/installs", points=25),
    CountedSignal(rule="sandbox/code/public_image", points=15),
    CountedSignal(rule="sandbox/exposure/unlimited", points=5),
]


def against(rule: str, path: str = "spec.runtimeClassName") -> Finding:
    """Return a finding about the sandbox."""
    return Finding(rule, Action.DENY, path, f"says {rule}", "Mend that.")


def found(name: str, at_ms: int = NOW_MS, **changes: Any) -> DecisionDocument:
    """Return a sweep's decision on a Pod that must be sandboxed and is not."""
    score = changes.pop("score", 85)
    mode = changes.pop("sandbox_mode", "by-risk")
    asked = changes.pop("asked", False)
    by = changes.pop("mode_by", ModeSource(kind=NAMESPACE, name="train"))
    isolation = Isolated(
        mode=mode, mode_by=by, score=score, threshold=50, signals=SIGNALS, asked=asked
    )
    fields: dict[str, Any] = {
        "source": "sweep",
        "id": uuid7(at_ms),
        "name": name,
        "object_uid": f"uid-{name}",
        "sandbox": "gvisor",
        "isolation": isolation,
        "running": Running("Deployment/agent"),
        "findings": [against(REQUIRED)],
    }
    return document(at_ms, Verdict.DENY, **fields | changes)  # type: ignore[no-any-return]


def made(name: str, **changes: Any) -> DecisionDocument:
    """Return the gate's decision on the creation of that Pod."""
    root = TracedRoot(kind="Deployment", name="agent", uid="u", requester=ALICE)
    fields: dict[str, Any] = {"name": name, "object_uid": f"uid-{name}", "root": root} | changes
    return document(EARLIER, **fields)  # type: ignore[no-any-return]


def keep(
    folder: Path, documents: Sequence[DecisionDocument], sweeps: Sequence[SweepDocument] = ()
) -> str:
    """Make a ledger that holds these, and the sweep of now; give its URL."""
    url = f"sqlite:///{folder / 'ledger.db'}"

    async def deliver() -> None:
        async with Store(url, lambda: NOW_MS / 1000) as store:
            for each in documents:
                await store.deliver(each.cluster, [frame(each)])
            for done in sweeps or [sweep()]:
                await store.deliver(done.cluster, [sweep_frame(done)])

    asyncio.run(deliver())
    return url


def shown(run: Run, url: str, *flags: str) -> list[dict[str, Any]]:
    """Return the Pods of the report as JSON."""
    done = run("sandbox", "report", "--ledger", url, "-o", "json", *flags)
    assert done.err == ""
    report = json.loads(done.out)
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(report)
    assert done.code == int(bool(report["pods"]))
    return list(report["pods"])


def said(run: Run, url: str, *flags: str) -> str:
    """Return the report for people."""
    done = run("sandbox", "report", "--ledger", url, *flags)
    assert done.err == ""
    return done.out
