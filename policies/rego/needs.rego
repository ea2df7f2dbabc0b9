# METADATA
# scope: package
# title: What an object needs
# description: >-
#   The entry point for the projection of an object (schema/projection.json). Every rule is listed
#   here, and a test fails for a folder that is not.
# schemas:
# - input: schema.projection
package sallyport.needs

import data.sallyport.features
import data.sallyport.privileges
import data.sallyport.rules
import data.sallyport.sandbox

# METADATA
# title: The answer
# description: >-
#   What the engine asks for. It counts the containers that it saw, so that an input that could not
#   be read makes it undefined, which is an error, and not an object that needs nothing.
# entrypoint: true
answer := {
	"containers": count(input.containers),
	"needs": result,
	"denials": denials,
	"signals": weighed.signals,
	"features": weighed.features,
}

# METADATA
# title: What weighs
# description: >-
#   Signals and features, looked for only where a profile, the namespace or the author may ask for a
#   sandbox: they take a third of an evaluation.
# scope: document
weighed := {"signals": signals, "features": features.features} if input.weighed

weighed := {"signals": {}, "features": set()} if not input.weighed

# METADATA
# title: Needs by rule
# description: >-
#   An object from "family/rule" to the rule's entries, in no order, with only rules that have any.
#   An entry is {"privilege", "path"} and, where it concerns one container, "container".
result := object.union(of_pods, of_objects)

# METADATA
# title: Needs of Pods
# description: Also of other objects, for the rules that look at both.
of_pods := {rule: entries |
	some rule, entries in {
		"annotation/deprecated": privileges.annotation.deprecated.needs,
		"apparmor/profile": privileges.apparmor.profile.needs,
		"capability/add": privileges.capability.add.needs,
		"capability/defaults": privileges.capability.defaults.needs,
		"container/privilege_escalation": privileges.container.privilege_escalation.needs,
		"container/privileged": privileges.container.privileged.needs,
		"container/root_filesystem": privileges.container.root_filesystem.needs,
		"debug/image": privileges.debug.image.needs,
		"debug/target": privileges.debug.target.needs,
		"dns/host_alias": privileges.dns.host_alias.needs,
		"dns/settings": privileges.dns.settings.needs,
		"gpu/environment": privileges.gpu.environment.needs,
		"gpu/mount": privileges.gpu.mount.needs,
		"host/ipc": privileges.host.ipc.needs,
		"host/network": privileges.host.network.needs,
		"host/pid": privileges.host.pid.needs,
		"host/port": privileges.host.port.needs,
		"host/probe": privileges.host.probe.needs,
		"host/process": privileges.host.process.needs,
		"identity/gmsa": privileges.identity.gmsa.needs,
		"image/digest": privileges.image.digest.needs,
		"image/registry": privileges.image.registry.needs,
		"limits/unset": privileges.limits.unset.needs,
		"proc_mount/unmasked": privileges.proc_mount.unmasked.needs,
		"process_namespace/shared": privileges.process_namespace.shared.needs,
		"run_as/administrator": privileges.run_as.administrator.needs,
		"run_as/host_users": privileges.run_as.host_users.needs,
		"run_as/root": privileges.run_as.root.needs,
		"run_as/unset": privileges.run_as.unset.needs,
		"scheduling/anti_affinity": privileges.scheduling.anti_affinity.needs,
		"scheduling/node_name": privileges.scheduling.node_name.needs,
		"scheduling/priority": privileges.scheduling.priority.needs,
		"scheduling/toleration": privileges.scheduling.toleration.needs,
		"seccomp/unconfined": privileges.seccomp.unconfined.needs,
		"seccomp/unset": privileges.seccomp.unset.needs,
		"selinux/level": privileges.selinux.level.needs,
		"selinux/options": privileges.selinux.options.needs,
		"shared_volume/group": privileges.shared_volume.group.needs,
		"shared_volume/user": privileges.shared_volume.user.needs,
		"sysctl/set": privileges.sysctl.set.needs,
		"token/audience": privileges.token.audience.needs,
		"token/automount": privileges.token.automount.needs,
		"token/certificate": privileges.token.certificate.needs,
		"volume/block": privileges.volume.block.needs,
		"volume/csi": privileges.volume.csi.needs,
		"volume/host_path": privileges.volume.host_path.needs,
		"volume/mount_option": privileges.volume.mount_option.needs,
		"volume/secret": privileges.volume.secret.needs,
		"volume/type": privileges.volume.type.needs,
	}
	count(entries) > 0
}

# METADATA
# title: Needs of what is no Pod
# description: Rules that look at input.object alone are not asked about Pods, which have none.
# scope: document
of_objects := {} if not input.object

of_objects := {rule: entries |
	some rule, entries in {
		"attach/stream": privileges.attach.stream.needs,
		"certificate/approve": privileges.certificate.approve.needs,
		"certificate/identity": privileges.certificate.identity.needs,
		"certificate/pod": privileges.certificate.pod.needs,
		"certificate/request": privileges.certificate.request.needs,
		"device/admin_access": privileges.device.admin_access.needs,
		"device/config": privileges.device.config.needs,
		"device/extended_resource": privileges.device.extended_resource.needs,
		"device/toleration": privileges.device.toleration.needs,
		"exec/code": privileges.exec.code.needs,
		"exec/command": privileges.exec.command.needs,
		"exec/interactive": privileges.exec.interactive.needs,
		"identity/federated": privileges.identity.federated.needs,
		"port_forward/any": privileges.port_forward.any.needs,
		"proxy/node": privileges.proxy.node.needs,
		"proxy/pod": privileges.proxy.pod.needs,
		"proxy/service": privileges.proxy.service.needs,
		"rights/aggregate": privileges.rights.aggregate.needs,
		"rights/apis": privileges.rights.apis.needs,
		"rights/approve": privileges.rights.approve.needs,
		"rights/bind": privileges.rights.bind.needs,
		"rights/certificates": privileges.rights.certificates.needs,
		"rights/collect": privileges.rights.collect.needs,
		"rights/escalate": privileges.rights.escalate.needs,
		"rights/exempt": privileges.rights.exempt.needs,
		"rights/impersonate": privileges.rights.impersonate.needs,
		"rights/network": privileges.rights.network.needs,
		"rights/nodes_proxy": privileges.rights.nodes_proxy.needs,
		"rights/pod_certificates": privileges.rights.pod_certificates.needs,
		"rights/sallyport": privileges.rights.sallyport.needs,
		"rights/secrets": privileges.rights.secrets.needs,
		"rights/subject": privileges.rights.subject.needs,
		"rights/token": privileges.rights.token.needs,
		"rights/unknown_role": privileges.rights.unknown_role.needs,
		"rights/use": privileges.rights.use.needs,
		"rights/webhooks": privileges.rights.webhooks.needs,
		"rights/wildcard": privileges.rights.wildcard.needs,
		"rights/workloads": privileges.rights.workloads.needs,
		"runtime_class/handler": privileges.runtime_class.handler.needs,
		"scheduling/bind": privileges.scheduling.bind.needs,
		"storage/driver": privileges.storage.driver.needs,
		"storage/provisioner": privileges.storage.provisioner.needs,
		"token/lasting": privileges.token.lasting.needs,
		"token/request": privileges.token.request.needs,
	}
	count(entries) > 0
} if {
	input.object
}

# METADATA
# title: Denials by rule
# description: >-
#   An object from "category/rule" to what the rule denies, whatever the profile: entries
#   {"path", "value"}, with only rules that have any.
denials := {rule: entries |
	some rule, entries in {
		"identity/proxy_sidecar": rules.identity.proxy_sidecar.deny,
		"runtime/annotations": rules.runtime.annotations.deny,
	}
	count(entries) > 0
}

# METADATA
# title: Signals by rule
# description: >-
#   An object from "family/signal" to what makes the object riskier: entries {"path", "value"} and,
#   where it concerns one container, "container"; with only rules that have any.
signals := {rule: entries |
	some rule, entries in {
		"actor/debug": sandbox.actor.debug.signals,
		"code/build": sandbox.code.build.signals,
		"code/environment": sandbox.code.environment.signals,
		"code/generated": sandbox.code.generated.signals,
		"code/installs": sandbox.code.installs.signals,
		"code/interactive": sandbox.code.interactive.signals,
		"code/notebook": sandbox.code.notebook.signals,
		"code/public_image": sandbox.code.public_image.signals,
		"code/remote_script": sandbox.code.remote_script.signals,
		"code/unpinned_image": sandbox.code.unpinned_image.signals,
		"exposure/unlimited": sandbox.exposure.unlimited.signals,
		"identity/token": sandbox.identity.token.signals,
		"identity/workload_identity": sandbox.identity.workload_identity.signals,
	}
	count(entries) > 0
}
