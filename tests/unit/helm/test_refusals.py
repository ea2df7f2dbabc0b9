"""The chart refuses what would hurt, and says what to do instead."""

import pytest

from tests.harness.programs.helm import IMAGE, NAMESPACE, Helm, HelmFailedError, Values, named
from tests.unit.helm.switches import GUID, IDENTITY

IGNORE = {"failurePolicy": "Ignore"}

SITE = {
    "clusterId": "prod",
    "weights": {"container": {"site": "https://logs.blob.core.windows.net"}},
}
SINK: Values = {
    "notifications": {
        "sinks": [
            {
                "name": "pager",
                "kind": "webhook",
                "url": "https://pager.example/hook",
                "existingSecret": "pager",
            }
        ]
    }
}
DNS_LOG: Values = {"serverName": "kube-dns.example", "existingSecret": "dns-log"}
HUB = {
    "servers": ["logs.servicebus.windows.net:9093"],
    "topics": ["logs"],
    "existingSecret": "hub",
}


@pytest.mark.parametrize("namespace", ["default", "kube-system", "kube-public", "kube-node-lease"])
def test_namespaces_of_others_are_refused(helm: Helm, namespace: str) -> None:
    """Its own namespace is left out of the webhooks: it must hold nothing else."""
    with pytest.raises(HelmFailedError, match="install into a namespace of its own"):
        helm.template({}, namespace)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"image": {"repository": ""}}, "image.repository: name the repository"),
        ({"gate": {"replicas": 1}}, "gate.replicas: with one replica"),
        ({"gate": {"replicas": 0}}, "minimum: got 0, want 1"),
        ({"webhooks": {"validating": IGNORE}}, "Ignore admits every Pod unjudged"),
        (
            {
                "auditor": {"enabled": False},
                "gate": {"spool": {"persistence": {"enabled": True}}},
            },
            "there is no spool without the auditor",
        ),
        (
            {"clusterId": "c", "auditor": {"enabled": False, "explain": {"enabled": True}}},
            "auditor.explain.enabled: the auditor answers",
        ),
        ({"webhooks": {"excludedNamespaces": ["*"]}}, r"'\*' does not match pattern"),
        ({"webhooks": {"excludedNamespaces": [""]}}, "does not match pattern"),
        (
            {"webhooks": {"excludedNamespaces": [f"n{number}" for number in range(33)]}},
            "maxItems: got 33, want 32",
        ),
        ({"auditor": {"replicas": 2}}, "additional properties 'replicas' not allowed"),
        ({"webhooks": {"mutating": {"failurePolicy": "Fail"}}}, "additional properties"),
        ({"webhooks": {"matchConditions": []}}, "additional properties"),
        ({"gate": {"spool": {"sizeMib": 1}}}, "minimum: got 1, want 64"),
        ({"evaluation": {"engine": "opa"}}, "evaluation.opa.image: missing"),
        ({"evaluation": {"engine": "wasm"}}, "must be one of 'embedded', 'opa'"),
        ({"bundle": {"source": {"oci": "r.example/a:b"}}}, "bundle.keys: missing; control would"),
        (
            {"bundle": {"source": {"oci": "r.example:5000/a", "unsigned": True}}},
            "name the image by its tag or its digest",
        ),
        (
            {"bundle": {"source": {"oci": "oci://r.example:5000/a", "unsigned": True}}},
            "name the image by its tag or its digest",
        ),
        (
            {
                "bundle": {
                    "source": {"oci": "r.example/a:b", "unsigned": True, "passwordSecret": "s"}
                }
            },
            "bundle.source.username: missing",
        ),
        ({"bundle": {"source": {"oci": "http://r.example/a:b"}}}, "does not match pattern"),
        ({"egress": {"dnsLog": {"serverName": "a"}}}, "egress.dnsLog.existingSecret: missing"),
        ({"egress": {"dnsLog": {"existingSecret": "a"}}}, "egress.dnsLog.serverName: missing"),
        (
            {"egress": {"dnsLog": DNS_LOG, "resolver": {"pods": False}}},
            "set egress.resolver.pods=true",
        ),
        (
            {"egress": {"dnsLog": DNS_LOG, "engine": "cilium"}},
            "cilium learns names by itself",
        ),
        ({"egress": {"dnsLog": {"serverName": "https://a"}}}, "does not match pattern"),
        ({"rollout": {"new": "enforce"}}, "rollout.new and rollout.newSince come together"),
        ({"identity": {"enabled": True}}, "identity.tenant: missing"),
        ({"identity": {"enabled": True, "tenant": GUID}}, "identity.clientId: missing"),
        ({"identity": {**IDENTITY, "tenant": "contoso.com"}}, "does not match pattern"),
        ({"identity": {**IDENTITY, "authority": "http://a"}}, "does not match pattern"),
        ({"identity": {**IDENTITY, "credential": "certificate"}}, "existingSecret: missing"),
        (
            {"identity": {**IDENTITY, "credential": "secret", "existingSecret": "entra"}},
            "a secret is a long-lived key; use federated",
        ),
        (
            {"identity": {**IDENTITY, "eventHub": {"topics": ["risk"]}}},
            "servers and topics go together",
        ),
        (
            {"identity": {**IDENTITY, "eventHub": {"auth": "connection-string"}}},
            "a connection string is a long-lived key; use federated",
        ),
        (
            {"identity": {**IDENTITY, "securityEvents": {"issuer": "https://issuer.example"}}},
            "audience, keysUrl and tlsSecret are needed with an issuer",
        ),
        ({"identity": {**IDENTITY, "rateSeconds": 0.5}}, "minimum: got 0.5, want 1"),
        ({"weights": {"folder": {"claim": "logs"}}}, "clusterId: missing"),
        ({**SITE, "auditor": {"enabled": False}}, "the auditor reads logs of storage"),
        (SITE, "weights.signIn.tenant: missing"),
        ({**SITE, "identity": {"tenant": GUID}}, "weights.signIn.clientId: missing"),
        ({"weights": {"folder": {"path": "../etc"}}}, "does not match pattern"),
        ({"weights": {"eventHub": {"topics": ["logs"]}}}, "servers and topics go together"),
        (
            {"clusterId": "prod", "weights": {"eventHub": HUB}},
            "a connection string is a long-lived key",
        ),
        ({"weights": {"azure": {"enabled": True}}}, "weights.azure.tenant: missing"),
        (
            {"weights": {"azure": {"enabled": True, "tenant": GUID}}},
            "weights.azure.clientId: missing",
        ),
        ({"weights": {"azure": {"justInTime": True}}}, "nothing makes role assignments"),
        ({"weights": {"grants": {"whenEnded": "delete"}}}, "must be one of 'report', 'evict'"),
        (
            {"auditor": {"ledger": {"anchors": {"blob": "https://a.example/b/c"}}}},
            "weights.signIn.tenant: missing",
        ),
        (
            {"auditor": {"ledger": {"anchors": {"configMap": {"name": "a/b"}}}}},
            "name and kubeconfigSecret go together",
        ),
        (
            {"auditor": {"ledger": {"anchors": {"witness": {"url": "https://a.example"}}}}},
            "url and key go together",
        ),
        (
            {"auditor": {"ledger": {"timestamp": {"url": "http://a.example"}}}},
            "timestamps are kept in its volume",
        ),
        ({"auditor": {"enabled": False}, **SINK}, "the auditor tells them what its ledger has"),
        (
            {"auditor": {"ledger": {"keepDays": 2}}, **SINK},
            "giveUpHours: 72 hours are longer than auditor.ledger.keepDays",
        ),
        (
            {"notifications": {"sinks": 2 * SINK["notifications"]["sinks"]}},
            "two are called pager; give each a name of its own",
        ),
        ({"notifications": {"sinks": [{"name": "pager", "kind": "webhook"}]}}, "url"),
        (
            {"gate": {"replicas": 5, "autoscaling": {"enabled": True, "maxReplicas": 4}}},
            "gate.autoscaling.maxReplicas: fewer than gate.replicas",
        ),
        (
            {
                "gate": {
                    "autoscaling": {"enabled": True},
                    "resources": {"requests": {"cpu": None}},
                }
            },
            "gate.resources.requests.cpu: missing",
        ),
        ({"test": {"namespace": "kube-system"}}, "test.namespace: kube-system is left out"),
        ({"networkPolicies": {"azure": ["10.0.0.1"]}}, "does not match pattern"),
        ({"defaultMode": "off"}, "value must be one of '', 'enforce', 'warn', 'audit'"),
        ({"image": {**IMAGE["image"], "digest": "sha256:1"}}, "does not match pattern"),
    ],
)
def test_what_would_hurt_is_refused(helm: Helm, values: Values, says: str) -> None:
    """The message names the value, and what is wrong with it."""
    with pytest.raises(HelmFailedError, match=says):
        helm.template(values)


def test_old_clusters_are_refused(helm: Helm) -> None:
    """Before 1.30 nothing would guard the marks of namespaces while the gate is down."""
    with pytest.raises(HelmFailedError, match=r"kubeVersion: >=1.30.0-0"):
        helm.template({}, NAMESPACE, "--kube-version", "1.29.9")
    assert helm.template({}, NAMESPACE, "--kube-version", "1.30.0")


@pytest.mark.parametrize("flags", [(), ("--is-upgrade",)], ids=["install", "upgrade"])
def test_mode_of_unlabelled_namespaces_is_asked(helm: Helm, flags: tuple[str, ...]) -> None:
    """With what each answer does, and which to begin with; an upgrade is asked too."""
    with pytest.raises(HelmFailedError) as refused:
        helm.template({"defaultMode": ""}, NAMESPACE, *flags)
    said = str(refused.value)
    assert "defaultMode: missing; what becomes of Pods" in said
    assert "defaultMode=audit: they are created, and recorded as findings; begin so" in said
    assert "defaultMode=warn: they are created, and kubectl shows a warning" in said
    assert "defaultMode=enforce: they are refused; an installation that never set it" in said


@pytest.mark.parametrize("mode", ["audit", "warn", "enforce"])
def test_each_mode_reaches_gate_and_control(helm: Helm, mode: str) -> None:
    """As it was given."""
    objects = helm.objects({"defaultMode": mode})
    for process in ("gate", "control"):
        text = named(objects, "ConfigMap", f"sallyport-{process}")["data"]["config.yaml"]
        assert f"\ndefault_mode: {mode}\n" in text


def test_mode_is_asked_before_new_namespaces_are_compared_with_it(helm: Helm) -> None:
    """No template fails on the missing word before it is said what is missing."""
    rollout = {"new": "enforce", "newSince": "2026-12-01T00:00:00Z"}
    with pytest.raises(HelmFailedError, match="defaultMode: missing"):
        helm.template({"defaultMode": "", "rollout": rollout})


@pytest.mark.parametrize("answer", ["refuse", "admit"])
def test_installing_asks_what_happens_when_nothing_can_be_recorded(helm: Helm, answer: str) -> None:
    """In plain words, with the hours that spools last; without a spool there is no question."""
    unasked: Values = {"record": {"whenFull": ""}}
    with pytest.raises(HelmFailedError) as refused:
        helm.template(unasked)
    said = str(refused.value)
    assert "record.whenFull: missing" in said
    assert "about 7 hours at 20 Pods a second" in said
    assert f"Set record.whenFull={answer}" in said or f"Or record.whenFull={answer}" in said
    assert f"when_full: {answer}" in helm.template({"record": {"whenFull": answer}})
    assert helm.template({**unasked, "auditor": {"enabled": False}})


def test_an_upgrade_that_was_not_asked_goes_on_as_before(helm: Helm) -> None:
    """Releases before had `refuse` as a default."""
    text = helm.template({"record": {"whenFull": ""}}, NAMESPACE, "--is-upgrade")
    assert "when_full: refuse" in text


def test_hours_are_of_all_spools(helm: Helm) -> None:
    """Of the gates that the values name."""
    more = {"gate": {"replicas": 4, "spool": {"sizeMib": 4096}}, "record": {"whenFull": ""}}
    with pytest.raises(HelmFailedError, match="about 58 hours"):
        helm.template(more)
