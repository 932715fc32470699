#!/usr/bin/env bash
# Creates a Logpush job that posts the errors of all Workers to snapflame.
# Logpush names no Durable Object and comes half a minute late: where a Tail
# Worker is possible, it is better. Set "logpush": true in each Worker's
# wrangler configuration, too.
#
# Needs CLOUDFLARE_ACCOUNT_ID, SNAPFLAME_PUBLIC_URL, SNAPFLAME_INGEST_TOKEN, and
# SETUP_TOKEN with the permission "Logs Write". It replaces nothing: run it once.
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=deploy/cloudflare/lib.sh
. "$here/lib.sh"
need CLOUDFLARE_ACCOUNT_ID SNAPFLAME_PUBLIC_URL SNAPFLAME_INGEST_TOKEN SETUP_TOKEN

body=$(jq -n --arg url "${SNAPFLAME_PUBLIC_URL%/}/ingest/events" '{
  name: "snapflame",
  dataset: "workers_trace_events",
  enabled: true,
  destination_conf: ($url + "?header_Authorization=" + ("Bearer " + $ENV.SNAPFLAME_INGEST_TOKEN | @uri)),
  filter: ({where: {key: "Outcome", operator: "!eq", value: "ok"}} | tojson),
  output_options: {
    output_type: "ndjson",
    timestamp_format: "unixnano",
    field_names: ["CPUTimeMs", "DispatchNamespace", "Entrypoint", "Event", "EventTimestampMs", "EventType", "Exceptions",
      "Logs", "Outcome", "ScriptName", "ScriptTags", "ScriptVersion", "WallTimeMs"]
  },
  max_upload_interval_seconds: 30
}')
api POST "/accounts/$CLOUDFLARE_ACCOUNT_ID/logpush/jobs" "$body" | jq '{id, dataset, enabled}'
