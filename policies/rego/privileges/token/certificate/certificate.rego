# METADATA
# scope: package
# title: Certificate of a signer
# description: >-
#   A projected podCertificate gives the Pod a key and a certificate of the named signer, renewed
#   by the kubelet: an identity wherever the signer is trusted. The signer
#   kubernetes.io/kube-apiserver-client-pod makes one for the API server, past automounting. Alpha
#   in Kubernetes 1.34, beta since 1.35.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/storage/projected-volumes/#podcertificate
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/enhancements/tree/master/keps/sig-auth/4317-pod-certificates
#   description: Pod certificates, KEP-4317
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 2
#   risk: 10
#   privileges:
#   - "token/certificate/*"
#   message: gets a certificate from the signer {rest}
#   remedy: >-
#     Remove the podCertificate source from the projected volume; ask for a profile that allows
#     the signer if the workload must show its certificate.
package sallyport.privileges.token.certificate

import data.sallyport.lib

needs contains entry if {
	some volume in input.volumes
	some certificate in volume.certificates
	signer := object.get(certificate, "signer", "")
	entry := {
		"privilege": concat("", ["token/certificate/", lib.segment(signer)]),
		"path": certificate.path,
	}
}
