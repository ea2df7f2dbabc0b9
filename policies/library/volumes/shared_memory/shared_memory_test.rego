package sallyport.rules.volumes.shared_memory_test

import data.sallyport.rules.volumes.shared_memory

missing := {{
	"path": "spec.containers[0].volumeMounts",
	"value": "nvidia.com/gpu",
	"container": "main",
}}

memory := [{"name": "shm", "emptyDir": {"medium": "Memory"}}]

test_refused_without_a_mount if {
	every asked in [2, "2", 8, "1k", "", -1, 0.5, true, [1]] {
		found(asked, [], memory) == missing
	}
}

test_refused_other_mounts if {
	every mount in [
		{"name": "shm", "mountPath": "/dev/shm2"},
		{"name": "shm", "mountPath": 5},
		{"name": "shm"},
		{"name": "other", "mountPath": "/dev/shm"},
		{"mountPath": "/dev/shm"},
	] {
		found(8, [mount], memory) == missing
	}
}

test_refused_other_volumes if {
	mounts := [{"name": "shm", "mountPath": "/dev/shm"}]
	every source in [{}, {"medium": ""}, {"medium": "HugePages"}, "Memory"] {
		found(8, mounts, [{"name": "shm", "emptyDir": source}]) == missing
	}
	found(8, mounts, [{"name": "shm"}]) == missing
}

test_admitted_mounted if {
	every path in ["/dev/shm", "/dev/shm/"] {
		found(8, [{"name": "shm", "mountPath": path}], memory) == set()
	}
}

test_admitted_few if {
	every asked in [0, "0", 1, "1"] {
		found(asked, [], []) == set()
	}
}

test_admitted_without if {
	shared_memory.deny == set() with input.fields.spec as {"containers": [{}, {"resources": {"limits": {"cpu": 8}}}]}
		with data.sallyport.parameters.volumes.shared_memory as {"resources": ["nvidia.com/gpu"], "from": 2}
}

found(asked, mounts, volumes) := denials if {
	container := {
		"name": "main",
		"resources": {"limits": {"nvidia.com/gpu": asked}},
		"volumeMounts": mounts,
	}
	denials := shared_memory.deny with input.fields.spec as {"containers": [container], "volumes": volumes}
		with data.sallyport.parameters.volumes.shared_memory as {"resources": ["nvidia.com/gpu"], "from": 2}
}
