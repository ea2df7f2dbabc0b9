package sallyport.privileges.debug.image_test

import data.sallyport.privileges.debug.image

test_refused_image if {
	image.needs == {{"privilege": "debug/registry.example/tools", "path": "spec.ephemeralContainers[0].image", "container": "debugger"}} with input as {"containers": [{"path": "spec.ephemeralContainers[0]", "name": "debugger", "kind": "ephemeral", "imageFrom": "registry.example/tools", "added": true}]}
}

test_refused_unknown_image if {
	image.needs == {{"privilege": "debug/%00", "path": "spec.ephemeralContainers[0].image", "container": "debugger"}} with input as {"containers": [{"path": "spec.ephemeralContainers[0]", "name": "debugger", "kind": "ephemeral", "added": true}]}
}

test_admitted_there_before if {
	image.needs == set() with input as {"containers": [{"path": "spec.ephemeralContainers[0]", "name": "debugger", "kind": "ephemeral", "imageFrom": "registry.example/tools"}]}
}

test_admitted_pod if {
	image.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
