{{/* The validating webhooks, as control registers them once a gate is ready. */}}
{{- define "sallyport.registration.validating" -}}
{{- $validating := .Values.webhooks.validating }}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: sallyport
  labels:
    {{- include "sallyport.labels" (dict "root" . "component" "gate") | nindent 4 }}
  {{- include "sallyport.registrationAnnotations" . }}
webhooks:
  {{- $common := include "sallyport.webhook" (dict "root" . "path" "/validate") | nindent 4 }}
  - name: validate.sallyport.dev
    {{- $common }}
    # Fail: what could not be judged is not admitted.
    failurePolicy: {{ $validating.failurePolicy }}
    timeoutSeconds: {{ int $validating.timeoutSeconds }}
    rules:
      - apiGroups: [""]
        apiVersions: [v1]
        operations: [CREATE, UPDATE]
        resources: [pods, pods/ephemeralcontainers, pods/resize, pods/status]
        scope: Namespaced
    # What nodes report is not judged, but annotations and labels can be written along with it. Those
    # alone come that the gate judges: network plugins write their own with each Pod, also while no
    # gate runs.
    matchConditions:
      - name: status-only-with-judged-metadata
        expression: >-
          !has(request.subResource) || request.subResource != 'status' ||
          has(object.metadata.labels) && object.metadata.labels.exists(key,
          key.startsWith('egress.sallyport.dev/') && (!has(oldObject.metadata.labels) ||
          !(key in oldObject.metadata.labels) ||
          oldObject.metadata.labels[key] != object.metadata.labels[key])) ||
          has(oldObject.metadata.labels) && oldObject.metadata.labels.exists(key,
          key.startsWith('egress.sallyport.dev/') && (!has(object.metadata.labels) ||
          !(key in object.metadata.labels))) ||
          has(object.metadata.annotations) &&
          (!has(oldObject.metadata.annotations) ||
          object.metadata.annotations != oldObject.metadata.annotations) &&
          object.metadata.annotations.exists(key, (!has(oldObject.metadata.annotations) ||
          !(key in oldObject.metadata.annotations) ||
          oldObject.metadata.annotations[key] != object.metadata.annotations[key]) && key.matches(
          r'^(sallyport[.]dev/|dev[.]gvisor[.]|io[.]katacontainers[.]|io[.]kubernetes[.]cri|' +
          r'io[.]microsoft[.]|microsoft[.]com/hostprocess|' +
          r'io[.]containers[.]trace-syscall|run[.]oci[.]|org[.]systemd[.]property[.]|' +
          r'org[.]criu[.]config|module[.]wasm[.]image/|io[.]containerd[.]|' +
          r'com[.]github[.]containers[.]virtcontainers[.]|' +
          r'container[.]apparmor[.]security[.]beta[.]kubernetes[.]io/|' +
          r'(container[.])?seccomp[.]security[.]alpha[.]kubernetes[.]io/|' +
          r'security[.]alpha[.]kubernetes[.]io/|scheduler[.]alpha[.]kubernetes[.]io/critical-pod)|' +
          r'(^|[.])(crio[.]io|cri-o[.]io|nri[.]io|nri[.]containerd[.]io|noderesource[.]dev|' +
          r'cdi[.]k8s[.]io|devices[.]gke[.]io)([./]|$)'))
  - name: namespaces.sallyport.dev
    {{- $common }}
    failurePolicy: {{ $validating.failurePolicy }}
    timeoutSeconds: {{ int $validating.timeoutSeconds }}
    rules:
      - apiGroups: [""]
        apiVersions: [v1]
        operations: [CREATE, UPDATE]
        resources: [namespaces, namespaces/*]
        scope: Cluster
  # Other objects that carry privileges: what they give is judged for their authors.
  - name: objects.sallyport.dev
    {{- $common }}
    failurePolicy: {{ $validating.failurePolicy }}
    timeoutSeconds: {{ int $validating.timeoutSeconds }}
    rules:
      - apiGroups: [""]
        apiVersions: [v1]
        operations: [CREATE, UPDATE]
        resources: [persistentvolumes]
        scope: Cluster
      - apiGroups: [""]
        apiVersions: [v1]
        operations: [CREATE, UPDATE]
        resources: [persistentvolumeclaims]
        scope: Namespaced
      # A copy of a claim: of model weights, none may be made.
      - apiGroups: [snapshot.storage.k8s.io]
        apiVersions: [v1, v1beta1]
        operations: [CREATE]
        resources: [volumesnapshots]
        scope: Namespaced
      - apiGroups: [groupsnapshot.storage.k8s.io]
        apiVersions: [v1, v1beta2, v1beta1, v1alpha1]
        operations: [CREATE]
        resources: [volumegroupsnapshots]
        scope: Namespaced
      - apiGroups: [node.k8s.io]
        apiVersions: [v1]
        operations: [CREATE, UPDATE]
        resources: [runtimeclasses]
        scope: Cluster
      - apiGroups: [storage.k8s.io]
        apiVersions: [v1]
        operations: [CREATE, UPDATE]
        resources: [storageclasses, csidrivers]
        scope: Cluster
      - apiGroups: [scheduling.k8s.io]
        apiVersions: [v1]
        operations: [CREATE, UPDATE]
        resources: [priorityclasses]
        scope: Cluster
      - apiGroups: [resource.k8s.io]
        apiVersions: [v1, v1beta2, v1beta1]
        operations: [CREATE, UPDATE]
        resources: [resourceclaims, resourceclaimtemplates, deviceclasses]
        scope: "*"
    # The volumes of Sallyport's own claims: the gate may need one of them to start.
    matchConditions:
      - name: not-for-sallyport
        expression: >-
          request.resource.resource != 'persistentvolumes' || !has(object.spec.claimRef) ||
          !has(object.spec.claimRef.namespace) ||
          object.spec.claimRef.namespace != '{{ .Release.Namespace }}'
      # A RuntimeClass that stays what it is: the upgrade that registers these webhooks writes the
      # chart's own once more, before control has given them its CA.
      - name: not-a-runtime-class-as-it-was
        expression: >-
          request.resource.resource != 'runtimeclasses' || request.operation != 'UPDATE' ||
          object.handler != oldObject.handler ||
          has(object.overhead) != has(oldObject.overhead) ||
          has(object.overhead) && object.overhead != oldObject.overhead ||
          has(object.scheduling) != has(oldObject.scheduling) ||
          has(object.scheduling) && object.scheduling != oldObject.scheduling
  # Changes to rights: what roles and bindings give is judged for their authors.
  - name: rights.sallyport.dev
    {{- $common }}
    failurePolicy: {{ $validating.failurePolicy }}
    timeoutSeconds: {{ int $validating.timeoutSeconds }}
    rules:
      - apiGroups: [rbac.authorization.k8s.io]
        apiVersions: [v1]
        operations: [CREATE, UPDATE]
        resources: [roles, rolebindings]
        scope: Namespaced
      - apiGroups: [rbac.authorization.k8s.io]
        apiVersions: [v1]
        operations: [CREATE, UPDATE]
        resources: [clusterroles, clusterrolebindings]
        scope: Cluster
      - apiGroups: [""]
        apiVersions: [v1]
        operations: [CREATE, UPDATE]
        resources: [serviceaccounts]
        scope: Namespaced
    # A cluster must start and be repaired while no gate runs. kube-apiserver writes its own roles as a
    # member of system:masters, whom RBAC does not bind either: they could take this webhook away. Of
    # service accounts those alone come that have an identity in a cloud.
    matchConditions:
      - name: not-for-masters
        expression: >-
          !has(request.userInfo.groups) || !('system:masters' in request.userInfo.groups)
      - name: only-identities-of-accounts
        expression: >-
          request.resource.resource != 'serviceaccounts' ||
          has(object.metadata.annotations) && object.metadata.annotations.exists(key,
          key.startsWith('azure.workload.identity/') || key.startsWith('eks.amazonaws.com/') ||
          key.startsWith('iam.gke.io/')) ||
          has(object.metadata.labels) && object.metadata.labels.exists(key,
          key.startsWith('azure.workload.identity/') || key.startsWith('eks.amazonaws.com/') ||
          key.startsWith('iam.gke.io/'))
  {{- with .Values.webhooks.kinds }}
  # What rules of the site's own bundle are asked about.
  - name: rules.sallyport.dev
    {{- $common }}
    failurePolicy: {{ $validating.failurePolicy }}
    timeoutSeconds: {{ int $validating.timeoutSeconds }}
    rules:
      {{- range . }}
      - apiGroups: {{ toJson .apiGroups }}
        apiVersions: {{ toJson .apiVersions }}
        operations: [CREATE, UPDATE]
        resources: {{ toJson .resources }}
        scope: "*"
      {{- end }}
  {{- end }}
  # Ways into what runs: what is entered is judged for whoever enters it.
  - name: connect.sallyport.dev
    {{- $common }}
    failurePolicy: {{ $validating.failurePolicy }}
    timeoutSeconds: {{ int $validating.timeoutSeconds }}
    rules:
      - apiGroups: [""]
        apiVersions: [v1]
        operations: [CONNECT]
        resources: [pods/exec, pods/attach, pods/portforward, pods/proxy, services/proxy]
        scope: Namespaced
      - apiGroups: [""]
        apiVersions: [v1]
        operations: [CONNECT]
        resources: [nodes/proxy]
        scope: Cluster
  # What makes credentials, and what chooses a Pod's node.
  - name: credentials.sallyport.dev
    {{- $common }}
    failurePolicy: {{ $validating.failurePolicy }}
    timeoutSeconds: {{ int $validating.timeoutSeconds }}
    rules:
      - apiGroups: [""]
        apiVersions: [v1]
        operations: [CREATE]
        resources: [bindings, pods/binding, serviceaccounts/token]
        scope: Namespaced
      - apiGroups: [""]
        apiVersions: [v1]
        operations: [CREATE, UPDATE]
        resources: [secrets]
        scope: Namespaced
      - apiGroups: [certificates.k8s.io]
        apiVersions: [v1]
        operations: [CREATE]
        resources: [certificatesigningrequests]
        scope: Cluster
      - apiGroups: [certificates.k8s.io]
        apiVersions: [v1]
        operations: [UPDATE]
        resources: [certificatesigningrequests/approval]
        scope: Cluster
      # Kubernetes serves the kind by default from 1.37 on; a rule for what is not served is harmless.
      - apiGroups: [certificates.k8s.io]
        apiVersions: [v1, v1beta1, v1alpha1]
        operations: [CREATE]
        resources: [podcertificaterequests]
        scope: Namespaced
    # A node must join, its Pods start and be scheduled while no gate runs. Each condition names an
    # identity that kube-apiserver itself holds to this; the gate leaves the same alone.
    matchConditions:
      - name: only-tokens-among-secrets
        expression: >-
          request.resource.resource != 'secrets' ||
          has(object.type) && object.type == 'kubernetes.io/service-account-token'
      - name: not-the-scheduler
        expression: >-
          !(request.resource.resource in ['pods', 'bindings']) ||
          request.userInfo.username != 'system:kube-scheduler'
      - name: not-tokens-for-kubelets
        expression: >-
          request.resource.resource != 'serviceaccounts' ||
          !request.userInfo.username.startsWith('system:node:') ||
          !has(request.userInfo.groups) || !('system:nodes' in request.userInfo.groups)
      - name: not-certificates-of-kubelets
        expression: >-
          request.resource.resource != 'certificatesigningrequests' ||
          request.operation != 'CREATE' ||
          !(object.spec.signerName in ['kubernetes.io/kube-apiserver-client-kubelet',
          'kubernetes.io/kubelet-serving']) || !has(request.userInfo.groups) ||
          !(request.userInfo.groups.exists(g, g in ['system:nodes', 'system:bootstrappers']))
      - name: not-pod-certificates-of-the-pods-node
        expression: >-
          request.resource.resource != 'podcertificaterequests' ||
          request.userInfo.username != 'system:node:' + object.spec.nodeName ||
          !has(request.userInfo.groups) || !('system:nodes' in request.userInfo.groups)
      - name: not-their-approval
        expression: >-
          request.resource.resource != 'certificatesigningrequests' ||
          request.operation != 'UPDATE' ||
          !(request.userInfo.username in ['system:kube-controller-manager',
          'system:serviceaccount:kube-system:certificate-controller'])
  # Exceptions and approvals, in every namespace: what is recorded on them is believed later. Nothing
  # that a cluster needs to start is among them, so no namespace is left out.
  - name: guards.sallyport.dev
    {{- include "sallyport.webhookEverywhere" (dict "root" . "path" "/validate") | nindent 4 }}
    failurePolicy: {{ $validating.failurePolicy }}
    timeoutSeconds: {{ int $validating.timeoutSeconds }}
    rules:
      - apiGroups: [sallyport.dev]
        apiVersions: [v1alpha1]
        operations: [CREATE, UPDATE]
        resources: [policyexceptions, approvals, egressallowlists, accessgrants]
        scope: Namespaced
      - apiGroups: [sallyport.dev]
        apiVersions: [v1alpha1]
        operations: [CREATE, UPDATE]
        resources: [breakglasses, clusterapprovals, egressdestinations, auditstatements]
        scope: Cluster
      # What makes a store guard less, or takes it away, happens as two people have approved it.
      - apiGroups: [sallyport.dev]
        apiVersions: [v1alpha1]
        operations: [CREATE, UPDATE, DELETE]
        resources: [weightstores]
        scope: Cluster
  {{- if .Values.approvals.profiles }}
  # Profiles that are created or widened only as two people have approved.
  - name: profiles.sallyport.dev
    {{- include "sallyport.webhookEverywhere" (dict "root" . "path" "/validate") | nindent 4 }}
    failurePolicy: {{ $validating.failurePolicy }}
    timeoutSeconds: {{ int $validating.timeoutSeconds }}
    rules:
      - apiGroups: [sallyport.dev]
        apiVersions: [v1alpha1]
        operations: [CREATE, UPDATE]
        resources: [containerprofiles]
        scope: Cluster
  {{- end }}
  # Network policies: those that Sallyport makes are control's alone, and of others those are judged
  # that open something on the way out. What is about ingress never comes, also while no gate runs.
  - name: policies.sallyport.dev
    {{- $common }}
    failurePolicy: {{ $validating.failurePolicy }}
    timeoutSeconds: {{ int $validating.timeoutSeconds }}
    rules:
      - apiGroups: [networking.k8s.io]
        apiVersions: [v1]
        operations: [CREATE, UPDATE, DELETE]
        resources: [networkpolicies]
        scope: Namespaced
      - apiGroups: [cilium.io]
        apiVersions: [v2]
        operations: [CREATE, UPDATE, DELETE]
        resources: [ciliumnetworkpolicies, ciliumclusterwidenetworkpolicies]
        scope: "*"
      - apiGroups: [policy.networking.k8s.io]
        apiVersions: [v1alpha2, v1alpha1]
        operations: [CREATE, UPDATE, DELETE]
        resources: [clusternetworkpolicies, adminnetworkpolicies, baselineadminnetworkpolicies]
        scope: Cluster
      - apiGroups: [projectcalico.org, crd.projectcalico.org]
        apiVersions: [v3, v1]
        operations: [CREATE, UPDATE, DELETE]
        resources: [networkpolicies, globalnetworkpolicies]
        scope: "*"
    # Control must close what has expired while no gate runs, and a namespace must go. Each condition
    # names an identity; the gate leaves the same alone.
    matchConditions:
      - name: not-control
        expression: >-
          request.userInfo.username !=
          'system:serviceaccount:{{ .Release.Namespace }}:sallyport-control'
      - name: not-the-end-of-a-namespace
        expression: >-
          request.operation != 'DELETE' || !(request.userInfo.username in
          ['system:serviceaccount:kube-system:namespace-controller',
          'system:serviceaccount:kube-system:generic-garbage-collector',
          'system:kube-controller-manager'])
      - name: is-generated-or-opens
        expression: >-
          [object, oldObject].exists(each, each != null &&
          (each.metadata.name.startsWith('sallyport-') || has(each.metadata.labels) &&
          'app.kubernetes.io/managed-by' in each.metadata.labels &&
          each.metadata.labels['app.kubernetes.io/managed-by'] == 'sallyport')) ||
          object != null && (has(object.specs) || has(object.spec) && has(object.spec.egress))
  # Kinds that carry Pods (docs/operate/workloads.md): judged when they are submitted. Subresources
  # (scale, status) make no Pod of another kind.
  - name: workloads.sallyport.dev
    {{- $common }}
    failurePolicy: {{ $validating.failurePolicy }}
    timeoutSeconds: {{ int $validating.timeoutSeconds }}
    rules:
      - apiGroups: [""]
        apiVersions: [v1]
        operations: [CREATE, UPDATE]
        resources: [podtemplates, replicationcontrollers]
        scope: Namespaced
      - apiGroups: [apps]
        apiVersions: [v1]
        operations: [CREATE, UPDATE]
        resources: [replicasets, deployments, statefulsets, daemonsets]
        scope: Namespaced
      - apiGroups: [batch]
        apiVersions: [v1]
        operations: [CREATE, UPDATE]
        resources: [jobs, cronjobs]
        scope: Namespaced
      # A status is not judged, but annotations and owners can be written along with one.
      - apiGroups: [""]
        apiVersions: [v1]
        operations: [UPDATE]
        resources: [replicationcontrollers/status]
        scope: Namespaced
      - apiGroups: [apps]
        apiVersions: [v1]
        operations: [UPDATE]
        resources: [replicasets/status, deployments/status, statefulsets/status, daemonsets/status]
        scope: Namespaced
      - apiGroups: [batch]
        apiVersions: [v1]
        operations: [UPDATE]
        resources: [jobs/status, cronjobs/status]
        scope: Namespaced
      - apiGroups: [kubeflow.org]
        apiVersions: [v1]
        operations: [CREATE, UPDATE]
        resources: [pytorchjobs, tfjobs, xgboostjobs, paddlejobs, jaxjobs]
        scope: Namespaced
      - apiGroups: [kubeflow.org]
        apiVersions: [v1, v2beta1]
        operations: [CREATE, UPDATE]
        resources: [mpijobs]
        scope: Namespaced
      - apiGroups: [trainer.kubeflow.org]
        apiVersions: [v1alpha1]
        operations: [CREATE, UPDATE]
        resources: [trainjobs, trainingruntimes]
        scope: Namespaced
      - apiGroups: [trainer.kubeflow.org]
        apiVersions: [v1alpha1]
        operations: [CREATE, UPDATE]
        resources: [clustertrainingruntimes]
        scope: Cluster
      - apiGroups: [ray.io]
        apiVersions: [v1, v1alpha1]
        operations: [CREATE, UPDATE]
        resources: [rayclusters, rayjobs, rayservices]
        scope: Namespaced
      - apiGroups: [ray.io]
        apiVersions: [v1]
        operations: [CREATE, UPDATE]
        resources: [raycronjobs]
        scope: Namespaced
      - apiGroups: [jobset.x-k8s.io]
        apiVersions: [v1alpha2]
        operations: [CREATE, UPDATE]
        resources: [jobsets]
        scope: Namespaced
      - apiGroups: [leaderworkerset.x-k8s.io]
        apiVersions: [v1]
        operations: [CREATE, UPDATE]
        resources: [leaderworkersets]
        scope: Namespaced
      - apiGroups: [batch.volcano.sh]
        apiVersions: [v1alpha1]
        operations: [CREATE, UPDATE]
        resources: [jobs]
        scope: Namespaced
      - apiGroups: [workload.codeflare.dev]
        apiVersions: [v1beta2]
        operations: [CREATE, UPDATE]
        resources: [appwrappers]
        scope: Namespaced
      - apiGroups: [flink.apache.org]
        apiVersions: [v1beta1]
        operations: [CREATE, UPDATE]
        resources: [flinkdeployments]
        scope: Namespaced
      - apiGroups: [sparkoperator.k8s.io]
        apiVersions: [v1beta2]
        operations: [CREATE, UPDATE]
        resources: [sparkapplications, scheduledsparkapplications]
        scope: Namespaced
      - apiGroups: [argoproj.io]
        apiVersions: [v1alpha1]
        operations: [CREATE, UPDATE]
        resources: [workflows, workflowtemplates, cronworkflows]
        scope: Namespaced
      - apiGroups: [argoproj.io]
        apiVersions: [v1alpha1]
        operations: [CREATE, UPDATE]
        resources: [clusterworkflowtemplates]
        scope: Cluster
      - apiGroups: [serving.knative.dev]
        apiVersions: [v1, v1beta1, v1alpha1]
        operations: [CREATE, UPDATE]
        resources: [services, configurations, revisions]
        scope: Namespaced
      - apiGroups: [serving.kserve.io]
        apiVersions: [v1beta1]
        operations: [CREATE, UPDATE]
        resources: [inferenceservices]
        scope: Namespaced
      - apiGroups: [kubeflow.org]
        apiVersions: [v1, v1beta1, v1alpha1]
        operations: [CREATE, UPDATE]
        resources: [notebooks]
        scope: Namespaced
      - apiGroups: [agents.x-k8s.io]
        apiVersions: [v1beta1, v1alpha1]
        operations: [CREATE, UPDATE]
        resources: [sandboxes]
        scope: Namespaced
      - apiGroups: [extensions.agents.x-k8s.io]
        apiVersions: [v1beta1, v1alpha1]
        operations: [CREATE, UPDATE]
        resources: [sandboxtemplates]
        scope: Namespaced
    # Not what changes neither what it says, nor its annotations, nor its owners: finalizers and
    # labels are nobody's business here, also while no gate runs.
    matchConditions:
      - name: changes-something
        expression: >-
          request.operation != 'UPDATE' || !has(object.spec) || !has(oldObject.spec) ||
          object.spec != oldObject.spec ||
          has(object.metadata.annotations) != has(oldObject.metadata.annotations) ||
          has(object.metadata.annotations) &&
          object.metadata.annotations != oldObject.metadata.annotations ||
          has(object.metadata.ownerReferences) != has(oldObject.metadata.ownerReferences) ||
          has(object.metadata.ownerReferences) &&
          object.metadata.ownerReferences != oldObject.metadata.ownerReferences
{{- end }}
