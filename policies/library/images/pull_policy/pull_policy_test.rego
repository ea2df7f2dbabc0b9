package sallyport.rules.images.pull_policy_test

import data.sallyport.rules.images.pull_policy

test_refused_container_of_each_sort if {
	every list in ["containers", "initContainers", "ephemeralContainers"] {
		found({list: [{"name": "a", "imagePullPolicy": "Always"}, {"name": "b", "imagePullPolicy": "Never"}]}) == {{
			"path": concat("", ["spec.", list, "[1].imagePullPolicy"]),
			"value": "Never",
			"container": "b",
		}}
	}
}

test_refused_absent if {
	found({"containers": [{}]}) == {{
		"path": "spec.containers[0].imagePullPolicy",
		"value": "by its tag",
		"container": "",
	}}
}

test_refused_of_another_type if {
	found({"containers": [{"name": "a", "imagePullPolicy": ["Always"]}]}) == {{
		"path": "spec.containers[0].imagePullPolicy",
		"value": `["Always"]`,
		"container": "a",
	}}
}

test_refused_volume if {
	found({"volumes": [{}, {"image": {}}, {"image": {"pullPolicy": "Never"}}]}) == {
		{"path": "spec.volumes[1].image.pullPolicy", "value": "by its tag"},
		{"path": "spec.volumes[2].image.pullPolicy", "value": "Never"},
	}
}

test_admitted_allowed if {
	found({
		"containers": [{"name": "a", "imagePullPolicy": "Always"}],
		"volumes": [{"image": {"pullPolicy": "Always"}}],
	}) == set()
}

test_admitted_nothing if found({}) == set()

found(spec) := denials if {
	denials := pull_policy.deny with input.fields.spec as spec
		with data.sallyport.parameters.images.pull_policy as {"policies": ["Always"]}
}
