"""Every name that Sallyport puts on, or reads from, a Kubernetes object.

`docs/reference/names.md` is made from this module.
"""

GROUP = "sallyport.dev"
"""The API group of Sallyport's objects, and the prefix of its labels and annotations."""

API_VERSION = f"{GROUP}/v1alpha1"
"""The version of Sallyport's objects that this release reads and writes."""

MODE_LABEL = f"{GROUP}/mode"
"""On a Namespace: `enforce`, `warn` or `audit`. Guarded by the verb `exempt`."""

ENFORCE_FROM_ANNOTATION = f"{GROUP}/enforce-from"
"""On a Namespace: the day or time from which it is to enforce, told in warnings. Guarded."""

UNRECORDED_LABEL = f"{GROUP}/when-unrecorded"
"""On a Namespace: `refuse` or `admit` when decisions cannot be recorded. Guarded by `exempt`."""

SANDBOX_LABEL = f"{GROUP}/sandbox"
"""On a Namespace: `by-risk` or `required`. Guarded. On a Pod or template: it asks for a sandbox."""

EGRESS_LABEL = f"{GROUP}/egress"
"""On a Namespace: `deny` (its Pods connect only where EgressAllowlists say), `audit` (nothing is
closed, and they get their labels) or `open`. Guarded."""

EGRESS_WORKLOADS_ANNOTATION = f"{GROUP}/egress-workloads"
"""On a Namespace with `audit`: workloads that are closed all the same, `Deployment/web,Job/fetch`.
Guarded."""

EGRESS_GROUP = f"egress.{GROUP}"
"""The prefix of labels on Pods that only the gate sets, and only as it creates them."""

EGRESS_ACCOUNT_LABEL = f"{EGRESS_GROUP}/service-account"
"""On a Pod of a namespace with `deny`: its service account, for policies to select it by."""

EGRESS_WORKLOAD_LABEL = f"{EGRESS_GROUP}/workload"
"""On the same Pods: the workload that it comes from, `Kind.name`; `none` without one."""

ALLOWLIST_ANNOTATION = f"{GROUP}/allowlist"
"""On a policy that Sallyport generates: the EgressAllowlist that it says."""

EGRESS_FINALIZER = f"{EGRESS_GROUP}/close"
"""On an EgressAllowlist: it goes once its policies have gone."""

CEILING_ANNOTATION = f"{GROUP}/ceiling"
"""On a Namespace: profiles, comma-separated, that no right exceeds. Guarded by `exempt`."""

UID_RANGE_ANNOTATION = f"{GROUP}/uid-range"
"""On a Namespace: the user IDs of Pods on shared file systems, FIRST/COUNT. Guarded by `exempt`."""

SUPPLEMENTAL_GROUPS_ANNOTATION = f"{GROUP}/supplemental-groups"
"""On a Namespace: their group IDs, blocks with commas between. Guarded by `exempt`."""

PROFILE_ANNOTATION = f"{GROUP}/profile"
"""On a Pod or a workload: the profile it asks for, or was noted under. On a Namespace: the one
for all."""

AUTHOR_ANNOTATION = f"{GROUP}/author"
"""On what others approve (PolicyException, BreakGlass, EgressAllowlist, EgressDestinations,
AccessGrant): who created it, as marks (`oid:…`, `user:…`). Written by the webhook."""

EDITORS_ANNOTATION = f"{GROUP}/editors"
"""On the same objects: others who changed its `spec`. Written by the webhook."""

ACTIVATED_AT_ANNOTATION = f"{GROUP}/activated-at"
"""On a BreakGlass: when it was activated, in UTC. Written by the webhook."""

ACTIVATED_BY_ANNOTATION = f"{GROUP}/activated-by"
"""On a BreakGlass: who activated it, as marks. Written by the webhook."""

APPROVER_ANNOTATION = f"{GROUP}/approver"
"""On an approval: whose it is, as marks. Written by the webhook."""

APPROVER_ACCOUNT_ANNOTATION = f"{GROUP}/approver-account"
"""On an approval: user name, groups and object id, to ask for the right to approve again."""

APPROVED_UID_ANNOTATION = f"{GROUP}/approved-uid"
"""On an approval: the UID of what is approved. Written by the webhook."""

APPROVED_DIGEST_ANNOTATION = f"{GROUP}/approved-digest"
"""On an approval: the digest of what is approved. Written by the webhook."""

REQUESTER_ANNOTATION = f"{GROUP}/requester"
"""On a workload, or a Pod that nothing owns: the pseudonym of who asked. Only the gate's."""

UNNOTED_LABEL = f"{GROUP}/when-unnoted"
"""On a Namespace: `service-account` or `refuse` Pods of workloads without a note. Guarded."""

UNKNOWN_FIELD_LABEL = f"{GROUP}/when-field-unknown"
"""On a Namespace: `warn` of fields that the gate does not know, or `refuse`. Guarded."""

RISK_CLASS_LABEL = f"{GROUP}/risk-class"
"""On a Namespace: a word of the site's that rows of the risk table match. Guarded by `exempt`."""

WHEN_RISK_STALE_LABEL = f"{GROUP}/when-risk-stale"
"""On a Namespace: `allow`, `warn`, `sandbox` or `deny` what people start and enter in it while what
is known of their risk is too old. Guarded by `exempt`."""

SWEEP_ANNOTATION = f"{GROUP}/sweep"
"""On a Report or ClusterReport of OpenReports: the id of the sweep that wrote it."""

LOOK_BACK_ANNOTATION = f"{GROUP}/look-back"
"""On an Event `IdentityAtRisk`: the id of the look back that it tells of."""

MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
"""On what Sallyport itself makes in the cluster: `sallyport`."""

AKS_EXEMPTION_LABEL = "control-plane"
"""The label by which AKS leaves a namespace out of webhooks. Guarded by `exempt`."""

AKS_LABEL_PREFIX = "kubernetes.azure.com/"
"""Labels by which AKS marks namespaces as its own. Guarded by `exempt`."""

NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"
"""Set by kube-apiserver to the namespace's name; webhooks are narrowed by it."""

MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
"""On a mirror Pod: the kubelet already runs it; the object only shows it."""

USE_VERB = "use"
"""RBAC verb on `containerprofiles.sallyport.dev/<name>`: may run what the profile covers; on
`egressdestinations.sallyport.dev/<name>`: allowlists of a service account may refer to the set."""

EXEMPT_VERB = "exempt"
"""RBAC verb on `namespaces.sallyport.dev/<name>`: may set the guarded labels."""

APPROVE_VERB = "approve"
"""RBAC verb on the cluster-scoped `approvaltiers.sallyport.dev/<tier>`: may approve."""

EGRESS_TIER = "egress"
"""The tier of EgressAllowlists and EgressDestinations, where they are broad."""

REVIEW_VERB = "review"
"""RBAC verb on `decisions.sallyport.dev` in all namespaces: may read every decision of the cluster,
with what is known of risks (`sallyport explain ID`)."""

CLOSE_VERB = "close"
"""RBAC verb on `egressallowlists.sallyport.dev/<name>` in all namespaces: may take the finalizer of
one away that is being deleted. `control` may; whoever gives up Sallyport may."""

GRANTS_ANNOTATION = f"{GROUP}/grants"
"""On a workload whose Pods reach model weights: the AccessGrants under which it was submitted, each
`name@uid#` and a digest of whom it names. Written by the webhook."""

EXCEPTIONS_TIER = "exceptions"
"""The tier of PolicyExceptions."""

BREAK_GLASS_TIER = "break-glass"
"""The tier of BreakGlasses."""

PROFILES_TIER = "profiles"
"""The tier of ContainerProfiles, where their widening needs approval (`approvals.profiles`)."""

GRANTS_TIER = "grants"
"""The tier of AccessGrants, and of what narrows or removes a WeightStore."""

PROFILES_RESOURCE = "containerprofiles"
EXCEPTIONS_RESOURCE = "policyexceptions"
ALLOWLISTS_RESOURCE = "egressallowlists"
DESTINATIONS_RESOURCE = "egressdestinations"
APPROVALS_RESOURCE = "approvals"
WEIGHT_STORES_RESOURCE = "weightstores"
ACCESS_GRANTS_RESOURCE = "accessgrants"
BACKSTOPS_RESOURCE = "backstops"
BREAK_GLASSES_RESOURCE = "breakglasses"
CLUSTER_APPROVALS_RESOURCE = "clusterapprovals"
AUDIT_STATEMENTS_RESOURCE = "auditstatements"
TIERS_RESOURCE = "approvaltiers"
DECISIONS_RESOURCE = "decisions"
NAMESPACES_RESOURCE = "namespaces"

REGISTERED_ANNOTATION = f"{GROUP}/registered"
"""On a webhook configuration: the digest of the webhooks that control put there."""

PROBE_WEBHOOK = f"probe.{GROUP}"
"""The webhook by which control sees whether kube-apiserver reaches a gate."""

PROBE_ANSWER = "Sallyport's gate answers."
"""What the gate refuses the probe with: nobody else says it."""
