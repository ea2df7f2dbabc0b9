package sallyport.privileges.host.ipc_test

import data.sallyport.privileges.host.ipc

test_refused_true if {
	ipc.needs == {{"privilege": "host/ipc", "path": "spec.hostIPC"}} with input as {"hostIPC": true}
}

test_admitted_unset if {
	ipc.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_false if {
	ipc.needs == set() with input as {"hostIPC": false}
}
