#!/usr/bin/env bash
# Creates the destinations snapflame-logs and snapflame-traces, to which Workers
# export OpenTelemetry as JSON. Cloudflare tries each address at once, so serve
# must be reachable. Then name them in each Worker's wrangler configuration:
#
#   "observability": {
#     "logs":   { "enabled": true, "destinations": ["snapflame-logs"] },
#     "traces": { "enabled": true, "destinations": ["snapflame-traces"] }
#   }
#
# Needs CLOUDFLARE_ACCOUNT_ID, SNAPFLAME_PUBLIC_URL, SNAPFLAME_INGEST_TOKEN, and
# SETUP_TOKEN with the permission "Workers Observability Write".
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=deploy/cloudflare/lib.sh
. "$here/lib.sh"
need CLOUDFLARE_ACCOUNT_ID SNAPFLAME_PUBLIC_URL SNAPFLAME_INGEST_TOKEN SETUP_TOKEN

for signal in logs traces; do
  body=$(jq -n --arg signal "$signal" --arg url "${SNAPFLAME_PUBLIC_URL%/}/v1/$signal" '{
    name: ("snapflame-" + $signal),
    enabled: true,
    configuration: {type: "logpush", logpushDataset: ("opentelemetry-" + $signal), url: $url, headers: {Authorization: ("Bearer " + $ENV.SNAPFLAME_INGEST_TOKEN)}}
  }')
  api POST "/accounts/$CLOUDFLARE_ACCOUNT_ID/workers/observability/destinations" "$body" | jq '{name, slug, enabled}'
done
