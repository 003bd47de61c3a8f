#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# generate.sh [--check]   make the chart's templates from deploy/operator, so that helm and kustomize install the same; --check only fails if they are not current.
#
# A template is a file of deploy/operator with a few whole lines exchanged, each of which must be there exactly once: a manifest that changes where a value comes
# in fails here, and everything else is taken over. Without helm --check also holds what the values say against the manifests, and the links to crds/ and
# deploy/components. What helm makes of it: deploy/tests/chart-test.sh. Not made here: templates/crds.yaml, components.yaml, _image.tpl, NOTES.txt.
set -euo pipefail
cd "$(dirname "$0")/../.."
check=
[[ ${1:-} != --check ]] || check=1
from=deploy/operator
chart=deploy/helm/kube-mysql
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

complain() {
  echo "chart: $*"
  failed=1
}

# exchange FILE LINE NEW: the line LINE becomes the lines NEW. A block of several lines counts as one line.
exchange() {
  OLD=$2 NEW=$3 awk '
    BEGIN { RS = "\001" }
    { old = "\n" ENVIRON["OLD"] "\n"; at = index($0, old)
      if (!at) exit 3
      rest = substr($0, at + length(old) - 1)
      if (index(rest, old)) exit 4
      printf "%s\n%s%s", substr($0, 1, at - 1), ENVIRON["NEW"], rest }' "$1" > "$work/edited" ||
    complain "$from/${1##*/} has not exactly once: $2"
  mv "$work/edited" "$1"
}

manifests() { # the files of deploy/operator that make an installation
  sed -n 's/^  - //p' $from/kustomization.yaml
}

mkdir "$work/templates"
for name in $(manifests); do
  sed 's/^\( *namespace:\) kube-mysql-system$/\1 {{ .Release.Namespace }}/' "$from/$name" > "$work/templates/$name"
done

made=$work/templates/namespace.yaml
exchange "$made" "  name: kube-mysql-system" "  name: {{ .Release.Namespace }}"
{ head -1 "$made"; echo '{{- if .Values.namespace.create }}'; tail -n +2 "$made"; echo '{{- end }}'; } > "$work/wrapped"
mv "$work/wrapped" "$made"

made=$work/templates/deployment.yaml
image() { sed -n "s/^ .*\\($1:[^ ]*\\)\$/\\1/p" $from/deployment.yaml; }
operator=$(image kube-mysql-operator) agent=$(image kube-mysql-agent)
resources=$(sed -n '/^          resources:$/,/^          [^ ]/{/^            /p}' $from/deployment.yaml)
replicas=$(grep '^  replicas: ' $from/deployment.yaml)
policy=$(sed -n 's/^ *imagePullPolicy: //p' $from/deployment.yaml)
exchange "$made" "$replicas" '  replicas: {{ .Values.replicas }}'
exchange "$made" "          image: $operator" '          image: {{ include "kube-mysql.image" (list .Values.images.operator .Chart) }}'
exchange "$made" "          imagePullPolicy: $policy" '          imagePullPolicy: {{ .Values.imagePullPolicy }}'
exchange "$made" "            - --agent-image=$agent" '            - --agent-image={{ include "kube-mysql.image" (list .Values.images.agent .Chart) }}
            {{- with .Values.watchNamespaces }}
            - --watch-namespaces={{ join "," . }}
            {{- end }}
            {{- range $name, $flag := dict "app" "app" "configMapSync" "configmapsync" }}
            {{- if index $.Values.components $name }}
            - --enable={{ $flag }}
            {{- end }}
            {{- end }}
            {{- if .Values.configMapSync.withoutConsent }}
            - --configmapsync-without-consent
            {{- end }}
            {{- range .Values.extraArgs }}
            - {{ . | quote }}
            {{- end }}'
exchange "$made" $'          resources:\n'"$resources" '          resources:
            {{- toYaml .Values.resources | nindent 12 }}'
exchange "$made" "      serviceAccountName: kube-mysql-operator" '      serviceAccountName: kube-mysql-operator
      {{- range $field := list "imagePullSecrets" "priorityClassName" "nodeSelector" "tolerations" }}
      {{- with index $.Values $field }}
      {{- dict $field . | toYaml | nindent 6 }}
      {{- end }}
      {{- end }}'

# The defaults say what the manifests say.
values=$'\n'$(< $chart/values.yaml)$'\n'
has() { [[ $values == *$'\n'"$1"$'\n'* ]] || complain "values.yaml should say:"$'\n'"$1"; }
has "${replicas#  }"
has "resources:"$'\n'"$(sed 's/^          //' <<< "$resources")"
[[ $values == *$'\n'"imagePullPolicy: $policy "* ]] || complain "values.yaml should say: imagePullPolicy: $policy"
for image in "$operator" "$agent"; do
  has "    repository: ${image%:*}"$'\n    tag: ""\n    digest: ""'
  grep -qx "appVersion: ${image##*:}" $chart/Chart.yaml || complain "the image in the Deployment is $image, the chart's appVersion another"
done

# The CRDs and components that the chart finds are those of kustomize.
listed=$(sed -n 's/^  - //p' crds/kustomization.yaml | sort)
found=$(cd $chart/files/crds && printf '%s\n' *.yaml | grep -v '^kustomization.yaml$' | sort)
[[ $listed == "$found" ]] || complain "crds/kustomization.yaml lists other files than there are: $listed / $found"
for file in $(grep -o '"[a-z-]*/[a-z_]*\.yaml"' $chart/templates/components.yaml | tr -d '"'); do
  [[ -s $chart/files/components/$file ]] || complain "there is no component file $file"
  [[ $(grep -c '^  namespace: kube-mysql-system$' "$chart/files/components/$file") == $(grep -c '^metadata:$' "$chart/files/components/$file") ]] || complain "$file is not in the namespace kube-mysql-system"
done

# The components that bring a kind are folders of one form: a CRD, roles, and the flag that the Deployment's template has, too.
for folder in $(sed -n 's/^.*range \$name, \$folder := dict \(.*\) }}$/\1/p' $chart/templates/components.yaml | tr -d '"' | awk '{ for (i = 2; i <= NF; i += 2) print $i }'); do
  dir=$chart/files/components/$folder
  grep -q '^kind: CustomResourceDefinition$' "$dir/crd.yaml" || complain "$folder/crd.yaml is no CustomResourceDefinition"
  [[ $(grep -c '^    namespace: kube-mysql-system$' "$dir/cluster_role.yaml") == 1 ]] || complain "$folder/cluster_role.yaml is not bound in the namespace kube-mysql-system"
  grep -qx " *value: --enable=$folder" deploy/components/"$folder"/kustomization.yaml || complain "the component $folder has not the flag --enable=$folder"
  grep -q "range \$name, \$flag := dict .*\"$folder\"" "$work/templates/deployment.yaml" || complain "deployment.yaml has no flag for $folder"
done

kept=(_image.tpl NOTES.txt components.yaml crds.yaml)
for file in "$work"/templates/*; do
  name=${file##*/}
  if [[ -z $check ]]; then
    cp "$file" "$chart/templates/$name"
  elif ! cmp -s "$file" "$chart/templates/$name"; then
    complain "templates/$name is not what $from/$name gives (deploy/helm/generate.sh)"
  fi
done
for file in "$chart"/templates/*; do
  name=${file##*/}
  [[ -e $work/templates/$name || " ${kept[*]} " == *" $name "* ]] || complain "templates/$name has no manifest in $from"
done
((failed)) || echo "chart: $(find "$work/templates" -type f | wc -l) templates are what $from says"
exit $failed
