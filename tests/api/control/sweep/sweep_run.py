"""A sweep that a test runs in its own process, and what came of it."""

from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry

from audit.ledger.records.frames import Frame, FrameKind
from control.sweep.loop import Sweep, SweepParts
from core.decision.document import DecisionDocument, Durations, decode_document
from core.decision.sweep_document import SweepDocument, decode_sweep
from kube.leader.lease import Leadership
from tests.harness.programs.client import Client, Json
from tests.harness.programs.sweeper import lasting


@dataclass
class Frames:
    """Keeps frames as a spool does."""

    kept: list[Frame] = field(default_factory=list)

    def append(self, kind: int, frame_id: bytes, payload: bytes) -> None:
        """Keep a frame."""
        self.kept.append(Frame(kind, frame_id, payload))

    def of(self, kind: int) -> dict[bytes, bytes]:
        """Return the payloads of a kind by id: the first of each, as a store keeps them."""
        return {frame.id: frame.payload for frame in reversed(self.kept) if frame.kind == kind}


@dataclass(frozen=True)
class Swept:
    """A sweep, the frames that it records, its metrics."""

    parts: SweepParts
    registry: CollectorRegistry
    frames: Frames

    async def run(self, leadership: Leadership | None = None) -> None:
        """Run it once; without a leadership, as one that lasts."""
        await Sweep(self.parts).run(leadership or lasting())

    def later(self, sweep: str) -> "Swept":
        """Return the same, whose next sweep has this id."""
        return replace(self, parts=replace(self.parts, new_id=lambda _: sweep))

    def at(self, now: float) -> "Swept":
        """Return the same at another time, seconds since the epoch."""
        return replace(self, parts=replace(self.parts, now=lambda: now))

    def metric(self, name: str, **labels: str) -> float | None:
        """Return the value of a metric."""
        return self.registry.get_sample_value(name, labels)


def document_of(swept: Swept) -> SweepDocument:
    """Return the document of the one sweep that was finished."""
    (payload,) = swept.frames.of(FrameKind.SWEEP).values()
    return decode_sweep(payload)


async def reports(client: Client) -> list[Json]:
    """Return all Reports of the cluster."""
    _, found = await client.request("GET", "/apis/openreports.io/v1alpha1/reports")
    listed: list[Json] = found["items"]
    return listed


async def report_in(client: Client, namespace: str) -> Json:
    """Return the sweep's Report in a namespace."""
    return await client.get("openreports.io/v1alpha1", "Report", "sallyport-sweep", namespace)


async def said(client: Client) -> list[Json]:
    """Return what the Reports say of which Pods, without the words."""
    return [
        {
            "in": report["metadata"]["namespace"],
            "summary": report["summary"],
            "pods": sorted(map(_of_result, report["results"])),
        }
        for report in await reports(client)
    ]


def _of_result(result: Json) -> tuple[str, str, str]:
    pod = result["resources"][0]["uid"] if "resources" in result else ""
    return pod, result["result"], result["properties"].get("decision", "")


def essence(payload: bytes) -> DecisionDocument:
    """Return a decision without times, and without what was asked only to word a refusal.

    For that a judge has half a second, so it may be another on a busy machine.
    """
    asked: dict[str, Any] = {"access_reviews": [], "findings": [], "tried": [], "more_tried": 0}
    return msgspec.structs.replace(decode_document(payload), durations=Durations(), **asked)
