package sallyport.privileges.token.request_test

import data.sallyport.privileges.token.request

test_refused_request if {
	request.needs == {{"privilege": "token/request/trainer", "path": ""}} with input as {"containers": [], "object": {"kind": "TokenRequest", "name": "trainer", "bound": true}}
}

test_refused_nameless if {
	request.needs == {{"privilege": "token/request/%00", "path": ""}} with input as {"containers": [], "object": {"kind": "TokenRequest"}}
}

test_admitted_binding if {
	request.needs == set() with input as {"containers": [], "object": {"kind": "Binding", "name": "trainer"}}
}

test_admitted_pod if {
	request.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}

test_refused_secret if {
	request.needs == {{"privilege": "token/request/trainer", "path": "metadata.annotations[kubernetes.io/service-account.name]"}} with input as {"containers": [], "object": {"kind": "Secret", "name": "trainer"}}
}
