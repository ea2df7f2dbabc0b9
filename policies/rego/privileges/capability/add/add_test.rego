package sallyport.privileges.capability.add_test

import data.sallyport.privileges.capability.add

test_refused_each if {
	add.needs == {
		{
			"privilege": "capability/NET_ADMIN",
			"path": "spec.containers[0].securityContext.capabilities.add[0]",
			"container": "trainer",
		},
		{
			"privilege": "capability/NET_BIND_SERVICE",
			"path": "spec.containers[0].securityContext.capabilities.add[1]",
			"container": "trainer",
		},
	} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"capabilities": {"add": ["NET_ADMIN", "NET_BIND_SERVICE"]}},
		}],
	}
}

test_refused_as_one_segment if {
	add.needs == {
		{
			"privilege": "capability/%00",
			"path": "spec.containers[0].securityContext.capabilities.add[0]",
			"container": "trainer",
		},
		{
			"privilege": "capability/%2E%2E",
			"path": "spec.containers[0].securityContext.capabilities.add[1]",
			"container": "trainer",
		},
		{
			"privilege": "capability/a%2F%2A%2A",
			"path": "spec.containers[0].securityContext.capabilities.add[2]",
			"container": "trainer",
		},
		{
			"privilege": "capability/%E2%98%83%20%7E%2B",
			"path": "spec.containers[0].securityContext.capabilities.add[3]",
			"container": "trainer",
		},
	} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"capabilities": {"add": ["", "..", "a/**", "☃ ~+"]}},
		}],
	}
}

test_admitted_none if {
	add.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_drop_only if {
	add.needs == set() with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"capabilities": {"drop": ["ALL"]}},
		}],
	}
}
