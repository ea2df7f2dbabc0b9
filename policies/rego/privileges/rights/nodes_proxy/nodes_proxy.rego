# METADATA
# scope: package
# title: nodes/proxy
# description: >-
#   nodes/proxy is the kubelet's whole interface: commands in every container of the node,
#   asked straight at the kubelet, where neither webhooks nor kube-apiserver's audit log see
#   them. get is enough, for a WebSocket begins with it.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/security/rbac-good-practices/#access-to-proxy-subresource-of-nodes
#   description: Kubernetes documentation
# - ref: https://kubernetes.io/docs/reference/access-authn-authz/kubelet-authn-authz/
#   description: What the kubelet asks for
# schemas:
# - input: schema.projection
# custom:
#   severity: critical
#   since: 3
#   privileges:
#   - rights/nodes-proxy
#   message: gives the kubelet's interface, with commands in every container of a node
#   remedy: >-
#     Use nodes/metrics, nodes/stats, nodes/log or nodes/healthz, which only read.
package sallyport.privileges.rights.nodes_proxy

import data.sallyport.lib.rights

needs contains {"privilege": "rights/nodes-proxy", "path": rule.path} if {
	rights.everywhere
	some rule in rights.giving(rights.any_verb, "", "nodes/proxy")
}
