package sallyport.privileges.volume.mount_option_test

import data.sallyport.privileges.volume.mount_option

test_refused_of_its_author if {
	mount_option.needs == {{
		"privilege": "volume/mount-option/uid%3D0",
		"path": "spec.mountOptions",
	}} with input as {"containers": [], "volumes": [{
		"path": "spec",
		"types": ["nfs"],
		"options": ["uid=0"],
	}]}
}

test_refused_claim_that_takes_it if {
	mount_option.needs == {{
		"privilege": "volume/mount-option/--tmp-path%3D%2Fetc",
		"path": "spec.volumeName",
	}} with input as {"containers": [], "volumes": [{
		"path": "spec.volumeName",
		"types": ["csi"],
		"csi": {"driver": "blob.csi.azure.com"},
		"options": ["--tmp-path=/etc"],
	}]}
}

test_admitted_none if {
	mount_option.needs == set() with input as {"containers": [], "volumes": [{
		"path": "spec",
		"types": ["csi"],
		"csi": {"driver": "blob.csi.azure.com"},
	}]}
}
