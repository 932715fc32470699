package slackio

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/slack-go/slack"
)

// kind is what a failed call means for the message that it was to send.
type kind int

const (
	fine      kind = iota
	limited        // not sent; Slack says when
	down           // not sent: Slack cannot be reached, or says it is closed
	ambiguous      // it may have been sent
	locked         // not sent: the token is refused or lacks a scope
	shape          // not sent: the blocks or the text are refused
	nowhere        // not sent: the channel does not take it
	orphan         // not sent: the message or thread it belongs to is gone
	refused        // not sent for another reason that time does not cure
)

// failure is a failed call, sorted.
type failure struct {
	kind  kind
	code  string // Slack's word, or a short one of ours
	wait  time.Duration
	scope string // that is missing
	err   error
}

// sort tells what an error of slack-go means. Slack answers 503 before it works
// on a call; of the other server errors that is not known.
func sortFailure(err error) failure {
	f := failure{err: err}
	if err == nil {
		return f
	}
	if e, ok := errors.AsType[*slack.RateLimitedError](err); ok {
		f.kind, f.code, f.wait = limited, "ratelimited", e.RetryAfter
		return f
	}
	if e, ok := errors.AsType[slack.StatusCodeError](err); ok {
		f.code = e.Status
		switch e.Code {
		case http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
			f.kind = ambiguous
		default:
			f.kind = down // 503, or a proxy that answers in Slack's place
		}
		return f
	}
	if e, ok := errors.AsType[slack.SlackErrorResponse](err); ok {
		f.kind, f.code, f.scope = meaning(e.Err), e.Err, e.Needed
		if f.kind == limited {
			f.wait = time.Second
		}
		return f
	}
	f.kind, f.code = ambiguous, "no_answer"
	if neverLeft(err) {
		f.kind, f.code = down, "unreachable"
	}
	return f
}

// neverLeft tells that a request did not reach Slack.
func neverLeft(err error) bool {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return true
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return true
	}
	if u, ok := errors.AsType[*url.Error](err); ok && u.Op == "parse" {
		return true
	}
	return false
}

func meaning(code string) kind {
	for k, codes := range codesByKind() {
		if slices.Contains(codes, code) {
			return k
		}
	}
	return refused
}

// codesByKind are the errors of chat.postMessage, chat.update and the upload
// methods that mean something to us:
// https://docs.slack.dev/reference/methods/chat.postMessage#errors.
func codesByKind() map[kind][]string {
	return map[kind][]string{
		limited:   {"ratelimited", "rate_limited"},
		down:      {"service_unavailable", "ekm_access_denied"},
		ambiguous: {"internal_error", "fatal_error", "request_timeout"},
		locked: {
			"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "missing_scope", "not_allowed_token_type",
			"no_permission", "org_login_required", "team_access_not_granted", "two_factor_setup_required", "access_denied", "accesslimited",
		},
		shape: {
			"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long", "no_text", "block_mismatch", "invalid_attachments",
			"too_many_attachments", "slack_connect_blocked_file_type", "metadata_too_large", "invalid_metadata_format",
		},
		nowhere: {
			"channel_not_found", "is_archived", "not_in_channel", "restricted_action", "restricted_action_read_only_channel", "channel_type_not_supported",
			"restricted_action_non_threadable_channel", "restricted_action_thread_only_channel", "posting_to_channel_denied", "is_inactive", "messages_tab_disabled",
		},
		orphan: {"message_not_found", "thread_not_found", "invalid_thread_ts", "cannot_reply_to_message", "restricted_action_thread_locked"},
	}
}
