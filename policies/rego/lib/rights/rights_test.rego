package sallyport.lib.rights_test

import data.sallyport.lib.rights

test_a_resource_is_spoken_of_by_itself_and_by_wildcards if {
	every given in ["pods", "*", "*/*"] {
		rights.speaks_of(given, "pods")
	}
	every given in ["pods/exec", "*", "*/*", "*/exec", "pods/*"] {
		rights.speaks_of(given, "pods/exec")
	}
}

test_others_do_not_speak_of_it if {
	every given in ["Pods", "pod", "pods/exec", "*/exec", "pods/*", ""] {
		not rights.speaks_of(given, "pods")
	}
	every given in ["pods", "*/log", "services/*", "exec"] {
		not rights.speaks_of(given, "pods/exec")
	}
}

test_verb_and_group_must_both_be_given if {
	rule := {"path": "p", "verbs": ["get"], "apiGroups": ["apps"], "resources": ["deployments"]}
	rules := {"rights": {"rules": [rule]}}
	count(rights.giving({"get"}, "apps", "deployments")) == 1 with input.object as rules
	count(rights.giving({"list"}, "apps", "deployments")) == 0 with input.object as rules
	count(rights.giving({"get"}, "batch", "deployments")) == 0 with input.object as rules
	count(rights.giving({"get"}, "apps", "deployments")) == 0 with input as {"containers": []}
}

test_names_are_segments_and_without_any_all if {
	rights.names({"resourceNames": ["a/b", "c"]}) == {"a%2Fb", "c"}
	rights.names({}) == {"%2A"}
}
