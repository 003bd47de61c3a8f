#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# static-libs.sh [--print-prefix]   the one library that a static build needs and Debian does not ship in a usable form:
# libcurl with HTTP(S) and HTTP/2 only. Debian's libcurl.a drags in LDAP, Kerberos, SSH, RTMP and thirty libraries more, some
# of them without a static form. Built from Debian's own `curl` source package, patches included; kept outside the checkout
# under a name made of the package's version and this recipe, so a changed recipe or a security update makes a new one.
# Everything else (OpenSSL, nghttp2, libevent, jansson, libyaml, zstd, expat, libmariadb) comes from Debian's -dev packages.
# CC: the compiler; one for another machine makes its library. CURL_SOURCE_VERSION: the version to build where a mirror has not got the source of the newest one.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

configure_options=(
  --disable-shared --enable-static --with-pic
  --with-openssl --with-nghttp2 --enable-threaded-resolver --enable-ipv6
  --with-ca-bundle=/etc/ssl/certs/ca-certificates.crt
  --without-zlib --without-brotli --without-zstd --without-libidn2 --without-libpsl --without-libssh2 --without-libssh
  --without-librtmp --without-gssapi --without-nghttp3 --without-ngtcp2 --without-quiche --without-libgsasl
  --disable-ldap --disable-ldaps --disable-rtsp --disable-dict --disable-telnet --disable-tftp --disable-pop3 --disable-imap
  --disable-smb --disable-smtp --disable-gopher --disable-mqtt --disable-ftp --disable-file
  --disable-manual --disable-ntlm --disable-tls-srp --disable-alt-svc --disable-hsts --disable-doh --disable-cookies
  --disable-ares --disable-libcurl-option --disable-dependency-tracking
)
cflags='-O2 -fPIE -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection -ffunction-sections -fdata-sections'
target=$(${CC:=gcc} -dumpmachine)
[[ $target != x86_64* ]] || cflags+=' -fcf-protection'
[[ $target == "$(uname -m)"-* ]] || configure_options+=(--host="$target")

version=${CURL_SOURCE_VERSION:-$(dpkg-query -W -f '${source:Version}' libcurl4-openssl-dev 2>/dev/null)} || version=
if [[ -z $version ]]; then
  echo "static-libs: libcurl4-openssl-dev is not installed; run make deps" >&2
  exit 1
fi
recipe=$(printf '%s\n' "${configure_options[@]}" "$cflags" | sha256sum | cut -c1-8)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/kube-mysql
prefix=$cache/static-$version-$recipe

if [[ ${1:-} == --print-prefix ]]; then
  echo "$prefix"
  exit 0
fi
[[ ! -e $prefix/lib/libcurl.a ]] || exit 0

mkdir -p "$cache"
exec 9> "$cache/static.lock"
flock 9
[[ ! -e $prefix/lib/libcurl.a ]] || exit 0

echo "static-libs: building libcurl $version (about a minute, once)"
"$here/deb-src.sh"
work=$(mktemp -d "$cache/static-build.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
chmod 755 .  # apt's download user must be able to enter
apt-get -q source "curl=$version" > apt.log 2>&1 || { cat apt.log >&2; exit 1; }
cd curl-*/
# The tarball's generated files are good as they are; Debian's patches touch their sources, and times would start autotools.
find . -name aclocal.m4 -exec touch {} +
sleep 1
find . \( -name Makefile.in -o -name configure -o -name '*config.h.in' \) -exec touch {} +
{
  ./configure --prefix="$prefix" "${configure_options[@]}" CC="$CC" CFLAGS="$cflags"
  make -j"$(nproc)" -C lib
  make -C lib install DESTDIR="$work/root"
  make -C include install DESTDIR="$work/root"
  make install-pkgconfigDATA DESTDIR="$work/root"
} > "$work/build.log" 2>&1 < /dev/null || { tail -40 "$work/build.log" >&2; exit 1; }
cp COPYING "$work/root$prefix/COPYING.curl"
rm -f "$work/root$prefix"/lib/*.la
rm -rf "$prefix"
mv "$work/root$prefix" "$prefix"  # one rename on one file system: whole or not at all
echo "static-libs: $prefix"
