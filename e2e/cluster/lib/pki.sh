# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Certificates and kubeconfigs of one cluster, in $RUN/pki and $RUN/kubeconfig. Source env.sh first.

# pki_valid: complete, and every file as it was written (a half-written or damaged file fails the checksum)
pki_valid() {
	[[ -s $RUN/pki/SHA256SUMS ]] || return 1
	(cd "$RUN/pki" && sha256sum -c --status SHA256SUMS) 2> /dev/null || return 1
	openssl x509 -noout -checkend 86400 -in "$RUN/pki/ca.crt" > /dev/null 2>&1
}

pki_key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }

# pki_cert NAME SUBJECT [SUBJECT_ALT_NAMES]: key and certificate signed by ca, in the current folder
pki_cert() {
	pki_key "$1.key"
	{
		echo "extendedKeyUsage=serverAuth,clientAuth"
		echo "keyUsage=critical,digitalSignature,keyEncipherment"
		[[ -z ${3:-} ]] || echo "subjectAltName=$3"
	} > "$1.ext"
	openssl req -new -key "$1.key" -subj "$2" |
		openssl x509 -req -CA ca.crt -CAkey ca.key -CAcreateserial -days 3650 -extfile "$1.ext" -out "$1.crt" 2> /dev/null
	rm "$1.ext"
}

# pki_make NODES: make all certificates in a new folder, which takes its place by one rename
pki_make() {
	local nodes=$1 i service=kubernetes.default.svc
	rm -rf "$RUN/pki.new"
	mkdir -p "$RUN/pki.new"
	(
		umask 077
		cd "$RUN/pki.new" || exit 1
		pki_key ca.key
		openssl req -x509 -new -key ca.key -subj /CN=kubernetes-ca -days 3650 -out ca.crt \
			-addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign,digitalSignature
		pki_key sa.key
		openssl ec -in sa.key -pubout -out sa.pub 2> /dev/null
		pki_cert apiserver /CN=kube-apiserver \
			"DNS:kubernetes,DNS:kubernetes.default,DNS:$service,DNS:$service.cluster.local,DNS:localhost,IP:127.0.0.1,IP:$KM_HOST_IP,IP:$KM_SERVICE_IP"
		pki_cert admin /O=system:masters/CN=admin
		pki_cert kcm /CN=system:kube-controller-manager
		pki_cert scheduler /CN=system:kube-scheduler
		pki_cert proxy /CN=system:kube-proxy
		pki_cert apiserver-kubelet /O=system:masters/CN=apiserver-kubelet
		pki_cert frontproxy /CN=front-proxy
		for ((i = 1; i <= nodes; i++)); do
			pki_cert "node$i" "/O=system:nodes/CN=system:node:node$i" "DNS:node$i,IP:${KM_HOST_IP%.*}.$i"
		done
		sha256sum -- * > SHA256SUMS
	)
	sync -f "$RUN/pki.new/SHA256SUMS"
	rm -rf "$RUN/pki"
	mv "$RUN/pki.new" "$RUN/pki"
}

# kubeconfig_write NAME HOST: $RUN/kubeconfig/NAME for certificate NAME, server https://HOST:$API_PORT
kubeconfig_write() {
	local file=$RUN/kubeconfig/$1
	mkdir -p "$RUN/kubeconfig"
	(umask 077 && cat > "$file.new") << END
apiVersion: v1
kind: Config
clusters: [{name: local, cluster: {server: "https://$2:$API_PORT", certificate-authority-data: $(base64 -w0 "$RUN/pki/ca.crt")}}]
users: [{name: $1, user: {client-certificate-data: $(base64 -w0 "$RUN/pki/$1.crt"), client-key-data: $(base64 -w0 "$RUN/pki/$1.key")}}]
contexts: [{name: local, context: {cluster: local, user: $1}}]
current-context: local
END
	mv "$file.new" "$file"
}
