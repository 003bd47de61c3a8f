#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deps.sh: install what the local S3 server needs (nothing to do when it is there; needs root). The library alone: the packages with the servers bring services,
# a user and a syslog daemon that are of no use here.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

PACKAGES=(python3-swift curl openssl)

missing=()
for package in "${PACKAGES[@]}"; do
	[[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null) == installed ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0
((EUID == 0)) || die "root is needed to install: ${missing[*]}"
say "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
options=(-o DPkg::Lock::Timeout=600 -qq)
apt-get "${options[@]}" update
apt-get "${options[@]}" install -y --no-install-recommends "${missing[@]}" > /dev/null
say "packages installed"
