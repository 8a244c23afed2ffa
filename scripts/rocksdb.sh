# Sourced: builds RocksDB's static library once, for every profile and every clone.
#
# RocksDB takes longer to compile than the rest of the project, and cargo would repeat it for each profile and each
# clone. So this script compiles the sources of the librocksdb-sys crate, without RocksDB's tools and tests, and caches
# the archive under a key of everything that affects it. The crate links it if ROCKSDB_LIB_DIR and ROCKSDB_STATIC are
# set.
# shellcheck shell=bash

# Prints the source directory of a crate in cargo's registry, at the version in Cargo.lock.
crate_sources() {
  local name="$1" version found
  version="$(awk -v name="$name" '$0 == "name = \"" name "\"" { getline; gsub(/version = |"/, ""); print; exit }' "$root/Cargo.lock")"
  found="$(compgen -G "${CARGO_HOME:-$HOME/.cargo}/registry/src/*/$name-$version" | head -n 1 || true)"
  [[ -n "$found" ]] || die "the sources of $name $version were not found" "run 'cargo fetch --locked' and try again"
  printf '%s' "$found"
}

# Processor features for RocksDB's checksums. The library runs on the machine that builds it.
rocksdb_processor_flags() {
  [[ "$(uname -m)" == x86_64 ]] || return 0
  local features
  features=" $(sed -n 's/^flags[^:]*: //p' /proc/cpuinfo | head -n 1) "
  [[ "$features" == *" sse4_2 "* ]] && printf ' -msse4.2'
  [[ "$features" == *" pclmulqdq "* ]] && printf ' -mpclmul'
  return 0
}

# Compiles the archive in a separate directory and moves it into place as the last step, so that an interrupted build
# leaves no partial result.
compile_rocksdb() {
  local target="$1" sources="$2" flags="$3"
  local work file library number=0 unit=0
  mkdir -p "$(dirname "$target")"
  work="$(mktemp -d "$target.XXXXXX")"
  # Combines several sources into one translation unit, as RocksDB's Makefile can: their headers are read once, which
  # saves more than half of the time.
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
  # The linker searches here before the system's folders, and so links the C++ library statically. If the compiler has
  # only a shared one, the program needs that.
  library="$(clang++ -print-file-name=libstdc++.a)"
  [[ ! -f "$library" ]] || cp "$library" "$work/"
  # Another clone may have been faster.
  mv -T "$work" "$target" 2>/dev/null || rm -rf "$work"
}

# Path of the library for this version, compiler, set of compressors and processor. Builds it if missing.
use_rocksdb() {
  local sources lz4 zstd flags paths key target
  cargo fetch --locked --quiet || cargo fetch --locked --quiet --offline || die "cargo could not fetch the dependencies" "it needs the crates registry"
  sources="$(crate_sources librocksdb-sys)"
  lz4="$(crate_sources lz4-sys)/liblz4/lib"
  zstd="$(crate_sources zstd-sys)/zstd/lib"
  flags="-O2 -fPIC -std=c++20 -w -include cstdint -DNDEBUG -DLZ4=1 -DZSTD=1 -DHAVE_ALIGNED_NEW -DHAVE_UINT128_EXTENSION"
  flags+=" -DOS_LINUX -DROCKSDB_PLATFORM_POSIX -DROCKSDB_LIB_IO_POSIX -DROCKSDB_SCHED_GETCPU_PRESENT"
  flags+=" -DROCKSDB_AUXV_GETAUXVAL_PRESENT -DROCKSDB_FALLOCATE_PRESENT -DROCKSDB_RANGESYNC_PRESENT$(rocksdb_processor_flags)"
  # The library logs the names of its sources: relative to their crate, not as paths on this machine.
  paths="-ffile-prefix-map=$sources=librocksdb-sys -I$sources/rocksdb -I$sources/rocksdb/include -I$sources -I$lz4 -I$zstd"
  key="$(printf '%s\n' "${sources##*/}" "$lz4" "$zstd" "$flags" "$paths" "$(clang++ --version)" | sha256sum | cut -c 1-16)"
  target="$cache_dir/rocksdb/${sources##*/}-$key"
  if [[ ! -f "$target/librocksdb.a" ]]; then
    say "    compiling RocksDB, once for all profiles and clones: about five minutes on two cores"
    compile_rocksdb "$target" "$sources" "$flags $paths"
  fi
  export ROCKSDB_LIB_DIR="$target" ROCKSDB_STATIC=1
}
