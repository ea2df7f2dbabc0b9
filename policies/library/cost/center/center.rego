# METADATA
# scope: package
# title: Cost center
# description: >-
#   What runs is charged to somebody: by its own label, or by that of its namespace, where it has
#   none. Both say the same where both say it, so that nobody charges another's. A list narrows what
#   is accepted. Of a workload, the labels of its Pod templates count.
# related_resources:
# - ref: https://github.com/open-policy-agent/gatekeeper-library/tree/master/src/general/requiredlabels
#   description: Gatekeeper's twin, K8sRequiredLabels
# - ref: https://github.com/kyverno/policies/tree/main/best-practices/require-labels
#   description: Kyverno's twin, require-labels
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: is charged to no cost center (label {value})
#   remedy: >-
#     Set the label to your cost center, or ask the administrator to set it on the namespace, for all
#     that is in it.
#   kinds:
#   - Pod
#   - PersistentVolumeClaim
#   - Service
#   fields:
#   - metadata.labels
#   parameters:
#     kinds:
#       description: The kinds that are charged, of those above.
#       type: array
#       items: {type: string}
#       default: [Pod]
#     label:
#       description: The label, of objects and of namespaces.
#       type: string
#       minLength: 1
#       default: cost-center
#     centers:
#       description: The cost centers there are; with none, any is accepted.
#       type: array
#       items: {type: string, minLength: 1}
#       default: []
package sallyport.rules.cost.center

import data.sallyport.parameters.cost.center as parameters

deny contains {"path": "metadata.labels", "value": parameters.label} if {
	input.kind in parameters.kinds
	not own
	not of_namespace
}

deny contains entry if {
	input.kind in parameters.kinds
	center := charged
	not accepted(center)
	entry := {
		"path": path,
		"value": center,
		"message": concat("", ["is charged to ", center, ", which is no cost center"]),
	}
}

deny contains entry if {
	input.kind in parameters.kinds
	own != of_namespace
	entry := {
		"path": path,
		"value": own,
		"message": concat("", ["is charged to ", own, " in a namespace of ", of_namespace]),
	}
}

own := label if {
	label := input.fields.metadata.labels[parameters.label]
	is_string(label)
	label != ""
}

of_namespace := label if {
	label := input.context.namespaceLabels[parameters.label]
	label != ""
}

charged := own

charged := of_namespace if not own

accepted(_) if count(parameters.centers) == 0

accepted(center) if center in parameters.centers

path := concat("", ["metadata.labels['", parameters.label, "']"])
