package sallyport.rules.registries.allowed_test

import data.sallyport.rules.registries.allowed

test_refused_container_of_each_sort if {
	every path in ["spec.containers[0]", "spec.initContainers[0]", "spec.ephemeralContainers[0]"] {
		found("research", {"containers": [container(path, "docker.io/library/python")]}) == {{
			"path": concat("", [path, ".image"]),
			"value": "docker.io/library/python",
			"container": "main",
		}}
	}
}

test_refused_beginning_of_a_component if {
	every from in ["registry.example/shared-b/x", "registry.example.evil/shared/x", "registry.example"] {
		count(found("research", {"containers": [container("spec.containers[0]", from)]})) == 1
	}
}

test_refused_of_another_namespace if {
	every namespace in ["research", "teams", "", "x-team-a"] {
		count(found(namespace, {"containers": [container("spec.containers[0]", "nvcr.io/nvidia/x")]})) == 1
	}
}

test_refused_from_nowhere if {
	unread := {"path": "spec.containers[0]", "name": "main"}
	found("research", {"containers": [unread]}) == {{
		"path": "spec.containers[0].image",
		"value": "%00",
		"container": "main",
	}}
}

test_refused_volume if {
	volumes := [
		{"path": "spec.volumes[0]", "types": ["image"], "image": {"from": "quay.io/a"}},
		{"path": "spec.volumes[1]", "types": ["image"], "image": {}},
	]
	found("research", {"containers": [], "volumes": volumes}) == {
		{"path": "spec.volumes[0].image.reference", "value": "quay.io/a"},
		{"path": "spec.volumes[1].image.reference", "value": "%00"},
	}
}

test_admitted_everywhere if {
	containers := [container("spec.containers[0]", "registry.example/shared/a/b")]
	volumes := [
		{"path": "spec.volumes[0]", "types": ["hostPath"]},
		{"path": "spec.volumes[1]", "types": ["image"], "image": {"from": "registry.example/shared"}},
	]
	found("research", {"containers": containers, "volumes": volumes}) == set()
}

test_admitted_here if {
	found("team-a", {"containers": [container("spec.containers[0]", "nvcr.io/nvidia/x")]}) == set()
}

test_admitted_nothing if found("research", {"containers": []}) == set()

container(path, from) := {"path": path, "name": "main", "imageFrom": from}

found(namespace, projection) := denials if {
	registries := [
		{"images": ["registry.example/shared/"]},
		{"namespaces": ["team-*"], "images": ["nvcr.io"]},
	]
	denials := allowed.deny with input as {"context": {"namespace": namespace}, "projection": projection}
		with data.sallyport.parameters.registries.allowed as {"registries": registries}
}
