package sallyport.privileges.gpu.environment_test

import data.sallyport.privileges.gpu.environment

test_refused_each if {
	environment.needs == {
		{
			"privilege": "gpu/env/NVIDIA_VISIBLE_DEVICES",
			"path": "spec.containers[0].env[0]",
			"container": "trainer",
		},
		{
			"privilege": "gpu/env/NVIDIA_GDS",
			"path": "spec.initContainers[0].env[2]",
			"container": "fetch",
		},
	} with input as {"containers": [
		{
			"path": "spec.containers[0]",
			"name": "trainer",
			"env": [{"path": "spec.containers[0].env[0]", "name": "NVIDIA_VISIBLE_DEVICES"}],
		},
		{
			"path": "spec.initContainers[0]",
			"name": "fetch",
			"env": [{"path": "spec.initContainers[0].env[2]", "name": "NVIDIA_GDS"}],
		},
	]}
}

test_refused_odd_name if {
	environment.needs == {{
		"privilege": "gpu/env/A%2FB_VISIBLE_DEVICES",
		"path": "spec.containers[0].env[0]",
		"container": "trainer",
	}} with input as {"containers": [{
		"path": "spec.containers[0]",
		"name": "trainer",
		"env": [{"path": "spec.containers[0].env[0]", "name": "A/B_VISIBLE_DEVICES"}],
	}]}
}

test_admitted_none if {
	environment.needs == set() with input as {"containers": [{
		"path": "spec.containers[0]",
		"name": "trainer",
	}]}
}
