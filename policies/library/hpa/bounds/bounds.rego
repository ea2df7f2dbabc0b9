# METADATA
# scope: package
# title: Bounds of autoscalers
# description: >-
#   A HorizontalPodAutoscaler scales within the site's bounds, and leaves itself room to. One is meant
#   where minReplicas is not set. Whether what it scales exists is not looked up.
# related_resources:
# - ref: https://github.com/open-policy-agent/gatekeeper-library/tree/master/src/general/horizontalpodautoscaler
#   description: Gatekeeper's twin, K8sHorizontalPodAutoscaler
# - ref: https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: scales outside of the bounds ({value} replicas)
#   remedy: Set spec.minReplicas and spec.maxReplicas within your site's bounds.
#   kinds: [autoscaling/HorizontalPodAutoscaler]
#   fields: [spec.minReplicas, spec.maxReplicas]
#   parameters:
#     min:
#       description: The fewest replicas.
#       type: integer
#       minimum: 0
#       default: 1
#     max:
#       description: The most replicas.
#       type: integer
#       minimum: 1
#       default: 200
#     spread:
#       description: By how many maxReplicas must exceed minReplicas.
#       type: integer
#       minimum: 0
#       default: 0
package sallyport.rules.hpa.bounds

import data.sallyport.parameters.hpa.bounds as parameters

deny contains {"path": concat("", ["spec.", name]), "value": text(replicas)} if {
	some name, replicas in asked
	not within(replicas)
}

deny contains {"path": "spec.maxReplicas", "value": "", "message": message} if {
	every _, replicas in asked {
		within(replicas)
	}
	asked.maxReplicas - asked.minReplicas < parameters.spread
	message := "leaves itself too little room between minReplicas and maxReplicas"
}

asked := {
	"minReplicas": object.get(input.fields, ["spec", "minReplicas"], 1),
	"maxReplicas": object.get(input.fields, ["spec", "maxReplicas"], "unset"),
}

within(replicas) if {
	is_number(replicas)
	replicas >= parameters.min
	replicas <= parameters.max
}

text(value) := value if is_string(value)

text(value) := json.marshal(value) if not is_string(value)
