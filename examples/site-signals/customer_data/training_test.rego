package sallyport.sandbox.customer_data.training_test

import data.sallyport.sandbox.customer_data.training

of_a_customer := {"namespaceLabels": {"example.com/customer": "acme"}}

mounted := {"containers": [], "volumes": [{"path": "spec.volumes[0]", "types": ["nfs"]}]}

test_a_remote_volume_counts_in_a_namespace_of_a_customer if {
	training.signals == {{"path": "spec.volumes[0]", "value": "acme"}} with input as {
		"context": of_a_customer,
		"projection": mounted,
	}
}

test_a_directory_of_the_node_does_not if {
	training.signals == set() with input as {
		"context": of_a_customer,
		"projection": {
			"containers": [],
			"volumes": [{"path": "spec.volumes[0]", "types": ["hostPath"]}],
		},
	}
}

test_nothing_counts_in_other_namespaces if {
	training.signals == set() with input as {
		"context": {"namespaceLabels": {}},
		"projection": mounted,
	}
}
