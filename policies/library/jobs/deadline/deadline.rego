# METADATA
# scope: package
# title: Deadline of Jobs
# description: >-
#   A Job ends at a time, so that one that hangs does not hold its GPUs for ever. A CronJob says so
#   in its template. Jobs that a controller makes count as well: let its templates say it.
# related_resources:
# - ref: https://github.com/open-policy-agent/gatekeeper-library/tree/master/src/general/gpuactivedeadline
#   description: Gatekeeper's twin, for Pods with GPUs
# - ref: https://kubernetes.io/docs/concepts/workloads/controllers/job/#job-termination-and-cleanup
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: says too late or not at all when the Job is ended ({value})
#   remedy: Set spec.activeDeadlineSeconds to no more than your site allows.
#   kinds: [batch/Job, batch/CronJob]
#   fields:
#   - spec.activeDeadlineSeconds
#   - spec.jobTemplate.spec.activeDeadlineSeconds
#   parameters:
#     maxSeconds:
#       description: The longest time, in seconds.
#       type: integer
#       minimum: 1
#       default: 1209600
package sallyport.rules.jobs.deadline

import data.sallyport.parameters.jobs.deadline as parameters

deny contains {"path": concat(".", path), "value": text(seconds)} if {
	path := paths[input.kind]
	seconds := object.get(input.fields, path, "unset")
	not good(seconds)
}

paths := {
	"batch/Job": ["spec", "activeDeadlineSeconds"],
	"batch/CronJob": ["spec", "jobTemplate", "spec", "activeDeadlineSeconds"],
}

good(seconds) if {
	is_number(seconds)
	seconds >= 0
	seconds <= parameters.maxSeconds
}

text(value) := value if is_string(value)

text(value) := json.marshal(value) if not is_string(value)
