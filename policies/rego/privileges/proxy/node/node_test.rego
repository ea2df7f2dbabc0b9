package sallyport.privileges.proxy.node_test

import data.sallyport.privileges.proxy.node

test_refused_metrics if {
	node.needs == {{"privilege": "proxy/node/kubelet/metrics", "path": "path"}} with input as {"containers": [], "object": {"kind": "NodeProxyOptions", "endpoint": "metrics"}}
}

test_refused_other_port if {
	node.needs == {{"privilege": "proxy/node/22/%00", "path": "path"}} with input as {"containers": [], "object": {"kind": "NodeProxyOptions", "port": "22"}}
}

test_refused_nothing if {
	node.needs == {{"privilege": "proxy/node/kubelet/%00", "path": "path"}} with input as {"containers": [], "object": {"kind": "NodeProxyOptions"}}
}

test_admitted_pods_proxy if {
	node.needs == set() with input as {"containers": [], "object": {"kind": "PodProxyOptions", "port": "8080"}}
}

test_admitted_pod if {
	node.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
