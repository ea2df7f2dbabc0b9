package sallyport.privileges.rights.network_test

import data.sallyport.privileges.rights.network

gives(group, resource, verb) := {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": [verb], "apiGroups": [group], "resources": [resource]}]}}}

test_refused_endpoints if {
	network.needs == {{"privilege": "rights/network/endpoints", "path": "rules[0]"}} with input as gives("", "endpoints", "update")
}

test_refused_slices if {
	network.needs == {{"privilege": "rights/network/endpointslices", "path": "rules[0]"}} with input as gives("discovery.k8s.io", "endpointslices", "create")
}

test_refused_pod_status if {
	network.needs == {{"privilege": "rights/network/pod-status", "path": "rules[0]"}} with input as gives("", "pods/status", "patch")
}

test_refused_service_status if {
	network.needs == {{"privilege": "rights/network/service-status", "path": "rules[0]"}} with input as gives("", "services/status", "patch")
}

test_refused_node_status if {
	network.needs == {{"privilege": "rights/network/node-status", "path": "rules[0]"}} with input as gives("", "nodes/status", "patch")
}

test_refused_new_nodes if {
	network.needs == {{"privilege": "rights/network/node-status", "path": "rules[0]"}} with input as gives("", "nodes", "create")
}

test_admitted_changing_nodes if {
	network.needs == set() with input as gives("", "nodes", "patch")
}

test_refused_every_status if {
	network.needs == {{"privilege": "rights/network/pod-status", "path": "rules[0]"}, {"privilege": "rights/network/service-status", "path": "rules[0]"}, {"privilege": "rights/network/node-status", "path": "rules[0]"}} with input as gives("", "*/status", "patch")
}

test_refused_everything if {
	network.needs == {{"privilege": "rights/network/endpoints", "path": "rules[0]"}, {"privilege": "rights/network/endpointslices", "path": "rules[0]"}, {"privilege": "rights/network/pod-status", "path": "rules[0]"}, {"privilege": "rights/network/service-status", "path": "rules[0]"}, {"privilege": "rights/network/node-status", "path": "rules[0]"}} with input as gives("*", "*", "*")
}

test_admitted_reading if {
	network.needs == set() with input as gives("", "endpoints", "get")
}

test_admitted_other_groups if {
	network.needs == set() with input as gives("example.org", "endpoints", "update")
}

test_admitted_services if {
	network.needs == set() with input as gives("", "services", "update")
}

test_admitted_pod if {
	network.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
