# METADATA
# scope: package
# title: Disruption budget that blocks drains
# description: >-
#   A PodDisruptionBudget that lets no Pod go (maxUnavailable 0, minAvailable 100%) stops every drain
#   of a node, and with it upgrades and repairs. A number in minAvailable can block as well where
#   there are no more replicas; how many there are is not looked up.
# related_resources:
# - ref: https://github.com/open-policy-agent/gatekeeper-library/tree/master/src/general/poddisruptionbudget
#   description: Gatekeeper's twin, K8sPodDisruptionBudget (which compares with other objects)
# - ref: https://github.com/kyverno/policies/tree/main/other/pdb-maxunavailable
#   description: Kyverno's twins, pdb-maxunavailable and pdb-minavailable
# - ref: https://kubernetes.io/docs/tasks/run-application/configure-pdb/
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: medium
#   message: lets no Pod go when a node is drained ({value})
#   remedy: Set spec.maxUnavailable to 1 or more, or spec.minAvailable below 100%.
#   kinds: [policy/PodDisruptionBudget]
#   fields: [spec.maxUnavailable, spec.minAvailable]
package sallyport.rules.pdb.blocking

deny contains {"path": "spec.maxUnavailable", "value": text(number)} if {
	number := input.fields.spec.maxUnavailable
	not lets_go(number)
}

deny contains {"path": "spec.minAvailable", "value": text(number)} if {
	number := input.fields.spec.minAvailable
	not below_all(number)
}

lets_go(number) if {
	is_number(number)
	number > 0
}

lets_go(number) if {
	is_string(number)
	regex.match(`^0*[1-9][0-9]*%$`, number)
}

below_all(number) if is_number(number)

below_all(number) if {
	is_string(number)
	regex.match(`^0*[0-9]{1,2}%$`, number)
}

text(value) := value if is_string(value)

text(value) := json.marshal(value) if not is_string(value)
