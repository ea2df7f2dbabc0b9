package sallyport.rules.images.forbidden_test

import data.sallyport.rules.images.forbidden

test_refused_tag if {
	every image in ["a", "r.example:5000/a", "r.example/a:latest", "a/b:dev", ""] {
		found([container({"image": image, "imageFrom": "r.example/a"})], []) == {{
			"path": "spec.containers[0].image",
			"container": "main",
			"value": {true: "dev", false: "latest"}[endswith(image, "dev")],
		}}
	}
}

test_refused_without_an_image if {
	found([container({})], []) == {
		{"path": "spec.containers[0].image", "container": "main", "value": "latest"},
		{
			"path": "spec.containers[0].image",
			"container": "main",
			"value": "%00",
			"message": "runs an image by a reference that cannot be read",
		},
	}
}

test_refused_name if {
	every from in ["docker.io/library/python", "docker.io:443/x", "Docker.IO/x", "r.example/bad/x"] {
		found([container({"image": "a:1", "imageFrom": from})], []) == {{
			"path": "spec.containers[0].image",
			"container": "main",
			"value": replace(lower(from), ":443", ""),
			"message": concat("", ["runs the banned image ", replace(lower(from), ":443", "")]),
		}}
	}
}

test_refused_volume if {
	volumes := [{"path": "spec.volumes[0]", "image": {"reference": "a:latest", "from": "r.example/a"}}]
	found([], volumes) == {{"path": "spec.volumes[0].image.reference", "value": "latest"}}
}

test_admitted_version if {
	every image in ["r.example:5000/a:1", "r.example/latest/a:1.2-latest"] {
		found([container({"image": image, "imageFrom": "r.example/badly/a"})], []) == set()
	}
}

test_admitted_digest if {
	image := {"image": "r.example/a:latest@sha256:1", "imageFrom": "r.example/a", "pinned": true}
	found([container(image)], [{"path": "spec.volumes[0]", "types": ["nfs"]}]) == set()
}

test_admitted_unread_where_none_is_banned if {
	forbidden.deny == set() with input.projection as {"containers": [container({"image": "A:1"})]}
		with data.sallyport.parameters.images.forbidden as {"tags": ["latest"], "images": []}
}

container(image) := object.union({"path": "spec.containers[0]", "name": "main"}, image)

found(containers, volumes) := denials if {
	parameters := {"tags": ["latest", "dev"], "images": ["docker.io", "r.example/bad/"]}
	denials := forbidden.deny with input.projection as {"containers": containers, "volumes": volumes}
		with data.sallyport.parameters.images.forbidden as parameters
}
