package sallyport.rules.ingress.class_test

import data.sallyport.rules.ingress.class as rule

annotation := "kubernetes.io/ingress.class"

test_refused_field if {
	every class in ["public", "", "Internal"] {
		found({"spec": {"ingressClassName": class}}, true) == {{
			"path": "spec.ingressClassName",
			"value": class,
		}}
	}
}

test_refused_of_another_type if {
	found({"spec": {"ingressClassName": ["internal"]}}, true) == {{
		"path": "spec.ingressClassName",
		"value": `["internal"]`,
	}}
}

test_refused_annotation if {
	metadata := {"annotations": {annotation: "public"}}
	found({"metadata": metadata, "spec": {"ingressClassName": "internal"}}, false) == {{
		"path": "metadata.annotations['kubernetes.io/ingress.class']",
		"value": "public",
	}}
}

test_refused_default if {
	every fields in [{}, {"spec": {}}, {"metadata": {"annotations": {}}}] {
		found(fields, false) == {{
			"path": "spec.ingressClassName",
			"value": "that is the cluster's default",
		}}
	}
}

test_admitted_listed if {
	found({"spec": {"ingressClassName": "internal"}}, false) == set()
	found({"metadata": {"annotations": {annotation: "internal"}}}, false) == set()
}

test_admitted_default if found({}, true) == set()

found(fields, default_allowed) := denials if {
	denials := rule.deny with input.fields as fields
		with data.sallyport.parameters.ingress.class as {"classes": ["internal"], "default": default_allowed}
}
