#!/usr/bin/env bash
# Creates the API token that snapflame uses, from token.json, as a token of the
# account, and prints it once. Needs CLOUDFLARE_ACCOUNT_ID and SETUP_TOKEN, a
# token with the permission "Account API Tokens Write".
#
#   umask 077; deploy/cloudflare/token.sh >secrets/cloudflare-api-token
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=deploy/cloudflare/lib.sh
. "$here/lib.sh"
need CLOUDFLARE_ACCOUNT_ID SETUP_TOKEN

groups=$(api GET "/accounts/$CLOUDFLARE_ACCOUNT_ID/tokens/permission_groups")
# Cloudflare wants ids; the template has names, which people can check.
body=$(jq -e --arg account "$CLOUDFLARE_ACCOUNT_ID" --argjson groups "$groups" '
  .policies |= map(
    .resources |= with_entries(.key |= sub("ACCOUNT_ID"; $account))
    | .permission_groups |= map(.name as $n
        | ($groups | map(select(.name == $n)) | first // error("no permission is called " + $n)) | {id}))
' "$here/token.json") || die "a permission of token.json is not offered to this account"
api POST "/accounts/$CLOUDFLARE_ACCOUNT_ID/tokens" "$body" | jq -r .value
