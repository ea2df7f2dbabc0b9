# METADATA
# scope: package
# title: System priority
# description: >-
#   A Pod of a higher priority evicts others when nodes are full. The classes
#   system-cluster-critical and system-node-critical stand above all others, and the kubelet keeps
#   their Pods when it kills for lack of memory. Whoever makes a PriorityClass gives that power to
#   anyone who names it; with globalDefault to every Pod that names none
#   (scheduling/priority-default).
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.36.3/plugin/pkg/admission/priority/admission.go
#   description: The admission plugin that resolves classes
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 2
#   privileges:
#   - "scheduling/priority/*"
#   - "scheduling/priority-default"
#   message: uses or makes a priority that evicts others ({rest})
#   remedy: >-
#     Name a priority class that is meant for your workloads in spec.priorityClassName, or remove
#     it. PriorityClass objects are made by the administrator.
package sallyport.privileges.scheduling.priority

import data.sallyport.lib

needs contains entry if {
	startswith(input.priorityClass, "system-")
	entry := {"privilege": privilege(input.priorityClass), "path": "spec.priorityClassName"}
}

needs contains entry if {
	input.object.kind == "PriorityClass"
	entry := {"privilege": privilege(object.get(input.object, "name", "")), "path": "metadata.name"}
}

needs contains {"privilege": "scheduling/priority-default", "path": "globalDefault"} if {
	input.object.kind == "PriorityClass"
	input.object.globalDefault
}

privilege(class) := concat("", ["scheduling/priority/", lib.segment(class)])
