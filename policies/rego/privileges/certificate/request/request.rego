# METADATA
# scope: package
# title: Certificate asked for
# description: >-
#   A CertificateSigningRequest asks a signer of the cluster for a certificate. What it is worth
#   depends on the signer: kubernetes.io/kube-apiserver-client makes users of the cluster,
#   kubernetes.io/kubelet-serving makes nodes. Nodes asking for their own are left alone.
# related_resources:
# - ref: https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/api/blob/v0.36.3/certificates/v1/types.go
#   description: CertificateSigningRequest
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 3
#   privileges:
#   - "certificate/request/**"
#   message: asks the signer {rest} for a certificate
#   remedy: >-
#     Use a service account or the cluster's sign-in; or ask for a profile that covers
#     certificate/request for this signer.
package sallyport.privileges.certificate.request

needs contains entry if {
	input.object.kind == "CertificateSigningRequest"
	entry := {
		"privilege": concat("", ["certificate/request/", object.get(input.object, "signer", "%00")]),
		"path": "spec.signerName",
	}
}
