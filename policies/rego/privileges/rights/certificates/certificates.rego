# METADATA
# scope: package
# title: Approving and signing certificates
# description: >-
#   Whoever may approve or sign for a signer of certificates makes certificates that its
#   trusters believe: with kubernetes.io/kube-apiserver-client those of any user of the cluster
#   in any group, for a year and without a way to take them back. attest is the same for
#   ClusterTrustBundles.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/security/rbac-good-practices/#csrs-and-certificate-issuing
#   description: Kubernetes documentation
# - ref: https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/
#   description: Signers
# schemas:
# - input: schema.projection
# custom:
#   severity: critical
#   since: 3
#   privileges:
#   - "rights/certificates/*/*"
#   message: lets its holders issue certificates ({rest})
#   remedy: >-
#     Name the operator's own signer in resourceNames.
package sallyport.privileges.rights.certificates

import data.sallyport.lib.rights

needs contains entry if {
	rights.everywhere
	some verb in ["approve", "sign", "attest"]
	some rule in rights.giving({verb}, "certificates.k8s.io", "signers")
	some name in rights.names(rule)
	segments := ["rights/certificates", verb, name]
	entry := {"privilege": concat("/", segments), "path": rule.path}
}
