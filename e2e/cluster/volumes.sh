#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# volumes.sh: make, grow and delete the cluster's volumes. Started by up.sh as a daemon.
#
# It is what an external provisioner and resizer would be. For a pending claim that the scheduler has given a node
# (WaitForFirstConsumer) it makes a PersistentVolume of type "local" bound to that node: data stays with its node, and
# fsGroup is applied by kubelet, so that pods need not be root. A claim that asks for more than it has gets more, in
# place. A released volume with reclaim policy Delete goes with its data.
#
#   class standard (default)  a folder, its size is not enforced
#   class fixed-size          the same, growth not allowed
#   class small-fs            its own XFS of the size asked for (300Mi or more), which can be full
# Data: $RUN/nodeN/volumes/NAME, for small-fs an image NAME.img mounted there (on the node only).
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
. "$KM_CLUSTER_DIR/lib/watch.sh"
RUN=$KM_RUN API_PORT=6443
D=$RUN/volumes

# What there is to do, one line each: provision|grow|report|release|mount NODE NAME BYTES KIND QUANTITY PV_CAPACITY CLAIM
# shellcheck disable=SC2016
PLAN='
	def bytes: tostring | capture("^(?<n>[0-9.]+)(?<u>[A-Za-z]*)$")
		| (.n | tonumber) * ({"": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, Ki: 1024, Mi: 1048576, Gi: 1073741824, Ti: 1099511627776, m: 0.001}[.u] // 1)
		| ceil;
	def line(verb; node; name; quantity; kind; claim):
		[verb, node, name, (quantity | bytes), kind, quantity, claim] | map(tostring) | join(" ");
	($c[0].items | map(select(.provisioner == $provisioner) | {key: .metadata.name, value: .parameters.kind}) | from_entries) as $kind
	| ($v[0].items | map(select(.metadata.annotations["pv.kubernetes.io/provisioned-by"] == $provisioner))) as $volumes
	| ($volumes | map({key: .metadata.name, value: .}) | from_entries) as $volume
	| ($p[0].items[] | select($kind[.spec.storageClassName // ""]) | . as $claim
		| $kind[.spec.storageClassName] as $k
		| "\(.metadata.namespace)/\(.metadata.name)/\(.metadata.uid)/\(.spec.storageClassName)" as $id
		| .spec.resources.requests.storage as $want
		| ("pvc-" + .metadata.uid) as $name
		| (.metadata.annotations["volume.kubernetes.io/selected-node"] // "") as $node
		| if .metadata.deletionTimestamp then empty
		  elif (.spec.volumeName // "") == "" then
			if $node != "" and ($volume[$name] | not) then line("provision"; $node; $name; $want; $k; $id) else empty end
		  elif .status.phase == "Bound" and $volume[.spec.volumeName] then
			$volume[.spec.volumeName] as $pv
			| $pv.metadata.labels["kube-mysql.local/node"] as $on
			| if ($want | bytes) > ($pv.spec.capacity.storage | bytes) then line("grow"; $on; .spec.volumeName; $want; $k; $id)
			  elif ($pv.spec.capacity.storage | bytes) > ((.status.capacity.storage // "0") | bytes)
			  then line("report"; $on; .spec.volumeName; $pv.spec.capacity.storage; $k; $id)
			  else empty end
		  else empty end),
	  ($volumes[] | .metadata.labels["kube-mysql.local/node"] as $on | ($kind[.spec.storageClassName] // "folder") as $k
		| if .metadata.deletionTimestamp and .status.phase != "Released" then empty
		  elif .status.phase == "Released" and .spec.persistentVolumeReclaimPolicy == "Delete"
		  then line("release"; $on; .metadata.name; .spec.capacity.storage; $k; "-")
		  elif $k == "filesystem" then line("mount"; $on; .metadata.name; .spec.capacity.storage; $k; "-")
		  else empty end)'

on_node() { "$RUN/$1/enter" "${@:2}"; }

# mount_image NODE NAME: mount the volume's image on its node, unless it is
mount_image() {
	local path=$RUN/$1/volumes/$2
	on_node "$1" mountpoint -q "$path" || on_node "$1" mount -o loop "$path.img" "$path"
}

do_provision() {
	local node=$1 name=$2 bytes=$3 kind=$4 quantity=$5 namespace claim uid class path=$RUN/$1/volumes/$2
	IFS=/ read -r namespace claim uid class <<< "$6"
	mkdir -p "$path"
	chmod 0750 "$path"
	if [[ $kind == filesystem && ! -s $path.img ]]; then
		((bytes >= 300 << 20)) || bytes=$((300 << 20))
		truncate -s "$bytes" "$path.img.new"
		mkfs.xfs -q "$path.img.new"
		mv "$path.img.new" "$path.img"
	fi
	[[ $kind != filesystem ]] || mount_image "$node" "$name"
	jq -cn --arg name "$name" --arg node "$node" --arg q "$quantity" --arg path "$path" --arg ns "$namespace" --arg claim "$claim" \
		--arg uid "$uid" --arg class "$class" --arg provisioner "$KM_PROVISIONER" '
		{apiVersion: "v1", kind: "PersistentVolume",
		 metadata: {name: $name, labels: {"kube-mysql.local/node": $node}, annotations: {"pv.kubernetes.io/provisioned-by": $provisioner}},
		 spec: {capacity: {storage: $q}, accessModes: ["ReadWriteOnce"], persistentVolumeReclaimPolicy: "Delete", storageClassName: $class,
			claimRef: {apiVersion: "v1", kind: "PersistentVolumeClaim", namespace: $ns, name: $claim, uid: $uid},
			local: {path: $path},
			nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: "kubernetes.io/hostname", operator: "In", values: [$node]}]}]}}}}' |
		api /api/v1/persistentvolumes -H 'Content-Type: application/json' --data-binary @- > /dev/null
}

patch() { api "$1" -X PATCH -H 'Content-Type: application/merge-patch+json' -d "$2" > /dev/null; }

do_report() {
	local namespace claim
	IFS=/ read -r namespace claim _ <<< "$6"
	patch "/api/v1/namespaces/$namespace/persistentvolumeclaims/$claim/status" '{"status":{"capacity":{"storage":"'"$5"'"}}}'
}

do_grow() {
	local node=$1 name=$2 bytes=$3 kind=$4 quantity=$5 path=$RUN/$1/volumes/$2
	if [[ $kind == filesystem ]]; then
		mount_image "$node" "$name"
		truncate -s ">$bytes" "$path.img"
		losetup --set-capacity "$(on_node "$node" findmnt -no SOURCE "$path")"
		on_node "$node" xfs_growfs "$path" > /dev/null
	fi
	patch "/api/v1/persistentvolumes/$name" '{"spec":{"capacity":{"storage":"'"$quantity"'"}}}'
	do_report "$@"
}

do_release() {
	local path=$RUN/$1/volumes/$2
	if on_node "$1" mountpoint -q "$path"; then on_node "$1" umount "$path"; fi
	rm -rf "$path" "$path.img"
	api "/api/v1/persistentvolumes/$2" -X DELETE > /dev/null
}

do_mount() { mount_image "$1" "$2"; }

work() {
	local verb node name rest rc=0
	api /api/v1/persistentvolumeclaims > "$D/claims.json" && api /api/v1/persistentvolumes > "$D/volumes.json" &&
		api /apis/storage.k8s.io/v1/storageclasses > "$D/classes.json" || return 1
	jq -rn --slurpfile p "$D/claims.json" --slurpfile v "$D/volumes.json" --slurpfile c "$D/classes.json" \
		--arg provisioner "$KM_PROVISIONER" "$PLAN" > "$D/plan" || return 1
	while read -r verb node name rest; do
		# a node that is not up now gets its turn later
		[[ -x $RUN/$node/enter && $name =~ ^[a-z0-9-]+$ ]] || continue
		daemon_alive "ns${node#node}" || continue
		[[ $verb == mount ]] || echo "$(date -u +%T.%N | cut -c1-12) $verb $node $name $rest"
		# shellcheck disable=SC2086
		(set -e; "do_$verb" "$node" "$name" $rest) || rc=1
	done < "$D/plan"
	return $rc
}

mkdir -p "$D"
watch_loop "$D/fifo" work /api/v1/persistentvolumeclaims /api/v1/persistentvolumes
