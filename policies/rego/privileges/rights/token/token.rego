# METADATA
# scope: package
# title: Tokens of service accounts
# description: >-
#   Whoever may create serviceaccounts/token gets a token of the service account and is that
#   account wherever the token is taken, in the cluster and, with another audience, in a cloud.
#   A rule without resourceNames gives the tokens of all.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/security/rbac-good-practices/#token-request
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/rbac/v1/evaluation_helpers.go
#   description: What a rule matches
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 3
#   privileges:
#   - "rights/token/*"
#   message: gives tokens of the service account {rest}
#   remedy: >-
#     Name the service account in resourceNames, or let a Pod that runs as it mount its token.
package sallyport.privileges.rights.token

import data.sallyport.lib.rights

needs contains entry if {
	some rule in rights.giving({"create"}, "", "serviceaccounts/token")
	some name in rights.names(rule)
	entry := {"privilege": concat("/", ["rights/token", name]), "path": rule.path}
}
