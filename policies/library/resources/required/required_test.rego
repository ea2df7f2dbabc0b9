package sallyport.rules.resources.required_test

import data.sallyport.rules.resources.required

missing := {
	{
		"path": "spec.containers[0].resources.requests.cpu",
		"value": "resources.requests.cpu",
		"container": "main",
	},
	{
		"path": "spec.containers[0].resources.limits.memory",
		"value": "resources.limits.memory",
		"container": "main",
	},
}

test_refused_absent if {
	every resources in [{}, {"requests": {}, "limits": {}}, {"claims": []}] {
		found({"containers": [{"name": "main", "resources": resources}]}) == missing
	}
	found({"containers": [{"name": "main"}]}) == missing
}

test_refused_none_and_of_another_type if {
	every amount in ["0", 0, "", "0Gi", "0.0", "-1", -1, true, {"a": 1}, [1]] {
		resources := {"requests": {"cpu": amount}, "limits": {"memory": amount}}
		found({"containers": [{"name": "main", "resources": resources}]}) == missing
	}
}

test_refused_init_container if {
	count(found({"initContainers": [{"name": "a"}]})) == 2
}

test_refused_request_of_none_beside_a_limit if {
	resources := {"requests": {"cpu": "0"}, "limits": {"cpu": "1", "memory": "1Gi"}}
	found({"containers": [{"name": "main", "resources": resources}]}) == {{
		"path": "spec.containers[0].resources.requests.cpu",
		"value": "resources.requests.cpu",
		"container": "main",
	}}
}

test_admitted_set if {
	resources := {"requests": {"cpu": "100m"}, "limits": {"memory": 1000000}}
	found({"containers": [{"name": "main", "resources": resources}]}) == set()
}

test_admitted_limit_alone if {
	resources := {"limits": {"cpu": 1, "memory": "1Gi"}}
	found({"containers": [{"name": "main", "resources": resources}]}) == set()
	found({"resources": resources, "containers": [{"name": "main"}]}) == set()
}

test_admitted_of_the_pod if {
	resources := {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}}
	found({"resources": resources, "containers": [{"name": "main"}], "initContainers": [{}]}) == set()
}

test_admitted_ephemeral_container if found({"ephemeralContainers": [{"name": "debug"}]}) == set()

found(spec) := denials if {
	denials := required.deny with input.fields.spec as spec
		with data.sallyport.parameters.resources.required as {"requests": ["cpu"], "limits": ["memory"]}
}
