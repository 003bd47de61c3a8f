#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What install.sh does on servers of several versions, and that the CRDs which judge objects beforehand are those of crds/ under a group of their own.
# The kubectl here writes down what it is asked; it renders with the real one.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
real=$(command -v kubectl) || { echo "install: no kubectl; its test is skipped"; exit 0; }

cat > "$dir/kubectl" << SH
#!/bin/bash
case "\$1 \$2" in
  "get --raw") [[ \$3 == /version ]] && cat "$dir/version" || echo '{}' ;;
  "get mysqlclusters.kubemysql.dev") [[ \$* == *custom-columns* ]] && echo shops || echo 'apiVersion: kubemysql.dev/v1alpha1' ;;
  "get "*) ;;
  "delete "*) cat > /dev/null ;;
  "kustomize "*) exec "$real" "\$@" ;;
  "apply "*) echo apply >> "$dir/changed"; cat >> "$dir/applied" ;;
  "create --dry-run=server") cat > /dev/null; echo 'The MysqlCluster "shop" is invalid: spec.username: Invalid value' >&2; exit 1 ;;
esac
SH
chmod +x "$dir/kubectl"

run() { # run VERSION: output of install.sh; what it changed lies in $dir
  rm -f "$dir/changed" "$dir/applied"
  printf '{"major": "1", "minor": "x", "gitVersion": "%s"}\n' "$1" > "$dir/version"
  PATH=$dir:$PATH deploy/install.sh 2>&1
}

minimum=$(< deploy/minimum-kubernetes)
for old in v1.20.2 v1.29.15-eks-1 v1.9.0 ""; do
  if out=$(run "$old") || [[ $out != *"nothing was changed"* || -e $dir/changed ]]; then
    echo "installed on \"$old\": $out" && failed=1
  fi
done
for new in "v$minimum.0" v1.100.0+k3s1; do
  out=$(run "$new") || { echo "refused $new: $out" && failed=1; }
  [[ $out == *'shops: The MysqlCluster "shop" is invalid: spec.username'* ]] || { echo "the object that breaks a rule is not listed: $out" && failed=1; }
done
((failed)) || for group in kubemysql.dev check.kubemysql.dev; do
  [[ $(grep -c "^  group: $group\$" "$dir/applied") == 4 && $(grep -c "^  name: mysql[a-z]*\.$group\$" "$dir/applied") == 4 ]] ||
    { echo "not four CRDs of the group $group" && failed=1; }
done
[[ $(grep -c '^    shortNames:' "$dir/applied") == 4 ]] || { echo "the CRDs that judge have short names" && failed=1; }
grep -q "^kubeVersion: \">=$minimum.0-0\"\$" deploy/helm/kube-mysql/Chart.yaml || { echo "the chart's kubeVersion is not $minimum" && failed=1; }
((failed)) || echo "install: its test passes"
exit $failed
