package slackio

import "time"

// Reason is what became of a delivery: log field, metric label, and where a
// person is told, the sentence of it.
type Reason string

// The reasons.
const (
	ReasonSent       Reason = "sent"
	ReasonEdited     Reason = "edited"
	ReasonUploaded   Reason = "uploaded"
	ReasonUnchanged  Reason = "unchanged"  // Slack shows this already, or something newer
	ReasonReconciled Reason = "reconciled" // found in the history after a lost answer
	ReasonResent     Reason = "resent"     // sent again after a lost answer, history unreadable
	ReasonSimpler    Reason = "simpler"    // Slack refused the blocks; sent with fewer
	ReasonMoved      Reason = "moved"      // its channel takes nothing; sent to the default one
	ReasonNewRoot    Reason = "new_root"   // the thread's first message was deleted
	ReasonNoPicture  Reason = "no_picture" // the upload was refused; the thread says so
	ReasonLimited    Reason = "limited"    // Slack answered 429
	ReasonDown       Reason = "down"       // Slack cannot be reached
	ReasonLocked     Reason = "locked"     // the token is refused or lacks a scope
	ReasonDead       Reason = "dead"       // can never be delivered
)

// Note is one thing that happened to a post on its way.
type Note struct {
	Reason  Reason
	Key     string
	Channel string
	Detail  string        // Slack's word and what to do
	Took    time.Duration // since the post's At, for those that arrived
}

// fix says in a sentence what a person can do about an error of Slack.
func fix(code, scope string) string {
	switch code {
	case "not_in_channel":
		return "the bot is not in this channel: type /invite @ and its name here"
	case "channel_not_found":
		return "the channel does not exist or is private: invite the bot there, and configure the channel's id (it begins with C)"
	case "is_archived":
		return "the channel is archived: unarchive it or configure another"
	case "missing_scope":
		return "the app lacks the scope " + scope + ": add it to the app and install it again"
	case "invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive":
		return "Slack refuses the bot token: install the app again and set SLACK_BOT_TOKEN"
	case "file_uploads_disabled", "file_uploads_except_images_disabled", "posting_to_channel_denied", "slack_connect_file_upload_sharing_blocked":
		return "this workspace or channel does not allow uploads: ask an admin"
	case "storage_limit_reached", "file_upload_size_restricted":
		return "the workspace takes no more or no such large files"
	case "restricted_action", "restricted_action_read_only_channel", "restricted_action_thread_only_channel", "restricted_action_non_threadable_channel":
		return "the channel allows only some people to post: let the bot do it"
	}
	return "Slack answered " + code
}
