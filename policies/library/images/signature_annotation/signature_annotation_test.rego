package sallyport.rules.images.signature_annotation_test

import data.sallyport.rules.images.signature_annotation

unvouched := {{"path": "spec.initContainers[0].image", "value": "a:1", "container": "main"}}

test_refused_without_a_verdict if {
	every annotations in [{}, {"verified": ""}, {"verified": "{"}, {"verified": "[]"}, {"verified": 5}] {
		found("a:1", {"namespace": "n", "annotations": annotations}, false) == unvouched
	}
	found("a:1", {"namespace": "n"}, false) == unvouched
}

test_refused_by_its_verdict if {
	every verdict in [`"fail"`, `"skip"`, "false", "null", `["pass"]`, `{"pass": true}`] {
		found("a:1", annotated(concat("", [`{"a:1": `, verdict, "}"])), false) == unvouched
	}
}

test_refused_verdict_of_another if {
	found("a:1", annotated(`{"a:2": "pass", "pass": "a:1"}`), false) == unvouched
}

test_refused_volume if {
	volumes := [
		{"path": "spec.volumes[0]", "image": {"reference": "b:1"}},
		{"path": "spec.volumes[1]", "image": {}},
	]
	signature_annotation.deny == {
		{"path": "spec.volumes[0].image.reference", "value": "b:1"},
		{"path": "spec.volumes[1].image.reference", "value": ""},
	} with input as {
		"projection": {"containers": [], "volumes": volumes},
		"fields": {"metadata": annotated(`{"a:1": "pass"}`)},
	}
		with data.sallyport.parameters.images.signature_annotation as parameters(false)
}

test_refused_template_where_asked if found("a:1", {}, true) == unvouched

test_admitted_vouched if {
	found("a:1", annotated(`{"a:1": "pass"}`), false) == set()
	found("a:1", annotated(`{"a:1": true, "b:1": "fail"}`), false) == set()
}

test_admitted_template if found("a:1", {}, false) == set()

annotated(text) := {"namespace": "n", "annotations": {"verified": text}}

parameters(templates) := {"annotation": "verified", "verdicts": ["pass", true], "templates": templates}

found(image, metadata, templates) := denials if {
	containers := [{"path": "spec.initContainers[0]", "name": "main", "image": image}]
	denials := signature_annotation.deny with input as {
		"projection": {"containers": containers},
		"fields": {"metadata": metadata},
	}
		with data.sallyport.parameters.images.signature_annotation as parameters(templates)
}
