# METADATA
# scope: package
# title: What roles and bindings give
# description: >-
#   What the rules about rights share. A wildcard gives what it stands for: * any verb, group or
#   resource with its subresources, */x that subresource of all. x/* and */*, which RBAC does not
#   take for wildcards though their authors do, are read as such too.
#   Source: k8s.io/kubernetes pkg/apis/rbac/v1/evaluation_helpers.go.
# schemas:
# - input: schema.projection
package sallyport.lib.rights

import data.sallyport.lib

rules := object.get(input, ["object", "rights", "rules"], [])

subjects := object.get(input, ["object", "rights", "subjects"], [])

aggregated := object.get(input, ["object", "rights", "aggregated"], [])

collected := object.get(input, ["object", "rights", "collected"], [])

default everywhere := false

everywhere := input.object.rights.everywhere

default unknown := false

unknown := input.object.rights.unknown

# METADATA
# title: Beyond one namespace
# scope: document
# description: Whether what is given is seen from outside the namespace that it lies in.
default beyond := false

beyond if everywhere

beyond if input.object.rights.foreign

writing := {"create", "update", "patch", "delete", "deletecollection"}

any_verb := {"get", "list", "watch"} | writing

# METADATA
# title: Rules that give
# description: Those that give any of the verbs on a resource of a group.
giving(verbs, group, wanted) := {rule |
	some rule in giving_any(verbs, group)
	some given in rule.resources
	speaks_of(given, wanted)
}

# METADATA
# title: Rules that give something of a group
# description: Those that give any of the verbs on anything of it.
giving_any(verbs, group) := {rule |
	some rule in rules
	some verb in rule.verbs
	verb in (verbs | {"*"})
	some given in rule.apiGroups
	given in [group, "*"]
}

# METADATA
# title: Rules that let impersonate
# description: Also by the verbs of constrained impersonation, such as impersonate:user-info.
impersonators := {rule |
	some rule in rules
	some verb in rule.verbs
	impersonates(verb)
	some given in rule.apiGroups
	given in {"", "authentication.k8s.io", "*"}
}

impersonates(verb) if verb in {"impersonate", "*"}

impersonates(verb) if startswith(verb, "impersonate:")

impersonating(wanted) := {rule |
	some rule in impersonators
	some given in rule.resources
	speaks_of(given, wanted)
}

# One definition for each: OPA 1.22 indexes `given in [...]` as if the list held no variable.
speaks_of(given, wanted) if given == wanted

speaks_of(given, _) if given in {"*", "*/*"}

speaks_of(given, wanted) if {
	[_, subresource] := split(wanted, "/")
	given == concat("/", ["*", subresource])
}

speaks_of(given, wanted) if {
	[parent, _] := split(wanted, "/")
	given == concat("/", [parent, "*"])
}

# METADATA
# title: Names of a rule
# description: As segments of privileges; %2A where it holds for every name.
names(rule) := {lib.segment(name) | some name in object.get(rule, "resourceNames", ["*"])}

# METADATA
# title: The resource, or all
# description: As a segment of a privilege; %2A where a rule does not name the resource.
resource(rule, wanted) := wanted if {
	wanted in rule.resources
} else := "%2A"

# METADATA
# title: A resource as it is meant
# description: The resource, or * for one with a wildcard in it.
either(given) := "*" if {
	contains(given, "*")
} else := given
