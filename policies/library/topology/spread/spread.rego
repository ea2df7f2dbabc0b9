# METADATA
# scope: package
# title: Replicas apart
# description: >-
#   What runs more than once keeps its Pods apart, over zones or nodes, so that not all of them end
#   together: by a topology spread constraint, or by pod anti-affinity, with one of the keys that
#   parameters name. Which Pods the constraint counts (its labelSelector) is not compared with the
#   template's labels. An autoscaler's number is not known: name it in `from`, or have spec.replicas
#   set. The scheduler spreads by default too, as far as it can; this rule wants it said.
# related_resources:
# - ref: https://github.com/kyverno/policies/tree/main/other/topologyspreadconstraints-policy
#   description: Kyverno's twins, topologyspreadconstraints-policy and spread-pods-across-topology
# - ref: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: runs {value} times and does not say what keeps its Pods apart
#   remedy: Add topologySpreadConstraints to the Pod template, with one of your site's topology keys.
#   kinds: [apps/Deployment, apps/StatefulSet]
#   fields:
#   - spec.replicas
#   - spec.template.spec.topologySpreadConstraints[].topologyKey
#   - spec.template.spec.topologySpreadConstraints[].whenUnsatisfiable
#   - spec.template.spec.affinity.podAntiAffinity
#   parameters:
#     keys:
#       description: The topology keys, of which one is enough.
#       type: array
#       minItems: 1
#       items: {type: string, minLength: 1}
#       default: [topology.kubernetes.io/zone, kubernetes.io/hostname]
#     from:
#       description: How many replicas are many.
#       type: integer
#       minimum: 1
#       default: 2
#     hard:
#       description: >-
#         Whether only what the scheduler must keep counts (DoNotSchedule, and anti-affinity that is
#         required).
#       type: boolean
#       default: false
package sallyport.rules.topology.spread

import data.sallyport.parameters.topology.spread as parameters

deny contains {"path": path, "value": text(replicas)} if {
	replicas := object.get(input.fields, ["spec", "replicas"], 1)
	not few(replicas)
	not apart
	path := "spec.template.spec.topologySpreadConstraints"
}

few(replicas) if {
	is_number(replicas)
	replicas >= 0
	replicas < parameters.from
}

apart if {
	some constraint in input.fields.spec.template.spec.topologySpreadConstraints
	constraint.topologyKey in parameters.keys
	kept(constraint)
}

apart if {
	some term in anti_affinity.requiredDuringSchedulingIgnoredDuringExecution
	term.topologyKey in parameters.keys
}

apart if {
	not parameters.hard
	some preference in anti_affinity.preferredDuringSchedulingIgnoredDuringExecution
	preference.podAffinityTerm.topologyKey in parameters.keys
}

anti_affinity := input.fields.spec.template.spec.affinity.podAntiAffinity

kept(_) if not parameters.hard

kept(constraint) if constraint.whenUnsatisfiable == "DoNotSchedule"

text(value) := value if is_string(value)

text(value) := json.marshal(value) if not is_string(value)
