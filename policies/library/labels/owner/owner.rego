# METADATA
# scope: package
# title: An owner
# description: >-
#   Somebody answers for what runs: one of the labels or annotations that parameters name says who,
#   in a form that matches the pattern. Annotations take what labels cannot, such as an address. Of a
#   workload, each of its Pod templates has it, so that the Pods have it too.
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
#   message: names no owner ({value})
#   remedy: >-
#     Name who answers for it, a team or an address as your site writes them, in the label or the
#     annotation.
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
#   fields:
#   - metadata.labels
#   - metadata.annotations
#   parameters:
#     kinds:
#       description: The kinds that must have one, of those above.
#       type: array
#       items: {type: string}
#       default: [Pod]
#     keys:
#       description: The labels and annotations, of which one is enough.
#       type: array
#       minItems: 1
#       items: {type: string, minLength: 1}
#       default: [owner, team]
#     pattern:
#       description: A regular expression that the whole value matches.
#       type: string
#       format: regex
#       minLength: 1
#       default: "[A-Za-z0-9][A-Za-z0-9@._-]+"
package sallyport.rules.labels.owner

import data.sallyport.lib
import data.sallyport.parameters.labels.owner as parameters

deny contains {"path": "metadata.labels", "value": concat(" or ", parameters.keys)} if {
	input.kind in parameters.kinds
	not owned
}

# A pattern that is none matches nothing.
owned if {
	some place in ["labels", "annotations"]
	some key in parameters.keys
	value := input.fields.metadata[place][key]
	not lib.unlike(value, concat("", ["^(?:", parameters.pattern, ")$"]))
}
