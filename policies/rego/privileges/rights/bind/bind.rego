# METADATA
# scope: package
# title: bind on roles
# description: >-
#   Whoever has the verb bind on a role may give it to anyone, themselves included, without
#   having what it holds. A rule without resourceNames gives it for every role: %2A stands for
#   all.
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
#   - "rights/bind/*"
#   message: lets its holders give away the role {rest} without having it
#   remedy: >-
#     Name in resourceNames the few roles that are to be given, or have the platform team give
#     them.
package sallyport.privileges.rights.bind

import data.sallyport.lib.rights

needs contains entry if {
	some kind in ["roles", "clusterroles"]
	some rule in rights.giving({"bind"}, "rbac.authorization.k8s.io", kind)
	some name in rights.names(rule)
	entry := {"privilege": concat("/", ["rights/bind", name]), "path": rule.path}
}
