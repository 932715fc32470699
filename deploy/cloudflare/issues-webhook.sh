#!/usr/bin/env bash
# Creates the webhook destination "snapflame" of Notifications; its secret comes
# back as cf-webhook-auth with each notification. Then choose it in the dashboard:
# Workers & Pages, Observability, Issues, Automations (or any alert under
# Notifications). A notification comes once when a threshold is crossed and names
# no object, so it complements the events and replaces none.
#
# Needs CLOUDFLARE_ACCOUNT_ID, SNAPFLAME_PUBLIC_URL, SNAPFLAME_INGEST_TOKEN, and
# SETUP_TOKEN with the permission "Notifications Write".
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=deploy/cloudflare/lib.sh
. "$here/lib.sh"
need CLOUDFLARE_ACCOUNT_ID SNAPFLAME_PUBLIC_URL SNAPFLAME_INGEST_TOKEN SETUP_TOKEN

body=$(jq -n --arg url "${SNAPFLAME_PUBLIC_URL%/}/ingest/issues" '{name: "snapflame", url: $url, secret: $ENV.SNAPFLAME_INGEST_TOKEN}')
api POST "/accounts/$CLOUDFLARE_ACCOUNT_ID/alerting/v3/destinations/webhooks" "$body" | jq '{id}'
