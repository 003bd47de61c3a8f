#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# demo.sh   from nothing to a database and a query, explained line by line (make demo). make demo-clean undoes it.
#
# Without KUBECONFIG, on Debian 12 as root: installs what is missing, builds operator and agent, brings up the local Kubernetes
# (e2e/cluster) and works there. With KUBECONFIG: works on that cluster; nothing is built, and the images must be where it can pull them:
#   IMAGE_OPERATOR, IMAGE_AGENT   made from images/*/Dockerfile; not needed if the operator is installed already
#   IMAGE_MYSQL                   the database server (default: mariadb:11.4, or mysql:8.4 with FLAVOUR=mysql)
#   STORAGE_CLASS                 of the volume (default: the cluster's default class)
# Everywhere:
#   FLAVOUR=mariadb|mysql         which database (default mariadb)
#   DEMO_WAIT_SECONDS=300         how long the database may take
#   DEMO_KEEP_OPERATOR=1          use the operator that runs, whatever version it is: build and install nothing
# Safe to repeat, also after a run that was cut off.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=e2e/demo-lib.sh
. e2e/demo-lib.sh
: "${FLAVOUR:=mariadb}" "${DEMO_WAIT_SECONDS:=300}" "${DEMO_KEEP_OPERATOR:=}" "${IMAGE_OPERATOR:=}" "${IMAGE_AGENT:=}" "${IMAGE_MYSQL:=}"
: "${STORAGE_CLASS:=}"

case $FLAVOUR in
  mariadb) cluster=hello other=mysql client=mariadb local_image=registry.local/mariadb:10.11 public_image=docker.io/library/mariadb:11.4 ;;
  mysql) cluster=hello-mysql other=mariadb client=mysql local_image=registry.local/mysql:9.7 public_image=docker.io/library/mysql:8.4 ;;
  *) stop "FLAVOUR=$FLAVOUR is neither mariadb nor mysql" ;;
esac
trap 'stop "interrupted" "make demo goes on from here; make demo-clean takes everything away"' INT TERM

# ---- somewhere to run --------------------------------------------------------------------------------------------------

check_local() {
  ((EUID == 0)) || stop "root is needed to bring up the local Kubernetes" "or set KUBECONFIG to use a cluster of yours"
  command -v apt-get > /dev/null || stop "the local Kubernetes needs Debian packages, and this is no Debian" \
    "set KUBECONFIG to use a cluster of yours"
  [[ -z $IMAGE_OPERATOR$IMAGE_AGENT ]] || line "IMAGE_OPERATOR and IMAGE_AGENT are only for KUBECONFIG; not used"
  unset IMAGE_OPERATOR IMAGE_AGENT # for deploy/install.sh
}

build() {
  step "packages and build: operator and agent"
  { build-aux/deps.sh build && e2e/cluster/deps.sh; } 2>&1 | indent || stop "packages could not be installed" "look at the lines above; apt-get update may help"
  "${MAKE:-make}" --no-print-directory BUILD="$BUILD" QUIET=1 images 2>&1 | indent || stop "the build failed, see above"
}

cluster_up() {
  step "the local Kubernetes"
  [[ -x $KM_KUBERNETES/bin/kube-apiserver ]] ||
    line "the first time Kubernetes is compiled (about 10 minutes) and database images are made (2). Later runs take them from $KM_CACHE"
  # A cluster that was there before is not the demo's to take down. up.sh leaves this file as its last act, down.sh takes it away.
  [[ -e $KM_RUN/complete ]] || touch "$DEMO_CLUSTER_MARK"
  e2e/cluster/up.sh 2>&1 | indent ||
    stop "the local Kubernetes did not come up" "logs: $KM_RUN/log   what runs: make cluster-status   from scratch: make cluster-down demo"
  hash -r
  [[ $FLAVOUR != mysql ]] || mysql_image_there ||
    stop "there is no MySQL image: $(head -n 1 "$KM_IMAGES/mysql.unavailable" 2> /dev/null)" "FLAVOUR=mariadb works"
}

check_foreign() {
  step "the cluster of KUBECONFIG=$demo_given_kubeconfig"
  command -v kubectl > /dev/null || stop "kubectl is missing" "https://kubernetes.io/docs/tasks/tools/"
  demo_reachable || stop "its API server does not answer" "look: kubectl version" "without KUBECONFIG the demo makes a local Kubernetes"
  local what
  for what in customresourcedefinitions clusterroles clusterrolebindings namespaces; do
    [[ $(k auth can-i create "$what" 2> /dev/null) == yes ]] || stop "this account may not create $what there; the demo needs an administrator"
  done
  [[ -n $(k get nodes -o name) ]] || stop "the cluster has no nodes"
  line "context $(k config current-context 2> /dev/null || echo '(none)'), $(k get nodes -o name | wc -l) node(s)"
  check_foreign_images
}

check_foreign_images() {
  if demo_operator_there && [[ -z $(demo_mark) ]]; then
    line "an operator is installed there; it is used as it is"
    DEMO_KEEP_OPERATOR=1
  elif [[ -z $DEMO_KEEP_OPERATOR ]]; then
    [[ -n $IMAGE_OPERATOR && -n $IMAGE_AGENT ]] || stop "IMAGE_OPERATOR and IMAGE_AGENT must name images that this cluster can pull" \
      "docker build -f images/operator/Dockerfile -t REGISTRY/kube-mysql-operator:0.2.0 . && docker push REGISTRY/kube-mysql-operator:0.2.0" \
      "docker build -f images/agent/Dockerfile -t REGISTRY/kube-mysql-agent:0.2.0 . && docker push REGISTRY/kube-mysql-agent:0.2.0" \
      "make demo IMAGE_OPERATOR=REGISTRY/kube-mysql-operator:0.2.0 IMAGE_AGENT=REGISTRY/kube-mysql-agent:0.2.0" \
      "without KUBECONFIG the demo builds them and makes a local Kubernetes"
    line "operator $IMAGE_OPERATOR, agent $IMAGE_AGENT"
  fi
  line "database image ${IMAGE_MYSQL:=$public_image} (IMAGE_MYSQL)"
}

# ---- the operator ------------------------------------------------------------------------------------------------------

# The mark goes first: a run that is cut off right after must still be undone.
mark_operator() {
  local mark=operator
  ! k get namespace "$OPERATOR_NS" > /dev/null 2>&1 || return 0 # marked by an earlier run, or not the demo's
  demo_crds_there || mark=operator,crds
  k apply --server-side --force-conflicts -f deploy/operator/namespace.yaml > /dev/null
  k annotate --overwrite namespace "$OPERATOR_NS" "$DEMO_ANNOTATION=$mark" > /dev/null
}

operator_failed() {
  k -n "$OPERATOR_NS" get pods -o wide 2>&1 | indent
  k -n "$OPERATOR_NS" logs -l app.kubernetes.io/component=operator --tail=10 2>&1 | indent
  stop "the operator does not start" "kubectl -n $OPERATOR_NS describe pods" "a pod that cannot pull its image: check IMAGE_OPERATOR"
}

deploy() {
  step "the operator"
  if [[ -n $DEMO_KEEP_OPERATOR ]]; then
    demo_operator_there || stop "there is no operator to use (DEMO_KEEP_OPERATOR)"
    line "left as it is: $(k -n "$OPERATOR_NS" get deployment kube-mysql-operator -o 'jsonpath={.spec.template.spec.containers[0].image}')"
    return
  fi
  namespace_settled "$OPERATOR_NS"
  mark_operator
  if demo_is_local; then
    deploy_operator 2>&1 | indent || operator_failed
  else
    IMAGE_OPERATOR=$IMAGE_OPERATOR IMAGE_AGENT=$IMAGE_AGENT deploy/install.sh 2>&1 | indent || operator_failed
  fi
  [[ $(demo_mark) != operator,crds ]] || k annotate --overwrite crd/mysqlclusters.kubemysql.dev "$DEMO_ANNOTATION=operator,crds" > /dev/null
  k -n "$OPERATOR_NS" get pods --no-headers | indent
}

# A namespace that an earlier clean-up left on its way out.
namespace_settled() {
  [[ $(k get namespace "$1" --ignore-not-found -o 'jsonpath={.status.phase}') == Terminating ]] || return 0
  line "namespace $1 is still going away"
  wait_until 180 "namespace $1 to be gone" eval "[[ -z \$(k get namespace $1 --ignore-not-found -o name) ]]" ||
    stop "namespace $1 does not go away" "kubectl get namespace $1 -o yaml"
}

# ---- the database ------------------------------------------------------------------------------------------------------

storage() {
  local class='' classes
  classes=$(k get storageclass -o 'jsonpath={.items[*].metadata.annotations}' 2> /dev/null) || classes=unknown
  if [[ -n $STORAGE_CLASS ]]; then
    class="storageClassName: $STORAGE_CLASS, "
  elif [[ $classes != unknown && $classes != *'is-default-class":"true"'* ]]; then
    line "no default StorageClass and no STORAGE_CLASS: data will end with the pod" >&2
    echo '{volumeSource: {emptyDir: {}}}'
    return
  fi
  echo "{${class}resources: {requests: {storage: 1Gi}}}"
}

manifest() {
  local images="{mysql: \"$IMAGE_MYSQL\"}" storage
  if demo_is_local; then images="{mysql: \"${IMAGE_MYSQL:-$local_image}\", agent: \"registry.local/kube-mysql-agent:dev\"}"; fi
  storage=$(storage)
  cat << YAML
apiVersion: kubemysql.dev/v1alpha1
kind: MysqlConfig                   # a template, for clusters of all namespaces
metadata:
  name: kube-mysql-demo-$FLAVOUR
  labels: {kubemysql-demo: "true"}
spec:
  images: $images
  mycnf:
    max_connections: 100
---
apiVersion: kubemysql.dev/v1alpha1
kind: MysqlCluster
metadata:
  name: $cluster
  namespace: $DEMO_NS
spec:
  config: {name: kube-mysql-demo-$FLAVOUR}
  replicas: 3                       # one primary, two replicas that follow it; commits wait until one of them has them
  storage: $storage
  database: hello                   # made in the server, with an account that has all rights on it
  username: hello
  terminal: {}                      # a pod in which the client is configured
  deletion: {volumes: Delete}       # it is a demo; the default keeps volumes
YAML
}

apply() {
  step "a $FLAVOUR database: MysqlCluster $cluster in namespace $DEMO_NS"
  namespace_settled "$DEMO_NS"
  k create namespace "$DEMO_NS" --dry-run=client -o yaml | k apply -f - 2>&1 | indent
  k label --overwrite namespace "$DEMO_NS" "$DEMO_LABEL" > /dev/null
  mkdir -p "$BUILD/demo"
  manifest > "$BUILD/demo/$cluster.yaml"
  line "kubectl apply -f $BUILD/demo/$cluster.yaml"
  indent < "$BUILD/demo/$cluster.yaml"
  # A CRD that was just made takes a moment to be served.
  wait_until 30 "the manifest to be taken" k apply -f "$BUILD/demo/$cluster.yaml" ||
    { k apply -f "$BUILD/demo/$cluster.yaml" 2>&1 | indent; stop "the manifest was refused, see above"; }
  applied_us=${EPOCHREALTIME/./}
}

# One line for each fact: KIND|NAME|WHAT|STATUS|REASON|MESSAGE
# shellcheck disable=SC2016 # go-template's variables
template='{{range .items}}{{$of := printf "%s|%s|" .kind .metadata.name}}{{$generation := .metadata.generation}}{{if .status}}
{{range .status.conditions}}
{{$of}}{{.type}}|{{.status}}|{{.reason}}|{{if ne $generation .observedGeneration}}(about an older spec) {{end}}{{.message}}
{{end}}{{range .status.instances}}
{{$of}}pod {{.name}}|{{.phase}}|{{if .ready}}ready{{end}}|{{if .message}}{{.message}}{{end}}
{{end}}{{if .status.nextAction}}
{{$of}}next|{{.status.nextAction}}||
{{end}}{{end}}{{end}}'
facts() { kn get mysqlclusters,mysqlterminals -o go-template="$template" 2> /dev/null | grep "|$cluster|" || true; }

declare -A seen=() now=()
# Prints what is new since the last look, and remembers it.
look() {
  local kind name what status reason message text us
  now=()
  while IFS='|' read -r kind name what status reason message; do
    [[ -n $what ]] || continue
    if [[ $kind == MysqlTerminal ]]; then what="terminal $what"; fi
    now[$what]="$status|$reason"
    [[ $message != '(about an older spec)'* ]] || now[$what]=old
    text="$status${message:+, $message}"
    case $what in
      next) text="next: $status" ;;
      pod*) text="$what: $status${reason:+, $reason}${message:+ ($message)}" ;;
      *) text="$what=$status $reason: $message" ;;
    esac
    [[ ${seen[$what]:-} != "$text" ]] || continue
    seen[$what]=$text
    us=$((${EPOCHREALTIME/./} - applied_us))
    line "+$((us / 1000000)).$((us / 100000 % 10)) s  $text"
  done < <(facts)
}

settled() {
  [[ ${now[Accepted]:-} == True* && ${now[Available]:-} == True* && ${now[Progressing]:-} == False* && ${now[Replicated]:-} == True* &&
    ${now[terminal Available]:-} == True* ]]
}

database_failed() {
  echo
  kn get mysqlclusters,mysqlterminals,pods,pvc -o wide 2>&1 | indent
  kn get events --sort-by=.lastTimestamp -o custom-columns=OBJECT:.involvedObject.name,REASON:.reason,MESSAGE:.message 2>&1 | tail -n 12 | indent
  stop "$@" "look: kubectl -n $DEMO_NS describe myc $cluster" "look: kubectl -n $DEMO_NS logs $cluster-mysql-0 --all-containers --prefix" \
    "look: kubectl -n $OPERATOR_NS logs -l app.kubernetes.io/component=operator --tail=50" "docs/troubleshooting.md" \
    "make demo goes on from here; make demo-clean takes everything away"
}

follow() {
  local end=$((SECONDS + DEMO_WAIT_SECONDS))
  step "what happens"
  until look && settled; do
    case ${now[Healthy]:-}${now[terminal Available]:-} in
      *ImagePullBackOff* | *InvalidImageName* | *ErrImageNeverPull*)
        database_failed "an image cannot be pulled" "the cluster must be able to pull IMAGE_MYSQL (and IMAGE_AGENT)" ;;
    esac
    case ${now[Accepted]:-} in
      'False|Invalid'* | 'False|StorageChangeRefused'*) database_failed "the operator does not accept the spec, see the condition Accepted" ;;
    esac
    ((SECONDS < end)) || database_failed "the database is not there after $DEMO_WAIT_SECONDS s (DEMO_WAIT_SECONDS)"
    sleep 0.2
  done
}

# ---- the query ---------------------------------------------------------------------------------------------------------

query() {
  step "a query from the terminal: host, account and password are configured there"
  local sql="CREATE TABLE IF NOT EXISTS hello.visits (id INT AUTO_INCREMENT PRIMARY KEY, at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, said VARCHAR(60));
INSERT INTO hello.visits (said) VALUES ('hello from make demo');
SELECT COUNT(*) AS visits, MAX(at) AS latest, @@version AS server, @@hostname AS host FROM hello.visits;"
  line "kubectl -n $DEMO_NS exec $cluster-terminal -- $client"
  indent <<< "$sql"
  kn exec -i "$cluster-terminal" -- "$client" --table <<< "$sql" 2>&1 | indent ||
    stop "the query failed, see above" "look: kubectl -n $DEMO_NS describe myt $cluster" "look: kubectl -n $DEMO_NS logs $cluster-terminal"
}

# Through the Service of the replicas, and after another member has taken over.
replication() {
  # A subquery: beside an aggregate MariaDB 10.11 shows 0 for @@read_only whatever it is.
  local sql="SELECT (SELECT COUNT(*) FROM hello.visits) AS visits, @@hostname AS host, @@global.read_only AS read_only;" to
  step "the same row from a replica"
  line "kubectl -n $DEMO_NS exec $cluster-terminal -- $client --host=$cluster-mysql-replicas"
  kn exec -i "$cluster-terminal" -- "$client" --host="$cluster-mysql-replicas" --table <<< "$sql" 2>&1 | indent ||
    stop "the replicas do not answer, see above" "look: kubectl -n $DEMO_NS describe myc $cluster"
  step "another member becomes primary"
  to=$([[ $(kn get myc "$cluster" -o 'jsonpath={.status.currentPrimary}') == "$cluster-mysql-1" ]] && echo 2 || echo 1)
  line "kubectl -n $DEMO_NS annotate --overwrite myc $cluster kubemysql.dev/switchover-to=$to"
  kn annotate --overwrite myc "$cluster" "kubemysql.dev/switchover-to=$to" > /dev/null
  wait_until 60 "$cluster-mysql-$to as primary" eval \
    "[[ \$(kn get myc $cluster -o 'jsonpath={.status.currentPrimary} {.status.transition.to}') == '$cluster-mysql-$to ' ]]" ||
    database_failed "the primary was not moved"
  line "$(kn get myc "$cluster" -o 'jsonpath={.status.lastSwitchover.from} handed over to {.status.lastSwitchover.to}; writes waited {.status.lastSwitchover.writesBlockedMs} ms')"
  kn exec -i "$cluster-terminal" -- "$client" --table <<< "INSERT INTO hello.visits (said) VALUES ('hello after the switchover'); ${sql}" 2>&1 | indent ||
    stop "the new primary does not answer, see above" "look: kubectl -n $DEMO_NS describe myc $cluster"
}

next() {
  step "where it stands"
  kn get myc,pods,pvc 2>&1 | indent
  printf '\nTry next:\n\n'
  if demo_is_local && [[ $demo_given_kubeconfig != "$KUBECONFIG" ]]; then echo "  export KUBECONFIG=$KUBECONFIG"; fi
  [[ :$demo_given_path: == *":$KM_KUBERNETES/bin:"* ]] || ! demo_is_local || PATH=$demo_given_path command -v kubectl > /dev/null ||
    echo "  export PATH=\$PATH:$KM_KUBERNETES/bin"
  cat << TEXT
  kubectl -n $DEMO_NS get myc -o wide                       # what is, and what the operator would do next
  kubectl -n $DEMO_NS describe myc $cluster                    # conditions, merged configuration, events
  kubectl -n $DEMO_NS exec -it $cluster-terminal -- $client    # a terminal
  kubectl -n $DEMO_NS patch myc $cluster --type=merge -p '{"spec":{"mycnf":{"max_connections":150}}}'  # change my.cnf: checked, then taken up
  kubectl -n $DEMO_NS patch myc $cluster --type=merge -p '{"spec":{"mycnf":{"no_such_option":1}}}'     # refused by name, the server runs on
  kubectl -n $DEMO_NS delete svc $cluster-mysql-primary        # comes back
  kubectl -n $DEMO_NS scale myc $cluster --replicas=0          # hibernate; --replicas=3 wakes it
  FLAVOUR=$other make demo$([[ $other == mysql ]] && echo '  ')                                        # the other family, beside this one
  make demo-clean                                                  # undo
TEXT
}

# ---- all ---------------------------------------------------------------------------------------------------------------

if demo_is_local; then
  check_local
  if [[ -z $DEMO_KEEP_OPERATOR ]]; then build; fi
  cluster_up
else
  check_foreign
fi
deploy
apply
follow
query
replication
next
echo
line "done"
