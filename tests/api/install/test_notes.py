"""What Helm tells whoever installs: never in passing that nothing is judged."""

import pytest

from tests.api.install.conftest import WHEN_READY
from tests.api.install.questions import GATE, be_ready, registrations
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client
from tests.harness.programs.helm import CHART, NAMESPACE, Helm

LOUD = "NOTHING IS JUDGED. THE WEBHOOKS ARE NOT REGISTERED."
WAITS = f"kubectl --namespace {NAMESPACE} rollout status deployment/sallyport-gate --timeout=5m"
AGAIN = f"helm upgrade sallyport CHART --namespace {NAMESPACE} --reset-then-reuse-values"
DRY = "--dry-run=server"


def notes(said: str) -> list[str]:
    """Return the lines of the notes in what Helm said."""
    return said.partition("\nNOTES:\n")[2].splitlines()


def test_a_first_installation_says_loudly_that_nothing_is_judged(
    apiserver: ApiServer, helm: Helm
) -> None:
    """Before all else, with the commands that change it, and no word that it is otherwise."""
    lines = notes(helm.install(apiserver.kubeconfig(), {}, *WHEN_READY, DRY))
    shown = [line.strip() for line in lines]
    assert shown.index(LOUD) < 5
    assert shown.index(LOUD) < shown.index(f"{WAITS} &&") < shown.index(AGAIN)
    whole = "\n".join(lines)
    assert "--set webhooks.enabled=true" not in whole
    assert "The webhooks are registered" not in whole


def test_switched_off_it_says_which_value_switches_it_on(apiserver: ApiServer, helm: Helm) -> None:
    """Waiting for a gate would not help."""
    off = {"webhooks": {"enabled": False}}
    shown = [line.strip() for line in notes(helm.install(apiserver.kubeconfig(), off, DRY))]
    assert shown.index(LOUD) < 5
    assert f"{AGAIN} --set webhooks.enabled=true" in shown
    assert AGAIN not in shown


async def test_the_commands_of_the_notes_register_them_and_the_notes_say_so(
    admin: Client, apiserver: ApiServer, helm: Helm, taken_away: tuple[str, ...]
) -> None:
    """With a gate that is ready; whoever gave values keeps them."""
    values = {"logFormat": "console"}
    assert LOUD in helm.install(apiserver.kubeconfig(), values, *WHEN_READY)
    assert await registrations(admin) == [404] * 4
    await be_ready(admin, 1)
    words = AGAIN.replace("CHART", str(CHART)).split()
    said = helm.run(*words[1:], *taken_away[2:])
    assert await registrations(admin) == [200] * 4
    assert LOUD not in said
    assert "The webhooks are registered." in said
    assert "none of them 0" in said
    assert (await admin.request("GET", GATE))[0] == 200
    assert "console" in helm.run("get", "values", "sallyport", *taken_away)


@pytest.mark.parametrize("values", [{}, {"gate": {"spool": {"persistence": {"enabled": True}}}}])
def test_the_workload_that_is_waited_for_is_the_one_there_is(
    apiserver: ApiServer, helm: Helm, values: dict[str, object]
) -> None:
    """Gates with volumes are a StatefulSet."""
    said = "\n".join(notes(helm.install(apiserver.kubeconfig(), values, *WHEN_READY, DRY)))
    (kind,) = {
        one["kind"].lower()
        for one in helm.objects(values)
        if one["metadata"]["name"] == "sallyport-gate"
        and one["kind"] in {"Deployment", "StatefulSet"}
    }
    assert said.count(f"rollout status {kind}/sallyport-gate") == 2
    other = {"deployment": "statefulset", "statefulset": "deployment"}[kind]
    assert f"{other}/sallyport-gate" not in said


@pytest.mark.parametrize("instances", ["check", "require", "off"])
def test_an_auditor_that_demands_no_proof_is_told_with_the_command(
    apiserver: ApiServer, helm: Helm, instances: str
) -> None:
    """With the chart's default; whoever chose another value is not reminded of it."""
    values = {} if instances == "check" else {"auditor": {"gateInstances": instances}}
    shown = [line.strip() for line in notes(helm.install(apiserver.kubeconfig(), values, DRY))]
    reminded = f"{AGAIN} --set auditor.gateInstances=require" in shown
    assert reminded is (instances == "check")
    assert any("takes decisions without proof" in line for line in shown) is reminded
