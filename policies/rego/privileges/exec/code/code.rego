# METADATA
# scope: package
# title: Code given to a shell or interpreter
# description: >-
#   A shell, an interpreter or a program that starts others runs what its arguments say: sh -c,
#   python3 -c, env, busybox, xargs, find -exec, tar --to-command. Then the command's name says
#   nothing, so the arguments take a privilege of their own, by the program's name without its
#   version. The list holds those that are known; it cannot be complete, and a copy under another
#   name is not on it.
# related_resources:
# - ref: https://kubernetes.io/docs/tasks/debug/debug-application/get-shell-running-container/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/api/blob/v0.36.3/core/v1/types.go
#   description: PodExecOptions, PodAttachOptions, PodPortForwardOptions, PodProxyOptions
# - ref: https://gtfobins.github.io/
#   description: Programs that run others
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 3
#   privileges:
#   - "exec/code/*"
#   message: has {rest} run what the arguments of the command say
#   remedy: >-
#     Name the program itself as the command, without a shell around it, or ask for a profile that
#     covers exec/code.
package sallyport.privileges.exec.code

import data.sallyport.lib

# Programs that run code which they are given.
runners := {
	"ash",
	"awk",
	"bash",
	"busybox",
	"chroot",
	"csh",
	"dash",
	"doas",
	"env",
	"ex",
	"exec",
	"find",
	"fish",
	"flock",
	"gawk",
	"gdb",
	"git",
	"ionice",
	"irb",
	"java",
	"julia",
	"ksh",
	"lua",
	"make",
	"mawk",
	"mksh",
	"nawk",
	"nice",
	"node",
	"nohup",
	"nsenter",
	"openssl",
	"parallel",
	"perl",
	"php",
	"pip",
	"pwsh",
	"python",
	"rbash",
	"rsync",
	"ruby",
	"runuser",
	"script",
	"sed",
	"setpriv",
	"setsid",
	"sh",
	"ssh",
	"stdbuf",
	"strace",
	"su",
	"sudo",
	"tar",
	"taskset",
	"tclsh",
	"tcsh",
	"time",
	"timeout",
	"toybox",
	"unshare",
	"vi",
	"vim",
	"watch",
	"xargs",
	"zsh",
}

needs contains entry if {
	input.object.kind == "PodExecOptions"
	input.object.arguments
	name := program(input.object.command)
	name in runners
	entry := {"privilege": concat("", ["exec/code/", lib.segment(name)]), "path": "command"}
}

# METADATA
# title: Name of a program
# description: "The last part of its path, without a version: python3.12 is python."
program(command) := trim_right(name, "0123456789.-") if {
	parts := split(command, "/")
	name := parts[count(parts) - 1]
}
