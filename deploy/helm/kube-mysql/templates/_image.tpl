{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}
{{- /* The reference of an image: (list IMAGE CHART). */ -}}
{{- define "kube-mysql.image" -}}
{{- $image := index . 0 -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default (index . 1).AppVersion }}
{{- end -}}
{{- end -}}
