"""Privileges that were added after a profile was written warn until its author raises it."""

from core.decision.decision import Action, Verdict
from core.decision.namespaces import Mode
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.world import ID, Folder, decide, pod, request


def written(folder: Folder, catalogue: int, *privileges: str) -> Folder:
    """Return everyone a profile of a catalogue's version."""
    folder.documents.clear()
    folder.profile("mine", 1, *privileges)
    folder.documents[-1]["spec"]["catalogue"] = catalogue
    return folder.grant("Group:system:authenticated", "mine")


async def test_what_came_later_is_a_warning(folder: Folder, engine: EmbeddedEngine) -> None:
    """Admitted under the profile, and its author is told what is to come."""
    cluster = written(folder, 1).cluster()
    decision = await decide(cluster, engine, request(pod(shareProcessNamespace=True)))
    assert decision.verdict is Verdict.WARN
    assert decision.allowed
    assert decision.profile == "mine"
    assert {finding.action for finding in decision.findings} == {Action.WARN}
    assert "process-namespace/shared" in {finding.privilege for finding in decision.findings}
    assert any("spec.shareProcessNamespace" in line for line in decision.warnings)
    assert decision.warnings[-2:] == [
        "The profile mine is written for catalogue 1, these privileges are of 2",
        "Sallyport will refuse this once spec.catalogue of the profile is 2, unless it covers "
        f"them; decision {ID}",
    ]
    assert decision.message == "\n".join(decision.warnings)


async def test_what_it_knew_is_refused(folder: Folder, engine: EmbeddedEngine) -> None:
    """Later privileges excuse no older one, and are not listed with it."""
    cluster = written(folder, 1).cluster()
    asked = request(pod(hostNetwork=True, shareProcessNamespace=True))
    decision = await decide(cluster, engine, asked)
    assert decision.verdict is Verdict.DENY
    assert [finding.privilege for finding in decision.findings] == ["host/network"]


async def test_raised_it_covers_what_it_says(folder: Folder, engine: EmbeddedEngine) -> None:
    """Catalogue 2 without the privilege: refused."""
    cluster = written(folder, 2).cluster()
    decision = await decide(cluster, engine, request(pod(shareProcessNamespace=True)))
    assert decision.verdict is Verdict.DENY


async def test_nobody_is_warned_where_only_the_record_counts(
    folder: Folder, engine: EmbeddedEngine
) -> None:
    """Mode audit stays silent; the decision says it."""
    cluster = written(folder, 1).cluster()
    asked = request(pod(shareProcessNamespace=True))
    decision = await decide(cluster, engine, asked, mode=Mode.AUDIT)
    assert decision.warnings == []
    assert decision.findings
    assert "is written for catalogue 1" in decision.message
