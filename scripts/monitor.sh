#!/usr/bin/env bash
# Watches a running server with Prometheus, in the foreground until Ctrl-C; installs Prometheus if it is missing.
# KEDGE_METRICS is the server's metrics_listen, PROMETHEUS_LISTEN the address of Prometheus.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/shell.sh
source scripts/tools.sh

metrics="${KEDGE_METRICS:-127.0.0.1:9464}"
listen="${PROMETHEUS_LISTEN:-127.0.0.1:9090}"
work="$root/.monitor"

# The shipped configuration with the target's address. Its relative paths start at the file's folder, so the path of the
# rules becomes absolute.
configure() {
  mkdir -p "$work"
  sed -e "s|127\.0\.0\.1:9464|$metrics|" -e "s|- rules/|- $root/dashboards/prometheus/rules/|" \
    dashboards/prometheus/prometheus.yml >"$work/prometheus.yml"
  promtool check config "$work/prometheus.yml" >"$work/check.log" 2>&1 || {
    cat "$work/check.log" >&2
    die "the configuration for $metrics is not valid" "KEDGE_METRICS must be the server's metrics_listen: host:port"
  }
}

tell() {
  if have curl && ! curl --silent --fail --output /dev/null --max-time 5 "http://$metrics/metrics"; then
    say "    no server exports metrics at http://$metrics/metrics yet: start one with make run, or set" \
      "metrics_listen of a running one and name that address in KEDGE_METRICS"
  fi
  cat <<TEXT

    open         http://$listen/consoles/kedge.html
    numbers      requests, errors, commits, anchor lag, disk and queue of the server, and the alerts that fire
    alerts       http://$listen/api/v1/alerts; each has its entry in dashboards/RUNBOOK.md
    a query      http://$listen/api/v1/query?query=kedge_anchor_lag_seconds
    charts       Grafana with the dashboards of dashboards/grafana: see dashboards/README.md
    Ctrl-C       stops Prometheus; its data stays in .monitor for 15 days

TEXT
}

step "Tools" install_prometheus
step "Configuration" configure
printf '\n==> 3. Prometheus\n'
tell
trap - EXIT
exec prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/data" --web.listen-address="$listen" \
  --web.console.templates="$root/dashboards/prometheus/consoles" \
  --web.console.libraries="$root/dashboards/prometheus/consoles" --log.level=warn
