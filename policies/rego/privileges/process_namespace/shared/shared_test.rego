package sallyport.privileges.process_namespace.shared_test

import data.sallyport.privileges.process_namespace.shared

test_refused_true if {
	shared.needs == {{
		"privilege": "process-namespace/shared",
		"path": "spec.shareProcessNamespace",
	}} with input as {"shareProcessNamespace": true}
}

test_admitted_unset if {
	shared.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_false if {
	shared.needs == set() with input as {"shareProcessNamespace": false}
}
