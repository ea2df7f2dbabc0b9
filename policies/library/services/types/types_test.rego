package sallyport.rules.services.types_test

import data.sallyport.rules.services.types

test_refused_others if {
	every type in ["NodePort", "LoadBalancer", "ExternalName", ""] {
		found({"spec": {"type": type}}, ["ClusterIP"]) == {{"path": "spec.type", "value": type}}
	}
}

test_refused_of_another_type if {
	found({"spec": {"type": 5}}, ["ClusterIP"]) == {{"path": "spec.type", "value": "5"}}
}

test_refused_absent_where_cluster_ip_is if {
	found({}, ["NodePort"]) == {{"path": "spec.type", "value": "ClusterIP"}}
}

test_admitted_listed if {
	found({"spec": {"type": "ClusterIP"}}, ["ClusterIP"]) == set()
	found({"spec": {"type": "NodePort"}}, ["ClusterIP", "NodePort"]) == set()
}

test_admitted_absent if {
	found({}, ["ClusterIP"]) == set()
	found({"spec": {}}, ["ClusterIP"]) == set()
}

found(fields, allowed) := denials if {
	denials := types.deny with input.fields as fields
		with data.sallyport.parameters.services.types as {"types": allowed}
}
