# METADATA
# scope: package
# title: Certificates of Pods
# description: >-
#   Whoever may create podcertificaterequests asks signers for the certificate of any Pod and
#   service account of the namespace, for a key of their own, and kube-apiserver checks that only of
#   kubelets. resourceNames do not limit it: a create has none. What such a request says cannot be
#   changed later, and its status takes the right to sign for the signer, which is
#   rights/certificates/sign: update, patch and podcertificaterequests/status alone need nothing.
# related_resources:
# - ref: https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/pod-certificate-request-v1beta1/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.37.2/pkg/registry/certificates/podcertificaterequest/strategy.go
#   description: What kube-apiserver checks
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 4
#   privileges:
#   - rights/pod-certificates
#   message: lets its holders ask for the certificate of any Pod
#   remedy: >-
#     Leave it out: kubelets have the right, and ask for the certificates of Pods that mount one (a
#     projected podCertificate).
package sallyport.privileges.rights.pod_certificates

import data.sallyport.lib.rights

needs contains {"privilege": "rights/pod-certificates", "path": rule.path} if {
	some rule in rights.giving({"create"}, "certificates.k8s.io", "podcertificaterequests")
}
