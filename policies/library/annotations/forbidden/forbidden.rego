# METADATA
# scope: package
# title: Annotations that must not be there
# description: >-
#   Objects of the kinds that parameters name carry none of these annotations, or not with such a
#   value: what other controllers obey without asking who wrote it. Of a workload, Pod means each of
#   its Pod templates; to ask it of the workload's own metadata too, name its kind. A Service, a
#   Namespace and other kinds that carry no privileges reach the gate only where the chart's
#   webhooks.kinds has them. Snippets of ingress-nginx have a rule of their own (ingress/snippets).
# related_resources:
# - ref: https://github.com/kyverno/policies/tree/main/other/restrict-annotations
#   description: Kyverno's twin, restrict-annotations
# - ref: https://kubernetes.io/docs/reference/labels-annotations-taints/
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: medium
#   message: has the annotation {value}, which it may not
#   remedy: Remove the annotation from metadata.annotations; of a workload, from its Pod template.
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
#       description: The kinds that must not have them, of those above.
#       type: array
#       items: {type: string}
#       default: [Pod]
#     annotations:
#       description: >-
#         The annotations, by name or pattern (example.com/*); where a regular expression is given
#         too, those whose whole value matches it.
#       type: array
#       minItems: 1
#       items:
#         type: object
#         properties:
#           key: {type: string, pattern: "^[A-Za-z0-9*][A-Za-z0-9*._/-]*$"}
#           pattern: {type: string, format: regex, minLength: 1}
#         required: [key]
#         additionalProperties: false
package sallyport.rules.annotations.forbidden

import data.sallyport.lib
import data.sallyport.parameters.annotations.forbidden as parameters

deny contains {"path": concat("", ["metadata.annotations['", key, "']"]), "value": key} if {
	input.kind in parameters.kinds
	some key, value in input.fields.metadata.annotations
	some banned in parameters.annotations
	lib.like_glob(key, banned.key)
	meant(banned, value)
}

meant(banned, _) if not banned.pattern

meant(banned, value) if lib.like(value, concat("", ["^(?:", banned.pattern, ")$"]))
