{{- define "kedge.name" -}}
{{- if contains "kedge" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}{{ printf "%s-kedge" .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "kedge.selector" -}}
app.kubernetes.io/name: kedge
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kedge.labels" -}}
{{ include "kedge.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "kedge.toml" -}}
{{- /* JSON's texts, numbers and lists are TOML's too. toToml would write every number as a float. */}}
{{- range $name, $value := .Values.config }}
{{ $name }} = {{ toJson $value }}
{{- end }}
{{- end }}
