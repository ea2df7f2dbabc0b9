# METADATA
# scope: package
# title: Queue of a training job
# description: >-
#   Jobs wait in a queue (Kueue's by default) and are admitted whole, so that no gang starts with
#   half of its Pods and holds GPUs for nothing. The label stands on the job's own metadata; of a
#   CronJob on its jobTemplate's. What a configured controller makes is let be: its parent was
#   judged. Kinds of others (JobSet, PyTorchJob, RayJob …) reach the gate where they are workloads
#   of the installation, or where the chart's webhooks.kinds has them.
# related_resources:
# - ref: https://kueue.sigs.k8s.io/docs/tasks/run/jobs/
#   description: Kueue, how jobs name their queue
# - ref: https://github.com/kyverno/policies/tree/main/best-practices/require-labels
#   description: Kyverno's twin, require-labels
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: medium
#   message: names no queue (label {value})
#   remedy: Set the label to the queue of your team.
#   kinds:
#   - batch/CronJob
#   - batch/Job
#   - jobset.x-k8s.io/JobSet
#   - kubeflow.org/JAXJob
#   - kubeflow.org/MPIJob
#   - kubeflow.org/PaddleJob
#   - kubeflow.org/PyTorchJob
#   - kubeflow.org/TFJob
#   - kubeflow.org/XGBoostJob
#   - leaderworkerset.x-k8s.io/LeaderWorkerSet
#   - ray.io/RayCluster
#   - ray.io/RayJob
#   - trainer.kubeflow.org/TrainJob
#   fields:
#   - metadata.labels
#   - spec.jobTemplate.metadata.labels
#   parameters:
#     label:
#       description: The label.
#       type: string
#       minLength: 1
#       default: kueue.x-k8s.io/queue-name
#     queues:
#       description: >-
#         Which queues may be named in which namespaces (names or patterns such as team-*; in all
#         where none is given); with no entry any queue.
#       type: array
#       items:
#         type: object
#         properties:
#           namespaces:
#             type: array
#             minItems: 1
#             items: {type: string, pattern: "^[a-z0-9*-]+$"}
#           names:
#             type: array
#             minItems: 1
#             items: {type: string, minLength: 1}
#         required: [names]
#         additionalProperties: false
#       default: []
package sallyport.rules.gang.queue

import data.sallyport.lib
import data.sallyport.parameters.gang.queue as parameters

deny contains {"path": path, "value": parameters.label} if {
	input.context.requester != "controller"
	not named(queue)
}

deny contains entry if {
	input.context.requester != "controller"
	named(queue)
	not open(queue)
	entry := {
		"path": path,
		"value": queue,
		"message": concat("", ["names the queue ", queue, ", which this namespace may not"]),
	}
}

queue := object.get(input.fields, array.concat(place, [parameters.label]), "")

path := concat(".", place)

place := ["spec", "jobTemplate", "metadata", "labels"] if input.kind == "batch/CronJob"

place := ["metadata", "labels"] if input.kind != "batch/CronJob"

named(text) if {
	is_string(text)
	text != ""
}

open(_) if count(parameters.queues) == 0

open(name) if {
	some entry in parameters.queues
	name in entry.names
	here(entry)
}

here(entry) if not entry.namespaces

here(entry) if {
	some pattern in entry.namespaces
	not lib.unlike_glob(input.context.namespace, pattern)
}
