# Sourced: installs the required tools.
# shellcheck shell=bash

source "$root/scripts/rocksdb.sh"
source "$root/scripts/nats/nats.sh"

node_version_min=20

# Runs a command as root: directly, or with sudo, which may only ask on a terminal.
as_root() {
  if ((EUID == 0)); then
    "$@"
  elif have sudo && [[ -t 0 ]]; then
    sudo "$@"
  elif have sudo; then
    sudo -n "$@"
  else
    return 1
  fi
}

# Whether the content of a Debian package is present, from whatever source.
present() {
  case "$1" in
    clang) have clang && have clang++ ;;
    libclang-dev) [[ -n "${LIBCLANG_PATH:-}" ]] || compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' >/dev/null ||
      compgen -G '/usr/lib*/libclang*.so*' >/dev/null ;;
    gcc) have cc ;;
    chromium) [[ -n "${CHROMIUM:-}" ]] || have chromium ;;
    man-db) have man ;;
    binutils) have readelf ;;
    systemd) have systemd-analyze ;;
    uidmap) have newuidmap ;;
    postgresql) compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null ;;
    default-jre-headless) have java ;;
    python3-venv) python3 -c 'import ensurepip, venv' 2>/dev/null ;;
    *) have "$1" ;;
  esac
}

# install_packages <package…>: installs missing packages, and prints their names.
install_packages() {
  local package missing=()
  for package in "$@"; do
    present "$package" || missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then
    say "    already installed: $*"
    return
  fi
  have apt-get || die "these are missing: ${missing[*]}" "install them with your system's package manager, then try again"
  say "    installing with apt: ${missing[*]}"
  # Prevents the package from starting a service (invoke-rc.d asks for the run level).
  local apt=(env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -qq -o DPkg::Lock::Timeout=300)
  local by_hand="apt-get update && apt-get install ${missing[*]}"
  as_root "${apt[@]}" update || die "the package lists could not be read" "as root: $by_hand"
  as_root "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >/dev/null ||
    die "apt could not install ${missing[*]}" "as root: $by_hand"
  for package in "${missing[@]}"; do
    present "$package" || die "$package was installed, but what it provides is missing"
  done
}

check_rust() {
  find_cargo
  local wanted found
  wanted="$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -n 1)"
  found="$(rustc --version | awk '{print $2}')"
  if [[ "$(printf '%s\n%s\n' "$wanted" "$found" | sort -V | head -n 1)" != "$wanted" ]]; then
    die "Rust $wanted or newer is needed, but this is $found" "rustup update stable"
  fi
  say "    Rust $found"
}

# Tools for building and running. gcc is for linking if no other package provides a cc.
build_packages=(clang libclang-dev cmake pkg-config gcc)
test_packages=(python3 python3-venv curl)

install_build_tools() {
  install_packages "${build_packages[@]}"
  check_rust
  use_rocksdb
}

# Released programs do not name the build machine: their messages show sources of crates under /cargo. All optimised
# builds share these flags, so that they are compiled once.
use_release_paths() {
  local flag="--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}/registry/src=/cargo"
  [[ "${CARGO_ENCODED_RUSTFLAGS:-}" != *"$flag"* ]] || return 0
  local separator=$'\x1f'
  local flags="${CARGO_ENCODED_RUSTFLAGS-}"
  [[ -n "$flags" || -z "${RUSTFLAGS-}" ]] || flags="${RUSTFLAGS// /$separator}"
  export CARGO_ENCODED_RUSTFLAGS="${flags:+$flags$separator}$flag"
}

# Builds the named programs as users run them. Selects all packages, although only these programs are built, so that
# cargo chooses the same features of dependencies as for the tests and shares their compilation.
build_programs() {
  local name named=()
  for name in "$@"; do
    named+=(--bin "$name")
  done
  use_release_paths
  cargo build --release --locked --workspace "${named[@]}"
}

check_node() {
  have node && have npm || die "node and npm were not found" "install Node.js $node_version_min or newer, then try again"
  local found
  found="$(node --version)"
  found="${found#v}"
  ((${found%%.*} >= node_version_min)) || die "Node.js $node_version_min or newer is needed, but this is $found"
  say "    Node.js $found"
}

check_components() {
  local component
  for component in fmt clippy; do
    cargo "$component" --version >/dev/null 2>&1 ||
      die "cargo $component was not found" "rustup component add rustfmt clippy"
  done
}

install_test_tools() {
  install_build_tools
  check_components
  check_node
  install_packages "${test_packages[@]}"
  install_nats
}

# install_node_packages <folder…>: installs exactly the packages of each lock file, unless they are installed.
install_node_packages() {
  local folder
  for folder in "$@"; do
    [[ -f "$root/$folder/package-lock.json" ]] || continue
    local lock="$root/$folder/package-lock.json" stamp="$root/$folder/node_modules/.installed-lock"
    if cmp --silent "$lock" "$stamp"; then
      say "    $folder: matches its lock file"
      continue
    fi
    say "    $folder: npm ci"
    (cd "$root/$folder" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) ||
      die "npm could not install the packages of $folder" "see its output above; it needs the npm registry"
    cp "$lock" "$stamp"
  done
}

python_environment="$root/.venv"

# install_python_environment <folder> <requirements>: creates a virtual environment with exactly these packages, unless
# it exists.
install_python_environment() {
  local environment="$1" wanted="$2" stamp="$1/installed-requirements.txt"
  if cmp --silent "$wanted" "$stamp"; then
    say "    ${environment#"$root/"}: matches requirements.txt"
    return
  fi
  say "    ${environment#"$root/"}: pip install"
  rm -rf "$environment"
  python3 -m venv "$environment"
  "$environment/bin/pip" install --quiet --disable-pip-version-check --require-hashes --requirement "$wanted" ||
    die "pip could not install the packages of $wanted" "see its output above; it needs PyPI"
  cp "$wanted" "$stamp"
}

# Pinned packages of the vector generators, and of the document's tests.
install_python_packages() {
  install_python_environment "$python_environment" "$root/crates/protocol/vectors/generate/requirements.txt"
}

install_document_packages() {
  install_python_environment "$root/tests/openapi/.venv" "$root/tests/openapi/requirements.txt"
}

# Client generators for the document. openapi-generator is a jar, pinned by its hash, in the cache outside the clone.
install_generators() {
  check_node
  install_node_packages tests/openapi/generators
  install_packages curl default-jre-headless
  local version=7.25.0 hash=41ce4f6b07f196676439d710759fa1ced7a08066d06ff1bf314681470289efae
  local name="openapi-generator-cli-$version.jar"
  export OPENAPI_GENERATOR="$cache_dir/openapi-generator/$name"
  if ! sha256sum --status --check <<<"$hash  $OPENAPI_GENERATOR" 2>/dev/null; then
    say "    downloading openapi-generator $version, once"
    mkdir -p "$cache_dir/openapi-generator"
    local from="https://repo1.maven.org/maven2/org/openapitools/openapi-generator-cli/$version/$name"
    curl --fail --silent --show-error --location --retry 3 --output "$OPENAPI_GENERATOR.part" "$from" ||
      die "openapi-generator could not be downloaded" "see curl's output above; it needs $from"
    sha256sum --status --check <<<"$hash  $OPENAPI_GENERATOR.part" ||
      die "$from is not the file that this repository pins" "remove $OPENAPI_GENERATOR.part"
    mv "$OPENAPI_GENERATOR.part" "$OPENAPI_GENERATOR"
  fi
  say "    openapi-generator $version"
}

# Pinned packages of the Python client's tests, with hashes.
install_python_client_packages() {
  install_python_environment "$root/tests/python/.venv" "$root/tests/python/requirements.txt"
}

# Pinned packages of the Python SDK and of its tests.
install_python_sdk_packages() {
  install_python_environment "$root/sdk/python/.venv" "$root/sdk/python/requirements.txt"
}

# Pinned packages for the release's bill of materials.
install_inventory_packages() {
  install_python_environment "$root/scripts/packages/.venv" "$root/scripts/packages/requirements.txt"
}

# Tools for the tests of the packages: podman runs the image (with uidmap for users other than root), man-db shows the
# pages. No package registry has helm: with KEDGE_BUILD_HELM=1 it is built once, which needs Go; without it the tests
# print the skipped checks.
install_package_test_tools() {
  check_node
  install_inventory_packages
  install_python_environment "$root/tests/packages/.venv" "$root/tests/packages/requirements.txt"
  install_prometheus
  install_packages podman runc uidmap man-db binutils systemd
  local helm_version=v3.22.0
  local helm="$cache_dir/helm-$helm_version"
  if ! have helm && [[ ! -x "$helm/helm" && -n "${KEDGE_BUILD_HELM:-}" ]] && have go; then
    say "    building helm $helm_version, once: about 10 minutes on two cores"
    GOBIN="$helm" GOFLAGS=-buildvcs=false go install "helm.sh/helm/v3/cmd/helm@$helm_version" ||
      say "    helm could not be built: see go's output above"
  fi
  export PATH="$PATH:$helm"
  if have helm; then
    say "    helm $(helm version --short)"
  else
    say "    NO HELM (KEDGE_BUILD_HELM=1 builds it where there is a Go): the values of the chart are checked, its templates are not rendered"
  fi
}

# The two programs of Debian's Prometheus, because its package would start a service. They are cached outside the clone,
# unless the machine has them.
install_prometheus() {
  local tools="$cache_dir/prometheus"
  if ! have prometheus || ! have promtool; then
    export PATH="$tools:$PATH"
  fi
  if ! have prometheus || ! have promtool; then
    have apt-get && have dpkg-deb || die "prometheus and promtool were not found" \
      "put them on the PATH: https://prometheus.io/download"
    say "    downloading Debian's prometheus, once"
    local work
    work="$(mktemp -d)"
    if ! (cd "$work" && download_prometheus); then
      rm -rf "$work"
      die "apt could not download prometheus" "as root: apt-get update; or put prometheus and promtool on the PATH"
    fi
    dpkg-deb -x "$work"/prometheus_*.deb "$work/unpacked"
    mkdir -p "$tools"
    mv "$work/unpacked/usr/bin/prometheus" "$work/unpacked/usr/bin/promtool" "$tools/"
    rm -rf "$work"
  fi
  have prometheus && have promtool || die "prometheus was unpacked to $tools, but does not run"
  say "    $(prometheus --version 2>&1 | head -n 1)"
}

# Downloads into the current folder. Old package lists name missing packages, so the lists are updated after a failure.
download_prometheus() {
  apt-get -qq download prometheus 2>/dev/null && return
  as_root apt-get -qq -o DPkg::Lock::Timeout=300 update && apt-get -qq download prometheus
}
