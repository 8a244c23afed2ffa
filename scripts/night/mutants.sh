# Sourced by night.sh: mutation testing with cargo-mutants. A mutation that no test notices is a missing test.
# shellcheck shell=bash

mutants_version=27.1.0

install_mutants() {
  local home="$cache_dir/mutants-$mutants_version"
  if [[ ! -x "$home/bin/cargo-mutants" ]]; then
    say "    installing cargo-mutants $mutants_version"
    CARGO_TARGET_DIR="$home/target" cargo install --quiet --locked --version "$mutants_version" --root "$home" cargo-mutants
    rm -rf "$home/target"
  fi
  export PATH="$home/bin:$PATH"
}

# Tries a part of all mutations of the deciding packages: rules, protocol, and commit path. Mutations noticed once are
# not tried again. Works on a copy of the commit, always at one path, so that little is compiled twice.
mutants() {
  local found="$root/data/mutants" shard="${MUTANTS_SHARD:-}" status=0
  local copy="$found/sources"
  # By default, forty days cover all mutations.
  [[ -n "$shard" ]] || shard="$(($(date -u +%s) / 86400 % 40))/40"
  install_mutants
  rm -rf "$copy"
  mkdir -p "$copy"
  git -C "$root" archive HEAD | tar --extract --touch --directory "$copy"
  CARGO_TARGET_DIR="$found/target" cargo mutants --dir "$copy" --in-place --package kedge-rules --package kedge-protocol --package kedge-actors \
    --file 'crates/rules/**' --file 'crates/protocol/**' --file 'actors/src/commit/**' --shard "$shard" --sharding round-robin --iterate --output "$found" \
    --no-times --colors never || status=$?
  note "part $shard: $(mutants_in caught) changes noticed, $(mutants_in timeout) by a time-out, $(mutants_in missed) missed, $(mutants_in unviable) do not compile"
  notes <"$found/mutants.out/missed.txt"
  # 2: some missed, 3: some timed out. Both are results; anything else is a failure.
  ((status == 0 || status == 2 || status == 3)) || die "cargo-mutants failed with status $status" "see $found/mutants.out/log"
}

mutants_in() {
  wc -l <"$root/data/mutants/mutants.out/$1.txt"
}
