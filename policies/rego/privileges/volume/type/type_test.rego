package sallyport.privileges.volume.type_test

import data.sallyport.privileges.volume.type

test_refused_nfs if {
	type.needs == {{"privilege": "volume/nfs", "path": "spec.volumes[0].nfs"}} with input as {
		"volumes": [{"path": "spec.volumes[0]", "types": ["nfs"]}],
	}
}

test_refused_unknown if {
	type.needs == {{"privilege": "volume/a%2Fb", "path": "spec.volumes[0].a/b"}} with input as {
		"volumes": [{"path": "spec.volumes[0]", "types": ["a/b"]}],
	}
}

test_refused_second_type if {
	type.needs == {{"privilege": "volume/nfs", "path": "spec.volumes[0].nfs"}} with input as {
		"volumes": [{"path": "spec.volumes[0]", "types": ["emptyDir", "nfs"]}],
	}
}

test_refused_no_type if {
	type.needs == {{"privilege": "volume/%00", "path": "spec.volumes[0]"}} with input as {
		"volumes": [{"path": "spec.volumes[0]", "name": "v"}],
	}
}

test_refused_empty_list if {
	type.needs == {{"privilege": "volume/%00", "path": "spec.volumes[0]"}} with input as {
		"volumes": [{"path": "spec.volumes[0]", "types": []}],
	}
}

test_admitted_none if {
	type.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_harmless if {
	type.needs == set() with input as {
		"volumes": [
			{"path": "spec.volumes[0]", "types": ["configMap"]},
			{"path": "spec.volumes[1]", "types": ["csi"]},
			{"path": "spec.volumes[2]", "types": ["downwardAPI"]},
			{"path": "spec.volumes[3]", "types": ["emptyDir"]},
			{"path": "spec.volumes[4]", "types": ["ephemeral"]},
			{"path": "spec.volumes[5]", "types": ["image"]},
			{"path": "spec.volumes[6]", "types": ["persistentVolumeClaim"]},
			{"path": "spec.volumes[7]", "types": ["projected"]},
			{"path": "spec.volumes[8]", "types": ["secret"]},
		],
	}
}

test_admitted_host_path_has_its_own_rule if {
	type.needs == set() with input as {
		"volumes": [{"path": "spec.volumes[0]", "types": ["hostPath"]}],
	}
}

test_refused_claim_that_is_bound_to_one if {
	type.needs == {{
		"privilege": "volume/nfs",
		"path": "spec.volumes[0].persistentVolumeClaim",
	}} with input as {
		"volumes": [{"path": "spec.volumes[0].persistentVolumeClaim", "types": ["nfs"]}],
	}
}
