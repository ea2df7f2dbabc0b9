package sallyport.privileges.runtime_class.handler_test

import data.sallyport.privileges.runtime_class.handler

test_refused_class if {
	handler.needs == {{"privilege": "runtime-class/a/runc", "path": "handler"}} with input as {
		"containers": [],
		"object": {"kind": "RuntimeClass", "name": "a", "handler": "runc"},
	}
}

test_refused_no_handler if {
	handler.needs == {{"privilege": "runtime-class/a/%00", "path": "handler"}} with input as {
		"containers": [],
		"object": {"kind": "RuntimeClass", "name": "a"},
	}
}

test_refused_nothing if {
	handler.needs == {{"privilege": "runtime-class/%00/%00", "path": "handler"}} with input as {
		"containers": [],
		"object": {"kind": "RuntimeClass"},
	}
}

test_admitted_pod if {
	handler.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_other_kind if {
	handler.needs == set() with input as {
		"containers": [],
		"object": {"kind": "StorageClass", "name": "a"},
	}
}
