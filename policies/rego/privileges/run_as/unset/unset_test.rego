package sallyport.privileges.run_as.unset_test

import data.sallyport.privileges.run_as.unset

test_refused_unset if {
	unset.needs == {{
		"privilege": "run-as/any",
		"path": "spec.containers[0].securityContext.runAsNonRoot",
		"container": "trainer",
	}} with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}

test_refused_container_false if {
	unset.needs == {{
		"privilege": "run-as/any",
		"path": "spec.containers[0].securityContext.runAsNonRoot",
		"container": "trainer",
	}} with input as {
		"securityContext": {"runAsNonRoot": true},
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"runAsNonRoot": false},
		}],
	}
}

test_refused_pod_false if {
	unset.needs == {
		{"privilege": "run-as/any", "path": "spec.securityContext.runAsNonRoot"},
		{
			"privilege": "run-as/any",
			"path": "spec.containers[0].securityContext.runAsNonRoot",
			"container": "trainer",
		},
	} with input as {
		"securityContext": {"runAsNonRoot": false},
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_refused_pod_false_though_container_true if {
	unset.needs == {{
		"privilege": "run-as/any",
		"path": "spec.securityContext.runAsNonRoot",
	}} with input as {
		"securityContext": {"runAsNonRoot": false},
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"runAsNonRoot": true},
		}],
	}
}

test_refused_user_namespace if {
	unset.needs == {
		{"privilege": "run-as/any-in-user-namespace", "path": "spec.securityContext.runAsNonRoot"},
		{
			"privilege": "run-as/any-in-user-namespace",
			"path": "spec.containers[0].securityContext.runAsNonRoot",
			"container": "trainer",
		},
	} with input as {
		"securityContext": {"runAsNonRoot": false},
		"hostUsers": false,
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_pod_true if {
	unset.needs == set() with input as {
		"securityContext": {"runAsNonRoot": true},
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_container_true if {
	unset.needs == set() with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"runAsNonRoot": true},
		}],
	}
}

test_admitted_no_container if {
	unset.needs == set() with input as {}
}
