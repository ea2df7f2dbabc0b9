"""Everything that the chart can render, for those who check it whole."""

from types import MappingProxyType
from typing import Final

from tests.harness.programs.helm import Values
from tests.unit.helm.switches import SWITCHES

NETWORKS: Final = {
    "kubeApiServer": {"addresses": ["10.1.0.1/32", "fd00::1/128"], "ports": [443]},
    "webhooksFrom": ["10.1.0.0/28"],
    "azure": ["10.2.0.0/24"],
    "metricsFrom": {"namespaces": []},
}

MONITORING: Final = {
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "rules": {"enabled": True, "documentation": "https://docs.example/"},
    "dashboard": {"enabled": True},
}

GROUPS: Final = ["monitoring.coreos.com", "azmonitoring.coreos.com"]

EVERYTHING: Final = MappingProxyType[str, Values](
    {
        **SWITCHES,
        "monitoring": {"monitoring": MONITORING},
        "managed Prometheus": {
            "monitoring": {"serviceMonitor": {"enabled": True, "groups": GROUPS}},
            "networkPolicies": {
                "metricsFrom": {
                    "namespaces": ["kube-system"],
                    "podLabels": {"rsName": "ama-metrics"},
                }
            },
        },
        "networks named": {"networkPolicies": NETWORKS},
        "no network policies": {"networkPolicies": {"enabled": False}},
        "autoscaling": {"gate": {"autoscaling": {"enabled": True}}},
        "autoscaling with volumes": {
            "gate": {"autoscaling": {"enabled": True}, "spool": {"persistence": {"enabled": True}}}
        },
        "test elsewhere": {"test": {"namespace": "team"}},
    }
)
