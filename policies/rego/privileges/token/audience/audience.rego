# METADATA
# scope: package
# title: Token for another audience
# description: >-
#   A service account's token made for an audience lets the Pod sign in wherever that audience
#   trusts the cluster: a cloud (api://AzureADTokenExchange), a vault, another cluster. The
#   audiences of a CSIDriver's tokenRequests let its driver sign in as every Pod that mounts its
#   volumes; one without an audience is token/audience/%00, the API server's.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/storage/projected-volumes/#serviceaccounttoken
#   description: Kubernetes documentation
# - ref: https://kubernetes-csi.github.io/docs/token-requests.html
#   description: Tokens for CSI drivers
# - ref: https://azure.github.io/azure-workload-identity/docs/concepts.html
#   description: Azure workload identity
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 2
#   privileges:
#   - "token/audience/*"
#   message: gets a token of its service account for {rest}
#   remedy: >-
#     Remove the serviceAccountToken source, or the audience from spec.tokenRequests; ask for a
#     profile that allows the audience if the workload must sign in there.
package sallyport.privileges.token.audience

import data.sallyport.lib

needs contains entry if {
	some volume in input.volumes
	some token in volume.tokens
	token.audience != ""
	entry := {"privilege": privilege(token.audience), "path": token.path}
}

needs contains entry if {
	some token in input.object.tokens
	entry := {
		"privilege": privilege(object.get(token, "audience", "")),
		"path": token.path,
	}
}

privilege(audience) := concat("", ["token/audience/", lib.segment(audience)])
