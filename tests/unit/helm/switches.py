"""Each way to set the chart that changes what it renders, by what it is for."""

from types import MappingProxyType
from typing import Final

from tests.harness.programs.helm import Values

SECRET: Final = "ledger-url"

GUID: Final = "11111111-2222-3333-4444-555555555555"
WITNESS_KEY: Final = "witness.example/w1+b956a666+BF2D1hbGJqh35DFWs/I2FfJF9RKW9+krDlj88sUavb9t"

OTHER_GUID: Final = "66666666-7777-8888-9999-000000000000"

IDENTITY: Final = {"enabled": True, "tenant": GUID, "clientId": GUID}

PODS: Final[Values] = {
    "podLabels": {"example.com/pool": "system"},
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "agentpool", "operator": "In", "values": ["a"]}]}
                ]
            }
        }
    },
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "minDomains": 2,
        },
        {
            "maxSkew": 2,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app.kubernetes.io/part-of": "sallyport"}},
        },
    ],
    "extraEnv": [
        {"name": "HTTPS_PROXY", "value": "http://proxy.example:3128"},
        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
    ],
    "extraVolumes": [
        {"name": "extra", "configMap": {"name": "extra", "optional": True}},
        {"name": "scratch", "emptyDir": {"sizeLimit": "64Mi"}},
    ],
    "extraVolumeMounts": [
        {"name": "extra", "mountPath": "/extra", "readOnly": True},
        {"name": "scratch", "mountPath": "/var/cache/site"},
    ],
    "dnsPolicy": "None",
    "dnsConfig": {
        "nameservers": ["10.0.0.10", "fd00::a"],
        "searches": ["svc.cluster.local"],
        "options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}],
    },
    "revisionHistoryLimit": 3,
}
"""What people set of the Pods of any chart."""

FLAGS: Final[Values] = {"extraArgs": ["--bundle=/extra/bundle.tar.gz"]}
"""The auditor has no flag that the chart does not give."""

SWITCHES: Final = MappingProxyType[str, Values](
    {
        "defaults": {},
        "webhooks off": {"webhooks": {"enabled": False}},
        "namespaces left out": {"webhooks": {"excludedNamespaces": ["calico-system"]}},
        "trial that fails open": {
            "webhooks": {
                "validating": {"failurePolicy": "Ignore", "iKnowThatIgnoreFailsOpen": True}
            }
        },
        "spool on volumes": {
            "gate": {"spool": {"persistence": {"enabled": True, "storageClassName": "fast"}}}
        },
        "no auditor": {"auditor": {"enabled": False}},
        "explanations": {
            "clusterId": "prod",
            "auditor": {"explain": {"enabled": True, "from": ["10.0.0.0/8"]}},
        },
        "no back-stop": {"backstop": {"enabled": False}},
        "PostgreSQL": {"auditor": {"ledger": {"existingSecret": SECRET}}},
        "SQLite on a class": {"auditor": {"ledger": {"storageClassName": "slow", "size": "1Ti"}}},
        "policies of one's own": {"bundle": {"configMap": "sallyport-bundle-5f0c2d9e7a41"}},
        "policies from a registry": {
            "bundle": {
                "keys": {"2026": "-----BEGIN PUBLIC KEY-----"},
                "source": {
                    "oci": "registry.example:5000/policies/site:stable",
                    "caPem": "-----BEGIN CERTIFICATE-----",
                    "username": "robot",
                    "passwordSecret": "registry",
                },
            }
        },
        "policies from a registry that nobody signs": {
            "bundle": {"source": {"oci": "registry.example/policies/site:1", "unsigned": True}}
        },
        "logs of DNS": {
            "egress": {"dnsLog": {"serverName": "kube-dns.example", "existingSecret": "dns-log"}}
        },
        "a candidate beside": {"shadow": {"configMap": "candidate-5f0c2d9e7a41", "budget": 0.2}},
        "an OPA server": {
            "evaluation": {"engine": "opa", "opa": {"image": "registry.example/opa@sha256:0"}}
        },
        "mutual TLS": {
            "gate": {"clientCaConfigMap": "apiserver-ca", "clientNames": ["kube-apiserver"]}
        },
        "gates on the node's network": {
            "gate": {
                "clientCaConfigMap": "apiserver-ca",
                "clientNames": ["kube-apiserver"],
                "hostNetwork": {
                    "enabled": True,
                    "port": 19443,
                    "statusPort": 19080,
                    "nodes": ["10.224.0.0/16", "fd00:1::/64"],
                },
            }
        },
        "lifetimes": {"certificates": {"authorityDays": 60, "leafDays": 7}},
        "a RuntimeClass": {
            "sandbox": {
                "runtimeClass": {
                    "install": True,
                    "overhead": {"memory": "64Mi"},
                    "nodeSelector": {"node-restriction.kubernetes.io/sandbox": "gvisor"},
                    "tolerations": [{"key": "example.com/sandbox", "operator": "Exists"}],
                }
            }
        },
        "identity": {"identity": IDENTITY},
        "identity by a certificate": {
            "identity": {**IDENTITY, "credential": "certificate", "existingSecret": "entra"}
        },
        "identity by a secret": {
            "identity": {
                **IDENTITY,
                "credential": "secret",
                "existingSecret": "entra",
                "allowSecret": True,
            }
        },
        "identity of the nodes": {
            "identity": {"enabled": True, "tenant": GUID, "credential": "managed-identity"}
        },
        "identity with all that pushes": {
            "identity": {
                **IDENTITY,
                "trustConfigMap": "own-cloud",
                "rateSeconds": 2.5,
                "pollEverySeconds": 30,
                "fullEverySeconds": 604800,
                "maxAgeSeconds": 604800,
                "guests": True,
                "suspendExceptions": True,
                "eventHub": {
                    "servers": ["site.servicebus.windows.net:9093"],
                    "topics": ["risk"],
                    "auth": "connection-string",
                    "existingSecret": "hub",
                    "allowConnectionString": True,
                },
                "securityEvents": {
                    "issuer": "https://issuer.example",
                    "audience": "https://receiver.example/events",
                    "keysUrl": "https://issuer.example/keys",
                    "tlsSecret": "events-tls",
                    "tokenSecret": "transmitter",
                },
                "behaviour": {"enabled": False, "everySeconds": 60},
                "lookBack": {"enabled": False, "days": 90},
            }
        },
        "weights from a mount": {
            "clusterId": "prod",
            "weights": {
                "folder": {"claim": "logs", "path": "exported/2026"},
                "networks": {
                    "pods": ["10.240.0.0/12"],
                    "nodes": ["10.4.0.0/16"],
                    "others": ["10.9.0.0/16"],
                    "shared": ["203.0.113.7/32"],
                    "leavesAs": "pod",
                },
                "pollEverySeconds": 5,
                "patienceSeconds": 0,
                "tokenHours": 1.5,
                "delaySeconds": 3600,
                "mostPods": 2000000,
                "nodeIdentities": [GUID],
                "tenants": [GUID],
                "subscriptions": [GUID],
                "tuning": {"copy-out.bytes": 1073741824},
                "expected": {"mass-delete": [f"oid:{GUID}"]},
                "grants": {"whenEnded": "evict"},
            },
        },
        "ledger in PostgreSQL": {
            "auditor": {
                "ledger": {"existingSecret": "pg-app", "secretKey": "uri", "caSecret": "pg-ca"}
            },
        },
        "weights from Azure": {
            "clusterId": "prod",
            "identity": {"tenant": GUID, "trustConfigMap": "own-cloud"},
            "weights": {
                "container": {"site": "https://logs.blob.core.windows.net"},
                "eventHub": {"servers": ["logs.servicebus.windows.net:9093"], "topics": ["logs"]},
                "signIn": {"clientId": OTHER_GUID},
            },
        },
        "weights by a connection string": {
            "clusterId": "prod",
            "weights": {
                "eventHub": {
                    "servers": ["logs.servicebus.windows.net:9093"],
                    "topics": ["logs"],
                    "existingSecret": "hub",
                    "allowConnectionString": True,
                },
                "azure": {
                    "enabled": True,
                    "tenant": GUID,
                    "clientId": GUID,
                    "everySeconds": 86400,
                    "justInTime": True,
                },
            },
        },
        "heads anchored": {
            "auditor": {
                "ledger": {
                    "headEverySeconds": 5,
                    "signingSecret": "own-key",
                    "anchors": {
                        "file": {"claim": "append-only", "name": "prod.jsonl"},
                        "blob": "https://anchors.blob.core.windows.net/anchors/prod",
                        "configMap": {"name": "anchors/prod", "kubeconfigSecret": "other-cluster"},
                        "witness": {
                            "url": "https://witness.example:8444",
                            "key": WITNESS_KEY,
                            "caSecret": "witness-ca",
                        },
                    },
                    "timestamp": {
                        "url": "http://timestamp.example",
                        "caSecret": "tsa-ca",
                        "everySeconds": 7200,
                    },
                }
            },
            "weights": {"signIn": {"tenant": GUID, "clientId": GUID}},
        },
        "sinks": {
            "weights": {"signIn": {"tenant": GUID, "clientId": GUID}},
            "notifications": {
                "giveUpHours": 24,
                "sinks": [
                    {
                        "name": "pager",
                        "kind": "webhook",
                        "atLeast": "high",
                        "stores": ["frontier"],
                        "events": ["finding"],
                        "since": "2026-11-01T00:00:00Z",
                        "url": "https://pager.example:8443/hook",
                        "existingSecret": "pager-key",
                        "trustConfigMap": "own-ca",
                    },
                    {
                        "name": "siem",
                        "kind": "syslog",
                        "server": "siem.example:6514",
                        "trustConfigMap": "own-ca",
                    },
                    {
                        "name": "mail",
                        "kind": "smtp",
                        "server": "mail.example:465",
                        "tls": "implicit",
                        "sender": "sallyport@example.com",
                        "recipients": ["on-call@example.com"],
                        "existingSecret": "mail-user",
                    },
                    {
                        "name": "hub",
                        "kind": "kafka",
                        "servers": ["site.servicebus.windows.net:9093"],
                        "topic": "notices",
                        "signIn": "entra",
                    },
                    {
                        "name": "kafka",
                        "kind": "kafka",
                        "servers": ["kafka-0.example:9094", "kafka-1.example:9094"],
                        "topic": "notices",
                        "signIn": "scram-sha-512",
                        "existingSecret": "kafka-user",
                    },
                    {
                        "name": "sentinel",
                        "kind": "sentinel",
                        "endpoint": "https://a.westeurope-1.ingest.monitor.azure.com",
                        "rule": f"dcr-{'0a' * 16}",
                        "stream": "Custom-Sallyport_CL",
                    },
                    {"name": "slack", "kind": "slack", "existingSecret": "slack-url"},
                    {"name": "teams", "kind": "teams", "existingSecret": "teams-url"},
                    {
                        "name": "archive",
                        "kind": "webhook",
                        "url": "https://archive.example/hook",
                        "existingSecret": "archive-key",
                    },
                ],
            },
        },
        "service tags": {"egress": {"tags": {"claim": "service-tags"}}},
        "one gate": {"gate": {"replicas": 1, "allowSingleReplica": True}},
        "no profiles": {
            "profiles": {
                "install": False,
                "restrictedForEveryone": False,
                "storageProvisioners": False,
            }
        },
        "by digest, with a pull secret": {
            "image": {"repository": "registry.example/s", "digest": f"sha256:{'0a' * 32}"},
            "imagePullSecrets": ["pull", {"name": "second"}],
        },
        "labels and annotations": {
            "commonLabels": {"example.com/team": "sre", "release": "common"},
            "commonAnnotations": {"argocd.argoproj.io/sync-wave": "-1", "example.com/by": "common"},
            "monitoring": {
                "service": {"annotations": {"prometheus.io/scrape": "true"}},
                "rules": {"enabled": False, "labels": {"release": "prometheus"}},
            },
            **{
                component: {
                    "podLabels": {"release": component},
                    "serviceAccount": {"annotations": {"example.com/by": component}},
                    "service": {"annotations": {"argocd.argoproj.io/sync-wave": "2"}},
                }
                for component in ("gate", "control", "auditor")
            },
            "identity": {
                **IDENTITY,
                "securityEvents": {
                    "issuer": "https://issuer.example",
                    "audience": "https://receiver.example/events",
                    "keysUrl": "https://issuer.example/keys",
                    "tlsSecret": "events-tls",
                },
            },
        },
        "everything about Pods": {
            component: {
                "resources": {"requests": {"cpu": 2, "ephemeral-storage": "2Gi"}},
                "priorityClassName": "",
                "nodeSelector": {"pool": "system"},
                "tolerations": [{"key": "only", "operator": "Exists", "effect": "NoSchedule"}],
                "podAnnotations": {"example.com/a": "b"},
                **PODS,
                **({} if component == "auditor" else FLAGS),
            }
            for component in ("gate", "control", "auditor")
        },
        "every setting": {
            "clusterId": "0123",
            "defaultMode": "audit",
            "controllers": ["system:serviceaccount:a:b", "yes"],
            "sharedAccounts": ["break-glass"],
            "maxStalenessSeconds": 3600,
            "logFormat": "console",
            "logLevel": "debug",
            "access": {"allowAgeSeconds": 0, "denyAgeSeconds": 0.25, "timeoutSeconds": 10},
            "webhooks": {"validating": {"timeoutSeconds": 20}},
            "evaluation": {"seconds": 5, "memoryMib": 1024},
            "record": {"whenFull": "admit", "lines": True, "people": "name"},
            "gate": {
                "drainSeconds": 120,
                "maxBodyBytes": 1073741824,
                "maxHeldBytes": 17179869184,
                "spool": {"sizeMib": 1048576},
            },
            "control": {
                "sweep": {"intervalSeconds": 604800, "podsPerSecond": 10000},
                "capacity": {"intervalSeconds": 300, "nodesPerSecond": 1000},
                "discovery": {"search": ["a.b.example"], "skip": ["c.d.example"]},
            },
            "auditor": {"ledger": {"keepDays": 3650}},
        },
    }
)
