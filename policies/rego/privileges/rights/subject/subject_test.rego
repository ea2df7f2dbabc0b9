package sallyport.privileges.rights.subject_test

import data.sallyport.privileges.rights.subject

test_refused_everyone if {
	subject.needs == {{"privilege": "rights/subject/system:authenticated", "path": "subjects[0]"}} with input as {"containers": [], "object": {"kind": "RoleBinding", "rights": {"subjects": [{"path": "subjects[0]", "kind": "Group", "name": "system:authenticated"}]}}}
}

test_refused_no_one_known if {
	subject.needs == {{"privilege": "rights/subject/system:anonymous", "path": "subjects[1]"}} with input as {"containers": [], "object": {"kind": "ClusterRoleBinding", "rights": {"everywhere": true, "subjects": [{"path": "subjects[1]", "kind": "User", "name": "system:anonymous"}]}}}
}

test_refused_accounts if {
	subject.needs == {{"privilege": "rights/subject/system:serviceaccounts:train", "path": "subjects[0]"}} with input as {"containers": [], "object": {"kind": "RoleBinding", "rights": {"subjects": [{"path": "subjects[0]", "kind": "Group", "name": "system:serviceaccounts:train"}]}}}
}

test_refused_default if {
	subject.needs == {{"privilege": "rights/subject/default", "path": "subjects[0]"}} with input as {"containers": [], "object": {"kind": "RoleBinding", "rights": {"subjects": [{"path": "subjects[0]", "kind": "ServiceAccount", "name": "default", "namespace": "train"}]}}}
}

test_refused_star if {
	subject.needs == {{"privilege": "rights/subject/%2A", "path": "subjects[0]"}} with input as {"containers": [], "object": {"kind": "RoleBinding", "rights": {"subjects": [{"path": "subjects[0]", "kind": "User", "name": "*"}]}}}
}

test_admitted_people if {
	subject.needs == set() with input as {"containers": [], "object": {"kind": "RoleBinding", "rights": {"subjects": [{"path": "subjects[0]", "kind": "Group", "name": "researchers"}, {"path": "subjects[1]", "kind": "User", "name": "default"}]}}}
}

test_admitted_account if {
	subject.needs == set() with input as {"containers": [], "object": {"kind": "RoleBinding", "rights": {"subjects": [{"path": "subjects[0]", "kind": "ServiceAccount", "name": "trainer", "namespace": "train"}]}}}
}

test_admitted_pod if {
	subject.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
