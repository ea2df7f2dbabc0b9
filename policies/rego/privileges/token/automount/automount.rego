# METADATA
# scope: package
# title: Token for the API server
# description: >-
#   Unless the Pod says otherwise, its service account's token for the API server lies in every
#   container: whoever breaks in can do what the account may. The account's own setting can change
#   after the Pod was judged, so the Pod's counts. A projected token without an audience is the
#   same token, mounted by hand.
# related_resources:
# - ref: https://kubernetes.io/docs/tasks/configure-pod-container/configure-service-account/#opt-out-of-api-credential-automounting
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.36.3/plugin/pkg/admission/serviceaccount/admission.go
#   description: The admission plugin that mounts it
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 2
#   privileges:
#   - "token/automount"
#   message: gets its service account's token for the API server
#   remedy: >-
#     Set spec.automountServiceAccountToken: false, and remove projected serviceAccountToken
#     volumes that name no audience. Workload identity and other clouds' tokens do not need it.
package sallyport.privileges.token.automount

needs contains {
	"privilege": "token/automount",
	"path": "spec.automountServiceAccountToken",
} if {
	input.containers[0]
	not input.automount == false
}

needs contains {"privilege": "token/automount", "path": token.path} if {
	input.automount == false
	some volume in input.volumes
	some token in volume.tokens
	object.get(token, "audience", "") == ""
}
