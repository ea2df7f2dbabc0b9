package sallyport.sandbox.code.unpinned_image_test

import data.sallyport.sandbox.code.unpinned_image

test_riskier_container if {
	unpinned_image.signals == {{"path": "spec.containers[0].image", "value": "", "container": "a"}} with input as {
		"containers": [
			{
				"path": "spec.containers[0]",
				"name": "a",
			},
		],
	}
}

test_riskier_volume if {
	unpinned_image.signals == {{"path": "spec.volumes[0].image.reference", "value": ""}} with input as {
		"containers": [],
		"volumes": [
			{
				"path": "spec.volumes[0]",
				"types": [
					"image",
				],
				"image": {
					"from": "r.example/a",
				},
			},
		],
	}
}

test_ordinary_pinned if {
	unpinned_image.signals == set() with input as {
		"containers": [
			{
				"path": "spec.containers[0]",
				"name": "a",
				"pinned": true,
			},
		],
	}
}
