# METADATA
# scope: package
# title: Ports forwarded
# description: >-
#   kubectl port-forward reaches every port of the Pod, those that listen on its loopback alone and
#   those without any password included, past NetworkPolicies. Which ports is said only later, in
#   the stream, so the privilege is for all of them.
# related_resources:
# - ref: https://kubernetes.io/docs/tasks/access-application-cluster/port-forward-access-application-cluster/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/api/blob/v0.36.3/core/v1/types.go
#   description: PodExecOptions, PodAttachOptions, PodPortForwardOptions, PodProxyOptions
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 3
#   privileges:
#   - "port-forward/any"
#   message: reaches every port of the Pod, past network policies
#   remedy: >-
#     Reach it by a Service and an Ingress that asks who you are, or ask for a profile that covers
#     port-forward/any.
package sallyport.privileges.port_forward.any

needs contains {"privilege": "port-forward/any", "path": ""} if {
	input.object.kind == "PodPortForwardOptions"
}
