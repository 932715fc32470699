# shellcheck shell=bash
# Shared by the scripts beside it: sourced, not run. They need bash, curl and jq.
set -euo pipefail

die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# need NAME… stops when a variable is not set. As for snapflame itself, NAME_FILE
# may name a file that holds the value.
need() {
  local name file
  for name in "$@"; do
    file=${name}_FILE
    if [ -z "${!name:-}" ] && [ -n "${!file:-}" ]; then
      [ -r "${!file}" ] || die "$file: ${!file} cannot be read"
      printf -v "$name" '%s' "$(<"${!file}")"
    fi
    [ -n "${!name:-}" ] || die "set $name"
    export "${name?}"
  done
}

# api METHOD PATH [BODY] calls Cloudflare's API and prints the result. The token
# goes through a file descriptor, since arguments can be read by everyone.
api() {
  local method=$1 path=$2 answer
  local base=${CLOUDFLARE_API_BASE_URL:-https://api.cloudflare.com/client/v4}
  local args=(--silent --show-error --max-time 60 --request "$method" --header 'Content-Type: application/json')
  if [ $# -gt 2 ]; then
    answer=$(curl "${args[@]}" --config <(printf 'header = "Authorization: Bearer %s"\n' "$SETUP_TOKEN") --data-binary @<(printf '%s' "$3") "$base$path") || die "$base does not answer"
  else
    answer=$(curl "${args[@]}" --config <(printf 'header = "Authorization: Bearer %s"\n' "$SETUP_TOKEN") "$base$path") || die "$base does not answer"
  fi
  jq -e '.success == true' >/dev/null 2>&1 <<<"$answer" ||
    die "$method $path: $(jq -r '[.errors[]? | "\(.message) (\(.code))"] | join("; ")' 2>/dev/null <<<"$answer" || printf 'no JSON')"
  jq '.result' <<<"$answer"
}
