#!/usr/bin/env bash
# Builds the release packages. `archive` writes dist/kedge-<version>-<processor>-linux.tar.gz and dist/SHA256SUMS,
# `image` a container image of the same program, localhost/kedge:<version>. `test` builds both in a temporary folder and
# checks them, with the unit, the compose file and the chart.
#
# The same program and sources give the same bytes: all files have the time SOURCE_DATE_EPOCH, by default the commit's.
# KEDGE_BIN names an existing program, DIST another folder for the archive, CONTAINER_ENGINE the image builder (podman,
# docker or buildah, with its options), IMAGE_BASE another base image.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/shell.sh
source scripts/tools.sh

# The image's user has to read its files.
umask 022
dist="${DIST:-$root/dist}"
version="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)"
name="kedge-$version-$(uname -m)-linux"
# The user in the image: the number that images without a shell commonly use.
user=65532
work=""

clean_up() {
  [[ -z "$work" ]] || rm -rf "$work"
}
trap 'report_failed_step; clean_up' EXIT

build() {
  program="${KEDGE_BIN:-}"
  if [[ -z "$program" ]]; then
    install_build_tools
    build_programs kedge
    program="$target_dir/release/kedge"
  fi
}

set_time() {
  if [[ -z "${SOURCE_DATE_EPOCH:-}" ]]; then
    SOURCE_DATE_EPOCH="$(git log -1 --format=%ct 2>/dev/null)" ||
      die "the time of the sources is not known: this is no git checkout" "set SOURCE_DATE_EPOCH to it, in seconds since 1970"
  fi
  export SOURCE_DATE_EPOCH
}

# pack <options of tar…>: writes an archive to standard output that depends only on names, contents and modes of the
# files.
pack() {
  tar --create --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --numeric-owner "$@"
}

# Laid out like /usr/local, so that unpacking it there installs it.
stage() {
  local to="$1"
  install -D -m 755 "$program" "$to/bin/kedge"
  install -D -m 644 scripts/packages/systemd/kedge.service "$to/lib/systemd/system/kedge.service"
  install -D -m 644 scripts/packages/systemd/kedge.conf "$to/lib/sysusers.d/kedge.conf"
  mkdir -p "$to"/share/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d,doc/kedge,kedge/contracts}
  "$program" completions bash >"$to/share/bash-completion/completions/kedge"
  "$program" completions zsh >"$to/share/zsh/site-functions/_kedge"
  "$program" completions fish >"$to/share/fish/vendor_completions.d/kedge.fish"
  "$program" man --to "$to/share/man/man1"
  cp -r LICENSE README.md CHANGELOG.md docs "$to/share/doc/kedge/"
  "$python" -B scripts/packages/inventory/inventory.py --sbom "$to/share/doc/kedge/kedge.cdx.json" \
    --notices "$to/share/doc/kedge/THIRD-PARTY.txt"
  "$program" init - >"$to/share/kedge/kedge.toml"
  cp contracts/artifacts/*.json "$to/share/kedge/contracts/"
  mkdir -p "$to/share/kedge/packages"
  # The program embeds the console; its folder also contains build tools.
  mkdir -p "$to/share/kedge/dashboards"
  find dashboards -mindepth 1 -maxdepth 1 ! -name console -exec cp -r {} "$to/share/kedge/dashboards/" \;
  cp -r scripts/packages/compose scripts/packages/helm scripts/packages/nats "$to/share/kedge/packages/"
  # In the archive, the folder of packages is one level higher.
  sed -i 's#\.\./\.\./\.\./dashboards#../../dashboards#' "$to/share/kedge/packages/compose/compose.yaml"
}

archive() {
  set_time
  stage "$work/$name"
  mkdir -p "$dist"
  (cd "$work" && pack --owner=0 --group=0 --mode=u=rwX,go=rX "$name") | gzip --no-name >"$dist/$name.tar.gz.part"
  mv "$dist/$name.tar.gz.part" "$dist/$name.tar.gz"
  (cd "$dist" && sha256sum "$name.tar.gz" >SHA256SUMS)
  say "    $dist/$name.tar.gz, $(du --apparent-size -h "$dist/$name.tar.gz" | cut -f 1)"
}

choose_engine() {
  read -ra engine <<<"${CONTAINER_ENGINE:-}"
  ((${#engine[@]} == 0)) || return 0
  if have podman; then
    engine=(podman)
  elif have docker && docker info >/dev/null 2>&1; then
    engine=(docker)
  elif have buildah; then
    engine=(buildah)
  else
    install_packages podman
    engine=(podman)
  fi
}

# Everything a program needs without a distribution: its shared libraries and their licences, from this machine; a user;
# name resolution. The program contains the TLS authorities.
stage_system() {
  local to="$1" library package
  for library in $(ldd "$program" | grep -o '/[^ ]*'); do
    install -D -m 755 "$library" "$to$library"
  done
  for package in libc6 libgcc-s1; do
    [[ ! -f "/usr/share/doc/$package/copyright" ]] ||
      install -D -m 644 "/usr/share/doc/$package/copyright" "$to/usr/share/doc/$package/copyright"
  done
  mkdir -p "$to/etc"
  printf 'root:x:0:0:root:/:/sbin/nologin\nkedge:x:%s:%s:Kedge:/var/lib/kedge:/sbin/nologin\n' "$user" "$user" >"$to/etc/passwd"
  printf 'root:x:0:\nkedge:x:%s:\n' "$user" >"$to/etc/group"
  printf 'hosts: files dns\n' >"$to/etc/nsswitch.conf"
  mkdir "$to/tmp"
  chmod 1777 "$to/tmp"
}

image() {
  local base="${IMAGE_BASE:-scratch}" root_files="$work/root" doc="usr/local/share/doc/kedge"
  set_time
  mkdir -p "$work/context" "$root_files/$doc"
  tar --extract --file "$dist/$name.tar.gz" --directory "$work"
  install -D -m 755 "$work/$name/bin/kedge" "$root_files/usr/local/bin/kedge"
  cp "$work/$name"/share/doc/kedge/{LICENSE,THIRD-PARTY.txt,kedge.cdx.json} "$root_files/$doc/"
  [[ "$base" != scratch ]] || stage_system "$root_files"
  # One archive for everything: it can set the owner of the data folder, which copying cannot with every builder.
  pack --owner=0 --group=0 --directory "$root_files" --file "$work/context/root.tar" .
  mkdir -p "$work/state/var/lib/kedge"
  chmod 700 "$work/state/var/lib/kedge"
  pack --owner="$user" --group="$user" --directory "$work/state" --file "$work/state.tar" var/lib/kedge
  tar --concatenate --file "$work/context/root.tar" "$work/state.tar"
  # Only this format supports the healthcheck; docker has no other. Intermediate images are not needed.
  BUILDAH_FORMAT=docker BUILDAH_LAYERS=false "${engine[@]}" build --file scripts/packages/container/Containerfile --tag "localhost/kedge:$version" \
    --build-arg BASE="$base" --build-arg VERSION="$version" "$work/context"
  say "    localhost/kedge:$version"
}

# Runs all checks of tests/packages, or the named ones.
check() {
  (cd tests/packages && KEDGE_BIN="$program" PATH="$root/tests/packages/.venv/bin:$PATH" PYTHONDONTWRITEBYTECODE=1 \
    python -m unittest "$@")
}

case "${1:-}" in
  archive | image | test) ;;
  *) die "usage: scripts/dist.sh archive|image|test" ;;
esac
program="" python="$root/scripts/packages/.venv/bin/python"
find_cargo
install_packages python3 python3-venv
install_inventory_packages
if [[ "$1" == test ]]; then
  install_package_test_tools
  build
  check "${@:2}"
  exit
fi
work="$(mktemp -d)"
step "Program" build
step "Archive" archive
if [[ "$1" == image ]]; then
  choose_engine
  step "Image" image
fi
