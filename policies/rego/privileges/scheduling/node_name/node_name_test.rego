package sallyport.privileges.scheduling.node_name_test

import data.sallyport.privileges.scheduling.node_name

test_refused_set if {
	node_name.needs == {{
		"privilege": "scheduling/node-name",
		"path": "spec.nodeName",
	}} with input as {"nodeName": "gpu-17"}
}

test_admitted_unset if {
	node_name.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_empty if {
	node_name.needs == set() with input as {"nodeName": ""}
}
