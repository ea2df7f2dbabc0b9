package sallyport.rules.storage.size_test

import data.sallyport.rules.storage.size

test_refused_claim if {
	every asked in ["2Ti", "1025Gi", 1099511627777] {
		found("PersistentVolumeClaim", of(asked)) == {{
			"path": "spec.resources.requests.storage",
			"value": trim(json.marshal(asked), `"`),
		}}
	}
}

test_refused_of_another_type if {
	every asked in ["much", "", -1, "-1Gi", true, ["1Gi"], {"a": "1Gi"}] {
		count(found("PersistentVolumeClaim", of(asked))) == 1
	}
}

test_refused_absent if {
	every fields in [{}, {"spec": {}}, {"spec": {"resources": {"limits": {"storage": "1Gi"}}}}] {
		found("PersistentVolumeClaim", fields) == {{
			"path": "spec.resources.requests.storage",
			"value": "unset",
		}}
	}
}

test_refused_templates if {
	found("apps/StatefulSet", {"spec": {"volumeClaimTemplates": [of("1Gi"), of("2Ti"), {}]}}) == {
		{"path": "spec.volumeClaimTemplates[1].spec.resources.requests.storage", "value": "2Ti"},
		{"path": "spec.volumeClaimTemplates[2].spec.resources.requests.storage", "value": "unset"},
	}
}

test_refused_ephemeral_volume if {
	volumes := [{}, {"ephemeral": {"volumeClaimTemplate": of("2Ti")}}]
	found("Pod", {"spec": {"volumes": volumes}}) == {{
		"path": "spec.volumes[1].ephemeral.volumeClaimTemplate.spec.resources.requests.storage",
		"value": "2Ti",
	}}
}

test_admitted_at_most if {
	every asked in ["1Ti", "1024Gi", "1G", 5] {
		found("PersistentVolumeClaim", of(asked)) == set()
	}
	found("apps/StatefulSet", {"spec": {"volumeClaimTemplates": [of("1Gi")]}}) == set()
	found("Pod", {"spec": {"volumes": [{"ephemeral": {"volumeClaimTemplate": of("1Gi")}}, {}]}}) == set()
}

test_admitted_without_claims if {
	found("apps/StatefulSet", {"spec": {}}) == set()
	found("Pod", {}) == set()
}

of(asked) := {"spec": {"resources": {"requests": {"storage": asked}}}}

found(kind, fields) := denials if {
	denials := size.deny with input as {"kind": kind, "fields": fields}
		with data.sallyport.parameters.storage.size as {"max": "1Ti"}
}
