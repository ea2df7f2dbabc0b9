# METADATA
# scope: package
# title: Grace period
# description: >-
#   A Pod that is told to end has ended after some time: one with hours of grace holds its node, and
#   every drain of it, for as long. Thirty seconds are meant where nothing is said. A checkpoint that
#   takes longer to write is a reason for a longer time, given where it is needed.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: may take {value} s to end
#   remedy: Set spec.terminationGracePeriodSeconds to no more than your site allows.
#   fields: [spec.terminationGracePeriodSeconds]
#   parameters:
#     maxSeconds:
#       description: The longest time, in seconds.
#       type: integer
#       minimum: 30
#       default: 600
package sallyport.rules.pods.grace_period

deny contains {"path": "spec.terminationGracePeriodSeconds", "value": json.marshal(seconds)} if {
	seconds := object.get(input.fields, ["spec", "terminationGracePeriodSeconds"], 30)
	not good(seconds)
}

good(seconds) if {
	is_number(seconds)
	seconds >= 0
	seconds <= data.sallyport.parameters.pods.grace_period.maxSeconds
}
