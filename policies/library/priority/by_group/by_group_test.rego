package sallyport.rules.priority.by_group_test

import data.sallyport.rules.priority.by_group

test_refused_others if {
	every groups in [[], ["researchers"], ["leads2", "system:authenticated"]] {
		found("urgent", "human", groups) == {{"path": "spec.priorityClassName", "value": "urgent"}}
	}
}

test_refused_unlisted if {
	found("secret", "human", ["leads"]) == {{"path": "spec.priorityClassName", "value": "secret"}}
}

test_refused_by_whatever_asks if {
	every requester in ["entra-human", "service-account", "component", "pipeline", "node", "anonymous"] {
		count(found("urgent", requester, [])) == 1
	}
}

test_admitted_of_the_group if found("urgent", "human", ["a", "leads"]) == set()

test_admitted_everyones if found("low", "human", []) == set()

test_admitted_controller if found("urgent", "controller", []) == set()

test_admitted_none if {
	by_group.deny == set() with input as {
		"context": {"requester": "human", "groups": []},
		"projection": {"containers": []},
	}
		with data.sallyport.parameters.priority.by_group as {"classes": {}, "everyone": []}
}

found(class, requester, groups) := denials if {
	denials := by_group.deny with input as {
		"context": {"requester": requester, "groups": groups},
		"projection": {"containers": [], "priorityClass": class},
	}
		with data.sallyport.parameters.priority.by_group as {"classes": {"urgent": ["leads"]}, "everyone": ["low"]}
}
