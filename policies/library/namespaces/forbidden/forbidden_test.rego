package sallyport.rules.namespaces.forbidden_test

import data.sallyport.rules.namespaces.forbidden

test_refused_listed if {
	found("default") == {{"path": "metadata.namespace", "value": "default"}}
}

test_admitted_others if {
	every namespace in ["research", "default-b", ""] {
		found(namespace) == set()
	}
}

found(namespace) := denials if {
	denials := forbidden.deny with input.context.namespace as namespace
		with data.sallyport.parameters.namespaces.forbidden as {"namespaces": ["default"]}
}
