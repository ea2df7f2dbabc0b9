# METADATA
# scope: package
# title: Token of a service account asked for
# description: >-
#   Whoever may create serviceaccounts/token is the service account, wherever its tokens are taken:
#   its rights in the cluster, and its identities in clouds and vaults. A Secret of the type
#   kubernetes.io/service-account-token gets such a token too, which never expires. Kubelets ask for the tokens
#   of their Pods and are left alone; everyone else needs the privilege. The stock role edit has
#   this right in RBAC for every service account of its namespace.
# related_resources:
# - ref: https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-request-v1/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/api/blob/v0.36.3/authentication/v1/types.go
#   description: TokenRequest
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 3
#   privileges:
#   - "token/request/*"
#   message: gets a token of the service account {rest}
#   remedy: >-
#     Let the workload run as the service account and find the token in its file; or ask for a
#     profile that covers token/request for this service account.
package sallyport.privileges.token.request

import data.sallyport.lib

needs contains entry if {
	input.object.kind == "TokenRequest"
	name := lib.segment(object.get(input.object, "name", ""))
	entry := {"privilege": concat("", ["token/request/", name]), "path": ""}
}

needs contains entry if {
	input.object.kind == "Secret"
	name := lib.segment(object.get(input.object, "name", ""))
	path := "metadata.annotations[kubernetes.io/service-account.name]"
	entry := {"privilege": concat("", ["token/request/", name]), "path": path}
}
