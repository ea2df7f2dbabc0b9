# METADATA
# scope: package
# title: Name resolution past the cluster's DNS
# description: >-
#   The policies None and Default, and name servers of the Pod's own, send its questions past the
#   cluster's DNS, where names are allowed, logged and rewritten: a way out for data, and a way
#   around an egress allowlist of names. ClusterFirst and ClusterFirstWithHostNet are the
#   cluster's DNS; on the node's network ClusterFirst means the node's (that needs host/network).
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pod-s-dns-policy
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/network/dns/dns.go
#   description: How the kubelet writes resolv.conf
# - ref: https://attack.mitre.org/techniques/T1071/004/
#   description: Command and control over DNS, MITRE ATT&CK
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 2
#   privileges:
#   - "dns/policy/*"
#   - "dns/nameserver/*"
#   message: resolves names past the cluster's DNS ({rest})
#   remedy: >-
#     Remove spec.dnsPolicy and spec.dnsConfig.nameservers, or set spec.dnsPolicy: ClusterFirst.
package sallyport.privileges.dns.settings

import data.sallyport.lib

needs contains entry if {
	policy := input.dnsPolicy
	not policy in {"", "ClusterFirst", "ClusterFirstWithHostNet"}
	entry := {"privilege": concat("", ["dns/policy/", lib.segment(policy)]), "path": "spec.dnsPolicy"}
}

needs contains entry if {
	some index, server in input.nameservers
	entry := {
		"privilege": concat("", ["dns/nameserver/", lib.segment(server)]),
		"path": lib.indexed("spec.dnsConfig.nameservers", index),
	}
}
