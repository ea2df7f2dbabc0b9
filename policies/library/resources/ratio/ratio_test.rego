package sallyport.rules.resources.ratio_test

import data.sallyport.rules.resources.ratio

too_far := {{
	"path": "spec.containers[0].resources.limits.memory",
	"value": "memory",
	"container": "main",
}}

unbounded := {{
	"path": "spec.containers[0].resources.limits.memory",
	"value": "memory",
	"message": "has no limit of memory",
	"container": "main",
}}

test_refused_too_far if {
	every request in ["31Gi", "1", 0, "0", "much", true, "-64Gi"] {
		resources := {"requests": {"memory": request}, "limits": {"memory": "64Gi"}}
		found({"containers": [{"name": "main", "resources": resources}]}) == too_far
	}
}

test_refused_requests_of_another_type if {
	every requests in ["junk", ["memory"], true, 5] {
		resources := {"requests": requests, "limits": {"memory": "64Gi"}}
		found({"containers": [{"name": "main", "resources": resources}]}) == too_far
	}
}

test_refused_limit_of_another_type if {
	every limit in ["much", "", true, [1], {"a": 1}] {
		resources := {"requests": {"memory": "1Gi"}, "limits": {"memory": limit}}
		found({"containers": [{"name": "main", "resources": resources}]}) == too_far
	}
}

test_refused_without_a_limit if {
	every resources in [{}, {"requests": {"memory": "1Gi"}}, {"limits": {"memory": 0}}, {"limits": {"memory": -1}}, "junk"] {
		found({"containers": [{"name": "main", "resources": resources}]}) == unbounded
	}
	found({"containers": [{"name": "main"}], "resources": {"requests": {"memory": "1Gi"}}}) == unbounded
}

test_refused_init_container if count(found({"initContainers": [{"name": "a"}, {"name": "b"}]})) == 2

test_refused_of_the_pod if {
	resources := {"requests": {"memory": "1Gi"}, "limits": {"memory": "4Gi"}}
	found({"resources": resources, "containers": [{"name": "main"}]}) == {{
		"path": "spec.resources.limits.memory",
		"value": "memory",
	}}
}

test_admitted_near if {
	every request in ["32Gi", "64Gi", 34359738368] {
		resources := {"requests": {"memory": request, "cpu": "1"}, "limits": {"memory": "64Gi", "cpu": "64"}}
		found({"containers": [{"name": "main", "resources": resources}]}) == set()
	}
}

test_admitted_limit_alone if {
	found({"containers": [{"name": "main", "resources": {"limits": {"memory": "64Gi"}}}]}) == set()
}

test_admitted_of_the_pod if {
	resources := {"requests": {"memory": "2Gi"}, "limits": {"memory": "4Gi"}}
	found({"resources": resources, "containers": [{"name": "main"}]}) == set()
}

test_admitted_ephemeral_container if found({"ephemeralContainers": [{"name": "debug"}]}) == set()

found(spec) := denials if {
	denials := ratio.deny with input.fields.spec as spec
		with data.sallyport.parameters.resources.ratio as {"ratios": {"memory": 2}}
}
