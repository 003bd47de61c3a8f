#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deps.sh: install the Debian packages the local Kubernetes needs (nothing to do when they are there; needs root).
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

PACKAGES=(
	golang-1.19-go golang-github-modern-go-reflect2-dev dpkg-dev gcc libc6-dev # to build Kubernetes and the pause image
	mmdebstrap                                                                  # database images
	etcd-server etcd-client containerd runc containernetworking-plugins dnsmasq-base
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

# etcd, containerd and dnsmasq come as services of the machine; ours run on their own, so these are not started.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
	printf '#!/bin/sh\nexit 101\n' > "$policy"
	chmod +x "$policy"
	trap 'rm -f "$policy"' EXIT
fi
apt-get "${options[@]}" install -y --no-install-recommends "${missing[@]}" > /dev/null
say "packages installed"
