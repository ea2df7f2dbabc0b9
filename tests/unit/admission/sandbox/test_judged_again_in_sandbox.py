"""A recorded decision is judged again: what counted then counts, the modes are those of now."""

from operator import attrgetter

import pytest

from core.base.errors import LedgerError
from core.decision.decision import Verdict
from core.decision.document import DecisionDocument, DecisionSource, build_document
from core.sandbox.decision import SandboxMode
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.sandbox.sandbox_cluster import (
    NOTEBOOK,
    POINTS,
    Saying,
    final,
    judge,
    namespace,
    profiled,
    runtime_class,
)
from tests.unit.admission.world import BOB, Folder, pod, request


async def _recorded(folder: Folder, engine: EmbeddedEngine) -> DecisionDocument:
    """Return the record of a Pod whose risk is POINTS."""
    by = judge(folder.cluster(), Saying(engine, (NOTEBOOK,)))
    asked = request(pod(runtimeClassName="gvisor"))
    source: DecisionSource = "validate"
    return build_document(
        source,
        asked,
        await final(by, asked),
        cluster="c",
        seconds=0.0,
        name_subject=attrgetter("label"),
    )


async def test_the_risk_counts_as_it_did(engine: EmbeddedEngine, folder: Folder) -> None:
    """Somebody else's decision has the same isolation, with the same signals."""
    runtime_class(profiled(namespace(folder, "by-risk"), "wide", None))
    document = await _recorded(folder, engine)
    _, decision = await judge(folder.cluster(), engine).rejudge(document, BOB, budget=5.0)
    assert decision.verdict is Verdict.ALLOW
    assert decision.sandbox is not None
    assert (decision.sandbox.score, decision.sandbox.runtime) == (POINTS, "gvisor")
    assert [each.rule for each in decision.sandbox.signals] == [NOTEBOOK.rule]


async def test_the_mode_is_that_of_now(engine: EmbeddedEngine, folder: Folder) -> None:
    """A namespace that asks for it now has it, whatever the score of then."""
    profiled(namespace(folder, "by-risk"), "wide", None)
    runtime_class(folder)
    document = await _recorded(folder, engine)
    for each in folder.documents:
        if each["kind"] == "Namespace":
            each["metadata"]["labels"]["sallyport.dev/sandbox"] = "required"
    _, decision = await judge(folder.cluster(), engine).rejudge(document, BOB, budget=5.0)
    assert decision.sandbox is not None
    assert decision.sandbox.mode is SandboxMode.REQUIRED


async def test_what_was_never_weighed_is_not_judged_by_its_risk(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """A record without signals must not pass for one in which nothing counted."""
    profiled(folder, "wide", None)
    document = await _recorded(folder, engine)
    assert document.isolation is None
    runtime_class(profiled(folder, "wider", "by-risk", rank=0))
    with pytest.raises(LedgerError, match=r"how risky its object is, .*: give the manifest"):
        await judge(folder.cluster(), engine).rejudge(document, BOB, budget=5.0)
