package sallyport.privileges.volume.csi_test

import data.sallyport.privileges.volume.csi

test_refused_inline if {
	csi.needs == {{
		"privilege": "volume/csi/files.example",
		"path": "spec.volumes[0].csi",
	}} with input as {
		"containers": [],
		"volumes": [{
			"path": "spec.volumes[0]",
			"types": ["csi"],
			"csi": {"driver": "files.example"},
		}],
	}
}

test_refused_no_driver if {
	csi.needs == {{"privilege": "volume/csi/%00", "path": "spec.volumes[0].csi"}} with input as {
		"containers": [],
		"volumes": [{"path": "spec.volumes[0]", "types": ["csi"], "csi": {}}],
	}
}

test_refused_nothing_said_of_it if {
	csi.needs == {{"privilege": "volume/csi/%00", "path": "spec.volumes[0].csi"}} with input as {
		"containers": [],
		"volumes": [{"path": "spec.volumes[0]", "types": ["csi"], "name": "v"}],
	}
}

test_refused_persistent_volume if {
	csi.needs == {{"privilege": "volume/csi/files.example", "path": "spec.csi"}} with input as {
		"containers": [],
		"volumes": [{"path": "spec", "types": ["csi"], "csi": {"driver": "files.example"}}],
	}
}

test_refused_claim_that_is_bound_to_one if {
	csi.needs == {{
		"privilege": "volume/csi/files.example",
		"path": "spec.volumes[0].persistentVolumeClaim",
	}} with input as {
		"containers": [],
		"volumes": [{
			"path": "spec.volumes[0].persistentVolumeClaim",
			"types": ["csi"],
			"csi": {"driver": "files.example"},
		}],
	}
}

test_admitted_none if {
	csi.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_other_type if {
	csi.needs == set() with input as {
		"volumes": [{"path": "spec.volumes[0]", "types": ["image"], "image": {}}],
	}
}
