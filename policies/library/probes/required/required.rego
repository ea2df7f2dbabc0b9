# METADATA
# scope: package
# title: Probes
# description: >-
#   A container that serves has the probes that parameters name, each with a handler. Init and
#   ephemeral containers have none, and Pods that end by themselves (restartPolicy OnFailure or Never)
#   need none.
# related_resources:
# - ref: https://github.com/open-policy-agent/gatekeeper-library/tree/master/src/general/requiredprobes
#   description: Gatekeeper's twin, K8sRequiredProbes
# - ref: https://github.com/kyverno/policies/tree/main/best-practices/require-probes
#   description: Kyverno's twin, require-probes
# - ref: https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: has no {value}
#   remedy: Add the probe to the container, with httpGet, tcpSocket, grpc or exec.
#   fields:
#   - spec.restartPolicy
#   - spec.containers[].name
#   - spec.containers[].livenessProbe
#   - spec.containers[].readinessProbe
#   - spec.containers[].startupProbe
#   parameters:
#     probes:
#       description: The probes.
#       type: array
#       minItems: 1
#       items: {enum: [livenessProbe, readinessProbe, startupProbe]}
#       default: [readinessProbe]
package sallyport.rules.probes.required

import data.sallyport.lib

deny contains entry if {
	not object.get(input.fields, ["spec", "restartPolicy"], "Always") in {"OnFailure", "Never"}
	some index, container in input.fields.spec.containers
	some probe in data.sallyport.parameters.probes.required.probes
	not handled(container, probe)
	entry := {
		"path": concat("", [lib.indexed("spec.containers", index), ".", probe]),
		"value": probe,
		"container": object.get(container, "name", ""),
	}
}

handled(container, probe) if {
	some handler in ["httpGet", "tcpSocket", "grpc", "exec"]
	is_object(container[probe][handler])
}
