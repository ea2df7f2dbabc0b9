# METADATA
# scope: package
# title: What a Pod needs
# description: >-
#   The entry point for the projection of a Pod (schema/projection.json). Every privilege rule is
#   listed here, and a test fails for a folder that is not.
# schemas:
# - input: schema.projection
package sallyport.needs

import data.sallyport.privileges

# METADATA
# title: The answer
# description: >-
#   What the engine asks for. It counts the containers that it saw, so that an input that could not
#   be read makes it undefined, which is an error, and not an object that needs nothing.
# entrypoint: true
answer := {"containers": count(input.containers), "needs": result}

# METADATA
# title: Needs by rule
# description: >-
#   An object from "family/rule" to the rule's entries, in no order, with only rules that have any:
#   a Pod that asks for nothing beyond Pod Security restricted gives {}. An entry is
#   {"privilege", "path"} and, where it concerns one container, "container".
result := {rule: entries |
	some rule, entries in {
		"apparmor/profile": privileges.apparmor.profile.needs,
		"capability/add": privileges.capability.add.needs,
		"capability/defaults": privileges.capability.defaults.needs,
		"container/privilege_escalation": privileges.container.privilege_escalation.needs,
		"container/privileged": privileges.container.privileged.needs,
		"host/ipc": privileges.host.ipc.needs,
		"host/network": privileges.host.network.needs,
		"host/pid": privileges.host.pid.needs,
		"host/port": privileges.host.port.needs,
		"host/probe": privileges.host.probe.needs,
		"host/process": privileges.host.process.needs,
		"proc_mount/unmasked": privileges.proc_mount.unmasked.needs,
		"run_as/root": privileges.run_as.root.needs,
		"run_as/unset": privileges.run_as.unset.needs,
		"seccomp/unconfined": privileges.seccomp.unconfined.needs,
		"seccomp/unset": privileges.seccomp.unset.needs,
		"selinux/options": privileges.selinux.options.needs,
		"sysctl/set": privileges.sysctl.set.needs,
		"volume/host_path": privileges.volume.host_path.needs,
		"volume/type": privileges.volume.type.needs,
	}
	count(entries) > 0
}
