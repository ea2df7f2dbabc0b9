"""What the chart installs is what deploy/ and policies/ ship without it."""

import copy
import json
from typing import Any

import pytest

from tests.harness.evidence import ROOT
from tests.harness.programs.client import Json, read_objects
from tests.harness.programs.helm import Helm, named
from tests.unit.helm.switches import SWITCHES

DEPLOY = ROOT / "deploy"
WEBHOOKS = read_objects(DEPLOY / "webhooks.yaml")
RBAC = read_objects(DEPLOY / "rbac.yaml")
GUARD = [
    *read_objects(DEPLOY / "backstop.yaml"),
    *read_objects(DEPLOY / "endpointslice-guard.yaml"),
    *read_objects(DEPLOY / "kinds-guard.yaml"),
    *read_objects(DEPLOY / "status-guard.yaml"),
    *read_objects(DEPLOY / "namespace-guard.yaml"),
    *read_objects(DEPLOY / "own-namespace-guard.yaml"),
    *read_objects(DEPLOY / "pod-address-guard.yaml"),
    *read_objects(DEPLOY / "pod-annotation-guard.yaml"),
    *read_objects(DEPLOY / "revision-guard.yaml"),
    *read_objects(DEPLOY / "revision-owner-guard.yaml"),
]
PROFILES = [
    item
    for path in sorted((ROOT / "policies" / "profiles").glob("*.yaml"))
    for item in read_objects(path)
]


EVERYWHERE = {"guards.sallyport.dev", "authors.sallyport.dev"}
"""What is recorded on exceptions and approvals is believed later: no namespace is left out."""


CONDITIONS = {
    "validate.sallyport.dev": ["status-only-with-judged-metadata"],
    "objects.sallyport.dev": ["not-for-sallyport", "not-a-runtime-class-as-it-was"],
    "rights.sallyport.dev": ["not-for-masters", "only-identities-of-accounts"],
    "credentials.sallyport.dev": [
        "only-tokens-among-secrets",
        "not-the-scheduler",
        "not-tokens-for-kubelets",
        "not-certificates-of-kubelets",
        "not-pod-certificates-of-the-pods-node",
        "not-their-approval",
    ],
    "policies.sallyport.dev": [
        "not-control",
        "not-the-end-of-a-namespace",
        "is-generated-or-opens",
    ],
    "workloads.sallyport.dev": ["changes-something"],
    "notes.sallyport.dev": ["changes-something"],
}
"""Each one is a way around: what a webhook is not asked about."""


def bare(item: Json) -> Json:
    """Return an object without the labels, which only the chart sets."""
    item = copy.deepcopy(item)
    item["metadata"].pop("labels", None)
    return item


def identity(item: Json) -> str:
    """Name an object for people."""
    return f"{item['kind']} {item['metadata']['name']}"


@pytest.mark.parametrize("item", [*GUARD, *PROFILES], ids=identity)
def test_the_guard_and_the_profiles_are_the_same(helm: Helm, item: Json) -> None:
    """There is one source; the chart adds labels only."""
    objects = helm.objects(SWITCHES["defaults"])
    assert bare(named(objects, item["kind"], item["metadata"]["name"])) == item


@pytest.mark.parametrize("item", RBAC, ids=identity)
def test_the_gates_rights_are_the_same(helm: Helm, item: Json) -> None:
    """Without the chart the gate may do exactly as much, as with all that can be switched on."""
    objects = helm.objects(SWITCHES["identity"])
    found = bare(named(objects, item["kind"], item["metadata"]["name"]))
    found.pop("automountServiceAccountToken", None)
    assert found == item


@pytest.mark.parametrize("item", WEBHOOKS, ids=identity)
def test_the_registrations_are_the_same_but_for_the_ca(helm: Helm, item: Json) -> None:
    """Control puts the CA there; if the chart named it, an upgrade would take it away."""
    item = copy.deepcopy(item)
    for webhook in item["webhooks"]:
        assert webhook["clientConfig"].pop("caBundle") == "CA_BUNDLE"
    assert bare(named(helm.objects({}), item["kind"], "sallyport")) == item


def webhooks(objects: list[Json]) -> list[Any]:
    """Return all webhooks of both registrations; the probe asks about nothing that people do."""
    asking = [item for item in objects if item["metadata"]["name"] != "sallyport-probe"]
    return [webhook for item in asking for webhook in item.get("webhooks", ())]


def without_helms(item: Json) -> Json:
    """Return an object without the annotations that Helm adds to what it applies."""
    item = copy.deepcopy(item)
    annotations = item["metadata"]["annotations"]
    for key in [key for key in annotations if key.startswith("meta.helm.sh/")]:
        del annotations[key]
    if not annotations:
        del item["metadata"]["annotations"]
    return item


def test_control_registers_what_the_chart_would(helm: Helm) -> None:
    """The same webhooks and policies; and the chart names no webhook, for nothing to drift."""
    at_once = helm.objects({})
    waiting = helm.objects({"webhooks": {"whenReady": True}})
    configmap = named(waiting, "ConfigMap", "sallyport-registrations")
    (said,) = configmap["data"].values()
    wanted = [without_helms(each) for each in json.loads(said)]
    kinds = {each["kind"] for each in wanted}
    ordered = [item for item in at_once if item["kind"] in kinds]
    assert sorted(wanted, key=identity) == sorted(ordered, key=identity)
    assert not webhooks(waiting)
    assert named(at_once, "ConfigMap", "sallyport-registrations")["data"] == configmap["data"]
    assert webhooks([named(waiting, "ValidatingWebhookConfiguration", "sallyport")]) == []


def test_the_validating_webhooks_fail_closed_and_the_mutating_one_open(helm: Helm) -> None:
    """As the docs promise; and only on someone's word otherwise."""
    policies = {w["name"]: w["failurePolicy"] for w in webhooks(helm.objects({}))}
    assert policies == {
        "validate.sallyport.dev": "Fail",
        "namespaces.sallyport.dev": "Fail",
        "objects.sallyport.dev": "Fail",
        "rights.sallyport.dev": "Fail",
        "connect.sallyport.dev": "Fail",
        "credentials.sallyport.dev": "Fail",
        "guards.sallyport.dev": "Fail",
        "policies.sallyport.dev": "Fail",
        "workloads.sallyport.dev": "Fail",
        "notes.sallyport.dev": "Ignore",
        "mutate.sallyport.dev": "Ignore",
        "authors.sallyport.dev": "Ignore",
    }
    trial = webhooks(helm.objects(SWITCHES["trial that fails open"]))
    assert {webhook["failurePolicy"] for webhook in trial} == {"Ignore"}


def test_the_release_namespace_and_more_are_left_out_by_name(helm: Helm) -> None:
    """A dependency loop would lock the gate out; and nobody can set this label."""
    values = {"webhooks": {"excludedNamespaces": ["calico-system", "kube-system"]}}
    found = [w for w in webhooks(helm.objects(values, "guards")) if w["name"] not in EVERYWHERE]
    assert len(found) == len(webhooks(WEBHOOKS)) - len(EVERYWHERE)
    for webhook in found:
        assert webhook["namespaceSelector"]["matchExpressions"] == [
            {
                "key": "kubernetes.io/metadata.name",
                "operator": "NotIn",
                "values": ["kube-system", "kube-node-lease", "guards", "calico-system"],
            }
        ]
        assert webhook["clientConfig"]["service"]["namespace"] == "guards"
        conditions = {
            each["name"]: each["expression"] for each in webhook.get("matchConditions", [])
        }
        assert list(conditions) == CONDITIONS.get(webhook["name"], [])
        assert "!= 'guards'" in conditions.get("not-for-sallyport", "!= 'guards'")


def test_what_is_recorded_is_guarded_in_every_namespace(helm: Helm) -> None:
    """A webhook that skipped kube-system would let anyone there write who approved what."""
    values = {"webhooks": {"excludedNamespaces": ["calico-system"]}}
    found = [w for w in webhooks(helm.objects(values)) if w["name"] in EVERYWHERE]
    assert {webhook["name"] for webhook in found} == EVERYWHERE
    assert not any("namespaceSelector" in webhook for webhook in found)


def test_switches_take_out_what_they_say(helm: Helm) -> None:
    """And nothing else: the marks of namespaces are guarded always."""
    all_of = {identity(item) for item in helm.objects({})}

    def without(switch: str) -> set[str]:
        found = {identity(item) for item in helm.objects(SWITCHES[switch])}
        assert found < all_of
        return all_of - found

    found = {f"{item['kind']} sallyport-discovered" for item in WEBHOOKS}
    probe = {"ValidatingWebhookConfiguration sallyport-probe"}
    assert without("webhooks off") == probe | found | {identity(item) for item in WEBHOOKS}
    assert without("no profiles") == {identity(item) for item in PROFILES}
    assert without("no auditor") == {
        f"{kind} sallyport-auditor"
        for kind in (
            "StatefulSet",
            "Service",
            "ServiceAccount",
            "ConfigMap",
            "NetworkPolicy",
            "ClusterRole",
            "ClusterRoleBinding",
        )
    }
