#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check.py finds what it is for: links without an end, headings that a page's table of contents lacks or has twice, tasks without commands, commands that are not fenced; run.py tells
# what a block prints from what it should.
set -euo pipefail
unset KUBECONFIG # of whoever runs this: nothing here is for that cluster, which may be gone
here=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/e2e/docs" "$tree/e2e/stories" "$tree/docs" "$tree/deploy/samples" "$tree/crds"
cp "$here"/e2e/docs/*.py "$tree/e2e/docs/"
touch "$tree/e2e/stories/docs.sh"
export PYTHONDONTWRITEBYTECODE=1

expect() { # RC TEXT COMMAND…
  local want=$1 text=$2 rc=0 out
  shift 2
  out=$("$tree/e2e/docs/$1" "${@:2}" 2>&1) || rc=$?
  if [[ $rc != "$want" || $out != *"$text"* ]]; then
    printf 'check-docs-test: %s: expected %s and "%s", got %s:\n%s\n' "$*" "$want" "$text" "$rc" "$out" >&2
    exit 1
  fi
}
page() { cat > "$tree/docs/page.md"; }
printf '# A\n' | tee "$tree/README.md" > "$tree/ARCHITECTURE.md"
echo 'docs docs/page.md' > "$tree/e2e/docs/pages"
echo 'docs/page.md Two' > "$tree/e2e/docs/tasks"
printf 'PLACE\tword\n' > "$tree/e2e/docs/substitutions"

page << 'PAGE'
# One
[there](#two), [also](../README.md#a), [elsewhere](https://localhost/x)
## Two
```yaml
# file.yaml
a: PLACE
```
```sh
cat file.yaml
export B=c
```
```text
…
a:  w…d
```
```sh
echo $B; test -d deploy
```
```text
c
```
PAGE
expect 0 '0 problems; 2 blocks are run' check.py
expect 0 '2 blocks ran' run.py docs/page.md
sed -i 's/^c$/d/' "$tree/docs/page.md"
expect 1 'printed something else' run.py docs/page.md
sed -i 's/^d$/c/; s/test -d deploy/false/' "$tree/docs/page.md"
expect 1 'ended with 1' run.py docs/page.md
sed -i 's/#two/#three/' "$tree/docs/page.md"
expect 1 'page.md:2: #three: there is no such heading' check.py
sed -i 's/#three/nowhere.md/' "$tree/docs/page.md"
expect 1 'nowhere.md: there is no such file' check.py
printf '# One\n## Two\n## Three\n## Four\n## Five\n' | page
expect 1 'page.md:3: the table of contents lacks this heading' check.py
expect 1 "the task 'Two' has no block that is run" check.py
printf '# One\n- [Two](#two)\n- [Tw\n  o](#two)\n\n## Two\n[again](#two)\n' | page
expect 1 'page.md:3: the table of contents has #two twice' check.py
printf '# One\n[Two](#two)\n- [Two](#two)\n\n## Two\n- [again](#two)\n- [and again](#two)\n' | page
expect 1 'docs: 1 problems' check.py
printf '# One\n## Two\n\n    kubectl get pods\n' | page
expect 1 'page.md:4: commands stand in a fenced block' check.py
{ printf '## Two\n'; for _ in {1..11}; do printf '```sh not run: so\nx\n```\n'; done; printf '```sh\nx\n```\n'; } | page
expect 1 '11 blocks are not run, 10 may be' check.py
{ printf '## Two\n'; for _ in {1..11}; do printf '```sh not run: docker\nx\n```\n'; done; printf '```sh\nx\n```\n'; } | page
expect 0 '11 are not' check.py
page << 'PAGE'
## Two
```js
// one.js
1
```
```sh
cat one.js | sed 1d; echo "$WHO"; echo $KUBECONFIG
```
```text
1
somebody
…/.kubeconfig
```
```sh fails
echo no; false
```
```text
no
```
PAGE
# shellcheck disable=SC2016 # expanded by run.py
printf '$WHO\t$ME\n' > "$tree/e2e/docs/substitutions"
touch "$tree/kubeconfig"
ME=somebody KUBECONFIG=$tree/kubeconfig expect 0 '2 blocks ran' run.py docs/page.md
sed -i 's/echo no; false/echo no/' "$tree/docs/page.md"
ME=somebody KUBECONFIG=$tree/kubeconfig expect 1 'ended with 0' run.py docs/page.md
rm "$tree/e2e/stories/docs.sh"
expect 1 'there is no story docs' check.py
echo '- docs/page.md' > "$tree/e2e/docs/pages"
expect 1 'it has commands, and no story runs them' check.py
expect 1 'docs/page.md: 2 run, 0 not' check.py --by-page
printf '## Two\n%s\n' "$(printf 'x %.0s' {1..70})" | page
expect 1 '140 characters; 120 at most' check.py
echo "check-docs-test: ok"
