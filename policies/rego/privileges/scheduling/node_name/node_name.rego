# METADATA
# scope: package
# title: Node chosen by hand
# description: >-
#   With spec.nodeName set the scheduler is passed by: taints that repel, quotas of queues and the
#   separation of node pools do not count, and the Pod can be put beside a chosen victim. Only a
#   taint with NoExecute still evicts it.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#nodename
#   description: Kubernetes documentation
# - ref: https://microsoft.github.io/Threat-Matrix-for-Kubernetes/
#   description: Threat Matrix for Kubernetes
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 2
#   privileges:
#   - "scheduling/node-name"
#   message: chooses its node past the scheduler
#   remedy: >-
#     Remove spec.nodeName; choose nodes by spec.nodeSelector or spec.affinity.nodeAffinity, for
#     example on kubernetes.io/hostname.
package sallyport.privileges.scheduling.node_name

needs contains {"privilege": "scheduling/node-name", "path": "spec.nodeName"} if {
	input.nodeName != ""
}
