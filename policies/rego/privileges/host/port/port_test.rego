package sallyport.privileges.host.port_test

import data.sallyport.privileges.host.port

test_refused_port if {
	port.needs == {{
		"privilege": "host/port/8080",
		"path": "spec.containers[0].ports[1].hostPort",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"hostPorts": [{"path": "spec.containers[0].ports[1].hostPort", "port": 8080}],
		}],
	}
}

test_refused_any_other_number if {
	port.needs == {{
		"privilege": "host/port/-1",
		"path": "spec.containers[0].ports[1].hostPort",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"hostPorts": [{"path": "spec.containers[0].ports[1].hostPort", "port": -1}],
		}],
	}
}

test_admitted_none if {
	port.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_zero if {
	port.needs == set() with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"hostPorts": [{"path": "spec.containers[0].ports[1].hostPort", "port": 0}],
		}],
	}
}
