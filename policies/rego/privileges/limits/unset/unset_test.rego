package sallyport.privileges.limits.unset_test

import data.sallyport.privileges.limits.unset

test_refused_both if {
	unset.needs == {
		{
			"privilege": "limits/unset/cpu",
			"path": "spec.containers[0].resources.limits.cpu",
			"container": "trainer",
		},
		{
			"privilege": "limits/unset/memory",
			"path": "spec.containers[0].resources.limits.memory",
			"container": "trainer",
		},
	} with input as {"containers": [{
		"path": "spec.containers[0]",
		"name": "trainer",
		"unlimited": ["cpu", "memory"],
	}]}
}

test_refused_one if {
	unset.needs == {{
		"privilege": "limits/unset/memory",
		"path": "spec.containers[1].resources.limits.memory",
		"container": "sidecar",
	}} with input as {"containers": [
		{"path": "spec.containers[0]", "name": "trainer"},
		{"path": "spec.containers[1]", "name": "sidecar", "unlimited": ["memory"]},
	]}
}

test_admitted_all_limited if {
	unset.needs == set() with input as {"containers": [{
		"path": "spec.containers[0]",
		"name": "trainer",
	}]}
}
