# METADATA
# scope: package
# title: Names in the hosts file
# description: >-
#   A host alias answers for a name before any DNS is asked, with an address of the Pod author's
#   choice: a program that trusts the name, such as a registry's or a metrics collector's, talks
#   to another machine, and what allows or logs names is not asked.
# related_resources:
# - ref: https://kubernetes.io/docs/tasks/network/customize-hosts-file-for-pods/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/kubelet_pods.go
#   description: How the kubelet writes /etc/hosts
# schemas:
# - input: schema.projection
# custom:
#   severity: low
#   since: 2
#   privileges:
#   - "dns/host-alias/*"
#   message: gives the name {rest} an address of its own
#   remedy: >-
#     Remove the entry from spec.hostAliases; give the name a Service or an entry in DNS.
package sallyport.privileges.dns.host_alias

import data.sallyport.lib

needs contains entry if {
	some alias in input.hostAliases
	some hostname in alias.hostnames
	entry := {
		"privilege": concat("", ["dns/host-alias/", lib.segment(hostname)]),
		"path": alias.path,
	}
}
