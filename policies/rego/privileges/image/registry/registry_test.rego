package sallyport.privileges.image.registry_test

import data.sallyport.privileges.image.registry

test_refused_container if {
	registry.needs == {{
		"privilege": "image/from/registry.example:5000/team/a",
		"path": "spec.containers[0].image",
		"container": "trainer",
	}} with input as {"containers": [{
		"path": "spec.containers[0]",
		"name": "trainer",
		"image": "registry.example:5000/team/a:1",
		"imageFrom": "registry.example:5000/team/a",
	}]}
}

test_refused_container_of_unknown_origin if {
	registry.needs == {{
		"privilege": "image/from/%00",
		"path": "spec.containers[0].image",
		"container": "trainer",
	}} with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}

test_refused_volume if {
	registry.needs == {{
		"privilege": "image/from/registry.example/weights",
		"path": "spec.volumes[0].image.reference",
	}} with input as {"containers": [], "volumes": [{
		"path": "spec.volumes[0]",
		"types": ["image"],
		"image": {"reference": "registry.example/weights:1", "from": "registry.example/weights"},
	}]}
}

test_refused_volume_of_unknown_origin if {
	registry.needs == {{
		"privilege": "image/from/%00",
		"path": "spec.volumes[0].image.reference",
	}} with input as {"containers": [], "volumes": [{
		"path": "spec.volumes[0]",
		"types": ["image"],
		"image": {},
	}]}
}

test_admitted_no_image if {
	registry.needs == set() with input as {"containers": [], "volumes": [{
		"path": "spec.volumes[0]",
		"types": ["nfs"],
	}]}
}
