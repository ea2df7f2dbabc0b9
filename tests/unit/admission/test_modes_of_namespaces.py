"""What becomes of a refusal is the namespace's mode; what is found is the same in all."""

import pytest

from core.decision.decision import Action, Verdict
from core.decision.namespaces import Mode
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.world import ID, Folder, decide, pod, request, rules

FOUND = [("privileges/host/network", "host/network")]
HINT = (
    "Sallyport would refuse this in a namespace that enforces; "
    "decision 0199a0c0-0000-7000-8000-000000000000"
)


@pytest.mark.parametrize(
    ("label", "default", "mode"),
    [
        (None, Mode.ENFORCE, Mode.ENFORCE),
        (None, Mode.WARN, Mode.WARN),
        (None, Mode.AUDIT, Mode.AUDIT),
        ("enforce", Mode.AUDIT, Mode.ENFORCE),
        ("warn", Mode.ENFORCE, Mode.WARN),
        ("audit", Mode.ENFORCE, Mode.AUDIT),
        ("wran", Mode.AUDIT, Mode.ENFORCE),
        ("", Mode.WARN, Mode.ENFORCE),
    ],
)
async def test_refusal_is_a_refusal_a_warning_or_a_record(
    engine: EmbeddedEngine, folder: Folder, label: str | None, default: Mode, mode: Mode
) -> None:
    """Refused only where it is enforced; warned of only where warnings are wanted."""
    folder.namespace("train", mode=label)
    decision = await decide(folder.cluster(), engine, request(pod(hostNetwork=True)), mode=default)
    rule = engine.rules["privileges/host/network"]
    enforced = mode is Mode.ENFORCE
    assert decision.mode == mode.value
    assert decision.verdict is (Verdict.DENY if enforced else Verdict.WARN)
    assert decision.allowed is not enforced
    assert rules(decision) == FOUND
    assert {finding.action for finding in decision.findings} == {
        Action.DENY if enforced else Action.WARN
    }
    line = f"spec.hostNetwork: {rule.message}. {rule.remedy}"
    assert decision.warnings == ([line, HINT] if mode is Mode.WARN else [])
    assert decision.message.endswith(f"Decision {ID}")


@pytest.mark.parametrize("label", ["enforce", "warn", "audit"])
async def test_what_is_right_is_right_in_every_mode(
    engine: EmbeddedEngine, folder: Folder, label: str
) -> None:
    """No warnings and no findings where there is nothing to say."""
    folder.namespace("train", mode=label)
    decision = await decide(folder.cluster(), engine, request(pod()))
    assert (decision.verdict, decision.allowed, decision.profile) == (
        Verdict.ALLOW,
        True,
        "pss-restricted",
    )
    assert (decision.message, decision.warnings, decision.findings) == ("", [], [])


async def test_each_warning_fits_a_line(engine: EmbeddedEngine, folder: Folder) -> None:
    """A remedy that does not fit is left to the message: kubectl shows 120 characters."""
    folder.namespace("train", mode="warn")
    made = pod(hostNetwork=True, hostPID=True, hostIPC=True, add=["SYS_ADMIN"])
    del made["spec"]["securityContext"]
    decision = await decide(folder.cluster(), engine, request(made))
    assert decision.verdict is Verdict.WARN
    assert len(decision.warnings) >= 6
    assert max(map(len, decision.warnings)) <= 120
    assert decision.warnings[-1] == HINT
