"""`sallyport verify` of a whole installation: what holds is said to hold, and nothing else."""

import pytest

from cli import exits
from cli.flags import read_flags
from cli.verify.answers import StepOutcome
from cli.verify.proof import NOT_DEMANDED
from cli.verify.run import ClusterVerification, exit_code, verify
from core.base.errors import SettingsError
from core.decision.namespaces import Mode
from tests.api.admission.objects import until_known
from tests.api.record.installation import Installation
from tests.harness.programs.client import Client


async def verified(
    installation: Installation, namespace: str, mode: Mode | None = None, own: str | None = None
) -> ClusterVerification:
    """Ask the installation; `own` is the namespace in which it is thought to be."""
    kubeconfig = installation.apiserver.kubeconfig()
    settings = read_flags(None, kubeconfig=kubeconfig, default_mode=mode, namespace=own)
    return await verify(settings, namespace, by_settings=mode is not None)


NOT_TRIED = "whether a tenant's Pod reaches the gate's port was not tried: name one with --from"


async def made(admin: Client, name: str, labels: dict[str, str] | None = None) -> str:
    """Make a namespace in which Pods can be asked for."""
    await admin.create_namespace(name, labels or {})
    await until_known(admin, name)
    return name


async def test_the_mode_is_the_installations(installation: Installation, admin: Client) -> None:
    """Nobody has to repeat what the chart was told: where nothing is refused, that is no fault."""
    found = await verified(installation, await made(admin, "unlabelled"))
    assert (found.mode, found.notes) == ("audit", [NOT_DEMANDED, NOT_TRIED])
    assert {step.standing for step in found.steps} == {StepOutcome.HOLDS}
    assert exit_code(found) == exits.ADMITTED


async def test_what_enforces_refuses(installation: Installation, admin: Client) -> None:
    """By the gate, which is asked through kube-apiserver."""
    labels = {"sallyport.dev/mode": "enforce"}
    found = await verified(installation, await made(admin, "enforcing", labels))
    assert found.mode == "enforce"
    assert "refused" in next(step.found for step in found.steps if step.name == "refused")
    assert exit_code(found) == exits.ADMITTED


async def test_what_is_thought_to_enforce_and_does_not_is_broken(
    installation: Installation, admin: Client
) -> None:
    """The mode that is given counts; one that could not be read is noted."""
    namespace = await made(admin, "thought")
    for found in (
        await verified(installation, namespace, Mode.ENFORCE),
        await verified(installation, namespace, own="elsewhere"),
    ):
        assert found.mode == "enforce"
        assert [step.name for step in found.steps if step.standing is StepOutcome.BROKEN] == [
            "refused"
        ]
        assert exit_code(found) == exits.REFUSED
    note, *others = found.notes
    assert "ConfigMap elsewhere/sallyport-gate: there is none" in note
    assert others == [NOT_TRIED]


async def test_a_namespace_that_is_left_out_is_not_judged(installation: Installation) -> None:
    """And that is told, with another to name."""
    found = await verified(installation, "kube-public")
    (judged,) = [step for step in found.steps if step.name == "judged"]
    assert judged.standing is StepOutcome.HOLDS
    found = await verified(installation, "kube-node-lease")
    (judged,) = [step for step in found.steps if step.name == "judged"]
    assert judged.standing is StepOutcome.BROKEN
    assert "excludedNamespaces" in judged.remedy


async def test_a_namespace_that_is_not_there_is_named(installation: Installation) -> None:
    """Wrong use, and no fault of the cluster."""
    with pytest.raises(SettingsError, match="there is no namespace nowhere: name one"):
        await verified(installation, "nowhere")
