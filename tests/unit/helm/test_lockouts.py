"""The chart refuses values that lock everybody out, or open something without a word."""

from typing import Any, Final

import pytest

from tests.harness.programs.helm import Helm, HelmFailedError, Values
from tests.unit.helm.test_schema import SCHEMA


def _issuer(**issuer: Any) -> Values:
    made = {"source": "cert-manager", "certManager": {"issuer": issuer}}
    return {"clusterId": "prod", "certificates": made}


def _sandbox(handler: str) -> Values:
    return {"sandbox": {"runtimeClass": {"install": True, "handler": handler}}}


def _kinds(group: str, resource: str) -> Values:
    kinds = {"apiGroups": [group], "apiVersions": ["v1"], "resources": [resource]}
    return {"webhooks": {"kinds": [kinds]}}


REFUSED: Final[dict[str, tuple[Values, str]]] = {
    "no time to judge": (
        {"webhooks": {"validating": {"timeoutSeconds": 1}}},
        r"webhooks\.validating\.timeoutSeconds: 1; .* may take 3 s",
    ),
    "less time than a slow review takes": (
        {"webhooks": {"validating": {"timeoutSeconds": 9}}, "access": {"timeoutSeconds": 9.5}},
        "may take 11 s",
    ),
    "small reviews alone": ({"gate": {"maxBodyBytes": 1024}}, "give 3145728 or more"),
    "no room for one review": (
        {"gate": {"maxHeldBytes": 1048576}},
        r"gate\.maxHeldBytes: 1048576; .* always be turned away",
    ),
    "a few bytes of memory": (
        {"gate": {"resources": {"limits": {"memory": 512}}}},
        r"gate\.resources\.limits\.memory: 512 is so many bytes",
    ),
    "a few bytes, as text": (
        {"control": {"resources": {"requests": {"memory": "256"}}}},
        r"control\.resources\.requests\.memory: 256 is so many bytes",
    ),
    "no sandbox that counts": ({"sandbox": {"handlers": {"runc": "gvisor"}}}, "starts no sandbox"),
    "the node's default": ({"sandbox": {"handlers": {"": "kata"}}}, "the empty handler starts no"),
    "an unknown sandbox": ({"sandbox": {"handlers": {"runsc": "firejail"}}}, "'gvisor', 'kata'"),
    "a class that isolates nothing": (_sandbox("runc"), "runc is none of sandbox.handlers"),
    "what nodes live by": (_kinds("coordination.k8s.io", "leases"), "the cluster lives by"),
    "what would mend it": (
        _kinds("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
        r"webhooks\.kinds\[0\]\.resources: validatingwebhookconfigurations are what",
    ),
    "kinds of Sallyport's own": (_kinds("sallyport.dev", "approvals"), "guarded by Sallyport"),
    "all kinds": (_kinds("", "*"), "does not match pattern"),
    "all groups": (_kinds("*", "services"), "does not match pattern"),
    "subresources": (_kinds("", "services/status"), "does not match pattern"),
    "settings that start nothing anew": (
        {"gate": {"podAnnotations": {"checksum/config": "x"}}},
        r"gate\.podAnnotations: checksum/config is the chart's own",
    ),
    "another system": (
        {"auditor": {"nodeSelector": {"kubernetes.io/os": "windows"}}},
        r"auditor\.nodeSelector: kubernetes\.io/os is the chart's own",
    ),
    "another architecture": (
        {"gate": {"nodeSelector": {"kubernetes.io/arch": "arm64"}}},
        r"gate\.nodeSelector: kubernetes\.io/arch is written from image\.architecture, amd64",
    ),
    "anybody a controller": ({"controllers": ["*=Job.batch"]}, "is no user but a pattern"),
    "nobody in particular": ({"controllers": ["system:anonymous"]}, "give user names"),
    "a group of controllers": (
        {"controllers": ["system:serviceaccounts:research=Job.batch"]},
        "give user names, one by one",
    ),
    "half an account": (
        {"pipelines": ["system:serviceaccount:argocd"]},
        "write system:serviceaccount:NAMESPACE:NAME",
    ),
    "names by what cannot be seen": (
        {"egress": {"engine": "cilium-aks", "dns": {"addresses": ["169.254.10.10/32"]}}},
        r"egress\.engine: cilium-aks .* set egress\.engine=cilium-aks-basic",
    ),
    "closed, and nobody knows where Pods are": (
        {"egress": {"default": "deny"}},
        r"egress\.ranges\.pods: egress\.default is deny, .* every Service stays closed",
    ),
    "milder where anybody may go": (
        {"rollout": {"new": "audit", "newSince": "2026-01-01T00:00:00Z"}},
        "rollout.new: audit is milder than defaultMode, enforce",
    ),
    "no day": (
        {"rollout": {"new": "enforce", "newSince": "2026-13-45T99:00:00Z"}},
        "newSince': '2026-13-45T99:00:00Z' does not match",
    ),
    "DNS everywhere": (
        {"egress": {"dns": {"addresses": ["0.0.0.0/0"]}}},
        r"egress\.dns\.addresses: 0\.0\.0\.0/0 wider in all than a /8 of IPv4: every Pod that may",
    ),
    "DNS in two halves": (
        {"egress": {"dns": {"addresses": ["0.0.0.0/1", "128.0.0.0/1"]}}},
        r"egress\.dns\.addresses: 0\.0\.0\.0/1, 128\.0\.0\.0/1 wider in all",
    ),
    "DNS by a name": ({"egress": {"dns": {"addresses": ["kube-dns"]}}}, "does not match pattern"),
    "a resolver by a name": (
        {"egress": {"resolver": {"servers": ["dns.example"]}}},
        "does not match pattern",
    ),
    "an address for a network": (
        {"egress": {"ranges": {"pods": ["10.244.0.0"]}}},
        "does not match pattern",
    ),
    "everybody's CA": (
        _issuer(kind="ClusterIssuer", name="company"),
        "whoever else has certificates of ClusterIssuer company can write decisions",
    ),
    "an issuer without a name": (_issuer(kind="ClusterIssuer"), "no ClusterIssuer is asked"),
    "the cluster's CA alone": (
        {"gate": {"clientCaConfigMap": "kube-root-ca.crt"}},
        "say whom kube-apiserver's certificate names",
    ),
    "a signature in a setting": (
        {"auditor": {"ledger": {"anchors": {"blob": "https://a.example/c/p?sv=1&sig=x"}}}},
        "does not match pattern",
    ),
    "nothing of webhooks": ({"webhooks": None}, "missing property 'webhooks'"),
    "safe registration taken out": (
        {"webhooks": {"whenReady": None}},
        "at '/webhooks': missing property 'whenReady'",
    ),
    "network policies taken out": (
        {"networkPolicies": {"enabled": None}},
        "at '/networkPolicies': missing property 'enabled'",
    ),
}

TAKEN: Final[dict[str, Values]] = {
    "time for a slow review": {
        "webhooks": {"validating": {"timeoutSeconds": 12}},
        "access": {"timeoutSeconds": 9.5},
    },
    "bytes as a number": {"gate": {"resources": {"limits": {"memory": 536870912}}}},
    "a handler of one's own": {"sandbox": {"handlers": {"runsc-gpu": "gvisor"}}},
    "a controller of one's own": {"controllers": ["system:serviceaccount:ops:maker=Job.batch"]},
    "NodeLocal DNSCache": {"egress": {"dns": {"addresses": ["169.254.20.10/32", "fd00::a"]}}},
    "stricter where it is new": {
        "defaultMode": "audit",
        "rollout": {"new": "enforce", "newSince": "2026-12-31T23:59:59+01:00"},
    },
    "an issuer of its own": _issuer(kind="ClusterIssuer", name="sallyport", onlyForSallyport=True),
}


@pytest.mark.parametrize("sly", REFUSED)
def test_what_locks_out_or_opens_is_refused(helm: Helm, sly: str) -> None:
    """By its name, and with what to do."""
    values, says = REFUSED[sly]
    with pytest.raises(HelmFailedError, match=says):
        helm.template(values)


@pytest.mark.parametrize("honest", TAKEN)
def test_what_only_looks_like_it_is_taken(helm: Helm, honest: str) -> None:
    """The refusals leave what works."""
    assert helm.template(TAKEN[honest])


def test_no_value_can_be_taken_out() -> None:
    """`null` deletes a default: a switch that is gone would be off, without a word."""

    def compare(part: dict[str, Any], path: str) -> None:
        for name, inner in part.get("properties", {}).items():
            compare(inner, f"{path}.{name}")
        if part.get("additionalProperties") is False and "properties" in part:
            assert sorted(part["required"]) == sorted(part["properties"].keys() - {"global"}), path

    kept = {name: part for name, part in SCHEMA["properties"].items() if name != "global"}
    compare({**SCHEMA, "properties": kept}, "")
