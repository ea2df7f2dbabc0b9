package sallyport.privileges.host.network_test

import data.sallyport.privileges.host.network

test_refused_true if {
	network.needs == {{"privilege": "host/network", "path": "spec.hostNetwork"}} with input as {
		"hostNetwork": true,
	}
}

test_admitted_unset if {
	network.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_false if {
	network.needs == set() with input as {"hostNetwork": false}
}
