# Sourced by the other scripts: the repository's root, the tools' environment, steps and errors.
# shellcheck shell=bash

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cache_dir="${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/kedge"
target_dir="${CARGO_TARGET_DIR:-$root/target}"

say() {
  printf '%s\n' "$*"
}

# Ends the script with an error, followed by the remedies, one per line.
die() {
  printf '\nerror: %s\n' "$1" >&2
  shift
  if (($#)); then
    printf '  %s\n' "$@" >&2
  fi
  exit 1
}

have() {
  command -v "$1" >/dev/null 2>&1
}

# rustup puts cargo on the path of a login shell; make may be called by another one.
find_cargo() {
  local bin
  if ! have cargo; then
    for bin in "${CARGO_HOME:-}/bin" "${HOME:-}/.cargo/bin"; do
      if [[ -x "$bin/cargo" ]]; then
        export PATH="$bin:$PATH"
        break
      fi
    done
  fi
  have cargo || die "cargo was not found" "install Rust from https://rustup.rs, then try again"
}

step_number=0
step_summary=()
# Seconds that a step may take, by its title. A step that takes longer is marked, and passes.
declare -A budget_s=()

# step <title> <command…>: runs a command with a header and its duration; the first failure ends the script.
step() {
  local title="$1" start=$SECONDS took budget mark=""
  shift
  step_number=$((step_number + 1))
  printf '\n==> %d. %s\n' "$step_number" "$title"
  # Not in a condition: there, bash would continue after a failed line inside a function.
  step_title="$title"
  "$@"
  step_title=""
  took=$((SECONDS - start))
  budget="${budget_s[$title]:-}"
  if [[ -n "$budget" ]]; then
    ((took <= budget)) || mark="  over its budget"
    budget=" of ${budget}s"
  fi
  step_summary+=("$(printf '%5ds%-9s  %s%s' "$took" "$budget" "$title" "$mark")")
  printf '    done in %ds%s%s\n' "$took" "$budget" "$mark"
}

step_title=""

report_failed_step() {
  local status=$?
  if ((status != 0)) && [[ -n "$step_title" ]]; then
    printf '\nFAILED in step %d, "%s" (status %d). Its last output shows why.\n' \
      "$step_number" "$step_title" "$status" >&2
  fi
}
trap report_failed_step EXIT

summary() {
  printf '\n'
  printf '%s\n' "${step_summary[@]}"
  printf '%s: %d steps passed in %ds\n' "$1" "$step_number" "$SECONDS"
}
