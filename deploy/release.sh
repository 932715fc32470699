#!/usr/bin/env bash
# Builds a release into dist/: one archive per platform, a bill of materials, and
# checksums of all. The same sources and compiler give the same bytes.
#
#   deploy/release.sh v0.1.0        # at the tag v0.1.0 of a clean tree
#   ALLOW_DIRTY=1 deploy/release.sh v0.1.0-test
#   PLATFORMS=linux/arm64 DIST=/tmp/dist ALLOW_DIRTY=1 deploy/release.sh v0.1.0-test
#
# Needs the GNU tools (tar, touch, sha256sum), and the network for the bill of
# materials.
#
# Signing and uploading are left to whoever has the keys.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

die() {
  printf 'release.sh: %s\n' "$*" >&2
  exit 1
}

version=${1:-}
[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] || die "usage: deploy/release.sh vX.Y.Z"
if [ -z "${ALLOW_DIRTY:-}" ]; then
  [ -z "$(git status --porcelain)" ] || die "the tree has changes; commit them, or set ALLOW_DIRTY=1 for a trial"
  [ "$(git tag --points-at HEAD | grep -cx "$version")" = 1 ] || die "HEAD is not tagged $version"
  grep -q "^## ${version#v} " CHANGELOG.md || die "CHANGELOG.md has no entry for ${version#v}"
fi

# The time of the commit is the time of every file.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH CGO_ENABLED=0 GOFLAGS=-trimpath

dist=${DIST:-dist}
rm -rf "$dist"
mkdir -p "$dist"
for platform in ${PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}; do
  goos=${platform%/*} goarch=${platform#*/}
  name=snapflame_${version#v}_${goos}_${goarch}
  mkdir "$dist/$name"
  GOOS=$goos GOARCH=$goarch go build -buildvcs=false \
    -ldflags="-s -w -buildid= -X main.version=$version" -o "$dist/$name/snapflame" ./cmd/snapflame
  cp LICENSE README.md CHANGELOG.md "$dist/$name/"
  # What stands in the binary itself: every module with its checksum.
  go version -m "$dist/$name/snapflame" | sed "1s|.*|snapflame $version $goos/$goarch|" >"$dist/$name.modules.txt"
  find "$dist/$name" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$dist" -cf - "$name" | gzip -n -9 >"$dist/$name.tar.gz"
  rm -r "${dist:?}/$name"
  printf '%s\n' "$name"
done

# CycloneDX, for scanners. Its time and serial number are left out, since they
# would be the only bytes that differ.
go run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0 app -json -licenses -noserial -main cmd/snapflame . |
  sed '/"timestamp":/d' >"$dist/snapflame_${version#v}.sbom.cdx.json"

cd "$dist"
sha256sum -- * >SHA256SUMS
printf '%s files in %s\n' "$(wc -l <SHA256SUMS)" "$dist"
