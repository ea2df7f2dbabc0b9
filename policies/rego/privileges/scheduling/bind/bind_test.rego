package sallyport.privileges.scheduling.bind_test

import data.sallyport.privileges.scheduling.bind

test_refused_binding if {
	bind.needs == {{"privilege": "scheduling/bind", "path": "target.name"}} with input as {"containers": [], "object": {"kind": "Binding", "name": "llama-0"}}
}

test_admitted_token if {
	bind.needs == set() with input as {"containers": [], "object": {"kind": "TokenRequest", "name": "default"}}
}

test_admitted_pod if {
	bind.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
