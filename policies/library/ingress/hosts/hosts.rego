# METADATA
# scope: package
# title: Hosts of an Ingress
# description: >-
#   An Ingress serves hosts of the domains that its namespace may use: the domain itself or what lies
#   below it. A rule without a host, a default backend (both catch what nobody else serves) and, unless
#   parameters allow it, a wildcard are denied; hosts under spec.tls count as well. Whether another
#   Ingress serves the same host is not looked up, since a rule sees one object: give each namespace
#   domains of its own.
# related_resources:
# - ref: https://github.com/open-policy-agent/gatekeeper-library/tree/master/src/general/block-wildcard-ingress
#   description: Gatekeeper's twin, K8sBlockWildcardIngress (K8sUniqueIngressHost reads other objects)
# - ref: https://github.com/kyverno/policies/tree/main/other/restrict-ingress-wildcard
#   description: Kyverno's twin, restrict-ingress-wildcard
# - ref: https://kubernetes.io/docs/concepts/services-networking/ingress/#hostname-wildcards
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: high
#   message: serves the host {value}, which its namespace may not
#   remedy: Name a host of your namespace's domains in each rule; ask for the domain to be added.
#   kinds: [networking.k8s.io/Ingress]
#   fields:
#   - spec.defaultBackend
#   - spec.rules[].host
#   - spec.tls[].hosts
#   parameters:
#     domains:
#       description: >-
#         Which domains may be served in which namespaces (names or patterns such as team-*; in all
#         where none is given).
#       type: array
#       minItems: 1
#       items:
#         type: object
#         properties:
#           namespaces:
#             type: array
#             minItems: 1
#             items: {type: string, pattern: "^[a-z0-9*-]+$"}
#           names:
#             type: array
#             minItems: 1
#             items: {type: string, pattern: "^[a-z0-9][a-z0-9.-]*$"}
#         required: [names]
#         additionalProperties: false
#     wildcards:
#       description: Whether *.<domain> may be served.
#       type: boolean
#       default: false
package sallyport.rules.ingress.hosts

import data.sallyport.lib
import data.sallyport.parameters.ingress.hosts as parameters

deny contains {"path": host.path, "value": text(host.name)} if {
	some host in named
	not allowed(host.name)
}

deny contains {"path": "spec.defaultBackend", "value": "", "message": message} if {
	input.fields.spec.defaultBackend
	message := "serves all hosts that nobody else does"
}

named contains {"path": path, "name": object.get(rule, "host", "*")} if {
	some index, rule in input.fields.spec.rules
	path := concat("", [lib.indexed("spec.rules", index), ".host"])
}

named contains {"path": lib.indexed(path, number), "name": name} if {
	some index, entry in input.fields.spec.tls
	path := concat("", [lib.indexed("spec.tls", index), ".hosts"])
	some number, name in entry.hosts
}

allowed(name) if {
	is_string(name)
	wildcard_allowed(name)
	some domain in domains
	endswith(concat("", [".", name]), concat("", [".", domain]))
}

wildcard_allowed(name) if not contains(name, "*")

wildcard_allowed(_) if parameters.wildcards

domains contains domain if {
	some entry in parameters.domains
	here(entry)
	some domain in entry.names
}

here(entry) if not entry.namespaces

here(entry) if {
	some pattern in entry.namespaces
	not lib.unlike_glob(input.context.namespace, pattern)
}

text(value) := value if is_string(value)

text(value) := json.marshal(value) if not is_string(value)
