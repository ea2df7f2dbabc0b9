"""A rollback brings the annotations of an earlier template back together with it."""

import pytest

from core.decision.decision import Verdict
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.requester.test_noted_workloads import BOBS, asked, both, notes, workload
from tests.unit.admission.world import ALICE, BOB, OTHER, Folder, rules


@pytest.fixture
def world(folder: Folder) -> Folder:
    """Alice may use net and wide, Bob net; so may the Pods of train."""
    folder.profile("net", 20, "host/network").profile("wide", 30, "host/network", "host/pid")
    folder.grant(f"User:{ALICE.username}", "net", "wide").grant(f"User:{BOB.username}", "net")
    return folder.grant("ServiceAccount:train/default", "net", "wide")


@pytest.mark.parametrize("before", [notes(profile="net"), None], ids=["noted", "older"])
async def test_a_note_that_a_rollback_brings_back_is_no_wish(
    engine: EmbeddedEngine, world: Folder, before: dict[str, str] | None
) -> None:
    """`kubectl rollout undo` takes the annotations of then: Bob may not use what was noted."""
    old = workload(annotations=before, image=OTHER)
    back = workload(annotations=notes("oid:somebody", "wide"), hostNetwork=True)
    recorded, decision = await both(engine, world, asked(back, BOB, old=old))
    assert recorded == BOBS
    assert (decision.verdict, decision.profile) == (Verdict.ALLOW, "net")


async def test_a_rollback_that_is_refused_says_why(engine: EmbeddedEngine, world: Folder) -> None:
    """What the template needs, not that Bob may not use a profile that he never named."""
    old = workload(annotations=notes(profile="net"), image=OTHER)
    back = workload(annotations=notes("oid:somebody", "wide"), hostPID=True)
    _, decision = await both(engine, world, asked(back, BOB, old=old))
    found = rules(decision)
    assert found == [("privileges/host/pid", "host/pid"), ("notes/requester", None)]


async def test_a_profile_named_with_a_changed_template_is_a_wish(
    engine: EmbeddedEngine, world: Folder
) -> None:
    """Whoever names it leaves the requester as it is noted, and is refused what they may not."""
    old = workload(annotations=notes(profile="net"))
    wish = workload(annotations=notes(profile="wide"), image=OTHER)
    _, decision = await both(engine, world, asked(wish, BOB, old=old))
    assert ("profiles/named", None) in rules(decision)
