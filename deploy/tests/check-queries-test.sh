#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Our alerts and dashboards pass, and the checker notices what does not exist: a metric, a label, a function, queries at
# all; and what the PodMonitor of databases lets through. Each alert has a line in docs/alerts.md, and its severity
# there. What the checker takes for exported is what a sample of known declarations says. promtool, where it is
# (package prometheus), reads all queries, too, and tries alerts.yaml; kubectl, where it is, puts the components
# together.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
components=deploy/components
rules=$components/prometheus-rule/prometheus_rule.yaml

deploy/check-queries.py || { echo "our own queries were refused"; failed=1; }

# "NAME SEVERITY" of each alert, as the rules say, and as the page does
of_rules() {
  awk '$1 == "-" && $2 == "alert:" { name = $3 }
    /^ *labels: \{severity: / { gsub(/[{}]/, ""); print name, $3 }' "$1" | sort
}
of_page() { sed -n 's/^| `\(Mysql[A-Za-z]*\)` | \([a-z]*\) | [^|]* | [^|]* |$/\1 \2/p' "$1" | sort; }
unlike() { # unlike RULES PAGE: what one of the two has alone
  diff <(of_rules "$1") <(of_page "$2") | sed -n 's/^< /the page lacks /p; s/^> /no rule is /p' || :
}
[[ $(of_rules $rules | wc -l) == "$(grep -c '^ *- alert: ' $rules)" ]] || { echo "an alert has no severity"; failed=1; }
page=docs/alerts.md
[[ -z $(unlike $rules $page) ]] || { echo "alerts of $rules and $page: $(unlike $rules $page)"; failed=1; }
sed '/alert: MysqlFailover$/,/severity:/d' $rules > "$dir/fewer.yaml"
sed -e '/`MysqlFailover` |/d' -e 's/\(`MysqlVolumeFull` | \)warning/\1critical/' $page > "$dir/fewer.md"
[[ $(unlike "$dir/fewer.yaml" $page) == 'no rule is MysqlFailover warning' ]] ||
  { echo "an alert that is gone is not noticed"; failed=1; }
[[ $(unlike $rules "$dir/fewer.md" | sort | tr '\n' ,) == \
  'no rule is MysqlVolumeFull critical,the page lacks MysqlFailover warning,the page lacks MysqlVolumeFull warning,' ]] ||
  { echo "an alert that the page lacks, or calls other than it is, is not noticed"; failed=1; }

# All edited files are judged by one call: a line of it names its file.
mkdir "$dir/edited"
expected=() edits=()
bad() { # bad EXPECTED SED-EDIT [FILE]
  local file=${3:-$rules}
  local edited="$dir/edited/${#edits[@]}-${file##*/}"
  sed "$2" "$file" > "$edited"
  ! cmp -s "$file" "$edited" || { echo "this edit changes nothing: $2"; failed=1; }
  expected+=("$1") edits+=("$2")
}
judge() {
  local out told i
  ! out=$(deploy/check-queries.py "$dir"/edited/* 2>&1) || { echo "nothing was noticed"; failed=1; }
  for i in "${!edits[@]}"; do
    told=$(grep "^queries: \([^ ]*/\)\{0,1\}$i-" <<< "$out" || :)
    if [[ -z $told ]]; then
      printf 'not noticed: %s\n' "${edits[i]}"
      failed=1
    elif [[ $told != *"${expected[i]}"* ]]; then
      printf 'expected "%s" for %s, got:\n%s\n' "${expected[i]}" "${edits[i]}" "$told"
      failed=1
    fi
  done
}
bad 'kubemysql_leaders, which nothing exports' 's/kubemysql_leader /kubemysql_leaders /'
bad 'kubemysql_cluster_last_backup, which nothing' 's/kubemysql_cluster_last_backup_timestamp_seconds/kubemysql_cluster_last_backup/'
bad 'label kind of kubemysql_cluster_condition' 's/condition{type=/condition{kind=/'
bad 'label nam, which none' 's/on (namespace, name)/on (namespace, nam)/'
bad 'up, which nothing exports' 's/absent(kubemysql_leader == 1)/absent(up == 1)/'
bad 'the function incrase' 's/increase(/incrase(/'
bad 'no metric at all' 's/expr: absent.*/expr: time() > 1/'
bad 'cannot be read' 's/expr: absent.*/expr: a ; b/'
bad 'has none' 's/expr:/exp:/'
bad '1 of its 27' 's/- alert: MysqlFailover/- record: failover/'
for board in fleet cluster backups; do
  bad 'which nothing exports' 's/kubemysql_cluster_/kubemysql_clusters_/' $components/dashboards/$board.json
done
bad 'label role of mysql_global_status_queries' 's/mysql_global_status_queries{/mysql_global_status_queries{role=\\"a\\",/' $components/dashboards/cluster.json
bad 'kubemysql_reconcile_seconds_bucket, which' 's/kubemysql_reconcile_time_seconds_bucket/kubemysql_reconcile_seconds_bucket/' $components/dashboards/fleet.json
bad 'variable name asks for kubemysql_none' 's/label_values(kubemysql_cluster_wanted_members{/label_values(kubemysql_none{/' $components/dashboards/cluster.json
bad 'label cluster, which none' 's/wanted_members, namespace)/wanted_members, cluster)/' $components/dashboards/fleet.json
monitors=$components/pod-monitor/pod_monitor.yaml
bad 'keeps kubemysql_leader, which is' 's/regex: (kubemysql_agent|/regex: (kubemysql|/' $monitors
bad 'drops mysql_up, which agents' 's/|mysql|process)/|process)/' $monitors
bad 'drops kubemysql_build_info, which agents' 's/|kubemysql_build_info//' $monitors
bad 'keeps whatever a pod exports' '/action: keep/d' $monitors
bad 'keeps whatever a pod exports' 's/action: keep/action: drop/' $monitors
bad 'there is no PodMonitor of databases' 's/component: database/component: server/' $monitors
judge

known="kubemysql_agent_role gauge role
kubemysql_backup_age_seconds gauge name,namespace
kubemysql_cluster_failover_write_outage_seconds_bucket counter le,name,namespace
kubemysql_reconcile_time_seconds_sum counter controller
mysql_global_status_commands_total counter command
mysql_global_status_uptime gauge -
mysql_global_variables_max_connections gauge -
mysql_slave_status_relay_log_space gauge -"
listed=$(deploy/check-queries.py --list | grep -xF "$known" || :)
[[ $listed == "$known" ]] || { printf 'the list of metrics should have:\n%s\nbut of these it has:\n%s\n' "$known" "$listed"; failed=1; }

# cannot_look WORDS COMMAND…: it ends with 2, and its words with these.
cannot_look() {
  local wanted=$1 said status=0
  said=$("${@:2}" 2>&1) || status=$?
  [[ $status == 2 && $said == *"$wanted" ]] || { echo "${*:2} should end with 2 and \"$wanted\", not $status and: $said"; failed=1; }
}
[[ $(deploy/check-queries.py --help) == "check-queries.py [FILE"* ]] || { echo "--help does not help"; failed=1; }
cannot_look "--halp is no file; --help says what it takes" deploy/check-queries.py --halp
mkdir "$dir/deploy" && cp deploy/check-queries.py "$dir/deploy/"
cannot_look "where it reads the sources" "$dir/deploy/check-queries.py"

if command -v promtool > /dev/null; then
  sed -n '/^  groups:/,$s/^  //p' "$rules" > "$dir/alerts"
  jq -s '{groups: [{name: "dashboards", rules: [.[] | .. | .expr? // empty | {record: "a:b", expr: .}] | unique}]}' $components/dashboards/*.json > "$dir/boards"
  promtool check rules "$dir/alerts" "$dir/boards" > "$dir/out" 2>&1 || { cat "$dir/out"; failed=1; }
  grep -q 'SUCCESS: [1-9]' "$dir/out" || { echo "promtool found no rules"; failed=1; }
  cp deploy/tests/alerts.yaml "$dir/cases"
  promtool test rules "$dir/cases" > "$dir/out" 2>&1 || { cat "$dir/out"; failed=1; }
else
  echo "check-queries: no promtool (package prometheus), so the queries are not parsed by it"
fi
if command -v kubectl > /dev/null; then
  top=$(realpath --relative-to="$dir" deploy)
  (cd deploy && printf -- "- $top/%s\n" components/*) | { printf 'resources: [%s]\ncomponents:\n' "$top"; cat; } > "$dir/kustomization.yaml"
  kubectl kustomize "$dir" | awk '/^kind: / { kind = $2 } /^[a-z]/ { part = $1 } part == "metadata:" && /^  name: / { print kind, $2 }' > "$dir/all"
  for want in 'ConfigMap kube-mysql-dashboard-backups' 'ConfigMap kube-mysql-dashboard-cluster' 'ConfigMap kube-mysql-dashboard-fleet' \
    'PodMonitor kube-mysql' 'PodMonitor kube-mysql-databases' 'PrometheusRule kube-mysql' 'Service kube-mysql-operator-metrics'; do
    grep -qxF "$want" "$dir/all" || { echo "the components make no $want"; failed=1; }
  done
else
  echo "check-queries: no kubectl, so the components are not put together"
fi
((failed)) || echo "check-queries: its tests pass"
exit $failed
