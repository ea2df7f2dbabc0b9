# METADATA
# scope: package
# title: Node reached through kube-apiserver
# description: >-
#   kube-apiserver passes HTTP requests on to a node with its own credentials, as the kubelet's
#   master: /exec, /run, /attach, /portForward and /containerLogs do everything in every Pod of the
#   node, and none of that asks a webhook again. The privilege names the port, kubelet for the
#   kubelet's own, and the first part of the path, so that metrics can be allowed and no more. With
#   another port it is an HTTP request to whatever listens on the node.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/security/rbac-good-practices/#access-to-proxy-subresource-of-nodes
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/registry/core/node/strategy.go
#   description: How a node's port is chosen
# schemas:
# - input: schema.projection
# custom:
#   severity: critical
#   since: 3
#   privileges:
#   - "proxy/node/*/*"
#   message: reaches a node through kube-apiserver, with its credentials ({rest})
#   remedy: >-
#     Give monitoring the resources nodes/metrics and nodes/stats and let it ask the kubelets
#     itself; enter Pods with kubectl exec.
package sallyport.privileges.proxy.node

import data.sallyport.lib

needs contains entry if {
	input.object.kind == "NodeProxyOptions"
	port := lib.segment(object.get(input.object, "port", "kubelet"))
	endpoint := lib.segment(object.get(input.object, "endpoint", ""))
	entry := {"privilege": concat("/", ["proxy/node", port, endpoint]), "path": "path"}
}
