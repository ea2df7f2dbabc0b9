// Judges connections by Cilium's own policy library, for our tests: what Cilium's agent would enforce
// of CiliumNetworkPolicies. It reads one JSON document from standard input,
//
//	{"policies": [CiliumNetworkPolicy or CiliumClusterwideNetworkPolicy, ...],
//	 "questions": [{"from": POD, "to": TARGET, "protocol": "TCP", "port": 443, "name": "asked.example"}]}
//
// where POD is {"namespace": ..., "labels": {...}} and TARGET one of {"pod": POD},
// {"address": ..., "names": [names that DNS answered with it]} and {"entity": ..., "address": ...}.
// An entity without an address is a node of the cluster (or any address of the world, of IPv4); the
// entity kube-apiserver with an address is outside of the cluster. It writes
//
//	{"answers": [{"allowed": ..., "dns": [patterns] or null, "answered": ...}], "problems": [...]}
//
// `dns` has the names that DNS may be asked for on the connection, null where nothing filters them;
// `answered` tells whether a question for `name` passes there. Policies go through Cilium's parser, its
// repository and its selector cache into the policy map of the Pod; addresses get identities from
// Cilium's ipcache; questions for names go to the rules of its DNS proxy.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	cmtypes "github.com/cilium/cilium/pkg/clustermesh/types"
	"github.com/cilium/cilium/pkg/endpoint/regeneration"
	"github.com/cilium/cilium/pkg/fqdn/dnsproxy"
	"github.com/cilium/cilium/pkg/fqdn/re"
	"github.com/cilium/cilium/pkg/fqdn/restore"
	"github.com/cilium/cilium/pkg/identity"
	"github.com/cilium/cilium/pkg/identity/identitymanager"
	"github.com/cilium/cilium/pkg/ipcache"
	ipcachetypes "github.com/cilium/cilium/pkg/ipcache/types"
	"github.com/cilium/cilium/pkg/k8s"
	v2 "github.com/cilium/cilium/pkg/k8s/apis/cilium.io/v2"
	slim_corev1 "github.com/cilium/cilium/pkg/k8s/slim/k8s/api/core/v1"
	slim_metav1 "github.com/cilium/cilium/pkg/k8s/slim/k8s/apis/meta/v1"
	"github.com/cilium/cilium/pkg/k8s/synced"
	"github.com/cilium/cilium/pkg/labels"
	"github.com/cilium/cilium/pkg/labelsfilter"
	"github.com/cilium/cilium/pkg/option"
	"github.com/cilium/cilium/pkg/policy"
	"github.com/cilium/cilium/pkg/policy/api"
	"github.com/cilium/cilium/pkg/policy/types"
	policyutils "github.com/cilium/cilium/pkg/policy/utils"
	"github.com/cilium/cilium/pkg/source"
	testidentity "github.com/cilium/cilium/pkg/testutils/identity"
	"github.com/cilium/cilium/pkg/u8proto"
)

const (
	clusterName    = "default"
	namespaceLabel = "kubernetes.io/metadata.name"
	identitiesWait = 30 * time.Second
	compiledRegexs = 4096
)

type pod struct {
	Namespace string            `json:"namespace"`
	Labels    map[string]string `json:"labels"`
}

type target struct {
	Pod     *pod       `json:"pod"`
	Address netip.Addr `json:"address"`
	Names   []string   `json:"names"`
	Entity  string     `json:"entity"`
}

type question struct {
	From     pod    `json:"from"`
	To       target `json:"to"`
	Protocol string `json:"protocol"`
	Port     uint16 `json:"port"`
	Name     string `json:"name"`
}

type answer struct {
	Allowed  bool     `json:"allowed"`
	DNS      []string `json:"dns"`
	Answered *bool    `json:"answered"`
}

type problem struct {
	Policy string `json:"policy"`
	Reason string `json:"reason"`
}

type request struct {
	Policies  []v2.CiliumNetworkPolicy `json:"policies"`
	Questions []question               `json:"questions"`
}

type response struct {
	Answers  []answer  `json:"answers"`
	Problems []problem `json:"problems"`
}

// What Cilium's agent does with policies, without a cluster or a kernel.
type agent struct {
	logger     *slog.Logger
	repository *policy.Repository
	allocator  *testidentity.MockIdentityAllocator
	proxy      *dnsproxy.DNSProxy
	prefixes   []netip.Prefix
	names      []*api.FQDNSelector
	endpoints  map[identity.NumericIdentity]*endpoint
}

func newAgent() (*agent, error) {
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	option.Config.ClusterName = clusterName
	option.Config.EnableIPv4, option.Config.EnableIPv6 = true, true
	option.Config.EnableL7Proxy, option.Config.EnableSCTP = true, true
	policy.SetPolicyEnabled(option.DefaultEnforcement)
	re.Resize(logger, compiledRegexs)
	if err := labelsfilter.ParseLabelPrefixCfg(logger, nil, nil, ""); err != nil {
		return nil, err
	}
	reserved := identity.ListReservedIdentities()
	repository := policy.NewPolicyRepository(logger, reserved, nil, nil, identitymanager.NewIDManager(logger), nil)
	repository.GetSelectorCache().SetLocalIdentityNotifier(testidentity.NewDummyIdentityNotifier())
	return &agent{
		logger:     logger,
		repository: repository,
		allocator:  testidentity.NewMockIdentityAllocator(nil),
		proxy:      dnsproxy.NewDNSProxy(dnsproxy.DNSProxyConfig{Logger: logger}, nil, nil),
		endpoints:  map[identity.NumericIdentity]*endpoint{},
	}, nil
}

// Imports a policy as policyWatcher.upsertCiliumNetworkPolicyV2 (pkg/policy/k8s) does.
func (a *agent) add(item *v2.CiliumNetworkPolicy) error {
	cluster := cmtypes.LocalClusterNameForPolicies(cmtypes.DefaultPolicyConfig, clusterName)
	rules, err := item.Parse(a.logger, cluster)
	if err != nil {
		return err
	}
	entries := policyutils.RulesToPolicyEntries(rules)
	resource := ipcachetypes.NewResourceID(ipcachetypes.ResourceKindCNP, item.Namespace, item.Name)
	a.repository.ReplaceByResource(entries, resource)
	a.prefixes = append(a.prefixes, policy.GetCIDRPrefixes(entries)...)
	for _, entry := range entries {
		for _, selector := range entry.L3 {
			if names, ok := selector.(*types.FQDNSelector); ok {
				found, _ := names.GetFQDNSelector()
				a.names = append(a.names, found)
			}
		}
	}
	return nil
}

// Tells the selector cache of identities, as the agent does before the ipcache has them.
func (a *agent) UpdateIdentities(added, deleted identity.IdentityMap) <-chan struct{} {
	var waiting sync.WaitGroup
	a.repository.GetSelectorCache().UpdateIdentities(added, deleted, &waiting)
	waiting.Wait()
	done := make(chan struct{})
	close(done)
	return done
}

// Returns the identity of a Pod by the labels that count.
func (a *agent) podIdentity(of pod) (*identity.Identity, error) {
	meta := slim_metav1.ObjectMeta{Namespace: of.Namespace, Labels: maps.Clone(of.Labels)}
	if meta.Labels == nil {
		meta.Labels = map[string]string{}
	}
	namespace := &slim_corev1.Namespace{ObjectMeta: slim_metav1.ObjectMeta{
		Name: of.Namespace, Labels: map[string]string{namespaceLabel: of.Namespace},
	}}
	_, found := k8s.GetPodMetadata(a.logger, namespace, &slim_corev1.Pod{ObjectMeta: meta})
	kept, _ := labelsfilter.Filter(labels.Map2Labels(found, labels.LabelSourceK8s))
	made, isNew, err := a.allocator.AllocateIdentity(context.Background(), kept, false, identity.InvalidIdentity)
	if err == nil && isNew {
		added := identity.IdentityMap{made.ID: made.LabelArray}
		a.UpdateIdentities(added, nil)
		a.repository.UpdateIdentities(added, nil)
	}
	return made, err
}

// Returns what the ipcache is told of an address beside the networks of policies: `fqdn:` labels for
// the names that were answered with it (pkg/fqdn/namemanager), and labels of nodes and kube-apiserver.
func (a *agent) updates(of target) ([]ipcache.MU, error) {
	prefix := cmtypes.NewLocalPrefixCluster(netip.PrefixFrom(of.Address, of.Address.BitLen()))
	var found []ipcache.MU
	add := func(from source.Source, resource string, with labels.Labels) {
		id := ipcachetypes.NewResourceID(ipcachetypes.ResourceKindDaemon, "", resource)
		found = append(found, ipcache.MU{Prefix: prefix, Source: from, Resource: id, Metadata: []ipcache.IPMetadata{with}})
	}
	for _, name := range of.Names {
		matching := labels.Labels{}
		for _, selector := range a.names {
			pattern, err := selector.ToRegex()
			if err != nil {
				return nil, err
			}
			if pattern.MatchString(name + ".") {
				label := selector.IdentityLabel()
				matching[label.Key] = label
			}
		}
		if len(matching) > 0 {
			add(source.Generated, "name/"+name, matching)
		}
	}
	switch of.Entity {
	case "", "world":
	case "host":
		add(source.Local, "node", labels.NewFrom(labels.LabelHost))
	case "remote-node":
		add(source.CustomResource, "node", labels.NewFrom(labels.LabelRemoteNode))
	case "kube-apiserver":
		add(source.KubeAPIServer, "kube-apiserver", labels.NewFrom(labels.LabelKubeAPIServer))
	default:
		return nil, fmt.Errorf("the entity %q is not known", of.Entity)
	}
	return found, nil
}

// Returns an ipcache that knows the networks of all policies, and these targets: each by an address of
// its own.
func (a *agent) addresses(targets []target) (*ipcache.IPCache, error) {
	synchronized := make(synced.CacheStatus)
	close(synchronized)
	ctx, cancel := context.WithTimeout(context.Background(), identitiesWait)
	defer cancel()
	cache := ipcache.NewIPCache(&ipcache.Configuration{
		Context: context.Background(), Logger: a.logger, IdentityAllocator: a.allocator,
		IdentityUpdater: a, CacheStatus: synchronized,
	})
	var all []ipcache.MU
	for _, prefix := range a.prefixes {
		all = append(all, ipcache.MU{
			Prefix: cmtypes.NewLocalPrefixCluster(prefix), Source: source.CustomResource,
			Metadata: []ipcache.IPMetadata{labels.GetCIDRLabels(prefix)}, IsCIDR: true,
		})
	}
	for _, each := range targets {
		more, err := a.updates(each)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return cache, cache.WaitForRevision(ctx, cache.UpsertMetadataBatch(all...))
}

// Returns the identity of each question's target. An address that is said to be of different things
// gets each time an ipcache of its own.
func (a *agent) targets(questions []question) ([]identity.NumericIdentity, error) {
	found := make([]identity.NumericIdentity, len(questions))
	var rounds []map[netip.Addr]target
	where := make([]int, len(questions))
	for index, each := range questions {
		switch to := each.To; {
		case to.Pod != nil:
			made, err := a.podIdentity(*to.Pod)
			if err != nil {
				return nil, err
			}
			found[index] = made.ID
		case !to.Address.IsValid():
			reserved, err := entity(to.Entity)
			if err != nil {
				return nil, err
			}
			found[index] = reserved
		default:
			round := slices.IndexFunc(rounds, func(known map[netip.Addr]target) bool {
				other, taken := known[to.Address]
				return !taken || other.Entity == to.Entity && slices.Equal(other.Names, to.Names)
			})
			if round < 0 {
				round, rounds = len(rounds), append(rounds, map[netip.Addr]target{})
			}
			rounds[round][to.Address] = to
			where[index] = round
		}
	}
	for round, known := range rounds {
		cache, err := a.addresses(slices.Collect(maps.Values(known)))
		if err != nil {
			return nil, err
		}
		for index, each := range questions {
			if found[index] == identity.IdentityUnknown && where[index] == round {
				found[index] = lookUp(cache, each.To.Address)
			}
		}
	}
	return found, nil
}

// Returns what the kernel finds for an address: what no entry covers is the world.
func lookUp(cache *ipcache.IPCache, address netip.Addr) identity.NumericIdentity {
	if found, ok := cache.LookupSecIDByIP(address); ok {
		return found.ID
	}
	if address.Is4() {
		return identity.ReservedIdentityWorldIPv4
	}
	return identity.ReservedIdentityWorldIPv6
}

func entity(name string) (identity.NumericIdentity, error) {
	switch name {
	case "host":
		return identity.ReservedIdentityHost, nil
	case "remote-node":
		return identity.ReservedIdentityRemoteNode, nil
	case "kube-apiserver":
		return identity.ReservedIdentityKubeAPIServer, nil
	case "world":
		return identity.ReservedIdentityWorldIPv4, nil
	}
	return identity.IdentityUnknown, fmt.Errorf("the entity %q is not known", name)
}

// A Pod that policies select, with its own policy map.
type endpoint struct {
	id      uint64
	policy  *policy.EndpointPolicy
	filters map[restore.PortProto]*policy.L4Filter
}

func (e *endpoint) GetID() uint64                                      { return e.id }
func (e *endpoint) GetIngressNamedPort(string, u8proto.U8proto) uint16 { return 0 }
func (e *endpoint) PolicyDebug(string, ...any)                         {}
func (e *endpoint) IsHost() bool                                       { return false }
func (e *endpoint) PreviousMapStateSizes() policy.MapStateSizes        { return policy.MapStateSizes{} }
func (e *endpoint) RegenerateIfAlive(*regeneration.ExternalRegenerationMetadata) <-chan bool {
	done := make(chan bool)
	close(done)
	return done
}

// Computes the policy of a Pod, and tells the DNS proxy of its rules, as a regeneration does
// (pkg/endpoint/bpf.go, pkg/proxy/dns.go).
func (a *agent) endpoint(of *identity.Identity) (*endpoint, error) {
	if known := a.endpoints[of.ID]; known != nil {
		return known, nil
	}
	made := &endpoint{id: uint64(len(a.endpoints) + 1), filters: map[restore.PortProto]*policy.L4Filter{}}
	selected, _, err := a.repository.ComputeSelectorPolicy(of)
	if err != nil {
		return nil, err
	}
	for filter, tuple := range selected.RedirectFilters() {
		if filter.Ingress || tuple.Policy.L7Parser != policy.ParserTypeDNS {
			continue
		}
		port := restore.MakeV2PortProto(filter.Port, filter.U8Proto)
		made.filters[port] = filter
		if _, err := a.proxy.UpdateAllowed(made.id, port, filter.GetPerSelectorPolicies()); err != nil {
			return nil, err
		}
	}
	redirects := map[string]uint16{policy.FallbackRedirectID: math.MaxUint16}
	made.policy = selected.DistillPolicy(a.logger, made, redirects)
	a.endpoints[of.ID] = made
	return made, made.policy.Ready()
}

func (a *agent) answer(asked question, to identity.NumericIdentity) (answer, error) {
	protocol, err := u8proto.ParseProtocol(asked.Protocol)
	if err != nil {
		return answer{}, err
	}
	from, err := a.podIdentity(asked.From)
	if err != nil {
		return answer{}, err
	}
	pod, err := a.endpoint(from)
	if err != nil {
		return answer{}, err
	}
	key := policy.EgressKey().WithIdentity(to).WithPortProto(protocol, asked.Port)
	entry, _, _ := pod.policy.Lookup(key)
	found := answer{Allowed: entry.IsAllow()}
	port := restore.MakeV2PortProto(asked.Port, protocol)
	isFiltered := found.Allowed && entry.IsRedirectEntry() && pod.filters[port] != nil
	if isFiltered {
		found.DNS = patterns(pod.filters[port], to)
	}
	if asked.Name != "" {
		passes := found.Allowed
		if isFiltered {
			passes, err = a.proxy.CheckAllowed(pod.id, port, to, asked.To.Address, asked.Name)
		}
		found.Answered = &passes
	}
	return found, err
}

// Returns the names of a filter's rules for a peer; `*` where one of them has no rule for names.
func patterns(filter *policy.L4Filter, peer identity.NumericIdentity) []string {
	found := []string{}
	for selector, rules := range filter.GetPerSelectorPolicies() {
		if !selector.Selects(peer) {
			continue
		}
		if rules == nil || len(rules.DNS) == 0 {
			found = append(found, "*")
			continue
		}
		for _, each := range rules.DNS {
			found = append(found, each.MatchName+each.MatchPattern)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func judge(asked request) (response, error) {
	found := response{Answers: []answer{}, Problems: []problem{}}
	agent, err := newAgent()
	if err != nil {
		return found, err
	}
	for index := range asked.Policies {
		item := &asked.Policies[index]
		if err := agent.add(item); err != nil {
			found.Problems = append(found.Problems, problem{Policy: item.Namespace + "/" + item.Name, Reason: err.Error()})
		}
	}
	targets, err := agent.targets(asked.Questions)
	if err != nil {
		return found, err
	}
	// A Pod that asks is known before any policy is computed, as peer and as subject.
	for _, each := range asked.Questions {
		if _, err := agent.podIdentity(each.From); err != nil {
			return found, err
		}
	}
	for index, each := range asked.Questions {
		one, err := agent.answer(each, targets[index])
		if err != nil {
			return found, fmt.Errorf("question %d: %w", index, err)
		}
		found.Answers = append(found.Answers, one)
	}
	return found, nil
}

func main() {
	var asked request
	err := json.NewDecoder(os.Stdin).Decode(&asked)
	if err == nil {
		var found response
		if found, err = judge(asked); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(found)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
