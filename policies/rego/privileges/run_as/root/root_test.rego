package sallyport.privileges.run_as.root_test

import data.sallyport.privileges.run_as.root

test_refused_pod if {
	root.needs == {{
		"privilege": "run-as/root",
		"path": "spec.securityContext.runAsUser",
	}} with input as {
		"securityContext": {"runAsUser": 0},
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_refused_container if {
	root.needs == {{
		"privilege": "run-as/root",
		"path": "spec.containers[0].securityContext.runAsUser",
		"container": "trainer",
	}} with input as {
		"securityContext": {"runAsUser": 1000},
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"runAsUser": 0},
		}],
	}
}

test_refused_host_users_true if {
	root.needs == {{
		"privilege": "run-as/root",
		"path": "spec.containers[0].securityContext.runAsUser",
		"container": "trainer",
	}} with input as {
		"hostUsers": true,
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"runAsUser": 0},
		}],
	}
}

test_refused_user_namespace if {
	root.needs == {
		{
			"privilege": "run-as/root-in-user-namespace",
			"path": "spec.containers[0].securityContext.runAsUser",
			"container": "trainer",
		},
		{"privilege": "run-as/root-in-user-namespace", "path": "spec.securityContext.runAsUser"},
	} with input as {
		"hostUsers": false,
		"securityContext": {"runAsUser": 0},
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"runAsUser": 0},
		}],
	}
}

test_admitted_unset if {
	root.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_other_user if {
	root.needs == set() with input as {
		"securityContext": {"runAsUser": 1000},
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"runAsUser": 1000},
		}],
	}
}
