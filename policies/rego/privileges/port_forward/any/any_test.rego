package sallyport.privileges.port_forward.any_test

import data.sallyport.privileges.port_forward.any as rule

test_refused_any if {
	rule.needs == {{"privilege": "port-forward/any", "path": ""}} with input as {"containers": [], "object": {"kind": "PodPortForwardOptions"}}
}

test_admitted_exec if {
	rule.needs == set() with input as {"containers": [], "object": {"kind": "PodExecOptions"}}
}

test_admitted_pod if {
	rule.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
