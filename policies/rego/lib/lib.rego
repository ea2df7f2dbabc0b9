# METADATA
# scope: package
# title: Segments of privileges, and paths
# description: >-
#   What several rules share. The grammar of privileges is in core/privileges.py.
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
#   The path of the field that says what the volume is. A claim that is bound to a PersistentVolume
#   stands for the volume; then the claim is the field that its author wrote.
source(volume, type) := volume.path if {
	names_volume(volume.path)
} else := concat("", [volume.path, ".", type])

names_volume(path) if endswith(path, ".persistentVolumeClaim")

names_volume("spec.volumeName")
