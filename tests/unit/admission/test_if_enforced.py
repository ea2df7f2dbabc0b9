"""What is recorded of a namespace that does not enforce is what enforcing does."""

from collections.abc import Mapping
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from admission.judge import Judge
from core.base import names
from core.decision.decision import Decision, Verdict
from core.decision.namespaces import Mode
from core.decision.request import Request
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.profiles.both_passes import mutated
from tests.unit.admission.world import Folder, decide, judge_of, pod, request

SPECS: Final[list[Mapping[str, Any]]] = [
    {},
    {"hostNetwork": True},
    {"hostPID": True},
    {"add": ["SYS_ADMIN"]},
    {"runtimeClassName": "none-such"},
    {"volumes": [{"name": "v", "hostPath": {"path": "/var/log"}}]},
    {"automountServiceAccountToken": False},
]
MILD: Final = [Mode.AUDIT, Mode.WARN]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    specs=st.lists(st.sampled_from(SPECS), max_size=3),
    sandbox=st.sampled_from([None, "by-risk", "required"]),
    mode=st.sampled_from(MILD),
)
async def test_what_is_recorded_is_what_enforcing_does(
    engine: EmbeddedEngine,
    folder: Folder,
    specs: list[Mapping[str, Any]],
    sandbox: str | None,
    mode: Mode,
) -> None:
    """`if_enforced` is `refused` exactly where the same request is refused once it enforces."""
    folder.documents.clear()
    folder.grant("Group:system:authenticated", "pss-restricted").grant("User:alice", "pss-baseline")
    folder.namespace("train")
    labels = folder.documents[-1]["metadata"]["labels"]
    labels |= {} if sandbox is None else {"sallyport.dev/sandbox": sandbox}
    asked = request(pod(**{key: value for spec in specs for key, value in spec.items()}))
    cluster = folder.cluster()
    mild = await final(judge_of(cluster, engine, mode=mode), asked)
    strict = await final(judge_of(cluster, engine), asked)
    assert mild.allowed
    assert strict.verdict in {Verdict.ALLOW, Verdict.WARN, Verdict.DENY}
    assert mild.if_enforced == ("admitted" if strict.allowed else "refused")
    assert strict.if_enforced == ""


async def final(judge: Judge, asked: Request) -> Decision:
    """Return what the validating pass decides of what the mutating pass made of it."""
    _, _, after = await mutated(judge, asked)
    return await judge.validate(after, budget=10)


async def test_error_has_no_if_enforced(engine: EmbeddedEngine, folder: Folder) -> None:
    """An error is no readiness, and no refusal."""
    folder.namespace("train", mode="audit")
    broken = pod()
    broken["spec"]["containers"] = []
    decision = await decide(folder.cluster(), engine, request(broken))
    assert (decision.verdict, decision.allowed) == (Verdict.ERROR, True)
    assert decision.if_enforced == ""


@pytest.mark.parametrize(
    ("said", "last"),
    [
        ("2026-12-01", "This namespace is to enforce from 2026-12-01 on: it is refused then; "),
        ("soon", "Sallyport would refuse this in a namespace that enforces; "),
    ],
)
async def test_warnings_say_from_when(
    engine: EmbeddedEngine, folder: Folder, said: str, last: str
) -> None:
    """A day that is announced is told to whoever would be refused; what is none is not shown."""
    folder.namespace("train", mode="warn")
    folder.documents[-1]["metadata"]["annotations"] = {names.ENFORCE_FROM_ANNOTATION: said}
    decision = await decide(folder.cluster(), engine, request(pod(hostNetwork=True)))
    assert decision.warnings[-1].startswith(last)
    assert max(map(len, decision.warnings)) <= 120
