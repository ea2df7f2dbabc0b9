# METADATA
# scope: package
# title: Priority classes by group
# description: >-
#   A Pod of a higher priority evicts others when nodes are full: a class is named only by members of
#   the groups that may. What names no class is let be, and so is what a configured controller makes
#   for a workload, which was judged when its author submitted it. Whoever changes an object that
#   names a class needs the group too. Classes system-… are a privilege besides
#   (scheduling/priority/*, docs/rules/scheduling/priority.md).
# related_resources:
# - ref: https://github.com/kyverno/policies/tree/main/other/allowed-pod-priorities
#   description: Kyverno's twin, allowed-pod-priorities (by namespace)
# - ref: https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# custom:
#   severity: medium
#   message: names the priority class {value}, which your groups may not
#   remedy: >-
#     Name a class that your groups may use in spec.priorityClassName, or remove it; or let a member
#     of the group submit it.
#   parameters:
#     classes:
#       description: The groups that may name a class, by class; a class that is missing, nobody may.
#       type: object
#       additionalProperties: {type: array, items: {type: string, minLength: 1}}
#     everyone:
#       description: The classes that everyone may name.
#       type: array
#       items: {type: string, minLength: 1}
#       default: []
package sallyport.rules.priority.by_group

import data.sallyport.parameters.priority.by_group as parameters

deny contains {"path": "spec.priorityClassName", "value": class} if {
	class := input.projection.priorityClass
	input.context.requester != "controller"
	not permitted(class)
}

permitted(class) if class in parameters.everyone

permitted(class) if {
	some group in parameters.classes[class]
	group in input.context.groups
}
