package sallyport.privileges.token.lasting_test

import data.sallyport.privileges.token.lasting

test_refused_unbound if {
	lasting.needs == {{"privilege": "token/unbound", "path": "spec.boundObjectRef"}} with input as {"containers": [], "object": {"kind": "TokenRequest", "name": "a", "seconds": 3600}}
}

test_refused_long if {
	lasting.needs == {{"privilege": "token/long-lived", "path": "spec.expirationSeconds"}} with input as {"containers": [], "object": {"kind": "TokenRequest", "name": "a", "bound": true, "seconds": 86401}}
}

test_admitted_day if {
	lasting.needs == set() with input as {"containers": [], "object": {"kind": "TokenRequest", "name": "a", "bound": true, "seconds": 86400}}
}

test_admitted_pod if {
	lasting.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}

test_refused_secret if {
	lasting.needs == {{"privilege": "token/unbound", "path": "type"}, {"privilege": "token/long-lived", "path": "type"}} with input as {"containers": [], "object": {"kind": "Secret", "name": "trainer"}}
}
