# Sourced: builds the web console, which is embedded in the program.
# shellcheck shell=bash

# The Node.js version that Vite needs.
console_node_min=20.19
console_sources=(dashboards/console/{index.html,package-lock.json,public,src,vite.config.ts}
  sdk/typescript/{package-lock.json,src,tsconfig.build.json,tsconfig.json} crates/prover/keys/dev-insecure.json)

# Whether Node.js is recent enough.
can_build_console() {
  have node && have npm || return 1
  local found
  found="$(node --version)"
  [[ "$(printf '%s\n%s\n' "$console_node_min" "${found#v}" | sort -V | head -n 1)" == "$console_node_min" ]]
}

# Builds the console if its sources have changed. Without Node.js, the program is built without the console.
build_console() {
  if ! can_build_console; then
    say "    without console: it needs Node.js $console_node_min or newer; the server runs without it"
    return
  fi
  local folder="$root/dashboards/console" sources stamp
  stamp="$folder/node_modules/.built-sources"
  sources="$(cd "$root" && find "${console_sources[@]}" -type f -exec sha256sum {} + | sort)"
  if [[ -f "$folder/dist/index.html" && -f "$stamp" && "$sources" == "$(<"$stamp")" ]]; then
    say "    dashboards/console: is built"
    return
  fi
  install_node_packages sdk/typescript dashboards/console
  (cd "$root/sdk/typescript" && npm run --silent build) || die "the TypeScript SDK could not be built"
  (cd "$folder" && npm run --silent build -- --logLevel warn) || die "the console could not be built"
  printf '%s\n' "$sources" >"$stamp"
  say "    dashboards/console: built, $(du -sh --apparent-size "$folder/dist" | cut -f 1) with compressed forms"
}
