package sallyport.privileges.host.probe_test

import data.sallyport.privileges.host.probe

test_refused_address if {
	probe.needs == {{
		"privilege": "host/probe/169.254.169.254",
		"path": "spec.containers[0].livenessProbe.httpGet.host",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"handlerHosts": [{
				"path": "spec.containers[0].livenessProbe.httpGet.host",
				"host": "169.254.169.254",
			}],
		}],
	}
}

test_refused_ipv6 if {
	probe.needs == {{
		"privilege": "host/probe/%5B::1%5D",
		"path": "spec.containers[0].livenessProbe.httpGet.host",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"handlerHosts": [{
				"path": "spec.containers[0].livenessProbe.httpGet.host",
				"host": "[::1]",
			}],
		}],
	}
}

test_refused_slash if {
	probe.needs == {{
		"privilege": "host/probe/a%2Fb",
		"path": "spec.containers[0].livenessProbe.httpGet.host",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"handlerHosts": [{
				"path": "spec.containers[0].livenessProbe.httpGet.host",
				"host": "a/b",
			}],
		}],
	}
}

test_admitted_none if {
	probe.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_empty if {
	probe.needs == set() with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"handlerHosts": [{"path": "spec.containers[0].livenessProbe.httpGet.host", "host": ""}],
		}],
	}
}
