# Sourced: builds RocksDB's static library once and hands it to cargo, for every profile and every clone.
#
# Compiling RocksDB takes longer than all the rest of the project. Cargo would do it again for each profile and each
# clone. So this script compiles the sources that the librocksdb-sys crate ships, without RocksDB's tools and tests,
# and keeps the archive in the cache directory under a key made of everything that shapes it. The crate links it
# when ROCKSDB_LIB_DIR and ROCKSDB_STATIC say so.
# shellcheck shell=bash

# Prints the directory of a crate's sources in cargo's registry, at the version in Cargo.lock.
crate_sources() {
  local name="$1" version found
  version="$(awk -v name="$name" '$0 == "name = \"" name "\"" { getline; gsub(/version = |"/, ""); print; exit }' "$root/Cargo.lock")"
  found="$(compgen -G "${CARGO_HOME:-$HOME/.cargo}/registry/src/*/$name-$version" | head -n 1 || true)"
  [[ -n "$found" ]] || die "the sources of $name $version were not found" "run 'cargo fetch --locked' and try again"
  printf '%s' "$found"
}

# The processor features that RocksDB's checksums use. The library runs where it is built, so ask that machine.
rocksdb_processor_flags() {
  [[ "$(uname -m)" == x86_64 ]] || return 0
  local features
  features=" $(sed -n 's/^flags[^:]*: //p' /proc/cpuinfo | head -n 1) "
  [[ "$features" == *" sse4_2 "* ]] && printf ' -msse4.2'
  [[ "$features" == *" pclmulqdq "* ]] && printf ' -mpclmul'
  return 0
}

# Compiles the archive in a directory of its own and moves it into place as the last step, so that an
# interrupted build leaves nothing that looks complete.
compile_rocksdb() {
  local target="$1" sources="$2" flags="$3"
  local work file library number=0 unit=0
  mkdir -p "$(dirname "$target")"
  work="$(mktemp -d "$target.XXXXXX")"
  # Several sources in one translation unit (RocksDB's own Makefile can make one of all of them): their headers are
  # read once, which saves more than half of the time.
  while read -r file; do
    [[ -n "$file" && "$file" != util/build_version.cc ]] || continue
    ((number % 16)) || unit=$((unit + 1))
    number=$((number + 1))
    printf '#include "%s"\n' "$file" >>"$work/part$unit.cc"
  done <"$sources/rocksdb_lib_sources.txt"
  cp "$sources/build_version.cc" "$work/version.cc"
  printf '%s' "$flags" >"$work/flags"
  if ! (cd "$work" && printf '%s\n' ./*.cc | xargs -P "$(nproc)" -I{} clang++ @flags -c {} -o {}.o) ||
    ! ar crs "$work/librocksdb.a" "$work"/*.o; then
    rm -rf "$work"
    die "RocksDB could not be compiled" "see the compiler's output above"
  fi
  rm -f "$work"/*.cc "$work"/*.o "$work/flags"
  # The linker looks here before it looks in the system's folders, and so puts the C++ library into the program. Where
  # the compiler has it as a shared library only, the program needs that.
  library="$(clang++ -print-file-name=libstdc++.a)"
  [[ ! -f "$library" ]] || cp "$library" "$work/"
  # Another clone may have been faster.
  mv -T "$work" "$target" 2>/dev/null || rm -rf "$work"
}

# Where the library is for this version, compiler, set of compressors and processor; builds it where it is missing.
use_rocksdb() {
  local sources lz4 zstd flags paths key target
  cargo fetch --locked --quiet || cargo fetch --locked --quiet --offline || die "cargo could not fetch the dependencies" "it needs the crates registry"
  sources="$(crate_sources librocksdb-sys)"
  lz4="$(crate_sources lz4-sys)/liblz4/lib"
  zstd="$(crate_sources zstd-sys)/zstd/lib"
  flags="-O2 -fPIC -std=c++20 -w -include cstdint -DNDEBUG -DLZ4=1 -DZSTD=1 -DHAVE_ALIGNED_NEW -DHAVE_UINT128_EXTENSION"
  flags+=" -DOS_LINUX -DROCKSDB_PLATFORM_POSIX -DROCKSDB_LIB_IO_POSIX -DROCKSDB_SCHED_GETCPU_PRESENT"
  flags+=" -DROCKSDB_AUXV_GETAUXVAL_PRESENT -DROCKSDB_FALLOCATE_PRESENT -DROCKSDB_RANGESYNC_PRESENT$(rocksdb_processor_flags)"
  # The library names its sources in its log: by their crate, not by where that lies on this machine.
  paths="-ffile-prefix-map=$sources=librocksdb-sys -I$sources/rocksdb -I$sources/rocksdb/include -I$sources -I$lz4 -I$zstd"
  key="$(printf '%s\n' "${sources##*/}" "$lz4" "$zstd" "$flags" "$paths" "$(clang++ --version)" | sha256sum | cut -c 1-16)"
  target="$cache_dir/rocksdb/${sources##*/}-$key"
  if [[ ! -f "$target/librocksdb.a" ]]; then
    say "    compiling RocksDB, once for all profiles and clones: about five minutes on two cores"
    compile_rocksdb "$target" "$sources" "$flags $paths"
  fi
  export ROCKSDB_LIB_DIR="$target" ROCKSDB_STATIC=1
}
