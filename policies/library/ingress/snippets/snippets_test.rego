package sallyport.rules.ingress.snippets_test

import data.sallyport.rules.ingress.snippets

test_refused_snippets if {
	every name in [
		"nginx.ingress.kubernetes.io/configuration-snippet",
		"nginx.ingress.kubernetes.io/server-snippet",
		"other.example/auth-snippet",
		"nginx.org/server-snippets",
		"nginx.ingress.kubernetes.io/auth-url",
	] {
		found({"a": "b", name: "return 200;"}) == {{
			"path": concat("", ["metadata.annotations['", name, "']"]),
			"value": name,
		}}
	}
}

test_refused_of_another_type if count(found({"nginx.org/server-snippets": 5})) == 1

test_refused_no_annotations if {
	every junk in [5, "a", ["nginx.org/server-snippets"]] {
		found(junk) == {{"path": "metadata.annotations", "value": "what is no annotation"}}
	}
}

test_admitted_none if {
	snippets.deny == set() with input.fields as {}
		with data.sallyport.parameters.ingress.snippets as {"annotations": []}
}

test_admitted_others if {
	found({}) == set()
	found({"nginx.ingress.kubernetes.io/rewrite-target": "/", "snippet": "a"}) == set()
}

found(annotations) := denials if {
	denials := snippets.deny with input.fields.metadata.annotations as annotations
		with data.sallyport.parameters.ingress.snippets as {"annotations": ["nginx.ingress.kubernetes.io/auth-url"]}
}
