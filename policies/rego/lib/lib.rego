# METADATA
# scope: package
# title: Segments of privileges, and paths
# description: >-
#   What several rules share. The grammar of privileges is in core/profiles/privileges.py.
package sallyport.lib

# The characters that stand for themselves in a privilege, the frequent ones first: trim compares
# with each in turn.
plain := "etaoinsrhldcumfpgwybvkxjqz.-0123456789_:ETAOINSRHLDCUMFPGWYBVKXJQZ"

# METADATA
# title: One segment of a privilege
# description: >-
#   Text as one segment: what is outside A-Za-z0-9._:- becomes the percent-encoded octets of its
#   UTF-8. "." and "..", which a reader would take for directories, are encoded too, and an empty
#   text is "%00": every value gives a segment, so no finding is lost, and a "/" in a value never
#   makes two. urlquery.encode accepts every string; it is asked only for what is not plain.
# scope: document
segment("") := "%00"

segment(".") := "%2E"

segment("..") := "%2E%2E"

segment(text) := text if {
	trim(text, plain) == ""
	not text in {"", ".", ".."}
}

segment(text) := replace(replace(replace(encoded, "+", "%20"), "%3A", ":"), "~", "%7E") if {
	trim(text, plain) != ""
	encoded := urlquery.encode(text)
}

# METADATA
# title: Path of a list's element
# description: The list's path and the index in brackets.
indexed(path, index) := concat("", [path, "[", format_int(index, 10), "]"])

# METADATA
# title: Path of a volume's source
# description: >-
#   The path of the field that says what the volume is. A volume is an element of a list, or all
#   of a PersistentVolume; its source is the field below it that is named like its type. Any
#   other path is that of the field already: of a claim that stands for the volume, or of a
#   source that is named otherwise.
source(volume, type) := concat("", [volume.path, ".", type]) if {
	has_types(volume.path)
} else := volume.path

has_types("spec")

has_types(path) if endswith(path, "]")

# METADATA
# title: A signal from a hint
# description: The hint's path and word, and its container where it has one.
# scope: document
hinted(hint) := {"path": hint.path, "value": hint.word, "container": hint.container}

hinted(hint) := {"path": hint.path, "value": hint.word} if not hint.container

# METADATA
# title: A signal from what an object needs
# description: The path and the container of the rule's entry, and what the message speaks of.
# scope: document
needed(need, value) := {"path": need.path, "value": value, "container": need.container}

needed(need, value) := {"path": need.path, "value": value} if not need.container
