# METADATA
# scope: package
# title: Interactive containers
# description: >-
#   A container with a terminal that reads (stdin and tty) is made for people to work in, and does not
#   belong where workloads run by themselves. Init containers count. Ephemeral containers, which are
#   made for debugging, do not: whose images may be added is a privilege (debug/image,
#   docs/rules/debug/image.md).
# related_resources:
# - ref: https://github.com/open-policy-agent/gatekeeper-library/tree/master/src/general/disallowinteractive
#   description: Gatekeeper's twin, K8sDisallowInteractiveTTY
# - ref: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#debugging
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: is a terminal for people (stdin and tty)
#   remedy: Remove stdin and tty; run interactive work in a namespace for notebooks.
#   fields:
#   - spec.containers[].name
#   - spec.containers[].stdin
#   - spec.containers[].tty
#   - spec.initContainers[].name
#   - spec.initContainers[].stdin
#   - spec.initContainers[].tty
package sallyport.rules.pods.interactive

import data.sallyport.lib

deny contains entry if {
	some list in ["containers", "initContainers"]
	some index, container in input.fields.spec[list]
	not off(container, "stdin")
	not off(container, "tty")
	entry := {
		"path": concat(".", ["spec", lib.indexed(list, index), "tty"]),
		"container": object.get(container, "name", ""),
	}
}

off(container, field) if object.get(container, field, false) == false
