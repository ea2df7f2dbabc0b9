# METADATA
# scope: package
# title: Certificate of a Pod asked for by hand
# description: >-
#   A PodCertificateRequest asks a signer for the certificate of a Pod, for a key of whoever makes
#   it: wherever the signer is trusted, its holder is that Pod and its service account. Of a kubelet
#   kube-apiserver checks (NodeRestriction) that the Pod runs on its node as that service account
#   and mounts a certificate of that signer; of everyone else it checks nothing of that. The node
#   that the request names is left alone; everyone else needs the privilege, which names the service
#   account, the Pod and the signer. Served by default since Kubernetes 1.37.
# related_resources:
# - ref: https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/pod-certificate-request-v1beta1/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/enhancements/tree/master/keps/sig-auth/4317-pod-certificates
#   description: Pod certificates, KEP-4317
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 4
#   privileges:
#   - "certificate/pod/*/*/**"
#   message: asks for the certificate of a Pod (service account, Pod and signer {rest})
#   remedy: >-
#     Let the Pod mount its certificate (a projected podCertificate), for which its kubelet asks; or
#     ask for a profile that covers certificate/pod for this service account, Pod and signer.
package sallyport.privileges.certificate.pod

import data.sallyport.lib

needs contains entry if {
	input.object.kind == "PodCertificateRequest"
	account := lib.segment(object.get(input.object, "name", ""))
	pod := lib.segment(object.get(input.object, "pod", ""))
	signer := object.get(input.object, "signer", "%00")
	entry := {"privilege": concat("/", ["certificate/pod", account, pod, signer]), "path": "spec"}
}
