package sallyport.privileges.run_as.host_users_test

import data.sallyport.privileges.run_as.host_users

test_refused_unset if {
	host_users.needs == {{
		"privilege": "run-as/host-users",
		"path": "spec.hostUsers",
	}} with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}

test_refused_true if {
	host_users.needs == {{
		"privilege": "run-as/host-users",
		"path": "spec.hostUsers",
	}} with input as {
		"hostUsers": true,
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_refused_linux if {
	host_users.needs == {{
		"privilege": "run-as/host-users",
		"path": "spec.hostUsers",
	}} with input as {
		"os": "linux",
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_false if {
	host_users.needs == set() with input as {
		"hostUsers": false,
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_windows if {
	host_users.needs == set() with input as {
		"os": "windows",
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_no_pod if {
	host_users.needs == set() with input as {
		"containers": [],
		"object": {"kind": "RuntimeClass", "name": "a"},
	}
}
