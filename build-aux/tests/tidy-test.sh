#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A clean file is looked at once, whatever its checkout is called; any change that clang-tidy could see has it looked at again; what was found is told each time.
set -euo pipefail
script=$(realpath "$(dirname "$0")/../tidy.sh")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache LOOKS=$dir/looks PATH=$dir/bin:$PATH
failed=0

# A clang-tidy that counts, and finds fault with the word "bad".
mkdir -p "$dir/bin" "$dir/one"
cat > "$dir/bin/clang-tidy" << 'END'
#!/bin/bash
[[ $1 != --version ]] || { echo "version 14"; exit; }
echo look >> "$LOOKS"
! grep -n bad "$2"
END
chmod +x "$dir/bin/clang-tidy"

# looks COUNT WHAT [FLAG…]: tidy.sh on a.c is fine, and has called clang-tidy so often by now
looks() {
  local wanted=$1 what=$2
  shift 2
  "$script" a.c -DX "$@" > "$dir/out" 2>&1 || { echo "$what: refused: $(< "$dir/out")"; failed=1; }
  [[ $(wc -l < "$LOOKS") == "$wanted" ]] || { echo "$what: $(wc -l < "$LOOKS") looks instead of $wanted"; failed=1; }
}

cd "$dir/one"
echo "Checks: '*'" > .clang-tidy
echo "#define A 1" > a.h
printf '#include "a.h"\nint x; /* a comment */\n' > a.c
looks 1 "a file never seen"
looks 1 "the same file"
cp -r "$dir/one" "$dir/two"
cd "$dir/two"
looks 1 "the same file in another checkout"
looks 2 "other flags" -DY
sed -i 's/a comment/NOLINT/' a.c
looks 3 "another comment"
echo "#define A 2" > a.h
looks 4 "a macro of a header that nothing uses"
echo "Checks: 'x'" > .clang-tidy
looks 5 "other checks"
AGAIN=1 looks 6 "asked for again"
echo 'int bad;' >> a.c
for time in first second; do
  if "$script" a.c -DX > "$dir/out" 2>&1; then
    echo "a fault is not told the $time time"
    failed=1
  fi
  grep -q 'int bad' "$dir/out" || { echo "the $time time it is not told what was found: $(< "$dir/out")"; failed=1; }
done
echo '#include "none.h"' > a.c
if "$script" a.c -DX > "$dir/out" 2>&1; then echo "a file that does not compile is clean"; failed=1; fi
exit $failed
