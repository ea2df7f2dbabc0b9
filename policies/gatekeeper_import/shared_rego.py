"""The Rego that all templates which are carried over use."""

from typing import Final

ROOT: Final = "site.gatekeeper"
"""The package below which all lies that is carried over."""

SHARED: Final = f"{ROOT}.shared"
"""The package of what all of it uses."""

SHARED_REGO: Final = f"""\
# Written by `sallyport policy import gatekeeper`: what templates that were carried over share.
package {SHARED}

any(values) if true in values

any(values) := false if not true in values

all(values) if {{
	every value in values {{
		value == true
	}}
}}

all(values) := false if {{
	some value in values
	value != true
}}

# What OPA compiles `replace` to never ends where there is nothing to look for.
replaced(text, old, new) := replace(text, old, new) if old != ""

replaced(text, "", "") := text if is_string(text)

replaced(text, "", new) := concat(new, array.concat([""], around)) if {{
	new != ""
	around := array.concat(split(text, ""), [""])
}}

cast_array(values) := [value | some value in values]

cast_set(values) := {{value | some value in values}}

cast_string(value) := value if is_string(value)

cast_boolean(value) := value if is_boolean(value)

cast_object(value) := value if is_object(value)

cast_null(value) := value if is_null(value)

set_diff(left, right) := left - right

message(found) := substring(found.msg, 0, 500) if {{
	is_string(found.msg)
	found.msg != ""
}} else := substring(json.marshal(found), 0, 500)

path(found, otherwise) := found.details.path if is_string(found.details.path)

else := found.details.field if is_string(found.details.field)

else := otherwise

# What Gatekeeper shows of an object beside what a rule declares of it.
object_of(given, fields, here) := object.union(
	object.union(fields, identity(given)),
	placed(given.kind, here),
)

identity(given) := {{"apiVersion": version, "kind": kind}} if {{
	parts := split(given.kind, "/")
	kind := parts[count(parts) - 1]
	version := api_version(given)
}}

api_version(given) := "v1" if given.kind == "Pod"

else := object.get(given.fields, "apiVersion", "v1")

placed(kind, here) := {{"metadata": namespace_of(here)}} if kind != "Namespace"

else := {{}}

namespace_of(namespace) := {{"namespace": namespace}} if namespace != ""

else := {{}}

kind_of(kind, fields) := {{"group": group, "kind": name, "version": version}} if {{
	parts := split(kind, "/")
	name := parts[count(parts) - 1]
	group := concat("/", array.slice(parts, 0, count(parts) - 1))
	versions := split(object.get(fields, "apiVersion", "v1"), "/")
	version := versions[count(versions) - 1]
}}

# The name by which namespaces select: that of a Namespace itself; empty where there is none.
namespace(kind, name, _) := name if kind == "Namespace"

namespace(kind, _, namespace_of) := namespace_of if kind != "Namespace"

within("", _)

within(namespace, patterns) if {{
	namespace != ""
	some pattern in patterns
	glob.match(pattern, [], namespace)
}}

outside("", _)

outside(namespace, patterns) if {{
	namespace != ""
	not within(namespace, patterns)
}}

selects(selector, labels) if {{
	every key, value in object.get(selector, "matchLabels", {{}}) {{
		labels[key] == value
	}}
	every demand in object.get(selector, "matchExpressions", []) {{
		meets(demand, labels)
	}}
}}

# Apart, since `not` is undefined where what a function is given is.
named(demand, labels) if labels[demand.key] in demand.values

meets(demand, labels) if {{
	demand.operator == "In"
	named(demand, labels)
}}

meets(demand, labels) if {{
	demand.operator == "NotIn"
	not named(demand, labels)
}}

meets(demand, labels) if {{
	demand.operator == "Exists"
	demand.key in object.keys(labels)
}}

meets(demand, labels) if {{
	demand.operator == "DoesNotExist"
	not demand.key in object.keys(labels)
}}
"""
