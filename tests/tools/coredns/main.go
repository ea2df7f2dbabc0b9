// CoreDNS with only the plugins that a cluster's own names need, those that ask and remember other
// servers' answers, and the one that tells of answers (dnstap).
package main

import (
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/dnstap"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	_ "github.com/coredns/coredns/plugin/ready"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
)

func main() {
	// In the order of CoreDNS's own plugin.cfg.
	dnsserver.Directives = []string{
		"bind", "ready", "errors", "dnstap", "loadbalance", "cache", "kubernetes", "forward",
	}
	coremain.Run()
}
