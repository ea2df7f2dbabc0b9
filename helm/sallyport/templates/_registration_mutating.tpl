{{/* The mutating webhooks, as control registers them once a gate is ready. */}}
{{- define "sallyport.registration.mutating" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: sallyport
  labels:
    {{- include "sallyport.labels" (dict "root" . "component" "gate") | nindent 4 }}
  {{- include "sallyport.registrationAnnotations" . }}
webhooks:
  - name: mutate.sallyport.dev
    {{- include "sallyport.webhook" (dict "root" . "path" "/mutate") | nindent 4 }}
    # Fails open: it notes, fills in, and refuses what the back-stop would refuse unrecorded; what may
    # not be is refused by the back-stop and the validating webhook all the same.
    failurePolicy: Ignore
    # Another webhook may have added a container.
    reinvocationPolicy: IfNeeded
    timeoutSeconds: {{ int .Values.webhooks.mutating.timeoutSeconds }}
    rules:
      - apiGroups: [""]
        apiVersions: [v1]
        operations: [CREATE]
        resources: [pods]
        scope: Namespaced
      - apiGroups: [""]
        apiVersions: [v1]
        operations: [UPDATE]
        resources: [pods/ephemeralcontainers]
        scope: Namespaced
  # Who wrote an exception and who approves: without it guards.sallyport.dev refuses them.
  - name: authors.sallyport.dev
    {{- include "sallyport.webhookEverywhere" (dict "root" . "path" "/mutate") | nindent 4 }}
    failurePolicy: Ignore
    # Another webhook may have changed what was recorded.
    reinvocationPolicy: IfNeeded
    timeoutSeconds: {{ int .Values.webhooks.mutating.timeoutSeconds }}
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
  # Who asks is noted on workloads, and the profile; without it workloads.sallyport.dev refuses.
  - name: notes.sallyport.dev
    {{- include "sallyport.webhook" (dict "root" . "path" "/mutate") | nindent 4 }}
    failurePolicy: Ignore
    reinvocationPolicy: Never
    timeoutSeconds: {{ int .Values.webhooks.mutating.timeoutSeconds }}
    rules:
      - apiGroups: [""]
        apiVersions: [v1]
        operations: [CREATE, UPDATE]
        resources: [replicationcontrollers]
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
