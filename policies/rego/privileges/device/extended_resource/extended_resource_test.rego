package sallyport.privileges.device.extended_resource_test

import data.sallyport.privileges.device.extended_resource

test_refused_gpus if {
	extended_resource.needs == {{
		"privilege": "device/extended-resource/nvidia.com%2Fgpu",
		"path": "spec.extendedResourceName",
	}} with input as {
		"containers": [],
		"object": {"kind": "DeviceClass", "name": "a", "extendedResource": "nvidia.com/gpu"},
	}
}

test_admitted_class_without if {
	extended_resource.needs == set() with input as {
		"containers": [],
		"object": {"kind": "DeviceClass", "name": "a"},
	}
}

test_admitted_pod if {
	extended_resource.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}
