# METADATA
# scope: package
# title: A whole AdmissionReview judged by OPA's own server
# description: >-
#   What a site would write to put the same rules behind `opa run --server`: the projection made
#   in Rego, the needs, and whether the profile pss-restricted covers them. For the benchmark.
package bench

import data.sallyport.needs

response := {
	"apiVersion": "admission.k8s.io/v1",
	"kind": "AdmissionReview",
	"response": {"uid": input.request.uid, "allowed": count(uncovered) == 0},
}

uncovered contains entry.privilege if {
	some entries in found
	some entry in entries
	not entry.privilege in restricted
}

# What pss-restricted covers of what any Pod can need.
restricted := {"capability/NET_BIND_SERVICE"}

found := result if {
	result := needs.result with input as projection
}

pod := input.request.object

projection["containers"] := array.concat(
	array.concat(containers("container", "containers"), containers("init", "initContainers")),
	containers("ephemeral", "ephemeralContainers"),
)

projection["os"] := pod.spec.os.name

projection["hostNetwork"] if pod.spec.hostNetwork

projection["hostPID"] if pod.spec.hostPID

projection["hostIPC"] if pod.spec.hostIPC

projection["hostUsers"] := pod.spec.hostUsers

projection["securityContext"] := pod.spec.securityContext

projection["annotations"] := {key: value |
	some key, value in pod.metadata.annotations
	startswith(key, "container.apparmor.security.beta.kubernetes.io/")
}

projection["volumes"] := [volume(i, v) | some i, v in pod.spec.volumes; not harmless(v)]

containers(kind, field) := [container(sprintf("spec.%s[%d]", [field, i]), kind, c) |
	some i, c in object.get(pod.spec, field, [])
]

container(path, kind, c) := object.union(
	{
		"path": path,
		"name": c.name,
		"kind": kind,
		"hostPorts": [{"path": sprintf("%s.ports[%d].hostPort", [path, i]), "port": port.hostPort} |
			some i, port in c.ports
			port.hostPort > 0
		],
		"handlerHosts": [{"path": sprintf("%s.%s.%s.host", [path, probe, action]), "host": host} |
			some probe in ["livenessProbe", "readinessProbe", "startupProbe"]
			some action in ["httpGet", "tcpSocket"]
			host := c[probe][action].host
			host != ""
		],
	},
	object.filter(c, ["image", "securityContext"]),
)

harmless(v) if {
	every key, _ in v {
		key in {
			"name", "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image",
			"persistentVolumeClaim", "projected", "secret",
		}
	}
}

volume(i, v) := {
	"path": sprintf("spec.volumes[%d]", [i]),
	"name": v.name,
	"types": [key | some key, _ in v; key != "name"],
	"hostPath": object.get(v, "hostPath", {}),
}
