package sallyport.rules.services.node_ports_test

import data.sallyport.rules.services.node_ports

test_refused_outside if {
	every port in [99, 201, 299, 301] {
		found({"ports": [{}, {"nodePort": port}]}) == {{
			"path": "spec.ports[1].nodePort",
			"value": format_int(port, 10),
		}}
	}
}

test_refused_health_check if {
	found({"healthCheckNodePort": 99}) == {{"path": "spec.healthCheckNodePort", "value": "99"}}
}

test_refused_of_another_type if {
	every port in ["150", true, [150], {"a": 150}, -1] {
		count(found({"ports": [{"nodePort": port}]})) == 1
	}
}

test_admitted_inside if {
	every port in [100, 150, 200, 300] {
		found({"ports": [{"nodePort": port}], "healthCheckNodePort": port}) == set()
	}
}

test_admitted_chosen_by_kubernetes if {
	found({}) == set()
	found({"ports": [{}, {"nodePort": 0}]}) == set()
}

found(spec) := denials if {
	denials := node_ports.deny with input.fields.spec as spec
		with data.sallyport.parameters.services.node_ports as {"ranges": [{"from": 100, "to": 200}, {"from": 300, "to": 300}]}
}
