# METADATA
# scope: package
# title: Labels that must be there
# description: >-
#   Objects of the kinds that parameters name carry each of these labels, with a value that matches
#   where a pattern is given. Of a workload, Pod means each of its Pod templates; to ask it of the
#   workload's own metadata too, name its kind. A Service, a Namespace and other kinds that carry no
#   privileges reach the gate only where the chart's webhooks.kinds has them.
# related_resources:
# - ref: https://github.com/open-policy-agent/gatekeeper-library/tree/master/src/general/requiredlabels
#   description: Gatekeeper's twin, K8sRequiredLabels
# - ref: https://github.com/kyverno/policies/tree/main/best-practices/require-labels
#   description: Kyverno's twin, require-labels
# - ref: https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: has no label {value}
#   remedy: Set the label under metadata.labels; of a workload, in its Pod template.
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
#   - metadata.labels
#   parameters:
#     kinds:
#       description: The kinds that must have them, of those above.
#       type: array
#       items: {type: string}
#       default: [Pod]
#     labels:
#       description: The labels; a value must match the whole of its pattern, a regular expression.
#       type: array
#       minItems: 1
#       items:
#         type: object
#         properties:
#           key: {type: string, minLength: 1}
#           pattern: {type: string, format: regex, minLength: 1}
#         required: [key]
#         additionalProperties: false
package sallyport.rules.labels.required

import data.sallyport.lib
import data.sallyport.parameters.labels.required as parameters

deny contains {"path": "metadata.labels", "value": label.key} if {
	input.kind in parameters.kinds
	some label in parameters.labels
	not filled(label.key)
}

deny contains entry if {
	input.kind in parameters.kinds
	some label in parameters.labels
	filled(label.key)
	not matches(label)
	entry := {
		"path": concat("", ["metadata.labels['", label.key, "']"]),
		"value": label.key,
		"message": concat("", ["has a label ", label.key, " that does not match ", label.pattern]),
	}
}

filled(key) if {
	value := input.fields.metadata.labels[key]
	is_string(value)
	value != ""
}

matches(label) if not label.pattern

# A pattern that is none matches nothing.
matches(label) if {
	whole := concat("", ["^(?:", label.pattern, ")$"])
	value := input.fields.metadata.labels[label.key]
	not lib.unlike(value, whole)
}
