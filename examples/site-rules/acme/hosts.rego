# METADATA
# scope: package
# title: Hosts of the site
# description: What is reached from outside has one of the site's own names.
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: medium
#   message: has the host {value}, which is not the site's
#   remedy: Take a name below the site's own domain.
#   kinds: [networking.k8s.io/Ingress]
#   fields: ["spec.rules[].host"]
#   parameters:
#     domains:
#       description: Domains of the site, each with a dot before it
#       type: array
#       items: {type: string}
package sallyport.rules.acme.hosts

import data.sallyport.parameters.acme.hosts as wanted

# A rule without a host is reached by every name.
deny contains {"path": path, "value": host} if {
	some number, rule in input.fields.spec.rules
	host := object.get(rule, "host", "*")
	not within(host)
	path := concat("", ["spec.rules[", format_int(number, 10), "].host"])
}

within(host) if {
	some domain in wanted.domains
	endswith(host, domain)
}
