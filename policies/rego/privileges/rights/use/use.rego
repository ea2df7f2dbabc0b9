# METADATA
# scope: package
# title: use of a profile
# description: >-
#   Whoever gives away the use of a ContainerProfile lets others run what it covers. Those may
#   give it who may use that very profile themselves, in the same namespace, and in all of them
#   where it is given in a ClusterRole or a ClusterRoleBinding; everybody else needs this
#   privilege. A rule without resourceNames gives every profile, also those that are made
#   later.
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
#   - "rights/use/*"
#   message: lets its holders use the profile {rest}, which its author may not use
#   remedy: >-
#     Give away only profiles that you may use yourself; ask a holder of the profile to give
#     it.
package sallyport.privileges.rights.use

import data.sallyport.lib.rights

needs contains entry if {
	some rule in rights.giving({"use"}, "sallyport.dev", "containerprofiles")
	some name in rights.names(rule)
	entry := {"privilege": concat("/", ["rights/use", name]), "path": rule.path}
}
