package sallyport.privileges.host.pid_test

import data.sallyport.privileges.host.pid

test_refused_true if {
	pid.needs == {{"privilege": "host/pid", "path": "spec.hostPID"}} with input as {"hostPID": true}
}

test_admitted_unset if {
	pid.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_false if {
	pid.needs == set() with input as {"hostPID": false}
}
