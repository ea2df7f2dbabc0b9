package sallyport.privileges.proxy.service_test

import data.sallyport.privileges.proxy.service

test_refused_port if {
	service.needs == {{"privilege": "proxy/service/8080", "path": ""}} with input as {"containers": [], "object": {"kind": "ServiceProxyOptions", "port": "8080"}}
}

test_refused_named_port if {
	service.needs == {{"privilege": "proxy/service/http", "path": ""}} with input as {"containers": [], "object": {"kind": "ServiceProxyOptions", "port": "http"}}
}

test_refused_first_port if {
	service.needs == {{"privilege": "proxy/service/%00", "path": ""}} with input as {"containers": [], "object": {"kind": "ServiceProxyOptions"}}
}

test_admitted_node if {
	service.needs == set() with input as {"containers": [], "object": {"kind": "NodeProxyOptions", "port": "8080"}}
}

test_admitted_pod if {
	service.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
