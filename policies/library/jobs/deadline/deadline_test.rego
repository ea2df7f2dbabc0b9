package sallyport.rules.jobs.deadline_test

import data.sallyport.rules.jobs.deadline

test_refused_absent if {
	every fields in [{}, {"spec": {}}, {"spec": {"jobTemplate": {}}}, {"spec": {"jobTemplate": {"spec": {}}}}] {
		found("batch/Job", fields) == {{"path": "spec.activeDeadlineSeconds", "value": "unset"}}
		found("batch/CronJob", fields) == {{
			"path": "spec.jobTemplate.spec.activeDeadlineSeconds",
			"value": "unset",
		}}
	}
}

test_refused_too_long if {
	found("batch/Job", {"spec": {"activeDeadlineSeconds": 101}}) == {{
		"path": "spec.activeDeadlineSeconds",
		"value": "101",
	}}
}

test_refused_of_another_type if {
	every value in ["5", [5], {"a": 5}, true, -1] {
		count(found("batch/Job", {"spec": {"activeDeadlineSeconds": value}})) == 1
	}
}

test_refused_in_the_wrong_place if {
	count(found("batch/CronJob", {"spec": {"activeDeadlineSeconds": 5}})) == 1
}

test_admitted_within if {
	every value in [0, 1, 100] {
		found("batch/Job", {"spec": {"activeDeadlineSeconds": value}}) == set()
		found("batch/CronJob", {"spec": {"jobTemplate": {"spec": {"activeDeadlineSeconds": value}}}}) == set()
	}
}

found(kind, fields) := denials if {
	denials := deadline.deny with input as {"kind": kind, "fields": fields}
		with data.sallyport.parameters.jobs.deadline as {"maxSeconds": 100}
}
