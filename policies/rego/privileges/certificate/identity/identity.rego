# METADATA
# scope: package
# title: Certificate for a user or group of the cluster
# description: >-
#   kube-apiserver takes the common name of a certificate of the signers
#   kubernetes.io/kube-apiserver-client and kubernetes.io/kube-apiserver-client-kubelet for the
#   user's name and its organisations for groups: with system:masters it is above RBAC, with
#   system:nodes and system:node:… a node. Nothing revokes it before it expires. Each name is a
#   privilege, for whoever asks and for whoever approves; a user who is not the cluster's own
#   (system:…) and no object id of Entra goes by a pseudonym, user: and the first 16 hex digits of
#   the name's SHA-256. A request that cannot surely be read (anything but one PEM block with
#   nothing beside it) is certificate/user/%00 and certificate/group/%00.
# related_resources:
# - ref: https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/api/blob/v0.36.3/certificates/v1/types.go
#   description: CertificateSigningRequest
# - ref: https://kubernetes.io/docs/reference/access-authn-authz/authentication/#x509-client-certificates
#   description: Names in client certificates
# schemas:
# - input: schema.projection
# custom:
#   severity: critical
#   since: 3
#   privileges:
#   - "certificate/user/*"
#   - "certificate/group/*"
#   message: concerns a certificate that makes its holder {value} of the cluster
#   remedy: >-
#     Use the cluster's sign-in or a service account; never take system groups into a certificate.
package sallyport.privileges.certificate.identity

import data.sallyport.lib

kinds := {"CertificateSigningRequest", "CertificateApproval"}

needs contains entry if {
	input.object.kind in kinds
	of_cluster
	name := lib.segment(object.get(input.object, "commonName", ""))
	entry := {"privilege": concat("", ["certificate/user/", name]), "path": "spec.request"}
}

needs contains entry if {
	input.object.kind in kinds
	of_cluster
	some organisation in input.object.organisations
	group := lib.segment(organisation)
	entry := {"privilege": concat("", ["certificate/group/", group]), "path": "spec.request"}
}

of_cluster if startswith(input.object.signer, "kubernetes.io/kube-apiserver-client")
