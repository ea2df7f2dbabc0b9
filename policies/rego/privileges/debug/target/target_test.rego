package sallyport.privileges.debug.target_test

import data.sallyport.privileges.debug.target

test_refused_target if {
	target.needs == {{"privilege": "debug/target", "path": "spec.ephemeralContainers[0].targetContainerName", "container": "debugger"}} with input as {"containers": [{"path": "spec.ephemeralContainers[0]", "name": "debugger", "kind": "ephemeral", "imageFrom": "registry.example/tools", "added": true, "target": true}]}
}

test_admitted_there_before if {
	target.needs == set() with input as {"containers": [{"path": "spec.ephemeralContainers[0]", "name": "debugger", "kind": "ephemeral", "imageFrom": "registry.example/tools", "target": true}]}
}

test_admitted_no_target if {
	target.needs == set() with input as {"containers": [{"path": "spec.ephemeralContainers[0]", "name": "debugger", "kind": "ephemeral", "imageFrom": "registry.example/tools", "added": true}]}
}

test_admitted_pod if {
	target.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
