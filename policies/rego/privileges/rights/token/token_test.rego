package sallyport.privileges.rights.token_test

import data.sallyport.privileges.rights.token

test_refused_any if {
	token.needs == {{"privilege": "rights/token/%2A", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["create"], "apiGroups": [""], "resources": ["serviceaccounts/token"]}]}}}
}

test_refused_named if {
	token.needs == {{"privilege": "rights/token/issuer", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["create"], "apiGroups": [""], "resources": ["serviceaccounts/token"], "resourceNames": ["issuer"]}]}}}
}

test_refused_of_everything if {
	token.needs == {{"privilege": "rights/token/%2A", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["create"], "apiGroups": [""], "resources": ["*/token"]}]}}}
}

test_refused_subresources if {
	token.needs == {{"privilege": "rights/token/%2A", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["create"], "apiGroups": [""], "resources": ["serviceaccounts/*"]}]}}}
}

test_admitted_accounts_alone if {
	token.needs == set() with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["create"], "apiGroups": [""], "resources": ["serviceaccounts"]}]}}}
}

test_admitted_other_verb if {
	token.needs == set() with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["get"], "apiGroups": [""], "resources": ["serviceaccounts/token"]}]}}}
}

test_admitted_pod if {
	token.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
