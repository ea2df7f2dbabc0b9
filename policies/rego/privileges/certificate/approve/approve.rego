# METADATA
# scope: package
# title: Certificate approved
# description: >-
#   Whoever approves a CertificateSigningRequest lets its signer make the certificate: of a user or
#   a node, whoever asked. kube-controller-manager approves those of kubelets and is left alone; a
#   denial needs nothing.
# related_resources:
# - ref: https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/api/blob/v0.36.3/certificates/v1/types.go
#   description: CertificateSigningRequest
# schemas:
# - input: schema.projection
# custom:
#   severity: critical
#   since: 3
#   privileges:
#   - "certificate/approve/**"
#   message: approves a certificate of the signer {rest}
#   remedy: >-
#     Leave it to whoever approves certificates in your cluster, or ask for a profile that covers
#     certificate/approve for this signer.
package sallyport.privileges.certificate.approve

needs contains entry if {
	input.object.kind == "CertificateApproval"
	entry := {
		"privilege": concat("", ["certificate/approve/", object.get(input.object, "signer", "%00")]),
		"path": "status.conditions",
	}
}
