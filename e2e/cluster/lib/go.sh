# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The Go toolchain that builds Kubernetes, etcd and containerd. Source env.sh first.
#
# The user's own go is taken when it is new enough (KM_GO names another one; empty: none). Else go comes from Debian's
# unstable release: the package and what it depends on are unpacked into $KM_CACHE/go-debian, and nothing of it is
# installed. Debian's go is linked statically and finds its tools beside itself, so it runs there on any release.

# What the go.mod of Kubernetes, etcd and containerd ask for at least.
GO_MINIMUM=1.26
# The release that was tried comes first; the unstable release drops it some day.
GO_PACKAGES=("golang-$GO_MINIMUM-go" golang-go)

# go_new_enough GO: whether that program is a toolchain of at least GO_MINIMUM
go_new_enough() {
	local version
	version=$(cd / && GOWORK=off "$1" env GOVERSION 2> /dev/null) || return 1
	version=${version#go}
	[[ $(printf '%s\n' "$GO_MINIMUM" "${version%%[!0-9.]*}" | sort -V | head -n 1) == "$GO_MINIMUM" ]]
}

# go_of_tree DIR: the go in a tree of Debian's
go_of_tree() {
	local go
	for go in "$1"/usr/lib/go-*/bin/go; do
		if go_new_enough "$go"; then
			echo "$go"
			return 0
		fi
	done
	return 1
}

# go_unpack DIR: Debian's go into a new folder, which takes its place by one rename. The unstable release's file may be older
# than its validity says on a mirror; that is no reason to refuse it.
go_unpack() {
	local package work=$1.work
	command -v mmdebstrap > /dev/null || die "mmdebstrap is missing: run e2e/cluster/deps.sh"
	for package in "${GO_PACKAGES[@]}"; do
		rm -rf "$work"
		if mmdebstrap --quiet --variant=extract --mode=root --include="$package" --aptopt='Acquire::Check-Valid-Until "false"' \
			sid "$work" > "$1.log" 2>&1 && go_of_tree "$work" > /dev/null; then
			rm -rf "$1" "$1.log"
			mv "$work" "$1"
			return 0
		fi
	done
	tail -n 5 "$1.log" >&2
	die "there is no go $GO_MINIMUM or newer in PATH, and Debian's unstable release gave none; log: $1.log"
}

# go_find: set GO
go_find() {
	local tree=$KM_CACHE/go-debian
	if [[ -n $KM_GO ]] && go_new_enough "$KM_GO"; then
		GO=$KM_GO
	elif ! GO=$(go_of_tree "$tree"); then
		say "no go $GO_MINIMUM or newer in PATH: fetching Debian's"
		go_unpack "$tree"
		GO=$(go_of_tree "$tree")
	fi
}

# go_settings WORK: caches below WORK, but for a module cache that the user has chosen
go_settings() {
	[[ -n $("$GO" env -changed GOMODCACHE GOPATH) ]] || export GOPATH=$1/gopath GOMODCACHE=$1/gopath/pkg/mod
	export GOCACHE=$1/cache GOWORK=off CGO_ENABLED=0 GO111MODULE=on
}
