package sallyport.rules.cronjobs.concurrency_test

import data.sallyport.rules.cronjobs.concurrency

test_refused_absent if {
	every fields in [{}, {"spec": {}}] {
		found(fields) == {{"path": "spec.concurrencyPolicy", "value": "Allow"}}
	}
}

test_refused_allow if {
	found({"spec": {"concurrencyPolicy": "Allow"}}) == {{
		"path": "spec.concurrencyPolicy",
		"value": "Allow",
	}}
}

test_refused_of_another_type if {
	found({"spec": {"concurrencyPolicy": 5, "failedJobsHistoryLimit": "1"}}) == {
		{"path": "spec.concurrencyPolicy", "value": "5"},
		{
			"path": "spec.failedJobsHistoryLimit",
			"value": "1",
			"message": "keeps 1 ended Jobs",
		},
	}
}

test_refused_history if {
	found({"spec": {"concurrencyPolicy": "Forbid", "successfulJobsHistoryLimit": 11}}) == {{
		"path": "spec.successfulJobsHistoryLimit",
		"value": "11",
		"message": "keeps 11 ended Jobs",
	}}
}

test_admitted_allowed if {
	found({"spec": {"concurrencyPolicy": "Forbid"}}) == set()
	found({"spec": {"concurrencyPolicy": "Replace", "failedJobsHistoryLimit": 0}}) == set()
}

found(fields) := denials if {
	denials := concurrency.deny with input.fields as fields
		with data.sallyport.parameters.cronjobs.concurrency as {"policies": ["Forbid", "Replace"], "maxHistory": 10}
}
