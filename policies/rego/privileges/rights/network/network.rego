# METADATA
# scope: package
# title: Where traffic of Services and nodes goes
# description: >-
#   Whoever writes Endpoints or EndpointSlices chooses the addresses behind a Service, of any
#   namespace and of none: what is sent to the Service, and what an ingress forwards, goes there. The
#   status of a Pod names its address and that it is ready, which puts it behind a Service; the status
#   of a Service names addresses that nodes keep for themselves; the status of a Node says where its
#   kubelet listens, and a Node is made with the status that it is sent with. Kubernetes' own
#   controllers write all of them, and edit and admin do not.
# related_resources:
# - ref: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#write-access-for-endpoints
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/kubernetes/issues/103675
#   description: CVE-2021-25740, Endpoints that reach Pods of another namespace
# - ref: https://github.com/kubernetes/kubernetes/issues/97076
#   description: CVE-2020-8554, addresses of a Service that are somebody else's
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 4
#   privileges:
#   - "rights/network/*"
#   message: gives the choice of where traffic goes ({rest})
#   remedy: >-
#     Remove the verbs that write it, and leave that to Kubernetes: a Service with a selector has its
#     EndpointSlices written, kubelets write the status of Pods and Nodes (a readinessProbe says when
#     a Pod is ready), and controllers that of Services. Read rights are enough to find addresses.
package sallyport.privileges.rights.network

import data.sallyport.lib.rights

steering := {
	["", "endpoints", "endpoints"],
	["", "nodes/status", "node-status"],
	["", "pods/status", "pod-status"],
	["", "services/status", "service-status"],
	["discovery.k8s.io", "endpointslices", "endpointslices"],
}

needs contains entry if {
	some [group, resource, name] in steering
	some rule in rights.giving(rights.writing, group, resource)
	entry := {"privilege": concat("/", ["rights/network", name]), "path": rule.path}
}

# A new node is taken with the status that it is sent with, its addresses and the kubelet's port.
needs contains {"privilege": "rights/network/node-status", "path": rule.path} if {
	some rule in rights.giving({"create"}, "", "nodes")
}
