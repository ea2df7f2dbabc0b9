# METADATA
# scope: package
# title: Writing Sallyport's objects
# description: >-
#   Whoever writes Sallyport's own objects changes what is let through: a ContainerProfile can
#   be widened under a name that many may use already.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/security/rbac-good-practices/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/rbac/v1/evaluation_helpers.go
#   description: What a rule matches
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 3
#   privileges:
#   - "rights/sallyport/*"
#   message: lets its holders write Sallyport's own objects ({rest})
#   remedy: >-
#     Leave writing them to the platform team; get, list and watch are free.
package sallyport.privileges.rights.sallyport

import data.sallyport.lib
import data.sallyport.lib.rights

needs contains entry if {
	some rule in rights.giving_any(rights.writing, "sallyport.dev")
	some resource in rule.resources
	entry := {
		"privilege": concat("/", ["rights/sallyport", lib.segment(rights.either(resource))]),
		"path": rule.path,
	}
}
