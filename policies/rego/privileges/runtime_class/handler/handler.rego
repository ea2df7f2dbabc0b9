# METADATA
# scope: package
# title: RuntimeClass
# description: >-
#   A RuntimeClass says which of the node's runtimes starts a Pod: under gVisor or Kata in a
#   sandbox, or with runc. Whoever makes one, or deletes and makes it anew (its handler cannot be
#   changed), decides for every Pod that names it, also for Pods that must be isolated.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/containers/runtime-class/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/node/types.go
#   description: RuntimeClass
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 2
#   privileges:
#   - "runtime-class/*/*"
#   message: says what runs the Pods of a runtime class ({value})
#   remedy: >-
#     Name a runtime class that the administrator has made in spec.runtimeClassName of the Pod.
package sallyport.privileges.runtime_class.handler

import data.sallyport.lib

needs contains entry if {
	input.object.kind == "RuntimeClass"
	name := lib.segment(object.get(input.object, "name", ""))
	handler := lib.segment(object.get(input.object, "handler", ""))
	entry := {"privilege": concat("/", ["runtime-class", name, handler]), "path": "handler"}
}
