#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# release.sh   everything that a release of the last commit consists of, in $BUILD/release; what it is and why: docs/releases.md. Debian, root, network.
#
#   ARCHITECTURES="amd64 arm64"   REGISTRY=registry.example.com/team: where manifests and chart look for the images (none: the bare names)
#   SOURCES=no                    without the sources of LGPL libraries: for trials, never to be passed on
#   CURL_SOURCE_VERSION=…         see static-libs.sh
# Programs are built in a Debian system of their own (a tree in ~/.cache/kube-mysql, with the apt sources of this machine), brought up to date each time.
# Takes about 5 minutes on two cores for each architecture, the first time 3 more.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${BUILD:=build}" "${ARCHITECTURES:=amd64 arm64}" "${REGISTRY:=}" "${SOURCES:=yes}"
suite=trixie
out=$(readlink -f -m "$BUILD/release")
cache=${XDG_CACHE_HOME:-$HOME/.cache}/kube-mysql
version=$(< VERSION)
native=$(dpkg --print-architecture)

die() {
  echo "release: $*" >&2
  exit 1
}
say() { printf 'release: %s\n' "$*"; }

[[ $(id -u) == 0 ]] || die "root is needed, to make a Debian system"
for tool in mmdebstrap kubectl jq git unshare; do
  command -v $tool > /dev/null || die "$tool is missing (make deps)"
done
[[ -z $(git status --porcelain) ]] || die "there are changes that are not committed; a release is a commit"
build-aux/check-version.sh > /dev/null || die "the version is not the same everywhere (make check-version)"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
case $native in amd64 | arm64) ;; *) die "images are made on amd64 and arm64" ;; esac

triplet() { [[ $1 == arm64 ]] && echo aarch64-linux-gnu || echo x86_64-linux-gnu; }

# This machine's own mirrors of Debian, for another suite.
mirrors() {
  local label uri end
  while read -r label uri; do
    end=
    [[ $label != Debian-Security ]] || end=-security
    echo "deb $uri $suite$end main"
    [[ $label != Debian ]] || echo "deb $uri $suite-updates main"
  done < <(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Origin: Debian' 'Created-By: Packages' 'Component: main' | sort -u)
}

# make_tree ARCH: its folder in $tree
make_tree() {
  local arch=$1 packages compiler=gcc suffix='' sources
  if [[ $arch != "$native" ]]; then
    compiler=gcc-$(triplet "$arch" | sed 's/_/-/') suffix=:$arch
  fi
  packages=$compiler,apt,make,pkg-config,ca-certificates,dpkg-dev,tzdata,jq$(
    printf ",%s-dev$suffix" libc6 libcurl4-openssl libjansson libmariadb libssl libyaml libevent libexpat1 libzstd libnghttp2 zlib1g)
  sources=$(mirrors)
  [[ $sources == *-security* ]] || die "apt has no source of Debian's security updates"
  tree=$cache/release-$suite-$arch-$(printf '%s\n' "$packages" "$sources" | sha256sum | cut -c1-8)
  [[ ! -e $tree/made ]] || return 0
  say "making a Debian system ($suite) to build for $arch"
  rm -rf --one-file-system "$tree"
  mkdir -p "$cache"
  # In a mount namespace of its own: what it mounts goes with it, also when it is interrupted.
  # shellcheck disable=SC2086 # one line each
  (IFS=$'\n' && unshare --mount --propagation private mmdebstrap --quiet --variant=essential --mode=root --architectures="$native$([[ -z $suffix ]] || echo ",$arch")" --include="$packages" \
    "$suite" "$tree" $sources) || die "$suite cannot be had"
  touch "$tree/made"
}

# inside COMMAND…: in the tree, with its own mounts, which go with it
inside() {
  # shellcheck disable=SC2016 # the arguments of the inner shell
  unshare --mount --propagation private bash -c 'mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && cp -L /etc/resolv.conf "$1/etc/resolv.conf" &&
    tree=$1 && shift && exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive SOURCE_DATE_EPOCH='"$SOURCE_DATE_EPOCH"' \
    CURL_SOURCE_VERSION="$CURL_SOURCE_VERSION" chroot "$tree" "$@"' inside "$tree" "$@"
}
export CURL_SOURCE_VERSION=${CURL_SOURCE_VERSION:-}

build() { # build ARCH: programs and the content of images in $tree/content
  local arch=$1 settings=() name
  [[ $arch == "$native" ]] || settings=("CC=$(triplet "$arch")-gcc" "AR=$(triplet "$arch")-ar" "PKG_CONFIG_LIBDIR=/usr/lib/$(triplet "$arch")/pkgconfig")
  rm -rf --one-file-system "$tree/src" "$tree/out" "$tree/content" "$tree/sources"
  mkdir "$tree/src"
  git archive HEAD | tar -x -C "$tree/src"
  inside bash -euc 'apt-get -qq update; apt-get -qq -y dist-upgrade > /dev/null; cd /src; (($# < 2)) || export "${@:2}"; build-aux/deb-src.sh > /dev/null
    # This linker tells more of warnings that are switched off (flags.mk).
    make -j"$1" QUIET=1 BUILD=/out "${@:2}" static 2> >(grep -v "does not take linker garbage collection into account" >&2)
    for name in kube-mysql-operator kube-mysql-agent; do BUILD=/out images/content.sh $name /content/$name; done' build "$(nproc)" "${settings[@]}"
  for name in kube-mysql-operator kube-mysql-agent; do
    [[ $arch != "$native" || $("$tree/content/$name/$name" --version) == "$version" ]] || die "$name does not say that it is $version"
    readelf -h "$tree/content/$name/$name" | grep -q "Machine: .*$([[ $arch == arm64 ]] && echo AArch64 || echo X86-64)" || die "$name is not for $arch"
    cp "$tree/content/$name/licenses/$name.spdx.json" "$out/$name-$version-linux-$arch.spdx.json"
  done
  BUILD=$BUILD CONTENT=$tree/content ARCH=$arch OUT=$out END=-$version-linux-$arch.oci.tar TAG=$version REGISTRY=${REGISTRY:-docker.io/library} images/build.sh
}

# What the LGPL asks for: the sources of the libraries that are linked in, at the place of the images (docs/releases.md).
library_sources() {
  local wanted
  wanted=$(jq -r '.packages[] | select(.licenseDeclared == "LGPL-2.1-or-later") | .sourceInfo | capture("built from: (?<s>[^;]*)").s | sub(" "; "=")' \
    "$out"/*.spdx.json | sort -u)
  [[ $wanted == *mariadb=* && $wanted == *glibc=* ]] || die "the SBOMs name no mariadb and glibc, but: $wanted"
  mkdir -p "$tree/sources" "$out/sources"
  inside bash -euc 'cd /sources; apt-get -qq source --download-only "$@"' sources $wanted ||
    die "the sources of ${wanted//$'\n'/ } cannot be had; without them the images must not be passed on (SOURCES=no: a trial)"
  find "$tree/sources" -type f -exec install -m 0644 -t "$out/sources" {} +
}

rm -rf "$out"
mkdir -p "$out/sources"
for arch in $ARCHITECTURES; do
  make_tree "$arch"
  say "building for $arch"
  build "$arch"
done
git archive --prefix="kube-mysql-$version/" HEAD | gzip -n -9 > "$out/sources/kube-mysql-$version.tar.gz"
if [[ $SOURCES == yes ]]; then
  library_sources
else
  say "without the sources of LGPL libraries: not to be passed on"
fi
kubectl kustomize deploy | sed -E "s#(image: |--agent-image=)(kube-mysql-(operator|agent):)#\1${REGISTRY:+$REGISTRY/}\2#" > "$out/install.yaml"
[[ $(grep -cE "(image: |--agent-image=)${REGISTRY:+$REGISTRY/}kube-mysql-(operator|agent):$version\$" "$out/install.yaml") == 2 ]] || die "install.yaml does not name both images"
REGISTRY=$REGISTRY deploy/helm/package.sh "$out/kube-mysql-$version.tgz"
cp LICENSE CHANGELOG.md "$out/"
(cd "$out" && find . -type f -not -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum > SHA256SUMS)
say "version $version in $out:"
(cd "$out" && find . -type f -printf '  %-60P %10s\n' | LC_ALL=C sort)
