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
	"response": {"uid": input.request.uid, "allowed": count(refused) == 0},
}

refused contains entry.privilege if {
	some entries in answer.needs
	some entry in entries
	not covered(entry.privilege)
}

refused contains entry.path if {
	some entries in answer.denials
	some entry in entries
}

# What pss-restricted covers of what any Pod can need.
covered("capability/NET_BIND_SERVICE")

covered("container/writable-root")

covered("process-namespace/shared")

covered("run-as/host-users")

covered("volume/block")

covered(privilege) if split(privilege, "/")[0] in {
	"annotation", "device", "dns", "gpu", "image", "limits", "scheduling", "token",
}

answer := result if {
	result := needs.answer with input as projection
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

projection["automount"] := pod.spec.automountServiceAccountToken

projection["nodeName"] := pod.spec.nodeName

projection["priorityClass"] := pod.spec.priorityClassName

projection["shareProcessNamespace"] if pod.spec.shareProcessNamespace

projection["dnsPolicy"] := pod.spec.dnsPolicy

projection["nameservers"] := pod.spec.dnsConfig.nameservers

projection["securityContext"] := pod.spec.securityContext

projection["tolerations"] := [object.union({"path": indexed("spec.tolerations", i)}, object.filter(t, ["key", "operator"])) |
	some i, t in pod.spec.tolerations
	not added_by_api(t)
]

projection["hostAliases"] := [{"path": indexed("spec.hostAliases", i), "hostnames": object.get(a, "hostnames", [])} |
	some i, a in pod.spec.hostAliases
]

projection["annotations"] := {key: value |
	some key, value in pod.metadata.annotations
	regex.match(`^(container\.)?(apparmor|seccomp)\.security\.|^security\.alpha|critical-pod$|^dev\.gvisor\.|^io\.katacontainers\.|^io\.kubernetes\.cri-o\.|^run\.oci\.|^cdi\.k8s\.io/|^io\.containerd\.|crio\.io|nri\.io|noderesource\.dev`, key)
}

projection["volumes"] := [volume(i, v) | some i, v in pod.spec.volumes; looked_at(v)]

added_by_api(toleration) if {
	toleration.effect == "NoExecute"
	toleration.key in {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}
}

unlimited(container) := [name |
	some name in ["cpu", "memory"]
	not container.resources.limits[name]
	not pod.spec.resources.limits[name]
]

# Full names only; short ones are Docker Hub's, of which this bench has none.
image_from(image) := split(split(image, "@")[0], ":")[0]

is_pinned(image) := regex.match(`@sha256:[0-9a-f]{64}$`, image)

indexed(path, index) := sprintf("%s[%d]", [path, index])

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
		"imageFrom": image_from(c.image),
		"pinned": is_pinned(c.image),
		"unlimited": unlimited(c),
		"env": [{"path": sprintf("%s.env[%d]", [path, i]), "name": e.name, "value": object.get(e, "value", ""), "source": source(e)} |
			some i, e in c.env
			regex.match(`^(NVIDIA|AMD|ROCR|HABANA|ASCEND)_|_VISIBLE_DEVICES$`, e.name)
		],
		"mounts": [{"path": sprintf("%s.volumeMounts[%d].mountPath", [path, i]), "mountPath": m.mountPath} |
			some i, m in c.volumeMounts
			contains(m.mountPath, "nvidia-container-devices")
		],
		"blockDevices": [sprintf("%s.volumeDevices[%d]", [path, i]) | some i, _ in c.volumeDevices],
	},
	object.filter(c, ["image", "securityContext"]),
)

source(variable) := "reference" if variable.valueFrom

else := ""

# Volumes that no rule looks at; projected ones only for their tokens and certificates.
looked_at(v) if {
	some key, _ in v
	not key in {
		"name", "configMap", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim",
		"projected", "secret",
	}
}

looked_at(v) if {
	some source in v.projected.sources
	source.serviceAccountToken.audience
}

looked_at(v) if {
	some source in v.projected.sources
	source.podCertificate
}

volume(i, v) := object.union(
	{
		"path": indexed("spec.volumes", i),
		"name": v.name,
		"types": [key | some key, _ in v; key != "name"],
		"tokens": [{"path": sprintf("spec.volumes[%d].projected.sources[%d].serviceAccountToken.audience", [i, j]), "audience": a} |
			some j, s in v.projected.sources
			a := s.serviceAccountToken.audience
		],
		"certificates": [{"path": sprintf("spec.volumes[%d].projected.sources[%d].podCertificate.signerName", [i, j]), "signer": s.podCertificate.signerName} |
			some j, s in v.projected.sources
		],
	},
	object.filter(v, ["hostPath", "csi", "image"]),
)
