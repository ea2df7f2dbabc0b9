package sallyport.sandbox.code.public_image_test

import data.sallyport.sandbox.code.public_image

test_riskier_container if {
	public_image.signals == {{"path": "spec.containers[0].image", "value": "ghcr.io/a", "container": "a"}} with input as {
		"containers": [
			{
				"path": "spec.containers[0]",
				"name": "a",
				"public": true,
				"imageFrom": "ghcr.io/a",
			},
		],
	}
}

test_riskier_unknown_origin if {
	public_image.signals == {{"path": "spec.containers[0].image", "value": "%00", "container": "a"}} with input as {
		"containers": [
			{
				"path": "spec.containers[0]",
				"name": "a",
				"public": true,
			},
		],
	}
}

test_riskier_volume if {
	public_image.signals == {{"path": "spec.volumes[0].image.reference", "value": "ghcr.io/a"}} with input as {
		"containers": [],
		"volumes": [
			{
				"path": "spec.volumes[0]",
				"types": [
					"image",
				],
				"image": {
					"from": "ghcr.io/a",
					"public": true,
				},
			},
		],
	}
}

test_ordinary_own_registry if {
	public_image.signals == set() with input as {
		"containers": [
			{
				"path": "spec.containers[0]",
				"name": "a",
				"imageFrom": "registry.example/a",
			},
		],
	}
}
