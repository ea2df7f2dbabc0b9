"""What a replay answers, made up for tests of how it is shown; what is replayed, changed."""

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from admission.replay.outcomes import Effect
from audit.ledger.records.frames import Frame, FrameKind
from cli.policy.replay.counts import ADVICE, FORMAT, Changed, Count, Left, Of, Replayed
from core.decision.document import DecisionDocument, decode_document, encode_document
from tests.harness.worlds.recorded_reviews import Frames, keep
from tests.harness.worlds.replayed_reviews import Scene

HOSTILE = "<script>alert(1)</script>\u202e\x1b[31m\"'&"


def counts(names: Iterable[str], first: int) -> list[Count]:
    """Return counts, each a little less than the one before."""
    return [Count(name=name, reviews=max(first - 7 * n, 1)) for n, name in enumerate(names)]


def change(effect: Effect, reviews: int, days: int = 7) -> Changed:
    """Return one effect, by hours that people work in."""
    hours = [
        Count(name=f"2026-11-{16 + day:02d}T{hour:02d}", reviews=(day * 5 + hour * hour) % 23 + 1)
        for day in range(days)
        for hour in range(7, 20)
    ]
    return Changed(
        effect=effect,
        reviews=reviews,
        rules=counts(
            ["rules/labels/required", "rules/resources/maximum", f"rules/x/{HOSTILE}"], 90
        ),
        namespaces=counts([*(f"team-{n}" for n in range(12)), "", "…"], 80),
        requesters=counts([f"user:6b0c{n}f2a" for n in range(4)] + [HOSTILE], 60),
        examples=["019aab34-7d2c-7000-8000-0000000000a1", "019aab34-7d2c-7000-8000-0000000000a2"],
        advice=ADVICE[effect],
        times=hours,
    )


def made(*changes: Changed, left: tuple[Left, ...] = ()) -> Replayed:
    """Return a replay with these effects."""
    return Replayed(
        format=FORMAT,
        base=Of(file="", revision="sha256:" + "ab" * 32),
        base_note="it is the built-in bundle",
        candidate=Of(file=f"new-{HOSTILE}.tar.gz", revision="sha256:" + "cd" * 32),
        since="2026-11-16T00:00:00.000Z",
        until="2026-11-23T00:00:00.000Z",
        namespace="",
        reviews=12_345,
        compared=12_300,
        beside=17,
        distinct=321,
        changes=list(changes),
        left=list(left),
        not_reproduced=0,
        not_reproduced_examples=[],
        verdict="Do not promote it yet: 90 would newly be refused." if changes else "Promote it.",
    )


def effects(found: dict[str, Any]) -> dict[str, int]:
    """Return how many reviews each effect has."""
    return {each["effect"]: each["reviews"] for each in found["changes"]}


def changed(
    folder: Path, scene: Scene, change: Callable[[DecisionDocument], DecisionDocument | None]
) -> str:
    """Return the URL of a ledger of the same, with each decision changed, or left out."""
    spool = Frames()
    for frame in scene.spool.frames:
        if frame.kind != FrameKind.DECISION:
            spool.frames.append(frame)
        elif made := change(decode_document(frame.payload)):
            spool.frames.append(Frame(frame.kind, frame.id, encode_document(made)))
    return asyncio.run(keep(folder, spool))
