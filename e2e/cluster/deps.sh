#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deps.sh: install the Debian packages the local Kubernetes needs (nothing to do when they are there; needs root).
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

PACKAGES=(
	gcc libc6-dev # the pause image
	mmdebstrap    # database images, and Go where there is none
	runc containernetworking-plugins dnsmasq-base
	iptables iproute2 conntrack ebtables ethtool util-linux mount kmod xfsprogs
	ca-certificates curl jq openssl procps
)

missing=()
for package in "${PACKAGES[@]}"; do
	[[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null) == installed ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0
((EUID == 0)) || die "root is needed to install: ${missing[*]}"
say "installing ${#missing[@]} packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
options=(-o DPkg::Lock::Timeout=600 -qq)
apt-get "${options[@]}" update
apt-get "${options[@]}" install -y --no-install-recommends "${missing[@]}" > /dev/null
say "packages installed"
