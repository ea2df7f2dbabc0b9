# METADATA
# scope: package
# title: Pod reached through kube-apiserver
# description: >-
#   kube-apiserver passes HTTP requests on to a port of the Pod, from its own place in the network:
#   NetworkPolicies see kube-apiserver, or nothing. The port is the one in the name; without one it
#   is the first that the Pod declares (proxy/pod/%00).
# related_resources:
# - ref: https://kubernetes.io/docs/tasks/access-application-cluster/access-cluster-services/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/registry/core/pod/strategy.go
#   description: How the port is read from the name
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 3
#   privileges:
#   - "proxy/pod/*"
#   message: reaches port {rest} of the Pod through kube-apiserver
#   remedy: >-
#     Reach it by a Service and an Ingress that asks who you are, or ask for a profile that covers
#     proxy/pod.
package sallyport.privileges.proxy.pod

import data.sallyport.lib

needs contains entry if {
	input.object.kind == "PodProxyOptions"
	port := lib.segment(object.get(input.object, "port", ""))
	entry := {"privilege": concat("", ["proxy/pod/", port]), "path": ""}
}
