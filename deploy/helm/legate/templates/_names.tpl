{{- define "legate.name" -}}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{- end }}
{{- define "legate.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
{{- define "legate.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "legate.image" -}}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{- end }}
{{- define "legate.secret" -}}{{ .Values.secret.existing | default (include "legate.name" .) }}{{- end }}
{{- define "legate.url" -}}
{{- if .Values.url }}{{ .Values.url }}
{{- else if .Values.ingress.enabled }}https://{{ .Values.ingress.host }}
{{- else }}http://{{ include "legate.name" . }}.{{ .Release.Namespace }}:{{ .Values.service.port }}
{{- end }}
{{- end }}
{{- define "legate.probes" -}}
ports: [{ name: http, containerPort: {{ . }} }]
startupProbe: { httpGet: { path: /health, port: http }, failureThreshold: 60, periodSeconds: 1 }
livenessProbe: { httpGet: { path: /health, port: http } }
readinessProbe: { httpGet: { path: /ready, port: http }, periodSeconds: 2 }
{{- end }}
{{- define "legate.checksum" -}}{{ printf "%s\n%s" .Values.endpoints .Values.credentials | sha256sum }}{{- end }}
{{- define "legate.annotations" -}}
checksum/config: {{ include "legate.checksum" . }}
{{- with .Values.podAnnotations }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- define "legate.pod" -}}
{{- with .Values.pod }}
{{ toYaml . }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
automountServiceAccountToken: false
terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
volumes:
  - name: config
    configMap: { name: {{ include "legate.name" . }} }
  - { name: data, emptyDir: {} }
  - { name: tmp, emptyDir: {} }
{{- end }}
{{- define "legate.container" -}}
image: {{ include "legate.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
workingDir: /app/project
envFrom:
  - secretRef: { name: {{ include "legate.secret" . }} }
{{- with .Values.env }}
env: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
resources: {{ toYaml .Values.resources | nindent 2 }}
volumeMounts:
  - { name: config, mountPath: /app/project/endpoints.yml, subPath: endpoints.yml, readOnly: true }
  - { name: config, mountPath: /app/project/credentials.yml, subPath: credentials.yml, readOnly: true }
  - { name: data, mountPath: /app/project/.legate }
  - { name: tmp, mountPath: /tmp }
{{- end }}
