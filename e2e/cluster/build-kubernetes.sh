#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build-kubernetes.sh: build Kubernetes $KUBERNETES_VERSION, etcd and containerd from Go modules into $KM_KUBERNETES/bin.
#
# Nothing to do when that folder is complete. It appears by one rename after everything was built, so a run that was cut off
# leaves no half-trusted result; what it has built lies in $KM_KUBERNETES.work, and the next run goes on from there.
# 9 minutes on 2 cores, 6 GB of scratch space; 600 MB remain. Facts to know:
#  - k8s.io/kubernetes cannot be installed by `go install`: its go.mod points to its staging modules (k8s.io/api and some
#    thirty more) by `replace` with folders, which count in the main module alone. A main module made here names the same
#    ones with versions: v0.X.Y belongs to Kubernetes v1.X.Y. One that was not published with a patch release is taken from
#    the newest that has it (k8s.io/kube-proxy of 1.30.14: v0.30.4).
#  - The defaults of GODEBUG and the language version are those of the main module; so they are taken over too.
#  - Without version stamps /version has no minor version, and clients complain.
#  - What go fetches and from where is the matter of its own configuration (GOPROXY, GOSUMDB, …). Its caches lie in the work
#    folder and go with it; a module cache that the user has chosen (GOMODCACHE, GOPATH) is used instead.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
# shellcheck source=lib/go.sh
. "$KM_CLUSTER_DIR/lib/go.sh"

ETCD=go.etcd.io/etcd/server/v3@v3.6.11
CONTAINERD=github.com/containerd/containerd/v2@v2.4.2
KUBERNETES=k8s.io/kubernetes@v$KUBERNETES_VERSION
COMPANIONS="$ETCD $CONTAINERD"

# Folder of a main module, and what is built in it.
PROGRAMS=(
	"kubernetes k8s.io/kubernetes/cmd/kube-apiserver"
	"etcd       go.etcd.io/etcd/server/v3 etcd"
	"kubernetes k8s.io/kubernetes/cmd/kube-controller-manager"
	"kubernetes k8s.io/kubernetes/cmd/kube-scheduler"
	"kubernetes k8s.io/kubernetes/cmd/kubelet"
	"kubernetes k8s.io/kubernetes/cmd/kube-proxy"
	"kubernetes k8s.io/kubernetes/cmd/kubectl"
	"containerd github.com/containerd/containerd/v2/cmd/containerd"
	"containerd github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2"
	"containerd github.com/containerd/containerd/v2/cmd/ctr"
)
WORK=$KM_KUBERNETES.work

complete() {
	local package name
	[[ -e $KM_KUBERNETES/complete ]] || return 1
	for package in "${PROGRAMS[@]}"; do
		read -r _ package name <<< "$package"
		[[ -x $KM_KUBERNETES/bin/${name:-${package##*/}} ]] || return 1
	done
}

# go_mod_of MODULE@VERSION: its go.mod as JSON
go_mod_of() {
	local answer file
	answer=$(cd "$WORK" && "$GO" mod download -json "$1") || die "go cannot fetch $1: $(jq -r .Error <<< "$answer")"
	file=$(jq -r .GoMod <<< "$answer")
	"$GO" mod edit -json "$file"
}

# main_module DIR MODULE@VERSION: a main module that requires it, with its language version and GODEBUG settings
main_module() {
	mkdir -p "$1"
	go_mod_of "$2" > "$1/theirs.json"
	{
		echo "module kube-mysql.local/${1##*/}"
		jq -r '"go \(.Go)", (.Godebug // [] | .[] | "godebug \(.Key)=\(.Value)")' "$1/theirs.json"
		echo "require ${2/@/ }"
	} > "$1/go.mod"
}

# staging: "MODULE VERSION" for each staging module of Kubernetes
staging() {
	local release=v0.${KUBERNETES_VERSION#*.} module version
	jq -r '.Replace // [] | .[] | select(.New.Path | startswith("./staging/")) | .Old.Path' "$WORK/kubernetes/theirs.json" |
		sed "s/\$/@$release/" | (cd "$WORK" && xargs "$GO" list -m -e -json) |
		jq -r '"\(.Path) \(if .Error then "none" else .Version end)"' |
		while read -r module version; do
			[[ $version != none ]] ||
				version=$(cd "$WORK" && "$GO" list -m -versions "$module" 2> /dev/null | tr ' ' '\n' | grep "^${release%.*}\.[0-9]*\$" | tail -n 1) || true
			echo "$module ${version:-$release}"
		done
}

prepare() {
	local replacements
	main_module "$WORK/etcd" "$ETCD"
	main_module "$WORK/containerd" "$CONTAINERD"
	main_module "$WORK/kubernetes" "$KUBERNETES"
	replacements=$(staging)
	[[ $(wc -l <<< "$replacements") -ge 10 ]] || die "$KUBERNETES names no staging modules"
	awk '{ print "replace " $1 " => " $1 " " $2 }' <<< "$replacements" >> "$WORK/kubernetes/go.mod"
}

# link_flags: the stamps of `kubectl version` and /version
link_flags() {
	local version=k8s.io/component-base/version minor=${KUBERNETES_VERSION#*.}
	printf '%s' "-s -w -X $version.gitVersion=v$KUBERNETES_VERSION -X $version.gitMajor=1 -X $version.gitMinor=${minor%%.*}" \
		" -X $version.gitTreeState=clean -X $version.gitCommit=unknown -X k8s.io/client-go/pkg/version.gitVersion=v$KUBERNETES_VERSION"
}

# take_over NAME: etcd's and containerd's programs from another Kubernetes that was built with the same versions of them
take_over() {
	local other
	for other in "${KM_KUBERNETES%/*}"/kubernetes-*-"${KM_KUBERNETES##*-}"; do
		if [[ -e $other/complete && $(cat "$other/companions" 2> /dev/null) == "$COMPANIONS" ]]; then
			ln -f "$other/bin/$1" "$WORK/out/bin/$1" && return 0
		fi
	done
	return 1
}

# go_build MODULE PACKAGE: into $WORK/new
go_build() {
	(cd "$WORK/$1" && "$GO" build -mod=mod -trimpath -ldflags "$(link_flags)" -o "$WORK/new" "$2" 2> "$WORK/go.log")
}

# build_program MODULE PACKAGE: what a new Go does not build any more is built with the one that its go.mod names, which comes as a module
build_program() {
	local own
	own=go$(jq -r .Go "$WORK/$1/theirs.json")
	go_build "$@" && return 0
	[[ $own != "$("$GO" env GOVERSION)" && -z ${GOTOOLCHAIN:-} ]] || return 1
	say "$2 does not build with $("$GO" env GOVERSION): trying its own $own"
	GOTOOLCHAIN=$own go_build "$@"
}

# build: what is not there yet
build() {
	local module package name count=0 start
	for package in "${PROGRAMS[@]}"; do
		read -r module package name <<< "$package"
		: "${name:=${package##*/}}" $((count += 1))
		[[ ! -x $WORK/out/bin/$name ]] || continue
		if [[ $module != kubernetes ]] && take_over "$name"; then continue; fi
		say "building $name ($count of ${#PROGRAMS[@]}; the first takes 5 minutes, all together 9)"
		start=$SECONDS
		build_program "$module" "$package" || {
			grep -v '^go: downloading' "$WORK/go.log" | tail -n 20 >&2
			die "$name cannot be built"
		}
		mv "$WORK/new" "$WORK/out/bin/$name"
		say "built $name in $((SECONDS - start)) s"
	done
}

# remove_later FOLDER: 100,000 files, which some disks take minutes for. Nobody waits for that, nor for the lock meanwhile.
remove_later() {
	setsid nice rm -rf "$1" 9>&- > /dev/null 2>&1 &
}

main() {
	complete && return 0
	KM_LOCK_TIMEOUT=3600 lock "$KM_CACHE/kubernetes.lock"
	complete && return 0
	local leftover
	for leftover in "$KM_CACHE"/kubernetes-*.work{,.*.gone}; do [[ $leftover == "$WORK" ]] || remove_later "$leftover"; done
	mkdir -p "$WORK/out/bin"
	go_find
	go_settings "$WORK"
	say "Kubernetes $KUBERNETES_VERSION, ${ETCD##*@} of etcd and ${CONTAINERD##*@} of containerd are built with $("$GO" env GOVERSION)"
	prepare
	build
	echo "$COMPANIONS" > "$WORK/out/companions"
	touch "$WORK/out/complete"
	rm -rf "$KM_KUBERNETES"
	mv "$WORK/out" "$KM_KUBERNETES"
	mv "$WORK" "$WORK.$$.gone"
	remove_later "$WORK.$$.gone"
	say "Kubernetes built: $KM_KUBERNETES/bin"
}

main "$@"
