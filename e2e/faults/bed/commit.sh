#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# commit.sh: prints which commit the programs are of: the newest one that changed them; "+" follows when the working tree is changed further.
set -euo pipefail
cd "$(dirname "$0")/../../.."
paths=(agent common operator crds deploy)
commit=$(git log -1 --format=%h -- "${paths[@]}" 2> /dev/null) || { echo unknown && exit; }
[[ -z $(git status --porcelain -- "${paths[@]}") ]] || commit+=+
echo "$commit"
