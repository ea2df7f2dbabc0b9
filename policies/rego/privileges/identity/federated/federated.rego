# METADATA
# scope: package
# title: Identities in clouds
# description: >-
#   Annotations of a ServiceAccount say as whom its Pods sign in to a cloud: with Azure
#   Workload Identity by client id and tenant, with EKS by a role, with GKE by a service
#   account. Whoever sets them gives every Pod of the account that identity, where the cloud
#   trusts the account; whoever changes them, another tenant or a longer token. The cloud's own
#   trust in the account is not seen here.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/security/service-accounts/
#   description: Kubernetes documentation
# - ref: https://azure.github.io/azure-workload-identity/docs/topics/service-account-labels-and-annotations.html
#   description: Azure Workload Identity
# - ref: https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html
#   description: EKS
# - ref: https://cloud.google.com/kubernetes-engine/docs/how-to/workload-identity
#   description: GKE
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 3
#   privileges:
#   - "identity/*/*"
#   - "identity/*/*/*"
#   message: signs its Pods in to a cloud ({value})
#   remedy: >-
#     Leave the annotation as it is; have the owner of the identity make the service account.
package sallyport.privileges.identity.federated

import data.sallyport.lib

needs contains entry if {
	some identity in input.object.identities
	not identity.setting
	segments := ["identity", lib.segment(identity.cloud), lib.segment(identity.value)]
	entry := {"privilege": concat("/", segments), "path": identity.path}
}

needs contains entry if {
	some identity in input.object.identities
	segments := [
		concat("", ["identity/", lib.segment(identity.cloud), "-setting"]),
		lib.segment(identity.setting),
		lib.segment(identity.value),
	]
	entry := {"privilege": concat("/", segments), "path": identity.path}
}
