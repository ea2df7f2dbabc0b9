package sallyport.privileges.image.digest_test

import data.sallyport.privileges.image.digest

test_refused_container if {
	digest.needs == {{
		"privilege": "image/unpinned",
		"path": "spec.containers[0].image",
		"container": "trainer",
	}} with input as {"containers": [{
		"path": "spec.containers[0]",
		"name": "trainer",
		"image": "registry.example/a:1",
	}]}
}

test_refused_volume if {
	digest.needs == {{
		"privilege": "image/unpinned",
		"path": "spec.volumes[0].image.reference",
	}} with input as {"containers": [], "volumes": [{
		"path": "spec.volumes[0]",
		"types": ["image"],
		"image": {"reference": "registry.example/weights:1"},
	}]}
}

test_admitted_container if {
	digest.needs == set() with input as {"containers": [{
		"path": "spec.containers[0]",
		"name": "trainer",
		"image": "registry.example/a@sha256:0123",
		"pinned": true,
	}]}
}

test_admitted_volume if {
	digest.needs == set() with input as {"containers": [], "volumes": [{
		"path": "spec.volumes[0]",
		"types": ["image"],
		"image": {"reference": "registry.example/weights@sha256:0123", "pinned": true},
	}]}
}
