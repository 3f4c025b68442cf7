{{- define "sluice.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{- define "sluice.selector" -}}
app.kubernetes.io/name: sluice
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end }}

{{- define "sluice.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "sluice.name" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end -}}
{{- end }}

{{- define "sluice.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}{{ else }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end -}}
{{- end }}

{{/* Settings that are not the chart's to make; those of a role go before those of all. */}}
{{- define "sluice.settings" -}}
{{- range $name, $value := merge (dict) .of .all }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- end }}

{{/* What every process is told. */}}
{{- define "sluice.env" -}}
- {name: SLUICE_DATABASE_URL_FILE, value: /etc/sluice/database-url}
- {name: SLUICE_ENCRYPTION_KEY_FILE, value: /etc/sluice/encryption-key}
{{- if .Values.secret.redisUrl }}
- {name: SLUICE_REDIS_URL_FILE, value: /etc/sluice/redis-url}
{{- end }}
{{- with .Values.temporal }}
{{- if .address }}
- {name: SLUICE_ENGINE, value: {{ .engine | quote }}}
- {name: SLUICE_TEMPORAL_ADDRESS, value: {{ .address | quote }}}
- {name: SLUICE_TEMPORAL_NAMESPACE, value: {{ .namespace | quote }}}
- {name: SLUICE_TEMPORAL_TASK_QUEUE, value: {{ .taskQueue | quote }}}
{{- if $.Values.secret.temporalApiKey }}
- {name: SLUICE_TEMPORAL_API_KEY_FILE, value: /etc/sluice/temporal-api-key}
{{- end }}
{{- if $.Values.secret.temporalTlsCa }}
- {name: SLUICE_TEMPORAL_TLS_CA_FILE, value: /etc/sluice/temporal-tls-ca}
{{- end }}
{{- if $.Values.secret.temporalTlsCert }}
- {name: SLUICE_TEMPORAL_TLS_CERT_FILE, value: /etc/sluice/temporal-tls-cert}
- {name: SLUICE_TEMPORAL_TLS_KEY_FILE, value: /etc/sluice/temporal-tls-key}
{{- end }}
{{- end }}
{{- end }}
{{- if .Values.metrics.enabled }}
- {name: SLUICE_METRICS_LISTEN, value: ":9090"}
{{- end }}
{{- end }}

{{/* The pod of every process, except for its containers. */}}
{{- define "sluice.pod" -}}
serviceAccountName: {{ include "sluice.serviceAccount" . }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
volumes:
  - name: secrets
    secret: {secretName: {{ required "secret.name names the Secret with database-url and encryption-key" .Values.secret.name | quote }}, defaultMode: 288}
{{- end }}

{{- define "sluice.container" -}}
image: {{ include "sluice.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: secrets, mountPath: /etc/sluice, readOnly: true}
{{- end }}

{{- define "sluice.probes" -}}
startupProbe:
  httpGet: {path: /healthz, port: http}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /healthz, port: http}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
readinessProbe:
  httpGet: {path: /readyz, port: http}
  periodSeconds: 2
  timeoutSeconds: 5
  failureThreshold: 2
{{- end }}

{{/* Keeps pods of a role apart, where there are nodes to do so. */}}
{{- define "sluice.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "sluice.selector" .root | nindent 8 }}
        app.kubernetes.io/component: {{ .role }}
{{- end }}

{{- define "sluice.hpa" -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ include "sluice.name" .root }}-{{ .role }}
  labels:
    {{- include "sluice.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: {{ include "sluice.name" .root }}-{{ .role }}}
  minReplicas: {{ .of.autoscaling.minReplicas }}
  maxReplicas: {{ .of.autoscaling.maxReplicas }}
  metrics:
    - type: Resource
      resource: {name: cpu, target: {type: Utilization, averageUtilization: {{ .of.autoscaling.cpuPercent }}}}
{{- end }}

{{- define "sluice.pdb" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "sluice.name" .root }}-{{ .role }}
  labels:
    {{- include "sluice.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
spec:
  maxUnavailable: {{ .of.podDisruptionBudget.maxUnavailable }}
  selector:
    matchLabels:
      {{- include "sluice.selector" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .role }}
{{- end }}
