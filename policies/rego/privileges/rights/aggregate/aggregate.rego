# METADATA
# scope: package
# title: Rules for other roles
# description: >-
#   A label with aggregate-to- in its key has Kubernetes copy the rules of a ClusterRole into
#   another one, such as admin, edit or view: whoever holds that one gets them, in all
#   namespaces and without a binding of its own.
# related_resources:
# - ref: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles
#   description: Kubernetes documentation
# - ref: https://kubernetes.io/docs/concepts/security/rbac-good-practices/
#   description: Kubernetes documentation
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 3
#   privileges:
#   - "rights/aggregate/*"
#   message: adds its rules to other ClusterRoles, by the label {rest}
#   remedy: >-
#     Leave out the label and bind the role to those who need it.
package sallyport.privileges.rights.aggregate

import data.sallyport.lib
import data.sallyport.lib.rights

needs contains entry if {
	some label in rights.aggregated
	entry := {"privilege": concat("/", ["rights/aggregate", lib.segment(label.label)]), "path": label.path}
}
