"""What Helm tells whoever installs: never in passing that nothing is judged."""

import pytest

from tests.api.install.conftest import WHEN_READY
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.helm import NAMESPACE, Helm

LOUD = "NOTHING IS JUDGED. THE WEBHOOKS ARE NOT REGISTERED."
NOT_YET = "NOTHING IS JUDGED UNTIL kube-apiserver REACHES A GATE."
AGAIN = f"helm upgrade sallyport CHART --namespace {NAMESPACE} --reset-then-reuse-values"
DRY = "--dry-run=server"


def notes(said: str) -> list[str]:
    """Return the lines of the notes in what Helm said."""
    return said.partition("\nNOTES:\n")[2].splitlines()


def test_an_installation_says_loudly_that_nothing_is_judged_yet(
    apiserver: ApiServer, helm: Helm
) -> None:
    """Before all else; that control sees to it, and how to see whether it did."""
    lines = notes(helm.install(apiserver.kubeconfig(), {}, *WHEN_READY, DRY))
    shown = [line.strip() for line in lines]
    assert shown.index(NOT_YET) < 5
    whole = "\n".join(lines)
    assert "`control` registers the webhooks as soon as kube-apiserver reaches a gate" in whole
    assert "get validatingwebhookconfiguration sallyport -o go-template='{{len .webhooks}}" in whole
    assert "helm upgrade" not in whole.partition("What to check next")[0]
    assert "The webhooks are registered" not in whole


def test_switched_off_it_says_which_value_switches_it_on(apiserver: ApiServer, helm: Helm) -> None:
    """Waiting for a gate would not help."""
    off = {"webhooks": {"enabled": False}}
    shown = [line.strip() for line in notes(helm.install(apiserver.kubeconfig(), off, DRY))]
    assert shown.index(LOUD) < 5
    assert f"{AGAIN} --set webhooks.enabled=true" in shown
    assert AGAIN not in shown


def test_registered_at_once_it_says_who_is_refused_until_a_gate_answers(
    apiserver: ApiServer, helm: Helm
) -> None:
    """Whoever sets webhooks.whenReady=false."""
    whole = "\n".join(notes(helm.install(apiserver.kubeconfig(), {}, DRY)))
    assert "The webhooks are registered (webhooks.whenReady is false)." in whole
    assert "Pods are refused in every namespace but kube-system, kube-node-lease" in whole
    assert NOT_YET not in whole


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
    assert said.count(f"rollout status {kind}/sallyport-gate") == 1
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
