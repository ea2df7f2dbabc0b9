package sallyport.rules.gang.queue_test

import data.sallyport.rules.gang.queue

test_refused_absent if {
	every fields in [{}, {"metadata": {}}, {"metadata": {"labels": {}}}, labelled(""), labelled(5)] {
		found("ray.io/RayJob", fields, [], "human") == {{"path": "metadata.labels", "value": "queue"}}
	}
}

test_refused_of_a_cron_job if {
	found("batch/CronJob", labelled("a"), [], "human") == {{
		"path": "spec.jobTemplate.metadata.labels",
		"value": "queue",
	}}
}

test_refused_of_another_namespace if {
	queues := [{"names": ["shared"]}, {"namespaces": ["team-*"], "names": ["teams"]}]
	found("batch/Job", labelled("teams"), queues, "human") == {{
		"path": "metadata.labels",
		"value": "teams",
		"message": "names the queue teams, which this namespace may not",
	}}
}

test_admitted_any if found("batch/Job", labelled("a"), [], "human") == set()

test_admitted_of_a_cron_job if {
	found("batch/CronJob", {"spec": {"jobTemplate": labelled("a")}}, [], "human") == set()
}

test_admitted_listed if {
	queues := [{"names": ["shared"]}, {"namespaces": ["re*"], "names": ["research"]}]
	found("batch/Job", labelled("research"), queues, "human") == set()
	found("batch/Job", labelled("shared"), queues, "human") == set()
}

test_admitted_controller if found("batch/Job", {}, [], "controller") == set()

labelled(value) := {"metadata": {"labels": {"queue": value}}}

found(kind, fields, queues, requester) := denials if {
	denials := queue.deny with input as {
		"kind": kind,
		"context": {"requester": requester, "namespace": "research"},
		"fields": fields,
	}
		with data.sallyport.parameters.gang.queue as {"label": "queue", "queues": queues}
}
