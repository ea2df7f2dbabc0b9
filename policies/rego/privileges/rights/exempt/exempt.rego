# METADATA
# scope: package
# title: exempt on namespaces
# description: >-
#   Whoever gives away the verb exempt lets others set how namespaces are guarded: their mode,
#   their ceiling, the labels by which AKS leaves them out of webhooks. Those may give it who
#   have it themselves for that very namespace; everybody else needs this privilege.
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
#   - "rights/exempt/*"
#   message: lets its holders exempt the namespace {rest} from the gate
#   remedy: >-
#     Have someone who may exempt the namespace give the right.
package sallyport.privileges.rights.exempt

import data.sallyport.lib.rights

needs contains entry if {
	rights.everywhere
	some rule in rights.giving({"exempt"}, "sallyport.dev", "namespaces")
	some name in rights.names(rule)
	entry := {"privilege": concat("/", ["rights/exempt", name]), "path": rule.path}
}
