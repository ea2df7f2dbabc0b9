# METADATA
# scope: package
# title: Pods that nobody makes again
# description: >-
#   A Pod is made by a controller (a Job, a Deployment …), so that one that dies with its node is made
#   again, and what is run has one place where it is written down. A Pod is known by its namespace,
#   which kube-apiserver always fills in, so that files for `sallyport review` must name it; Pod
#   templates have none. What a kubelet makes of its static Pods is let be. Who has the right may write
#   an owner reference of their own: this is for order, and no wall.
# related_resources:
# - ref: https://github.com/kyverno/policies/tree/main/other/prevent-bare-pods
#   description: Kyverno's twin, prevent-bare-pods
# - ref: https://kubernetes.io/docs/concepts/configuration/overview/#naked-pods-vs-replicasets-deployments-and-jobs
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: has {value}, so that nobody makes it again
#   remedy: Submit a Job, or a Deployment for what serves, in place of the Pod.
#   fields:
#   - metadata.namespace
#   - metadata.ownerReferences[].controller
package sallyport.rules.pods.bare

deny contains {"path": "metadata.ownerReferences", "value": "no controller"} if {
	input.fields.metadata.namespace
	input.context.requester != "node"
	not controlled
}

controlled if {
	some owner in input.fields.metadata.ownerReferences
	owner.controller == true
}
