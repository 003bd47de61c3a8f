#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Install what is missing to build, test and package on Debian 12; "build" also on Debian 13. Quick when nothing is. Needs root to install.
#   deps.sh            everything
#   deps.sh build      only what compiling needs (used by the images' build stage)
set -euo pipefail
cd "$(dirname "$0")/.."

build_packages=(
  gcc make pkg-config ca-certificates dpkg-dev
  libc6-dev libcurl4-openssl-dev libjansson-dev libmariadb-dev libssl-dev libyaml-dev libevent-dev libzstd-dev
  libexpat1-dev
  libnghttp2-dev zlib1g-dev tzdata jq
)
test_packages=(
  clang llvm clang-format clang-tidy libclang-rt-14-dev libcmocka-dev nghttp2-server cppcheck shellcheck universal-ctags jq lua5.4 curl strace
  python3 openssl libfaketime prometheus
  mariadb-server mariadb-client mariadb-backup
)

apt() { apt-get -o DPkg::Lock::Timeout=600 -q "$@"; }

install_missing() {
  local missing=() p
  for p in "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Abbrev}' "$p" 2>/dev/null) == ii* ]] || missing+=("$p")
  done
  ((${#missing[@]})) || return 0
  echo "deps: installing ${missing[*]}"
  if [[ $(id -u) != 0 ]]; then
    echo "deps: run as root: apt-get install ${missing[*]}" >&2
    return 1
  fi
  # Packages such as mariadb-server start a service when they are installed; we want the programs only.
  local policy=/usr/sbin/policy-rc.d made=
  if [[ ! -e $policy ]]; then
    printf '#!/bin/sh\nexit 101\n' > $policy
    chmod 755 $policy
    made=1
  fi
  local rc=0
  apt update || rc=$?
  ((rc)) || DEBIAN_FRONTEND=noninteractive apt install -y --no-install-recommends "${missing[@]}" || rc=$?
  [[ -z $made ]] || rm -f $policy
  return $rc
}

install_missing "${build_packages[@]}"
[[ ${1:-} == build ]] && exit 0
install_missing "${test_packages[@]}"
for more in e2e/cluster/deps.sh e2e/s3/deps.sh; do
  [[ ! -x $more ]] || $more
done
echo "deps: complete"
