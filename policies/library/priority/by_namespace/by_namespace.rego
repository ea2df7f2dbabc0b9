# METADATA
# scope: package
# title: Priority classes by namespace
# description: >-
#   A Pod names a priority class that its namespace may: what names none gets the cluster's default,
#   and whether that evicts others, or is evicted, nobody said. Who may name a class is for
#   priority/by_group to say. Classes system-… are a privilege besides (scheduling/priority/*,
#   docs/rules/scheduling/priority.md).
# related_resources:
# - ref: https://github.com/kyverno/policies/tree/main/other/allowed-pod-priorities
#   description: Kyverno's twins, allowed-pod-priorities and require-pod-priorityclassname
# - ref: https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# custom:
#   severity: medium
#   message: names the priority class {value}, which its namespace may not
#   remedy: Name one of your namespace's classes in spec.priorityClassName.
#   parameters:
#     classes:
#       description: >-
#         Which classes may be named in which namespaces (names or patterns such as team-*; in all
#         where none is given).
#       type: array
#       minItems: 1
#       items:
#         type: object
#         properties:
#           namespaces:
#             type: array
#             minItems: 1
#             items: {type: string, pattern: "^[a-z0-9*-]+$"}
#           names:
#             type: array
#             minItems: 1
#             items: {type: string, minLength: 1}
#         required: [names]
#         additionalProperties: false
#     unset:
#       description: Whether a Pod may name none.
#       type: boolean
#       default: false
package sallyport.rules.priority.by_namespace

import data.sallyport.lib
import data.sallyport.parameters.priority.by_namespace as parameters

deny contains {"path": "spec.priorityClassName", "value": class} if {
	class := input.projection.priorityClass
	not open(class)
}

deny contains {"path": "spec.priorityClassName", "value": "", "message": "names no priority class"} if {
	not input.projection.priorityClass
	not parameters.unset
}

open(class) if {
	some entry in parameters.classes
	class in entry.names
	here(entry)
}

here(entry) if not entry.namespaces

here(entry) if {
	some pattern in entry.namespaces
	not lib.unlike_glob(input.context.namespace, pattern)
}
