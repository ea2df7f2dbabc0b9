# METADATA
# scope: package
# title: Names that Services stand for
# description: >-
#   A Service of the type ExternalName is an alias in DNS, and stands only for names of the domains
#   that parameters give: one for localhost, or for a Service of another namespace, leads what trusts
#   its name (an Ingress controller, a proxy) to where its author may not go. An address is no name.
# related_resources:
# - ref: https://github.com/kyverno/policies/tree/main/other/disallow-localhost-services
#   description: Kyverno's twin, disallow-localhost-services
# - ref: https://kubernetes.io/docs/concepts/services-networking/service/#externalname
#   description: Kubernetes documentation, with its warning
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: medium
#   message: stands for {value}, which no Service may
#   remedy: Name a host of the domains that your site allows, or give the Service a selector.
#   kinds: [Service]
#   fields:
#   - spec.type
#   - spec.externalName
#   parameters:
#     domains:
#       description: The domains, each with what lies below it.
#       type: array
#       minItems: 1
#       items: {type: string, pattern: "^[a-z0-9][a-z0-9.-]*[a-z0-9]$"}
package sallyport.rules.services.external_name

deny contains {"path": "spec.externalName", "value": text(name)} if {
	not object.get(input.fields, ["spec", "type"], "ClusterIP") in {"ClusterIP", "NodePort", "LoadBalancer"}
	name := object.get(input.fields, ["spec", "externalName"], "")
	not allowed(name)
}

allowed(name) if {
	is_string(name)
	some domain in data.sallyport.parameters.services.external_name.domains
	endswith(concat("", [".", lower(trim_suffix(name, "."))]), concat("", [".", domain]))
}

text(value) := value if is_string(value)

text(value) := json.marshal(value) if not is_string(value)
