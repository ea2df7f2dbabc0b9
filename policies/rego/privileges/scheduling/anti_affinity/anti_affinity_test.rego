package sallyport.privileges.scheduling.anti_affinity_test

import data.sallyport.privileges.scheduling.anti_affinity

path := "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"

test_refused_zone if {
	anti_affinity.needs == {{
		"privilege": "scheduling/anti-affinity/topology.kubernetes.io%2Fzone",
		"path": path,
	}} with input as {
		"containers": [],
		"antiAffinity": [{"path": path, "key": "topology.kubernetes.io/zone"}],
	}
}

test_refused_others_on_a_node if {
	anti_affinity.needs == {{
		"privilege": "scheduling/anti-affinity-elsewhere/kubernetes.io%2Fhostname",
		"path": path,
	}} with input as {
		"containers": [],
		"antiAffinity": [{"path": path, "key": "kubernetes.io/hostname", "elsewhere": true}],
	}
}

test_refused_no_key if {
	anti_affinity.needs == {{
		"privilege": "scheduling/anti-affinity/%00",
		"path": path,
	}} with input as {"containers": [], "antiAffinity": [{"path": path, "key": ""}]}
}

test_admitted_none if {
	anti_affinity.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}
