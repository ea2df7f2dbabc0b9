package sallyport.privileges.volume.block_test

import data.sallyport.privileges.volume.block

test_refused_device if {
	block.needs == {{
		"privilege": "volume/block",
		"path": "spec.containers[0].volumeDevices[0]",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"blockDevices": ["spec.containers[0].volumeDevices[0]"],
		}],
	}
}

test_admitted_none if {
	block.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_empty_list if {
	block.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer", "blockDevices": []}],
	}
}
