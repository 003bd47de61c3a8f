#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build-kubernetes.sh: build Kubernetes' binaries from Debian's source package into $KM_KUBERNETES/bin.
#
# Nothing to do when that folder is complete. It appears by one rename after everything was built, so a run that
# was cut off leaves no half-trusted result. About 5 minutes on 2 cores the first time.
#
# Debian builds only kubectl from its package "kubernetes", but the whole source tree is in it. Facts to know:
#  - Its go.mod is too old for Go 1.19 in module mode, so the tree is built in GOPATH mode.
#  - kube-apiserver needs a generated file (pkg/generated/openapi) that the package lacks.
#  - It vendors modern-go/reflect2 1.0.1, whose map iteration corrupts memory when built with Go >= 1.18 (random
#    "fatal error: fault" while encoding JSON). Debian's own 1.0.2 takes its place.
#  - Without version stamps clients and discovery complain.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

GO=/usr/lib/go-1.19/bin/go
REFLECT2=/usr/share/gocode/src/github.com/modern-go/reflect2
VERSION=v$KM_KUBERNETES_VERSION
PROGRAMS=(kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl)

complete() {
	local p
	[[ -e $KM_KUBERNETES/complete ]] || return 1
	for p in "${PROGRAMS[@]}"; do [[ -x $KM_KUBERNETES/bin/$p ]] || return 1; done
}

# fetch_source DIR: unpack the source package. The machine's own sources.list entries for the Debian release are
# read as source entries, in a private apt state, so that the machine's configuration stays as it is.
fetch_source() {
	local dir=$1 codename
	codename=$(sed -n "s/^VERSION_CODENAME=//p" /etc/os-release)
	mkdir -p "$dir/apt/lists/partial" "$dir/apt/empty"
	awk -v RS= -v c="$codename" '
		$0 ~ "Suites:[^\n]*[ \t]" c "([ \t\n-]|$)" { gsub(/Types:[^\n]*/, "Types: deb-src"); gsub(/#[^\n]*\n/, ""); if (!seen[$0]++) print $0 "\n" }' \
		/etc/apt/sources.list.d/*.sources > "$dir/apt/src.sources" 2> /dev/null || true
	sed -nE "s/^deb(-src)? (.* $codename(-[a-z]+)? .*main.*)/deb-src \2/p" \
		/etc/apt/sources.list /etc/apt/sources.list.d/*.list 2> /dev/null | sort -u > "$dir/apt/src.list" || true
	local parts=$dir/apt/parts
	mkdir -p "$parts"
	cp "$dir/apt/src.sources" "$dir/apt/src.list" "$parts/"
	local options=(-o "Dir::Etc::sourcelist=/dev/null" -o "Dir::Etc::sourceparts=$parts"
		-o "Dir::State::lists=$dir/apt/lists" -o "Dir::Cache::pkgcache=" -o "Dir::Cache::srcpkgcache="
		-o "APT::Sandbox::User=root")
	apt-get "${options[@]}" -qq update
	(cd "$dir" && apt-get "${options[@]}" -qq source --download-only kubernetes)
	dpkg-source --no-check -x "$dir"/kubernetes_*.dsc "$dir/gopath/src/k8s.io/kubernetes" > /dev/null
	rm -rf "$dir/apt"
}

# replace_reflect2 TREE
replace_reflect2() {
	local vendored=$1/vendor/github.com/modern-go/reflect2
	rm -f "$vendored"/*.go "$vendored"/*.s
	cp "$REFLECT2"/*.go "$REFLECT2"/*.s "$vendored/"
	rm -f "$vendored"/*_test.go
}

# change FILE FROM TO: replace one line; a FROM that is not there is an error
change() {
	grep -qxF "$2" "$1" || die "Kubernetes' $1 has no line '$2'"
	FROM=$2 TO=$3 awk '$0 == ENVIRON["FROM"] { $0 = ENVIRON["TO"] } { print }' "$1" > "$1.new"
	mv "$1.new" "$1"
}

# quick_kubelet: take kubelet's slow spots out. Runs in the tree.
#  - cAdvisor asks for a Docker engine five times, a second apart, at every start.
#  - A regression of the 1.20 releases up to 1.20.2: a deleted pod stays Terminating until the next container garbage
#    collection (up to a minute), and then until the next round of the status manager (up to 10 s more).
quick_kubelet() {
	local tab=$'\t'
	change vendor/github.com/google/cadvisor/container/docker/factory.go 'const rootDirRetries = 5' 'const rootDirRetries = 0'
	change pkg/kubelet/kubelet.go "${tab}ContainerGCPeriod = time.Minute" "${tab}ContainerGCPeriod = time.Second"
	change pkg/kubelet/status/status_manager.go 'const syncPeriod = 10 * time.Second' 'const syncPeriod = 1 * time.Second'
}

# generate_openapi: write pkg/generated/openapi from all packages that ask for it. Runs in the tree.
generate_openapi() {
	local packages prefix=k8s.io/kubernetes
	"$GO" build -o "$GOPATH/openapi-gen" $prefix/vendor/k8s.io/kube-openapi/cmd/openapi-gen
	packages=$(grep -rl --include='*.go' '+k8s:openapi-gen=' pkg staging/src vendor/k8s.io 2> /dev/null |
		xargs -n1 dirname | sed -e "s#^staging/src/#$prefix/vendor/#" -e "s#^vendor/#$prefix/vendor/#" -e "s#^pkg/#$prefix/pkg/#" |
		sort -u | paste -sd,)
	"$GOPATH/openapi-gen" -O zz_generated.openapi --go-header-file hack/boilerplate/boilerplate.generatego.txt \
		--output-base "$GOPATH/src" --input-dirs "$packages" -p $prefix/pkg/generated/openapi -r "$GOPATH/openapi-report"
}

# build OUT: all programs. Runs in the tree.
build() {
	local flags="-s -w" package program vendor=k8s.io/kubernetes/vendor
	for package in {,$vendor/}k8s.io/{component-base/version,client-go/pkg/version}; do
		flags+=" -X $package.gitVersion=$VERSION -X $package.gitMajor=1 -X $package.gitMinor=20"
		flags+=" -X $package.gitTreeState=clean -X $package.gitCommit=debian"
	done
	for program in "${PROGRAMS[@]}"; do
		"$GO" build -trimpath -ldflags "$flags" -o "$1/$program" "k8s.io/kubernetes/cmd/$program"
		say "built $program"
	done
}

main() {
	complete && return 0
	lock "$KM_CACHE/kubernetes.lock"
	complete && return 0
	[[ -x $GO && -d $REFLECT2 ]] || die "golang-1.19 or reflect2 is missing: run e2e/cluster/deps.sh"
	rm -rf "$KM_CACHE"/kubernetes-*.work
	local work=$KM_KUBERNETES.work
	mkdir -p "$work/gopath/src/k8s.io" "$work/out/bin"
	export GO111MODULE=off GOPATH=$work/gopath CGO_ENABLED=0 GOFLAGS='' GOCACHE=$work/cache
	say "fetching Kubernetes' source package"
	fetch_source "$work"
	cd "$GOPATH/src/k8s.io/kubernetes"
	replace_reflect2 .
	quick_kubelet
	say "generating the API description"
	generate_openapi
	say "building Kubernetes $VERSION (minutes)"
	build "$work/out/bin"
	cd /
	touch "$work/out/complete"
	rm -rf "$KM_KUBERNETES"
	mv "$work/out" "$KM_KUBERNETES"
	rm -rf "$work"
	say "Kubernetes built: $KM_KUBERNETES/bin"
}

main "$@"
