# METADATA
# scope: package
# title: approve on a tier
# description: >-
#   Whoever gives away the verb approve on an approval tier chooses who counts as the second
#   person. Those may give it who have it themselves for that very tier; everybody else needs
#   this privilege.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/security/rbac-good-practices/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/rbac/v1/evaluation_helpers.go
#   description: What a rule matches
# schemas:
# - input: schema.projection
# custom:
#   severity: critical
#   since: 3
#   privileges:
#   - "rights/approve/*"
#   message: makes its holders approvers of the tier {rest}
#   remedy: >-
#     Have an approver of the tier give the right.
package sallyport.privileges.rights.approve

import data.sallyport.lib.rights

needs contains entry if {
	rights.everywhere
	some rule in rights.giving({"approve"}, "sallyport.dev", "approvaltiers")
	some name in rights.names(rule)
	entry := {"privilege": concat("/", ["rights/approve", name]), "path": rule.path}
}
