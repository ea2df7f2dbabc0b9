# METADATA
# scope: package
# title: Image that anyone may publish
# description: >-
#   The image comes from a registry where anyone may publish under a name of their choice (Docker
#   Hub without its official images, ghcr.io, quay.io, public.ecr.aws and the like), or it cannot
#   be read where it comes from: code of third parties. Which registries are the site's own is
#   said by profiles (image/from/…); an image that is had by an exception only counts besides.
# related_resources:
# - ref: https://attack.mitre.org/techniques/T1204/003/
#   description: MITRE ATT&CK T1204.003, Malicious Image
# - ref: https://csrc.nist.gov/pubs/sp/800/190/final
#   description: NIST SP 800-190, Application Container Security Guide
# - ref: https://gvisor.dev/docs/user_guide/production/
#   description: 'gVisor, Production guide: untrusted code and code of third parties'
# schemas:
# - input: schema.projection
# custom:
#   since: 1
#   points: 15
#   message: runs an image that anyone may have published ({value})
#   remedy: >-
#     Copy the image into your own registry after a scan and name it there by digest.
package sallyport.sandbox.code.public_image

signals contains entry if {
	some container in input.containers
	container.public
	entry := {
		"path": concat("", [container.path, ".image"]),
		"value": object.get(container, "imageFrom", "%00"),
		"container": container.name,
	}
}

signals contains entry if {
	some volume in input.volumes
	volume.image.public
	entry := {
		"path": concat("", [volume.path, ".image.reference"]),
		"value": object.get(volume.image, "from", "%00"),
	}
}
