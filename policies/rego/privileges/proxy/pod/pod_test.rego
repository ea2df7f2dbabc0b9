package sallyport.privileges.proxy.pod_test

import data.sallyport.privileges.proxy.pod

test_refused_port if {
	pod.needs == {{"privilege": "proxy/pod/8080", "path": ""}} with input as {"containers": [], "object": {"kind": "PodProxyOptions", "port": "8080"}}
}

test_refused_named_port if {
	pod.needs == {{"privilege": "proxy/pod/http", "path": ""}} with input as {"containers": [], "object": {"kind": "PodProxyOptions", "port": "http"}}
}

test_refused_first_port if {
	pod.needs == {{"privilege": "proxy/pod/%00", "path": ""}} with input as {"containers": [], "object": {"kind": "PodProxyOptions"}}
}

test_admitted_node if {
	pod.needs == set() with input as {"containers": [], "object": {"kind": "NodeProxyOptions", "port": "8080"}}
}

test_admitted_pod if {
	pod.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
