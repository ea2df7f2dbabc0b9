# METADATA
# scope: package
# title: Secrets beyond one's namespace
# description: >-
#   A ClusterRole that reads Secrets reads those of every namespace where it is bound, and all
#   of them by a ClusterRoleBinding: keys of the gate, tokens, passwords. list and watch show
#   the contents as get does. One that writes them replaces keys and certificates, and makes
#   tokens of any service account. In a RoleBinding, the same for the Secrets of its namespace
#   where a service account of another one gets them.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/security/rbac-good-practices/#listing-secrets
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/rbac/v1/evaluation_helpers.go
#   description: What a rule matches
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 3
#   privileges:
#   - "rights/secrets/*"
#   message: gives Secrets of other namespaces ({rest})
#   remedy: >-
#     Use a Role in the namespace of the Secrets, for its own service accounts; or mount the
#     one Secret.
package sallyport.privileges.rights.secrets

import data.sallyport.lib.rights

needs contains {"privilege": "rights/secrets/read", "path": rule.path} if {
	rights.beyond
	some rule in rights.giving({"get", "list", "watch"}, "", "secrets")
}

needs contains {"privilege": "rights/secrets/write", "path": rule.path} if {
	rights.beyond
	some rule in rights.giving(rights.writing, "", "secrets")
}
