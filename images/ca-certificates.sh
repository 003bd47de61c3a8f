#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ca-certificates.sh FILE   the public certificate authorities of the images, one PEM file, from Debian's ca-certificates.
#
# Mozilla's only, in the order of their names: what the administrator of the machine that builds has added (/usr/local/share/ca-certificates) does not
# belong into an image. 142 certificates are 0.21 MB. Another list can be mounted over it, or named by SSL_CERT_FILE.
set -euo pipefail
export LC_ALL=C
file=${1:?usage: ca-certificates.sh FILE}
source=/usr/share/ca-certificates/mozilla

certificates=("$source"/*.crt)
if [[ ! -r ${certificates[0]} ]]; then
  echo "ca-certificates: $source is empty (apt-get install ca-certificates)" >&2
  exit 1
fi
mkdir -p "$(dirname "$file")"
cat "${certificates[@]}" > "$file"
chmod 0644 "$file"
