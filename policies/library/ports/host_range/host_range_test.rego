package sallyport.rules.ports.host_range_test

import data.sallyport.rules.ports.host_range

test_refused_outside if {
	every port in [22, 99, 201, 299, 301] {
		found([{"path": "spec.initContainers[0].ports[1].hostPort", "port": port}]) == {{
			"path": "spec.initContainers[0].ports[1].hostPort",
			"value": format_int(port, 10),
			"container": "main",
		}}
	}
}

test_refused_where_none_is_allowed if {
	count(host_range.deny) == 1 with input.projection as projection([{"path": "p", "port": 100}])
		with data.sallyport.parameters.ports.host_range as {"ranges": []}
}

test_admitted_inside if {
	every port in [100, 150, 200, 300] {
		found([{"path": "p", "port": port}]) == set()
	}
}

test_admitted_none if {
	host_range.deny == set() with input.projection as {"containers": [{"path": "spec.containers[0]", "name": "a"}]}
		with data.sallyport.parameters.ports.host_range as {"ranges": []}
}

projection(opened) := {"containers": [{"path": "p", "name": "main", "hostPorts": opened}]}

found(opened) := denials if {
	denials := host_range.deny with input.projection as projection(opened)
		with data.sallyport.parameters.ports.host_range as {"ranges": [{"from": 100, "to": 200}, {"from": 300, "to": 300}]}
}
