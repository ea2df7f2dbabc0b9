# METADATA
# scope: package
# title: Rules of other roles
# description: >-
#   An aggregationRule has Kubernetes copy into a ClusterRole the rules of all ClusterRoles
#   that its selectors find, now and later. kube-apiserver takes one only from who may do
#   everything; what they then give away is as wide as the selector. One with an expression, or
#   with nothing, may find any role: %2A stands for all.
# related_resources:
# - ref: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/registry/rbac/clusterrole/policybased/storage.go
#   description: Who may set one
# schemas:
# - input: schema.projection
# custom:
#   severity: critical
#   since: 3
#   privileges:
#   - "rights/collect/*"
#   message: takes over the rules of other ClusterRoles ({rest})
#   remedy: >-
#     List the rules themselves, or select by a label that only the platform team sets.
package sallyport.privileges.rights.collect

import data.sallyport.lib
import data.sallyport.lib.rights

needs contains entry if {
	some selector in rights.collected
	labels := object.get(selector, "labels", "*")
	entry := {"privilege": concat("/", ["rights/collect", lib.segment(labels)]), "path": selector.path}
}
