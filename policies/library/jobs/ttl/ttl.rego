# METADATA
# scope: package
# title: Time to live of finished Jobs
# description: >-
#   A Job that has ended is removed with its Pods after some time, so that tens of thousands do not
#   fill etcd. A CronJob says so in its template. Jobs that a controller makes count as well: let
#   its templates say it.
# related_resources:
# - ref: https://github.com/kyverno/policies/tree/main/other/add-ttl-jobs
#   description: Kyverno's add-ttl-jobs, which fills it in
# - ref: https://kubernetes.io/docs/concepts/workloads/controllers/ttlafterfinished/
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: says too late or not at all when the ended Job is removed ({value})
#   remedy: Set spec.ttlSecondsAfterFinished to no more than your site allows.
#   kinds: [batch/Job, batch/CronJob]
#   fields:
#   - spec.ttlSecondsAfterFinished
#   - spec.jobTemplate.spec.ttlSecondsAfterFinished
#   parameters:
#     maxSeconds:
#       description: The longest time, in seconds.
#       type: integer
#       minimum: 0
#       default: 604800
package sallyport.rules.jobs.ttl

import data.sallyport.parameters.jobs.ttl as parameters

deny contains {"path": concat(".", path), "value": text(seconds)} if {
	path := paths[input.kind]
	seconds := object.get(input.fields, path, "unset")
	not good(seconds)
}

paths := {
	"batch/Job": ["spec", "ttlSecondsAfterFinished"],
	"batch/CronJob": ["spec", "jobTemplate", "spec", "ttlSecondsAfterFinished"],
}

good(seconds) if {
	is_number(seconds)
	seconds >= 0
	seconds <= parameters.maxSeconds
}

text(value) := value if is_string(value)

text(value) := json.marshal(value) if not is_string(value)
