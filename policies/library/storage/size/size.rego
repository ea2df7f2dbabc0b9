# METADATA
# scope: package
# title: Size of claims
# description: >-
#   No claim asks for more storage than the site's maximum: PersistentVolumeClaims, also when they
#   grow, the claim templates of StatefulSets, and generic ephemeral volumes of Pods. What a namespace
#   claims in all is for a ResourceQuota to say.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/policy/limit-range/
#   description: Kubernetes' LimitRange, which bounds PersistentVolumeClaims by namespace
# - ref: https://kubernetes.io/docs/concepts/storage/persistent-volumes/#persistentvolumeclaims
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: claims {value} of storage, over the site's maximum
#   remedy: Claim less in resources.requests.storage, or ask for a place where large data is kept.
#   kinds: [Pod, PersistentVolumeClaim, apps/StatefulSet]
#   fields:
#   - spec.resources.requests.storage
#   - spec.volumeClaimTemplates[].spec.resources.requests.storage
#   - spec.volumes[].ephemeral.volumeClaimTemplate.spec.resources.requests.storage
#   parameters:
#     max:
#       description: The most that one claim may ask for (2Ti).
#       type: string
#       pattern: "^[0-9]+(\\.[0-9]+)?[kMGTPE]?i?$"
package sallyport.rules.storage.size

import data.sallyport.lib

deny contains {"path": concat("", [claim.path, "spec.resources.requests.storage"]), "value": text(size)} if {
	some claim in claims
	size := object.get(claim.spec, ["resources", "requests", "storage"], "unset")
	not fits(size)
}

fits(size) if {
	amount := lib.amount(size)
	amount > 0
	amount <= lib.amount(data.sallyport.parameters.storage.size.max)
}

claims contains {"path": "", "spec": object.get(input.fields, "spec", {})} if {
	input.kind == "PersistentVolumeClaim"
}

claims contains {"path": concat("", [path, "."]), "spec": object.get(template, "spec", {})} if {
	input.kind == "apps/StatefulSet"
	some index, template in input.fields.spec.volumeClaimTemplates
	path := lib.indexed("spec.volumeClaimTemplates", index)
}

claims contains {"path": concat("", [path, ".ephemeral.volumeClaimTemplate."]), "spec": spec} if {
	input.kind == "Pod"
	some index, volume in input.fields.spec.volumes
	spec := object.get(volume.ephemeral.volumeClaimTemplate, "spec", {})
	path := lib.indexed("spec.volumes", index)
}

text(value) := value if is_string(value)

text(value) := json.marshal(value) if not is_string(value)
