# METADATA
# scope: package
# title: Storage classes
# description: >-
#   Claims name a class that the site allows: PersistentVolumeClaims, the claim templates of
#   StatefulSets, and generic ephemeral volumes of Pods. The old annotation
#   volume.beta.kubernetes.io/storage-class, which Kubernetes still obeys before the field, counts.
#   An empty class, which asks for a volume without one, is allowed where the list has "". That a
#   class may be made, and with which provisioner, is a privilege (docs/rules/storage/provisioner.md).
#   Whether a class exists is not looked up. In a cluster with a default class its name stands in a
#   PersistentVolumeClaim that names none before any webhook sees it: list it, or allow `default` for
#   files and templates.
# related_resources:
# - ref: https://github.com/open-policy-agent/gatekeeper-library/tree/master/src/general/storageclass
#   description: Gatekeeper's twin, K8sStorageClass
# - ref: https://github.com/kyverno/policies/tree/main/other/restrict-storageclass
#   description: Kyverno's restrict-storageclass, for the classes themselves
# - ref: https://kubernetes.io/docs/concepts/storage/persistent-volumes/#class-1
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: medium
#   message: claims storage of the class {value}
#   remedy: Name one of your site's storage classes in storageClassName of the claim.
#   kinds: [Pod, PersistentVolumeClaim, apps/StatefulSet]
#   fields:
#   - metadata.annotations['volume.beta.kubernetes.io/storage-class']
#   - spec.storageClassName
#   - spec.volumeClaimTemplates[].metadata.annotations['volume.beta.kubernetes.io/storage-class']
#   - spec.volumeClaimTemplates[].spec.storageClassName
#   - spec.volumes[].ephemeral.volumeClaimTemplate.metadata.annotations['volume.beta.kubernetes.io/storage-class']
#   - spec.volumes[].ephemeral.volumeClaimTemplate.spec.storageClassName
#   parameters:
#     classes:
#       description: The classes that are allowed.
#       type: array
#       minItems: 1
#       items: {type: string}
#     default:
#       description: Whether a claim may name none, and get the cluster's default.
#       type: boolean
#       default: false
package sallyport.rules.storage.classes

import data.sallyport.lib
import data.sallyport.parameters.storage.classes as parameters

deny contains {"path": claim.path, "value": text(class)} if {
	some claim in claims
	class := object.get(claim.claim, claim.field, "the cluster's default")
	not allowed(claim, class)
}

allowed(claim, _) if {
	parameters["default"]
	not stated(claim)
}

allowed(claim, class) if {
	stated(claim)
	class in parameters.classes
}

stated(claim) if object.get(claim.claim, claim.field, null) != null

claims contains named("", input.fields) if input.kind == "PersistentVolumeClaim"

claims contains named(concat("", [path, "."]), template) if {
	input.kind == "apps/StatefulSet"
	some index, template in input.fields.spec.volumeClaimTemplates
	path := lib.indexed("spec.volumeClaimTemplates", index)
}

claims contains named(path, volume.ephemeral.volumeClaimTemplate) if {
	input.kind == "Pod"
	some index, volume in input.fields.spec.volumes
	path := concat("", [lib.indexed("spec.volumes", index), ".ephemeral.volumeClaimTemplate."])
}

named(path, claim) := {"claim": claim, "path": concat("", [path, where]), "field": field} if {
	field := ["metadata", "annotations", annotation]
	object.get(claim, field, null) != null
	where := concat("", ["metadata.annotations['", annotation, "']"])
} else := {"claim": claim, "path": concat("", [path, where]), "field": field} if {
	field := ["spec", "storageClassName"]
	where := "spec.storageClassName"
}

annotation := "volume.beta.kubernetes.io/storage-class"

text(value) := value if is_string(value)

text(value) := json.marshal(value) if not is_string(value)
