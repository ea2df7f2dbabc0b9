package sallyport.rules.resources.maximum_test

import data.sallyport.rules.resources.maximum

test_refused_over if {
	every amount in ["65Gi", "1Ti", 69793218561] {
		found({"containers": [{"name": "main", "resources": {"limits": {"memory": amount}}}]}) == {{
			"path": "spec.containers[0].resources.limits.memory",
			"value": concat("", ["limits.memory=", trim(json.marshal(amount), `"`)]),
			"container": "main",
		}}
	}
}

test_refused_no_amount if {
	every amount in ["much", "", true, [1], {"a": 1}, "1Gi 1Gi"] {
		count(found({"containers": [{"name": "main", "resources": {"limits": {"memory": amount}}}]})) == 1
	}
}

test_refused_request if {
	resources := {"requests": {"cpu": "9"}, "limits": {"memory": "1Gi"}}
	found({"initContainers": [{"name": "data", "resources": resources}]}) == {{
		"path": "spec.initContainers[0].resources.requests.cpu",
		"value": "requests.cpu=9",
		"container": "data",
	}}
}

test_refused_request_by_its_limit if {
	resources := {"limits": {"memory": "1Gi", "cpu": "8001m"}}
	found({"containers": [{"name": "main", "resources": resources}]}) == {{
		"path": "spec.containers[0].resources.requests.cpu",
		"value": "requests.cpu=8001m",
		"container": "main",
	}}
}

test_refused_without_a_limit if {
	every resources in [{}, {"limits": {}}, {"limits": {"memory": "0"}}, {"requests": {"memory": "1Gi"}}, 5] {
		found({"containers": [{"name": "main", "resources": resources}]}) == {{
			"path": "spec.containers[0].resources.limits.memory",
			"value": "limits.memory",
			"message": "has no limit of memory, so that it may use more than the site's maximum",
			"container": "main",
		}}
	}
	count(found({"containers": [{"name": "main"}]})) == 1
}

test_refused_by_a_limit_of_the_pod_that_is_over if {
	every amount in ["65Gi", "0", "much", true] {
		pod := {"resources": {"limits": {"memory": amount}}, "containers": [{"name": "main"}]}
		count(found(pod)) == 1
	}
}

test_refused_device if {
	resources := {"limits": {"memory": "1Gi", "nvidia.com/gpu": 9}}
	found({"containers": [{"resources": resources}]}) == {{
		"path": "spec.containers[0].resources.limits.nvidia.com/gpu",
		"value": "limits.nvidia.com/gpu=9",
		"container": "",
	}}
}

test_admitted_at_most if {
	every amount in ["64Gi", "65536Mi", 68719476736, "1Ki"] {
		resources := {"limits": {"memory": amount, "nvidia.com/gpu": "8", "cpu": "8"}}
		found({"containers": [{"name": "main", "resources": resources}]}) == set()
	}
}

test_admitted_of_the_pod if {
	pod := {"resources": {"limits": {"memory": "64Gi"}}, "containers": [{"name": "main"}, {"name": "b"}]}
	found(pod) == set()
}

test_admitted_ephemeral_container if found({"ephemeralContainers": [{"name": "debug"}]}) == set()

found(spec) := denials if {
	denials := maximum.deny with input.fields.spec as spec
		with data.sallyport.parameters.resources.maximum as {
			"limits": {"memory": "64Gi", "nvidia.com/gpu": "8", "hugepages-2Mi": "1Gi"},
			"requests": {"cpu": "8"},
		}
}
