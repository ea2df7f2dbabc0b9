# METADATA
# scope: package
# title: Annotations that must be there
# description: >-
#   Objects of the kinds that parameters name carry each of these annotations, with a value that
#   matches where a pattern is given. Of a workload, Pod means each of its Pod templates; to ask it
#   of the workload's own metadata too, name its kind. A Service, a Namespace and other kinds that
#   carry no privileges reach the gate only where the chart's webhooks.kinds has them.
# related_resources:
# - ref: https://github.com/open-policy-agent/gatekeeper-library/tree/master/src/general/requiredannotations
#   description: Gatekeeper's twin, K8sRequiredAnnotations
# - ref: https://github.com/kyverno/policies/tree/main/other/require-annotations
#   description: Kyverno's twin, require-annotations
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: has no annotation {value}
#   remedy: Set the annotation under metadata.annotations; of a workload, in its Pod template.
#   kinds:
#   - Pod
#   - Namespace
#   - PersistentVolumeClaim
#   - Service
#   - apps/DaemonSet
#   - apps/Deployment
#   - apps/StatefulSet
#   - batch/CronJob
#   - batch/Job
#   - networking.k8s.io/Ingress
#   fields:
#   - metadata.annotations
#   parameters:
#     kinds:
#       description: The kinds that must have them, of those above.
#       type: array
#       items: {type: string}
#       default: [Pod]
#     annotations:
#       description: The annotations; a value must match the whole of its pattern, a regular expression.
#       type: array
#       minItems: 1
#       items:
#         type: object
#         properties:
#           key: {type: string, minLength: 1}
#           pattern: {type: string, format: regex, minLength: 1}
#         required: [key]
#         additionalProperties: false
package sallyport.rules.annotations.required

import data.sallyport.lib
import data.sallyport.parameters.annotations.required as parameters

deny contains {"path": "metadata.annotations", "value": wanted.key} if {
	input.kind in parameters.kinds
	some wanted in parameters.annotations
	not filled(wanted.key)
}

deny contains entry if {
	input.kind in parameters.kinds
	some wanted in parameters.annotations
	filled(wanted.key)
	not matches(wanted)
	entry := {
		"path": concat("", ["metadata.annotations['", wanted.key, "']"]),
		"value": wanted.key,
		"message": concat("", ["has an annotation ", wanted.key, " that does not match ", wanted.pattern]),
	}
}

filled(key) if {
	value := input.fields.metadata.annotations[key]
	is_string(value)
	value != ""
}

matches(wanted) if not wanted.pattern

# A pattern that is none matches nothing.
matches(wanted) if {
	whole := concat("", ["^(?:", wanted.pattern, ")$"])
	value := input.fields.metadata.annotations[wanted.key]
	not lib.unlike(value, whole)
}
