# METADATA
# scope: package
# title: Concurrency of CronJobs
# description: >-
#   A CronJob does not start another Job while the last one runs: Allow, which is meant where nothing
#   is said, lets slow Jobs pile up. A limit on the history that is kept can be asked for too.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#concurrency-policy
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: has the concurrency policy {value}
#   remedy: Set spec.concurrencyPolicy to Forbid or Replace, and the history limits to a few.
#   kinds: [batch/CronJob]
#   fields:
#   - spec.concurrencyPolicy
#   - spec.successfulJobsHistoryLimit
#   - spec.failedJobsHistoryLimit
#   parameters:
#     policies:
#       description: The policies that are allowed.
#       type: array
#       minItems: 1
#       items: {enum: [Allow, Forbid, Replace]}
#       default: [Forbid, Replace]
#     maxHistory:
#       description: How many ended Jobs of each sort it may keep.
#       type: integer
#       minimum: 0
#       default: 10
package sallyport.rules.cronjobs.concurrency

import data.sallyport.parameters.cronjobs.concurrency as parameters

deny contains {"path": "spec.concurrencyPolicy", "value": text(policy)} if {
	policy := object.get(input.fields, ["spec", "concurrencyPolicy"], "Allow")
	not policy in parameters.policies
}

deny contains entry if {
	some field, default_limit in {"successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1}
	limit := object.get(input.fields, ["spec", field], default_limit)
	not good(limit)
	entry := {
		"path": concat("", ["spec.", field]),
		"value": text(limit),
		"message": concat("", ["keeps ", text(limit), " ended Jobs"]),
	}
}

good(limit) if {
	is_number(limit)
	limit <= parameters.maxHistory
}

text(value) := value if is_string(value)

text(value) := json.marshal(value) if not is_string(value)
