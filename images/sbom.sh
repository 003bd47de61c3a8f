#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sbom.sh NAME BINARY MAP FILE   the SBOM of the image NAME as SPDX 2.3 in JSON: the program with the digest of its file, each Debian package that is linked
# into it (STATIC_LINK, linked.sh) or lies beside it (CONTAINS). Packages are named by purl with their source package, so that scanners find their advisories.
# Its time is that of SOURCE_DATE_EPOCH, or of the last commit: the same build gives the same file.
set -euo pipefail
name=${1:?usage: sbom.sh NAME BINARY MAP FILE} binary=${2:?} map=${3:?} file=${4:?}
binary=$(readlink -e "$binary") map=$(readlink -e "$map") file=$(readlink -f -m "$file")
cd "$(dirname "$0")/.."
version=$(< VERSION)
digest=$(sha256sum < "$binary" | cut -d' ' -f1)
. /etc/os-release
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2> /dev/null || echo 0)}
created=$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)

beside() {
  local package
  for package in ca-certificates tzdata; do
    dpkg-query -W -f '${Package}\t${Version}\t${source:Package}\t${source:Version}\t${Architecture}\t\n' "$package"
  done
}

rows() { jq -Rc --arg how "$1" 'split("\t") | {package: .[0], version: .[1], source: .[2], sourceVersion: .[3], arch: .[4], archives: .[5], how: $how}'; }
mkdir -p "$(dirname "$file")"
{ images/linked.sh "$map" | rows STATIC_LINK; beside | rows CONTAINS; } |
  jq -S -s --arg name "$name" --arg version "$version" --arg digest "$digest" --arg created "$created" --arg distro "debian-${VERSION_ID:-?}" '
  # What is linked of these, after Debian'"'"'s copyright files; of others the licence is left to the reader (THIRD-PARTY.txt).
  {curl: "curl", expat: "MIT", glibc: "LGPL-2.1-or-later", jansson: "MIT", libevent: "BSD-3-Clause", libyaml: "MIT", mariadb: "LGPL-2.1-or-later", nghttp2: "MIT",
   openssl: "Apache-2.0", zlib: "Zlib", "ca-certificates": "MPL-2.0"} as $licences
  | def id: "SPDXRef-" + (.package | gsub("[^A-Za-z0-9.-]"; "-"));
  {
    spdxVersion: "SPDX-2.3", dataLicense: "CC0-1.0", SPDXID: "SPDXRef-DOCUMENT", name: "\($name)-\($version)",
    documentNamespace: "https://kubemysql.dev/spdx/\($name)-\($version)-\($digest)",
    creationInfo: {created: $created, creators: ["Tool: kube-mysql images/sbom.sh"]},
    packages: ([{
      SPDXID: "SPDXRef-program", name: $name, versionInfo: $version, downloadLocation: "NOASSERTION", filesAnalyzed: false,
      licenseConcluded: "Apache-2.0", licenseDeclared: "Apache-2.0", copyrightText: "NOASSERTION", primaryPackagePurpose: "APPLICATION",
      checksums: [{algorithm: "SHA256", checksumValue: $digest}]
    }] + map({
      SPDXID: id, name: .package, versionInfo: .version, downloadLocation: "NOASSERTION", filesAnalyzed: false, supplier: "Organization: Debian",
      sourceInfo: (if .archives == "" then "data of the package \(.package)" else "built from: \(.source) \(.sourceVersion); linked in: \(.archives)" end),
      licenseConcluded: "NOASSERTION", licenseDeclared: ($licences[.source] // "NOASSERTION"), copyrightText: "NOASSERTION", primaryPackagePurpose: "LIBRARY",
      externalRefs: [{referenceCategory: "PACKAGE-MANAGER", referenceType: "purl",
        referenceLocator: "pkg:deb/debian/\(.package | @uri)@\(.version | @uri)?arch=\(.arch)&distro=\($distro)&upstream=\(.source | @uri)%40\(.sourceVersion | @uri)"}]
    })),
    relationships: ([{spdxElementId: "SPDXRef-DOCUMENT", relationshipType: "DESCRIBES", relatedSpdxElement: "SPDXRef-program"}] +
      map({spdxElementId: "SPDXRef-program", relationshipType: .how, relatedSpdxElement: id}))
  }' > "$file"
chmod 0644 "$file"
