# METADATA
# scope: package
# title: escalate on roles
# description: >-
#   Whoever has the verb escalate on roles or clusterroles may write rules into them that they
#   do not have themselves, and so have everything that their bindings reach.
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
#   - "rights/escalate/*"
#   message: lets its holders write any right into roles ({rest})
#   remedy: >-
#     Leave out the verb escalate; list the rights themselves.
package sallyport.privileges.rights.escalate

import data.sallyport.lib.rights

needs contains entry if {
	some kind in ["roles", "clusterroles"]
	some rule in rights.giving({"escalate"}, "rbac.authorization.k8s.io", kind)
	some name in rights.names(rule)
	entry := {"privilege": concat("/", ["rights/escalate", name]), "path": rule.path}
}
