package sallyport.rules.resources.gpu_whole_test

import data.sallyport.rules.resources.gpu_whole

test_refused_counts if {
	every asked in [3, "3", 16, "8.0", "8e0", "1k", "", -1, 0.5, true, [1], {"a": 1}] {
		some denial in found("limits", asked)
		denial.path == "spec.containers[0].resources.limits['nvidia.com/gpu']"
		denial.container == "main"
	}
	found("requests", 3) == {{
		"path": "spec.containers[0].resources.requests['nvidia.com/gpu']",
		"value": "3 nvidia.com/gpu",
		"container": "main",
	}}
}

test_refused_init_container if {
	count(gpu_whole.deny) == 1 with input.fields.spec as {"initContainers": [container("limits", 3)]}
		with data.sallyport.parameters.resources.gpu_whole as parameters
}

test_admitted_counts if {
	every asked in [0, "0", 1, "1", 2, 8, "8"] {
		found("limits", asked) == set()
	}
}

test_admitted_without if {
	gpu_whole.deny == set() with input.fields.spec as {"containers": [{}, {"resources": {"limits": {"cpu": 3}}}]}
		with data.sallyport.parameters.resources.gpu_whole as parameters
}

parameters := {"resources": ["nvidia.com/gpu"], "counts": [1, 2, 4, 8]}

container(part, asked) := {"name": "main", "resources": {part: {"nvidia.com/gpu": asked}}}

found(part, asked) := denials if {
	denials := gpu_whole.deny with input.fields.spec as {"containers": [container(part, asked)]}
		with data.sallyport.parameters.resources.gpu_whole as parameters
}
