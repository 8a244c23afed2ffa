#!/usr/bin/env bash
# Builds the release packages. `archive` writes dist/kedge-<version>-<processor>-linux.tar.gz, the packages for pip and
# npm (the program, and the SDKs) and dist/SHA256SUMS, `packages` the same without the archive, `image` a container image
# of the same program, localhost/kedge:<version>. `test` builds all of it in a temporary folder and checks it, with the
# unit, the compose file and the chart.
#
# The same program and sources give the same bytes: all files have the time SOURCE_DATE_EPOCH, by default the commit's.
# KEDGE_BIN names an existing program, DIST another folder for the files, CONTAINER_ENGINE the image builder (podman,
# docker or buildah, with its options), IMAGE_BASE another base image. `packages` also packs a program that was built on
# a machine with another processor.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/shell.sh
source scripts/tools.sh

# The image's user has to read its files.
umask 022
dist="${DIST:-$root/dist}"
version="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)"
machine="$(uname -m)"
name="kedge-$version-$machine-linux"
# The user in the image: the number that images without a shell commonly use.
user=65532
work=""

clean_up() {
  # What is packed in parallel, if the script is interrupted.
  jobs -p | xargs --no-run-if-empty kill 2>/dev/null || true
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

# What the program itself says of the systems that it runs on: its processor, as uname, pip and npm name it, and the
# oldest C library that has all functions it calls.
inspect() {
  local machines
  machines="$(LC_ALL=C readelf --file-header --wide "$program" | sed -n 's/^ *Machine: *//p')" ||
    die "$program is not a program"
  case "$machines" in
    *X86-64) processor=x86_64 npm_processor=x64 ;;
    AArch64) processor=aarch64 npm_processor=arm64 ;;
    *) die "$program is for ${machines:-no known processor}, and only those for x86_64 and aarch64 are packed" ;;
  esac
  glibc="$(LC_ALL=C readelf --version-info --wide "$program" | grep -o 'GLIBC_[0-9][0-9.]*' | sort -uV | tail -n 1)" || true
  glibc="${glibc#GLIBC_}"
  [[ -n "$glibc" ]] || die "$program does not name the version of the GNU C library that it needs" \
    "link it dynamically: the packages say which systems it runs on"
}

need_own_processor() {
  [[ "$processor" == "$machine" ]] || die "$program is for $processor, and this machine is $machine" \
    "the archive and the image are made on such a machine; scripts/dist.sh packages makes the packages for pip and npm here"
}

# The licences of everything in the program, and its bill of materials.
take_inventory() {
  mkdir -p "$work/inventory"
  "$python" -B scripts/packages/inventory/inventory.py --processor "$processor" \
    --sbom "$work/inventory/kedge.cdx.json" --notices "$work/inventory/THIRD-PARTY.txt"
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
  cp "$work"/inventory/* "$to/share/doc/kedge/"
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
  (cd "$work" && pack --owner=0 --group=0 --mode=u=rwX,go=rX "$name") | gzip --no-name >"$packed/$name.tar.gz"
}

# build_python <folder> <formats…>
build_python() {
  (cd "$1" && HATCH_QUIET=1 PYTHONDONTWRITEBYTECODE=1 "$python" -m hatchling build --directory "$packed" "${@:2}")
}

# pack_node <folder>: what `npm publish` would upload.
pack_node() {
  npm pack --ignore-scripts --loglevel=error --pack-destination "$packed" "$1" >/dev/null
}

wheel() {
  local to="$work/wheel"
  install -D -m 755 "$program" "$to/bin/kedge"
  cp LICENSE scripts/packages/wheel/* "$work"/inventory/* "$to/"
  PACKAGE_VERSION="$version" PLATFORM_TAG="manylinux_${glibc/./_}_$processor" build_python "$to" --target wheel
}

# The package with the command, which is the same for all processors, and the one with the program.
node_packages() {
  local to="$work/npm"
  mkdir -p "$to"
  cp -r scripts/packages/npm/* "$to/"
  sed -i "s/\"0\.0\.0\"/\"$version\"/; s/CPU/$npm_processor/" "$to"/*/package.json
  cp LICENSE "$to/server/"
  cp LICENSE "$work"/inventory/* "$to/program/"
  install -D -m 755 "$program" "$to/program/bin/kedge"
  pack_node "$to/server"
  pack_node "$to/program"
}

sdks() {
  local to="$work/typescript"
  build_python sdk/python --target sdist --target wheel
  # Elsewhere than in the clone, whose build may hold files of former sources.
  mkdir "$to"
  cp sdk/typescript/{package.json,LICENSE,README.md} "$to/"
  (cd sdk/typescript && npx --no-install tsc --project tsconfig.build.json --outDir "$to/dist")
  pack_node "$to"
}

# together <functions…>: runs them in parallel. Each prints its errors.
together() {
  local part parts=() status=0
  for part in "$@"; do
    "$part" &
    parts+=("$!")
  done
  for part in "${parts[@]}"; do
    wait "$part" || status=$?
  done
  return "$status"
}

# Moves what was packed to the folder, whose packages of other processors stay: the sums are of all.
deliver() {
  mkdir -p "$dist"
  (cd "$packed" && stat --printf '    %n: %s bytes\n' -- *)
  mv "$packed"/* "$dist/"
  (cd "$dist" && LC_ALL=C && shopt -s nullglob && sha256sum -- *.tar.gz *.tgz *.whl >SHA256SUMS.part && mv SHA256SUMS.part SHA256SUMS)
  say "    all in $dist"
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
  mkdir -p "$work/context" "$root_files/$doc"
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

run_tests() {
  (
    cd tests/packages
    export KEDGE_BIN="$program" PATH="$root/tests/packages/.venv/bin:$PATH" PYTHONDONTWRITEBYTECODE=1
    exec python -m unittest "$@"
  )
}

# Runs all tests of tests/packages, or the named ones. Those of the image, which mostly wait for podman, run in parallel
# with all others.
check() {
  local file image_tests others=() status=0
  if (($#)); then
    run_tests "$@"
    return
  fi
  for file in tests/packages/test_*.py; do
    [[ "$file" == */test_image.py ]] || others+=("$(basename "$file" .py)")
  done
  work="$(mktemp -d)"
  run_tests test_image >"$work/image" 2>&1 &
  image_tests=$!
  run_tests "${others[@]}" || status=$?
  wait "$image_tests" || status=$?
  cat "$work/image"
  return "$status"
}

case "${1:-}" in
  archive | packages | image | test) ;;
  *) die "usage: scripts/dist.sh archive|packages|image|test" ;;
esac
program="" processor="" npm_processor="" glibc="" python="$root/scripts/packages/.venv/bin/python"
find_cargo
install_packages python3 python3-venv binutils
install_inventory_packages
if [[ "$1" == test ]]; then
  install_package_test_tools
  build
  check "${@:2}"
  exit
fi
if [[ "$1" != image ]]; then
  check_node
  install_node_packages sdk/typescript
fi
work="$(mktemp -d)" packed="$work/packed"
mkdir "$packed"
step "Program" build
inspect
[[ "$1" == packages ]] || need_own_processor
set_time
step "Inventory" take_inventory
[[ "$1" == packages ]] || step "Contents" stage "$work/$name"
case "$1" in
  archive) step "Archive and packages" together archive wheel node_packages sdks ;;
  packages) step "Packages" together wheel node_packages sdks ;;
  image)
    choose_engine
    step "Image" image
    ;;
esac
[[ "$1" == image ]] || step "Files" deliver
