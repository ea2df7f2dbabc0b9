package sallyport.rules.storage.classes_test

import data.sallyport.rules.storage.classes

beta := "volume.beta.kubernetes.io/storage-class"

test_refused_claim if {
	found("PersistentVolumeClaim", {"spec": {"storageClassName": "slow"}}, false) == {{
		"path": "spec.storageClassName",
		"value": "slow",
	}}
}

test_refused_empty_and_of_another_type if {
	every class in ["", 5, ["fast"], {"fast": "fast"}] {
		count(found("PersistentVolumeClaim", {"spec": {"storageClassName": class}}, true)) == 1
	}
}

test_refused_absent if {
	every fields in [{}, {"spec": {}}] {
		found("PersistentVolumeClaim", fields, false) == {{
			"path": "spec.storageClassName",
			"value": "the cluster's default",
		}}
	}
}

test_refused_by_the_old_annotation if {
	fields := {"metadata": {"annotations": {beta: "slow"}}, "spec": {"storageClassName": "fast"}}
	found("PersistentVolumeClaim", fields, true) == {{
		"path": "metadata.annotations['volume.beta.kubernetes.io/storage-class']",
		"value": "slow",
	}}
}

test_refused_stateful_set if {
	templates := [{"spec": {"storageClassName": "fast"}}, {"spec": {"storageClassName": "slow"}}, {}]
	found("apps/StatefulSet", {"spec": {"volumeClaimTemplates": templates}}, false) == {
		{"path": "spec.volumeClaimTemplates[1].spec.storageClassName", "value": "slow"},
		{"path": "spec.volumeClaimTemplates[2].spec.storageClassName", "value": "the cluster's default"},
	}
}

test_refused_ephemeral_volume if {
	template := {"metadata": {"annotations": {beta: "slow"}}}
	volumes := [{}, {"ephemeral": {"volumeClaimTemplate": template}}]
	found("Pod", {"spec": {"volumes": volumes}}, true) == {{
		"path": concat("", [
			"spec.volumes[1].ephemeral.volumeClaimTemplate.",
			"metadata.annotations['volume.beta.kubernetes.io/storage-class']",
		]),
		"value": "slow",
	}}
}

test_admitted_listed if {
	found("PersistentVolumeClaim", {"spec": {"storageClassName": "fast"}}, false) == set()
	found("PersistentVolumeClaim", {"metadata": {"annotations": {beta: "fast"}}}, false) == set()
}

test_admitted_default if {
	found("PersistentVolumeClaim", {}, true) == set()
	found("apps/StatefulSet", {"spec": {"volumeClaimTemplates": [{}]}}, true) == set()
}

test_admitted_no_claims if {
	found("apps/StatefulSet", {}, false) == set()
	found("Pod", {"spec": {"volumes": [{}, {"ephemeral": {}}]}}, false) == set()
}

found(kind, fields, default_allowed) := denials if {
	denials := classes.deny with input as {"kind": kind, "fields": fields}
		with data.sallyport.parameters.storage.classes as {"classes": ["fast"], "default": default_allowed}
}
