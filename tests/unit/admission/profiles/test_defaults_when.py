"""When something is filled into a Pod, and when it stays as its author wrote it."""

import msgspec
import pytest

from admission.profiles.defaults import fill_defaults
from core.decision.decision import Verdict
from core.decision.namespaces import Mode
from core.decision.request import Kind, Operation, Phase
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.profiles.both_passes import (
    ALL_DEFAULTS,
    LAX,
    REST,
    bare,
    mutated,
    with_defaults,
)
from tests.unit.admission.world import ALICE, IMAGE, Folder, judge_of, pod, request, update


@pytest.fixture
def lax(folder: Folder) -> Folder:
    """Everyone may use a profile that covers what the absences need, and fills all of them."""
    return with_defaults(folder, "lax", 5, *LAX, *REST, **ALL_DEFAULTS)


async def test_what_is_refused_stays_as_its_author_wrote_it(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Defaults do not make up for what the profile does not cover: it demands it."""
    with_defaults(folder, "strict", 5, *REST, **ALL_DEFAULTS)
    judge = judge_of(folder.cluster(), engine)
    _, patches, after = await mutated(judge, request(bare()))
    assert not [patch for patch in patches if patch["path"].startswith("/spec")]
    assert (await judge.validate(after, budget=5.0)).verdict is Verdict.DENY


@pytest.mark.parametrize("mode", [Mode.WARN, Mode.AUDIT])
async def test_nothing_is_filled_in_where_nothing_is_enforced(
    engine: EmbeddedEngine, lax: Folder, mode: Mode
) -> None:
    """Who watches only must not find Pods changed."""
    judge = judge_of(lax.cluster(), engine, mode=mode)
    decision = await judge.mutate(request(bare()), budget=5.0)
    assert (decision.profile, decision.filled) == ("lax", [])


async def test_updates_are_never_patched(engine: EmbeddedEngine, lax: Folder) -> None:
    """Most of a Pod cannot change once it is there."""
    old, new = bare(), bare()
    new["spec"]["containers"][0]["image"] = IMAGE.replace("trainer", "other")
    asked = update(new, old)
    decision = await judge_of(lax.cluster(), engine).mutate(asked, budget=5.0)
    assert asked.operation is Operation.UPDATE
    assert decision.profile == "lax"
    assert decision.filled == []


async def test_templates_are_never_patched(engine: EmbeddedEngine, lax: Folder) -> None:
    """A workload stays what its author applies; its Pods are filled in."""
    template = {"spec": bare()["spec"]}
    made = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}}
    made["spec"] = {"template": template}
    asked = request(made, kind=Kind("Job", "v1", "batch"), name="a")
    decision = await judge_of(lax.cluster(), engine).mutate(asked, budget=5.0)
    assert (decision.profile, decision.filled) == ("lax", [])


async def test_profile_is_noted_wherever_something_is_filled_in(
    engine: EmbeddedEngine, lax: Folder
) -> None:
    """Also on what has an owner: else another profile might be chosen for it afterwards."""
    judge = judge_of(lax.cluster(), engine)
    owned = bare(metadata=pod(owner=("v1", "ConfigMap"))["metadata"])
    decision = await judge.mutate(request(owned), budget=5.0)
    assert decision.filled
    assert decision.recorded["sallyport.dev/profile"] == "lax"
    whole = pod(owner=("v1", "ConfigMap"))
    whole["spec"]["containers"][0]["env"] = ALL_DEFAULTS["env"]
    decision = await judge.mutate(request(whole), budget=5.0)
    assert (decision.filled, decision.recorded) == ([], {})


async def test_namespaces_profile_is_not_noted(engine: EmbeddedEngine, lax: Folder) -> None:
    """It is named already, for as long as the namespace names it."""
    lax.namespace("train", profile="lax")
    decision = await judge_of(lax.cluster(), engine).mutate(request(bare()), budget=5.0)
    assert decision.filled
    assert decision.recorded == {"sallyport.dev/requester": ALICE.label}


async def test_included_profiles_bring_no_defaults(engine: EmbeddedEngine, folder: Folder) -> None:
    """A profile says all that it fills in itself."""
    with_defaults(folder, "base", 900, *LAX, *REST, **ALL_DEFAULTS)
    folder.profile("above", 5, includes="base", catalogue=3)
    folder.grant("Group:researchers", "above")
    decision = await judge_of(folder.cluster(), engine).mutate(request(bare()), budget=5.0)
    assert (decision.profile, decision.filled) == ("above", [])


@pytest.mark.parametrize(
    ("privilege", "kept"),
    [
        ("seccomp/unset", "/spec/securityContext"),
        ("capabilities/default", "capabilities"),
        ("container/privilege-escalation", "allowPrivilegeEscalation"),
        ("token/automount", "/spec/automountServiceAccountToken"),
    ],
)
async def test_what_an_exception_excuses_is_not_filled_in(
    engine: EmbeddedEngine, lax: Folder, privilege: str, kept: str
) -> None:
    """Two people approved of the absence: the workload would fail without it."""
    asked = msgspec.structs.replace(request(bare()), phase=Phase.MUTATING)
    gatherer = judge_of(lax.cluster(), engine).gatherer
    facts = await gatherer.gather(asked, None, Mode.ENFORCE)
    assert facts.pod is not None
    need = next(each for each in facts.pod.needs if each.privilege == privilege)
    pod_facts = msgspec.structs.replace(facts.pod, excepted_needs=(need,))
    excused = msgspec.structs.replace(facts, pod=pod_facts)
    before, after = (str(fill_defaults(asked, each, "lax")) for each in (facts, excused))
    assert (kept in before, kept in after) == (True, False)
