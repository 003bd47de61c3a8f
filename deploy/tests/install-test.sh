#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What install.sh does on servers of several versions, and that the CRDs which judge objects beforehand are those of crds/ under a group of their own.
# The kubectl here writes down what it is asked; it renders with the real one, each folder once: that takes longer than all else here.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
real=$(command -v kubectl) || { echo "install: no kubectl; its test is skipped"; exit 0; }

cat > "$dir/kubectl" << SH
#!/bin/bash
if [[ -s "$dir/no-answer" && "\$* " == *"\$(< "$dir/no-answer")"* ]]; then
  [[ \$1 != create ]] || cat > /dev/null
  echo 'Unable to connect to the server: net/http: TLS handshake timeout' >&2
  exit 1
fi
case "\$1 \$2" in
  "get --raw") [[ \$3 == /version ]] && cat "$dir/version" || echo '{}' ;;
  "get mysqlclusters.kubemysql.dev") if [[ \$* == *custom-columns* ]]; then echo shops; else cat "$dir/clusters"; fi ;;
  "get statefulsets") printf 'shops   shop-mysql   a:1   3\ncrm   own-mysql   b:9   1\ncrm   still-mysql   a:1   2\ncrm   same-mysql   a:1   2\ncrm   new-mysql   a:2   2\n' ;;
  "-n crm") case "\$*" in *still*) echo true/ ;; *same*) echo /a:1 ;; esac ;;
  "-n kube-mysql-system") [[ \$3 != get ]] || cat "$dir/live" ;;
  "get "*) ;;
  "delete "*) cat > /dev/null ;;
  "kustomize "*) echo "\$2" >> "$dir/asked"; rendered="$dir/rendered\${2//\//+}"; [[ -s \$rendered ]] || "$real" "\$@" > "\$rendered" || exit; cat "\$rendered" ;;
  "apply "*) echo apply >> "$dir/changed"; cat >> "$dir/applied" ;;
  "create --dry-run=server")
    [[ ! -d \${KUBECACHEDIR:-} ]] || echo "\$KUBECACHEDIR" > "$dir/cache"
    cat > "$dir/offered"
    cat "$dir/said" >&2
    exit 1 ;;
esac
SH
chmod +x "$dir/kubectl"
clusters() { # clusters NAME…: what there is of MysqlClusters in namespace shops; "-NAME" is being deleted
  local name
  echo 'apiVersion: v1'
  echo 'items:'
  for name; do
    printf '%s\n' '- apiVersion: kubemysql.dev/v1alpha1' '  kind: MysqlCluster' '  metadata:'
    [[ $name != -* ]] || echo '    deletionTimestamp: "2026-11-30T17:47:02Z"'
    printf '%s\n' "    name: ${name#-}" '    namespace: shops' '    uid: 1-2-3' '  spec:' '    name: other'
  done
  printf '%s\n' 'kind: List' 'metadata:' '  resourceVersion: ""'
}
clusters shop > "$dir/clusters"
refusal='The MysqlCluster "shop" is invalid: spec.username: Invalid value'
echo "$refusal" > "$dir/said" # what the API server says of an object that it is offered
live() { printf '%s\n' "$@" > "$dir/live"; } # the operator that runs
live '      - args:' '        - --agent-image=a:1' '        image: o:1'

run() { # run VERSION ARG…: output of install.sh; what it changed lies in $dir
  rm -f "$dir/changed" "$dir/applied" "$dir/asked"
  printf '{"major": "1", "minor": "x", "gitVersion": "%s"}\n' "$1" > "$dir/version"
  PATH=$dir:$PATH IMAGE_OPERATOR=o:2 IMAGE_AGENT=a:2 deploy/install.sh "${@:2}" 2>&1
}

minimum=$(< deploy/minimum-kubernetes)
for old in v1.20.2 v1.29.15-eks-1 v1.9.0 ""; do
  if out=$(run "$old") || [[ $out != *"nothing was changed"* || -e $dir/changed ]]; then
    echo "installed on \"$old\": $out" && failed=1
  fi
done
for new in "v$minimum.0" v1.100.0+k3s1; do
  out=$(run "$new") || { echo "refused $new: $out" && failed=1; }
  [[ $out == *'shops: The MysqlCluster "shop" is invalid: spec.username'* ]] || { echo "the object that breaks a rule is not listed: $out" && failed=1; }
done
[[ -s $dir/cache && ! -e $(< "$dir/cache") ]] ||
  { echo "kubectl remembers the CRDs that judge after they have gone, or the folder in which it did stays" && failed=1; }
((failed)) || for group in kubemysql.dev check.kubemysql.dev; do
  [[ $(grep -c "^  group: $group\$" "$dir/applied") == 4 && $(grep -c "^  name: mysql[a-z]*\.$group\$" "$dir/applied") == 4 ]] ||
    { echo "not four CRDs of the group $group" && failed=1; }
done
[[ $(grep -c '^    shortNames:' "$dir/applied") == 4 ]] || { echo "the CRDs that judge have short names" && failed=1; }
out=$(run "v$minimum.0" --plan) || { echo "--plan fails: $out" && failed=1; }
for line in 'operator: o:1 -> o:2' 'agent: a:1 -> a:2' 'shops/shop: its 3 members are replaced, one after the other, the primary last' 'crm/new: stays as it is' \
  'crm/own: stays as it is, its configuration names the agent b:9' 'crm/same: stays as it is, its configuration names the agent a:1' 'crm/still: stays as it is while spec.paused is true; it fails over, unless spec.failover.enabled is false'; do
  grep -qxF "  $line" <<< "$out" || { echo "--plan does not say \"$line\": $out" && failed=1; }
done
! grep -v '^  group: check\.' "$dir/applied" | grep -q 'group: kubemysql.dev\|kind: Deployment' || { echo "--plan changes something" && failed=1; }
[[ $out != *"set back"* && $out != *"not in deploy/operator"* ]] || { echo "--plan takes something away that nobody has set: $out" && failed=1; }
for question in 'get mysqlclusters.kubemysql.dev --all' 'get --raw /apis/check' 'get mysqlclusters.kubemysql.dev -n shops' 'create ' 'get deployment' 'get statefulsets' 'get mysqlclusters.kubemysql.dev shop '; do
  echo -n "$question" > "$dir/no-answer"
  if out=$(run "v$minimum.0" --plan) || [[ $out != *"TLS handshake timeout"*"nothing was changed"* ]] || grep -q '^  .*: Unable to connect' <<< "$out"; then
    echo "--plan takes no answer to \"$question\" for one: $out" && failed=1
  fi
done
rm "$dir/no-answer"
forbidden='Error from server (Forbidden): error when creating "STDIN": mysqlclusters.check.kubemysql.dev'
clusters -going shop late -gone > "$dir/clusters"
ends='forbidden: unable to create new content in namespace shops because it is being terminated'
printf '%s\n' "$forbidden \"late\" is $ends" "$refusal" > "$dir/said"
out=$(run "v$minimum.0" --plan) || { echo "--plan fails where something is being deleted: $out" && failed=1; }
[[ $(grep -c '^  shops: ' <<< "$out") == 1 && $out == *"shops: $refusal"* ]] ||
  { echo "what is being deleted is taken for what breaks a rule: $out" && failed=1; }
left='mysqlclusters shops/going, mysqlclusters shops/gone, mysqlclusters shops/late'
grep -qxF "install: not checked, as they are being deleted or their namespace is: $left" <<< "$out" ||
  { echo "what is being deleted is not told: $out" && failed=1; }
offered=$(grep '^    name: ' "$dir/offered" | grep -v other | tr -d '\n')
[[ $offered == '    name: shop    name: late' && $(grep -c '^kind: List' "$dir/offered") == 1 ]] ||
  { echo "the API server is asked about what is being deleted: $(< "$dir/offered")" && failed=1; }
rm "$dir/offered"
clusters -going > "$dir/clusters"
if ! out=$(run "v$minimum.0" --plan) || [[ $out == *"break a rule"* || -e $dir/offered ]]; then
  echo "where all is being deleted something is asked or told as wrong: $out" && failed=1
fi
clusters shop > "$dir/clusters"
words="User \"dev\" cannot create resource \"mysqlclusters\" in namespace \"shops\""
echo "$forbidden is forbidden: $words" > "$dir/said"
if out=$(run "v$minimum.0" --plan) || [[ $out == *"break a rule"* ]] ||
  [[ $out != *"User \"dev\" cannot create"*"nothing was changed"* ]]; then
  echo "what somebody may not ask is taken for what breaks a rule: $out" && failed=1
fi
printf '%s\n' 'The MysqlCluster "shop" is invalid: ' '* spec.username: Forbidden: may not be root' \
  '* spec.paused: Invalid value' > "$dir/said"
out=$(run "v$minimum.0" --plan) || { echo "a field that is forbidden ends the check: $out" && failed=1; }
[[ $out == *"shops: * spec.username: Forbidden"* ]] ||
  { echo "a field that is forbidden is not listed: $out" && failed=1; }
echo "$refusal" > "$dir/said"
live 'spec:' '  replicas: 2' '      - args:' '        - --agent-image=a:1' '        image: o:1' 'status:' '  readyReplicas: 2' '  replicas: 2'
out=$(run "v$minimum.0" --plan)
[[ $out != *"replicas: 2 is set back"* ]] || { echo "--plan takes the status for something that somebody has set: $out" && failed=1; }
live 'spec:' '  replicas: 5' '      - args:' '        - --agent-image=a:1' '        - --enable=app' '        - --watch-namespaces=crm' '        image: o:1' \
  '        resources:' '          limits:' '            memory: 128Mi' '      priorityClassName: high'
out=$(run "v$minimum.0" --plan)
for line in 'operator: --enable=app is not in deploy/operator; install.sh stops there unless it has --reset: apply your overlay instead' \
  'operator: replicas: 5 is set back' 'operator: priorityClassName: high is set back' 'operator: resources.limits.memory: 128Mi is set back'; do
  grep -qxF "  $line" <<< "$out" || { echo "--plan does not say \"$line\": $out" && failed=1; }
done
if out=$(run "v$minimum.0") || [[ $out != *"runs with --enable=app --watch-namespaces=crm, which an overlay"*"nothing was changed"* || $(cat "$dir/applied" 2> /dev/null) == *"kind: Deployment"* ]]; then
  echo "flags of an overlay are taken away: $out" && failed=1
fi
if ! out=$(run "v$minimum.0" --reset) || ! grep -q 'kind: Deployment' "$dir/applied"; then
  echo "--reset does not install: $out" && failed=1
fi
[[ $(grep -c '^deploy/operator$' "$dir/asked") == 1 ]] || { echo "the overlay is rendered $(grep -c '^deploy/operator$' "$dir/asked") times" && failed=1; }
overlay=$("$real" kustomize deploy/samples/overlay)
for line in 'image: registry.example.com/kube-mysql-operator:[0-9.]*' '- --agent-image=registry.example.com/kube-mysql-agent:0.2.0' '- --max-unavailable-clusters=3' 'replicas: 3' 'maxUnavailable: 2' \
  'x-kubernetes-validations:'; do
  grep -q "^ *$line\$" <<< "$overlay" || { echo "the sample of an overlay does not reach \"$line\"" && failed=1; }
done
grep -q "^kubeVersion: \">=$minimum.0-0\"\$" deploy/helm/kube-mysql/Chart.yaml || { echo "the chart's kubeVersion is not $minimum" && failed=1; }
[[ $(deploy/install.sh --help) == "install.sh ["*"--reset"* ]] || { echo "--help does not say what there is" && failed=1; }
((failed)) || echo "install: its test passes"
exit $failed
