# METADATA
# scope: package
# title: Number of replicas
# description: >-
#   A workload has no fewer and no more replicas than the site's bounds; one is meant where none is
#   named. What `kubectl scale` and autoscalers change (the scale subresource) is not judged: bound
#   autoscalers by hpa/bounds, and people by a quota.
# related_resources:
# - ref: https://github.com/open-policy-agent/gatekeeper-library/tree/master/src/general/replicalimits
#   description: Gatekeeper's twin, K8sReplicaLimits
# - ref: https://github.com/kyverno/policies/tree/main/other/require-deployments-have-multiple-replicas
#   description: Kyverno's twin, require-deployments-have-multiple-replicas
# - ref: https://kubernetes.io/docs/concepts/policy/resource-quotas/
#   description: Kubernetes documentation, quotas
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: has {value} replicas
#   remedy: Set spec.replicas within your site's bounds.
#   kinds: [apps/Deployment, apps/ReplicaSet, apps/StatefulSet, ReplicationController]
#   fields: [spec.replicas]
#   parameters:
#     min:
#       description: The fewest.
#       type: integer
#       minimum: 0
#       default: 0
#     max:
#       description: The most.
#       type: integer
#       minimum: 0
#       default: 200
package sallyport.rules.replicas.bounds

import data.sallyport.parameters.replicas.bounds as parameters

deny contains {"path": "spec.replicas", "value": text(replicas)} if {
	replicas := object.get(input.fields, ["spec", "replicas"], 1)
	not good(replicas)
}

good(replicas) if {
	is_number(replicas)
	replicas >= parameters.min
	replicas <= parameters.max
}

text(value) := value if is_string(value)

text(value) := json.marshal(value) if not is_string(value)
