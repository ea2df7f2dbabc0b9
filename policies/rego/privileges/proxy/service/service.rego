# METADATA
# scope: package
# title: Service reached through kube-apiserver
# description: >-
#   kube-apiserver passes HTTP requests on to a Service's endpoints. Whoever may write the
#   endpoints of a Service without a selector chooses the address: kube-apiserver then connects for
#   them to where they cannot. The port is the one in the name; without one it is the Service's own
#   (proxy/service/%00).
# related_resources:
# - ref: https://kubernetes.io/docs/tasks/access-application-cluster/access-cluster-services/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/registry/core/service/storage/storage.go
#   description: How the port is read from the name
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 3
#   privileges:
#   - "proxy/service/*"
#   message: reaches port {rest} of the Service through kube-apiserver
#   remedy: >-
#     Reach it by an Ingress, or by kubectl port-forward to one of its Pods, or ask for a profile
#     that covers proxy/service.
package sallyport.privileges.proxy.service

import data.sallyport.lib

needs contains entry if {
	input.object.kind == "ServiceProxyOptions"
	port := lib.segment(object.get(input.object, "port", ""))
	entry := {"privilege": concat("", ["proxy/service/", port]), "path": ""}
}
