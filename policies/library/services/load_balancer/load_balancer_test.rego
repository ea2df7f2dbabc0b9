package sallyport.rules.services.load_balancer_test

import data.sallyport.rules.services.load_balancer

test_refused_without_the_annotation if {
	every metadata in [{}, {"annotations": {}}, {"annotations": {"internal": "false"}}, {"annotations": {"internal": true}}] {
		found(metadata, {"type": "LoadBalancer"}, false) == {{
			"path": "metadata.annotations",
			"value": "internal",
		}}
	}
}

test_refused_unknown_type if {
	every type in ["loadbalancer", 5, ["ClusterIP"]] {
		count(found({}, {"type": type}, false)) == 1
	}
}

test_refused_unbounded if {
	every spec in [
		{"type": "LoadBalancer"},
		{"type": "LoadBalancer", "loadBalancerSourceRanges": []},
		{"type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.0/8", " 0.0.0.0/0 "]},
		{"type": "LoadBalancer", "loadBalancerSourceRanges": ["::/0"]},
		{"type": "LoadBalancer", "loadBalancerSourceRanges": [5]},
		{"type": "LoadBalancer", "loadBalancerSourceRanges": 5},
	] {
		found({"annotations": {"internal": "true"}}, spec, true) == {{
			"path": "spec.loadBalancerSourceRanges",
			"value": "",
			"message": "lets in whoever reaches it",
		}}
	}
}

test_admitted_inside if {
	found({"annotations": {"internal": "true"}}, {"type": "LoadBalancer"}, false) == set()
}

test_admitted_bounded if {
	spec := {"type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.0/8"]}
	found({"annotations": {"internal": "true"}}, spec, true) == set()
}

test_admitted_other_types if {
	every spec in [{}, {"type": "ClusterIP"}, {"type": "NodePort"}, {"type": "ExternalName"}] {
		found({}, spec, true) == set()
	}
}

found(metadata, spec, ranges) := denials if {
	denials := load_balancer.deny with input.fields as {"metadata": metadata, "spec": spec}
		with data.sallyport.parameters.services.load_balancer as {
			"annotations": {"internal": "true"},
			"ranges": ranges,
		}
}
