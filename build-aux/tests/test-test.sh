#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The closing line counts what the stages told, a watch ends what takes too long, and LONG=1 does not repeat what has passed on this commit.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/bin" "$tree/checkout/build-aux"
cp "$here/test.sh" "$here/kept.sh" "$tree/checkout/build-aux/"
unset FULL LONG STAGES STORIES STOP AGAIN TEST_MINUTES TEST_FILTER
export XDG_CACHE_HOME=$tree/cache BUILD=$tree/build CALLS=$tree/calls PATH=$tree/bin:$PATH

# A make whose targets do what the file of their name says.
cat > "$tree/bin/make" << 'FAKE'
#!/bin/bash
for target in "$@"; do :; done
echo "$target" >> "$CALLS"
[[ ! -f $CALLS.$target ]] || . "$CALLS.$target"
FAKE
chmod +x "$tree/bin/make"
behaves() { echo "$2" > "$CALLS.$1"; } # TARGET COMMANDS
git() { command git -C "$tree/checkout" -c user.name=test -c user.email=test@localhost "$@"; }
git init -q
git add -A
git commit -q -m first

# expect RC TEXT [VARIABLE=VALUE…]
expect() {
  local want=$1 text=$2 rc=0 out
  shift 2
  : > "$CALLS"
  out=$(env "$@" "$tree/checkout/build-aux/test.sh" 2>&1) || rc=$?
  if [[ $rc != "$want" || $out != *"$text"* ]]; then
    printf 'test-test: %s: expected %s and "%s", got %s:\n%s\n' "$*" "$want" "$text" "$rc" "$out" >&2
    exit 1
  fi
}
called() { grep -qx "$1" "$CALLS" || { echo "test-test: $1 was not called" >&2; exit 1; }; }
not_called() { ! grep -qx "$1" "$CALLS" || { echo "test-test: $1 was called" >&2; exit 1; }; }

# shellcheck disable=SC2016 # the fake make expands it
behaves check 'echo "unit 12 0 1 2" >> "$RESULTS"'
expect 0 '14 passed, 0 failed, 1 skipped, 2 unsteady' STAGES="gcc check lint"
behaves lint 'exit 1'
expect 1 '13 passed, 1 failed, 1 skipped' STAGES="gcc check lint"
called check
behaves all 'exit 1'
behaves integration-tests 'exit 1'
expect 1 'check SKIPPED: gcc failed' STAGES="gcc check lint"
not_called check
rm "$CALLS.all" "$CALLS.integration-tests"
expect 1 'unknown stage chek' STAGES=chek

# A watch: what would not fit is not begun, what does not end is ended
takes() { echo "$1 $2" >> "$XDG_CACHE_HOME/kube-mysql/results/seconds"; } # STAGE SECONDS
takes lint 200
expect 0 'lint SKIPPED: what is left of 3 minutes' STAGES="gcc lint" TEST_MINUTES=3
called integration-tests
not_called lint
takes lint 0
behaves lint 'exec sleep 30'
expect 1 'lint: ended after 0 minutes in all' STAGES="lint fuzz" TEST_MINUTES=0
not_called fuzz

# A plain run leaves integration tests and crash points out, so it says nothing of a later one with all of them
# shellcheck disable=SC2016 # the fake make expands it
behaves check-integration 'echo "integration ${CORE:-10} 0 0 0" >> "$RESULTS"'
behaves lint 'exit 0'
expect 0 '1 passed, 0 failed' STAGES=integration
expect 0 ' passed, 0 failed' LONG=1
called check-integration
called check
expect 0 '10 passed, 0 failed' STAGES=integration FULL=1

# What has passed is kept per commit
expect 0 ' passed, 0 failed' LONG=1 AGAIN=1
expect 0 '==== lint passed on this commit 0 minutes ago' LONG=1
not_called lint
called integration-tests
expect 0 ' passed, 0 failed' LONG=1 AGAIN=1
called lint
echo changed >> "$tree/checkout/build-aux/kept.sh"
expect 0 ' passed, 0 failed' LONG=1
called lint
git commit -q -a -m second
behaves lint 'exit 1'
expect 1 '1 failed' LONG=1
expect 1 '1 failed' LONG=1
called lint
echo "test-test: ok"
