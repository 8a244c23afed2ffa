#!/usr/bin/env bash
# Creates the keys of a circuit with snarkjs. Their secret is unknown as long as one contributor was honest.
#
#   start <circuit.r1cs> <powers.ptau> <folder>   the first, insecure key
#   contribute <folder> <name>                    one contribution; each by another person, on their machine
#   finish <folder> <beacon>                      the last one, of public randomness: 64 unpredictable hex digits
#   verify <folder>                               checks everything, from the circuit and the powers of tau
#   rehearse <circuit.r1cs> <power> <folder>      all steps, with new powers of tau: for tests
#   full <folder> <name> <beacon>                 start, one contribution and the end, for the claim circuit
#
# Relative paths begin at the repository's root. The folder holds circuit.r1cs, powers.ptau, 0000.zkey and one more for
# each contribution; at the end final.zkey, verification_key.json and transcript.txt with all hashes. Publish the
# folder.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/shell.sh
source scripts/tools.sh

# Iterations of the beacon's hash, as a power of two.
beacon_power=10

snarkjs() {
  node "$root/crates/prover/snarkjs/node_modules/snarkjs/build/cli.cjs" "$@"
}

# Public powers of tau for up to 2^16 constraints, by the ceremony in snarkjs' documentation, and BLAKE2b-512 of the
# file.
powers_url=https://storage.googleapis.com/zkevm/ptau/powersOfTau28_hez_final_16.ptau
powers_hash=6a6277a2f74e1073601b4f9fed6e1e55226917efb0f0db8a07d98ab01df1ccf43eb0e8c3159432acd4960e2f29fe84a4198501fa54c8dad9e43297453efec125

# newest <folder>: file of the last contribution.
newest() {
  find "$1" -name '[0-9][0-9][0-9][0-9].zkey' | sort | tail -n 1
}

start() {
  local circuit="$1" powers="$2" folder="$3"
  mkdir -p "$folder"
  [[ -z "$(newest "$folder")" ]] || die "$folder already holds a ceremony" "name another folder"
  cp "$circuit" "$folder/circuit.r1cs"
  cp "$powers" "$folder/powers.ptau"
  snarkjs zkey new "$folder/circuit.r1cs" "$folder/powers.ptau" "$folder/0000.zkey"
}

contribute() {
  local folder="$1" name="$2" last next
  last="$(newest "$folder")"
  [[ -n "$last" ]] || die "$folder holds no ceremony" "begin one: scripts/ceremony.sh start …"
  next="$(printf '%s/%04d.zkey' "$folder" $((10#$(basename "$last" .zkey) + 1)))"
  # snarkjs mixes this line with further randomness. echo is a builtin of the shell, so the line is on no command line.
  echo "$(head -c 48 /dev/urandom | base64 -w 0)" | snarkjs zkey contribute "$last" "$next" --name="$name"
}

finish() {
  local folder="$1" beacon="$2" last
  last="$(newest "$folder")"
  [[ "$beacon" =~ ^[0-9a-f]{64}$ ]] || die "a beacon is 64 lower-case hex digits"
  [[ "$(basename "${last:-0000.zkey}")" != 0000.zkey ]] || die "there is no contribution yet"
  snarkjs zkey beacon "$last" "$folder/final.zkey" "$beacon" "$beacon_power" --name="beacon"
  snarkjs zkey export verificationkey "$folder/final.zkey" "$folder/verification_key.json"
  verify "$folder"
  (cd "$folder" && sha256sum circuit.r1cs powers.ptau ./*.zkey verification_key.json) >"$folder/transcript.txt"
  say "    $folder/transcript.txt: publish it with the files"
}

verify() {
  local folder="$1" said
  said="$(snarkjs zkey verify "$folder/circuit.r1cs" "$folder/powers.ptau" "$folder/final.zkey")" ||
    die "the key does not belong to this circuit and these powers: $said"
  [[ "$said" == *"ZKey Ok!"* ]] || die "the key does not belong to this circuit and these powers: $said"
  if [[ -f "$folder/transcript.txt" ]]; then
    (cd "$folder" && sha256sum --check --quiet transcript.txt) || die "a file does not match the transcript"
  fi
  say "    $folder/final.zkey is valid"
}

rehearse() {
  local circuit="$1" power="$2" folder="$3"
  mkdir -p "$folder/powers"
  local powers="$folder/powers"
  snarkjs powersoftau new bn128 "$power" "$powers/0.ptau"
  echo "not secret: a rehearsal" | snarkjs powersoftau contribute "$powers/0.ptau" "$powers/1.ptau" --name="rehearsal"
  snarkjs powersoftau beacon "$powers/1.ptau" "$powers/2.ptau" "$(printf '%064d' 1)" "$beacon_power" --name="rehearsal"
  snarkjs powersoftau prepare phase2 "$powers/2.ptau" "$powers/final.ptau"
  snarkjs powersoftau verify "$powers/final.ptau"
  start "$circuit" "$powers/final.ptau" "$folder"
  contribute "$folder" "first"
  contribute "$folder" "second"
  finish "$folder" "$(printf '%064d' 2)"
}

# Rebuilds the claim circuit and compares it with its pinned hash; checks the powers of tau by theirs.
full() {
  local folder="$1" name="$2" beacon="$3" circuit powers
  circuit="$folder/claim.r1cs"
  powers="$cache_dir/powersOfTau28_hez_final_16.ptau"
  mkdir -p "$folder" "$cache_dir"
  install_build_tools
  use_release_paths
  cargo run --locked --release --quiet -p kedge -- prove circuit "$circuit"
  grep -q "\"0x$(sha256sum "$circuit" | cut -d ' ' -f 1)\"" crates/prover/circuit.json || die "the circuit does not match crates/prover/circuit.json"
  [[ -f "$powers" ]] || curl --fail --location --output "$powers.part" "$powers_url"
  [[ -f "$powers" ]] || mv "$powers.part" "$powers"
  [[ "$(b2sum "$powers" | cut -d ' ' -f 1)" == "$powers_hash" ]] || die "$powers is not the public file" "remove it and try again"
  start "$circuit" "$powers" "$folder"
  contribute "$folder" "$name"
  finish "$folder" "$beacon"
}

check_node
install_node_packages crates/prover/snarkjs
case "${1:-} $#" in
  "start 4") start "$2" "$3" "$4" ;;
  "contribute 3") contribute "$2" "$3" ;;
  "finish 3") finish "$2" "$3" ;;
  "verify 2") verify "$2" ;;
  "full 4") full "$2" "$3" "$4" ;;
  "rehearse 4") rehearse "$2" "$3" "$4" ;;
  *) die "usage: scripts/ceremony.sh start|contribute|finish|verify|rehearse …" "the first lines of the script explain each" ;;
esac
