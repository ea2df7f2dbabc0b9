# METADATA
# scope: package
# title: Pod bound to a node
# description: >-
#   A Binding puts a Pod on a node past the scheduler: taints that repel, quotas of queues, the
#   separation of node pools and a victim's wish to be alone do not count. The scheduler of the
#   cluster is not asked; another scheduler needs the privilege.
# related_resources:
# - ref: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/binding-v1/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/api/blob/v0.36.3/core/v1/types.go
#   description: Binding
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 3
#   privileges:
#   - "scheduling/bind"
#   message: chooses the node of a Pod past the scheduler
#   remedy: >-
#     Leave it to the scheduler; choose nodes by spec.nodeSelector or spec.affinity.nodeAffinity of
#     the Pod. A scheduler of your own needs a profile that covers scheduling/bind.
package sallyport.privileges.scheduling.bind

needs contains {"privilege": "scheduling/bind", "path": "target.name"} if {
	input.object.kind == "Binding"
}
