# METADATA
# scope: package
# title: TLS of an Ingress
# description: >-
#   Each host that an Ingress serves stands under spec.tls, itself or as *.<its parent>. A rule
#   without a host, and a default backend, are served in the clear and denied. That an Ingress
#   controller sends HTTP to HTTPS, and that the Secret exists, is not looked up.
# related_resources:
# - ref: https://github.com/open-policy-agent/gatekeeper-library/tree/master/src/general/httpsonly
#   description: Gatekeeper's twin, K8sHttpsOnly
# - ref: https://github.com/kyverno/policies/tree/main/other/require-ingress-https
#   description: Kyverno's twin, require-ingress-https
# - ref: https://kubernetes.io/docs/concepts/services-networking/ingress/#tls
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: high
#   message: serves {value} without TLS
#   remedy: List the host under spec.tls with the Secret of its certificate.
#   kinds: [networking.k8s.io/Ingress]
#   fields:
#   - spec.defaultBackend
#   - spec.rules[].host
#   - spec.tls[].hosts
package sallyport.rules.ingress.tls

import data.sallyport.lib

deny contains {"path": path, "value": text(host)} if {
	some index, rule in input.fields.spec.rules
	host := object.get(rule, "host", "*")
	not covered(host)
	path := concat("", [lib.indexed("spec.rules", index), ".host"])
}

deny contains {"path": "spec.defaultBackend", "value": "all other hosts"} if {
	input.fields.spec.defaultBackend
}

covered(host) if {
	is_string(host)
	some entry in input.fields.spec.tls
	some name in entry.hosts
	name in {host, parent(host)}
}

# *.example.com of a.example.com.
parent(host) := concat(".", array.concat(["*"], array.slice(labels, 1, count(labels)))) if {
	labels := split(host, ".")
	count(labels) > 1
} else := host

text(value) := value if is_string(value)

text(value) := json.marshal(value) if not is_string(value)
