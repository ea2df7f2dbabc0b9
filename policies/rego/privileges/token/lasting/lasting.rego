# METADATA
# scope: package
# title: Token that lasts
# description: >-
#   A token that is bound to a Pod, Secret or Node dies with it; one that is bound to nothing lives
#   until it expires or the service account is deleted, and so does one asked for longer than a
#   day, as far as kube-apiserver grants it (--service-account-max-token-expiration).
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
#   - "token/unbound"
#   - "token/long-lived"
#   message: gets a token that lasts ({value})
#   remedy: >-
#     Of a TokenRequest set spec.boundObjectRef to the Pod that uses the token, and
#     spec.expirationSeconds to a day at most. In the place of a Secret of this type let the Pod
#     mount a projected serviceAccountToken, or request a token when one is needed. Or ask for a
#     profile that covers token/unbound or token/long-lived.
package sallyport.privileges.token.lasting

# A day.
most_seconds := 86400

needs contains {"privilege": "token/unbound", "path": "spec.boundObjectRef"} if {
	input.object.kind == "TokenRequest"
	not input.object.bound
}

needs contains {"privilege": "token/long-lived", "path": "spec.expirationSeconds"} if {
	input.object.kind == "TokenRequest"
	input.object.seconds > most_seconds
}

# Nothing ends the token of such a Secret but its deletion, or the service account's.
needs contains {"privilege": privilege, "path": "type"} if {
	input.object.kind == "Secret"
	some privilege in {"token/unbound", "token/long-lived"}
}
