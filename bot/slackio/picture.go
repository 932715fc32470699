package slackio

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slack-go/slack"

	"github.com/snapflame/snapflame/bot/blocks"
	"github.com/snapflame/snapflame/capture"
)

// files is the name under which all three steps of an upload wait for a 429:
// Slack's library does not retry them, and one alone cannot be repeated.
const files = "files"

const (
	// pictureAfter is settleAfter for pictures, which Slack shows seconds late.
	pictureAfter = 10 * time.Second
	maxUploads   = 4
)

// upload brings a picture into its thread. Slack makes the message itself,
// seconds later, and never tells its ts; SentAt marks the end. A picture is
// never edited.
func (s *Sender) upload(ctx context.Context, a *attempt) next {
	switch {
	case !a.sent.SentAt.IsZero() || a.post.File == nil:
		return s.finish(ctx, a.item)
	case a.sent.FileID != "":
		return s.complete(ctx, a, true)
	}
	if err := s.traffic.wait(ctx, files, a.post.Channel, a.order); err != nil {
		return next{stop: true}
	}
	s.traffic.arrived(a.post.Channel, a.order) // the picture comes when Slack likes
	f := s.transfer(ctx, a)
	if f.kind == ambiguous {
		f.kind = down // an upload without its last step shows nothing
	}
	f = f.forPictures()
	if n, waits := s.failed(ctx, files, a, f); waits {
		return n
	}
	if f.kind != fine {
		return s.noPicture(ctx, a, f)
	}
	return s.complete(ctx, a, false)
}

// transfer announces the file and sends its bytes.
func (s *Sender) transfer(ctx context.Context, a *attempt) failure {
	r, size, err := s.files.OpenFile(ctx, a.post.File.Object)
	if errors.Is(err, capture.ErrNotFound) || (err == nil && size == 0) {
		if r != nil {
			_ = r.Close()
		}
		return failure{kind: refused, code: "the picture is not in the store any more", err: err}
	}
	if err != nil {
		return failure{kind: limited, code: "store", wait: again, err: err}
	}
	defer r.Close()
	u, err := s.c.api.GetUploadURLExternalContext(ctx, slack.GetUploadURLExternalParameters{
		FileName: a.post.File.Name, FileSize: int(size), AltTxt: clipAlt(a.post.File.Alt),
	})
	if err != nil {
		return sortFailure(fmt.Errorf("announce %s: %w", a.post.File.Name, err))
	}
	if err := s.c.api.UploadToURL(ctx, slack.UploadToURLParameters{UploadURL: u.UploadURL, Reader: r, Filename: a.post.File.Name}); err != nil {
		return sortFailure(fmt.Errorf("transfer %s: %w", a.post.File.Name, err))
	}
	// From here on the last step may take effect, so its id is on record first.
	a.sent.FileID, a.sent.Channel, a.sent.ClaimedAt = u.FileID, a.post.Channel, s.now()
	if err := s.put(ctx, a); err != nil {
		return failure{kind: limited, code: "ledger", wait: again, err: err}
	}
	return failure{}
}

// complete shares the file in the thread. When the answer to an earlier try may
// have been lost, it first looks whether the picture is there.
func (s *Sender) complete(ctx context.Context, a *attempt, lost bool) next {
	kept, cancel := s.grace(ctx)
	defer cancel()
	absent := false
	if lost {
		if young := s.young(a, pictureAfter); young > 0 {
			return next{wait: young}
		}
		ts, f := s.search(kept, a, func(m slack.Message) bool { return len(m.Files) > 0 && m.Files[0].ID == a.sent.FileID })
		if f.kind == fine && ts != "" {
			return s.shown(kept, a, ReasonReconciled)
		}
		if f.kind == down || f.kind == ambiguous {
			s.shut(ctx, a.post, ReasonDown, f)
			return next{stop: true}
		}
		if f.kind == limited {
			s.traffic.block("conversations.history", f.wait)
			return next{wait: f.wait}
		}
		absent = f.kind == fine
	}
	if hold := s.traffic.hold(files); hold > 0 {
		return next{wait: hold}
	}
	_, err := s.c.api.CompleteUploadExternalContext(kept, slack.CompleteUploadExternalParameters{
		Files:   []slack.FileSummary{{ID: a.sent.FileID, Title: a.post.File.Title}},
		Channel: a.post.Channel, ThreadTimestamp: a.parent, Blocks: slack.Blocks{BlockSet: blocks.Caption(a.post.Card)},
	})
	f := sortFailure(err).forPictures()
	switch {
	case f.kind == fine:
		return s.shown(kept, a, ReasonUploaded)
	case f.kind == ambiguous:
		return s.doubt(ctx, kept, a, f)
	case f.code == "not_in_channel" && s.join(kept, a.post.Channel):
		return s.complete(ctx, a, false)
	case f.code == "file_not_found" || (lost && f.kind == refused):
		return s.anew(kept, a, f, lost && !absent)
	}
	if n, waits := s.failed(ctx, files, a, f); waits {
		return n
	}
	return s.noPicture(kept, a, f)
}

// anew uploads a picture from the beginning: its bytes did not arrive, or Slack
// has dropped them. A file is shared once, so in the dark a refusal may also
// mean that it was: then one more picture is better than none, once.
func (s *Sender) anew(ctx context.Context, a *attempt, f failure, dark bool) next {
	switch {
	case dark && a.sent.Resent > 0:
		return s.shown(ctx, a, ReasonResent)
	case dark:
		a.sent.Resent = 1
		a.sent.Note = resent(1)
	case a.uploads >= maxUploads:
		return s.noPicture(ctx, a, f)
	}
	a.uploads++
	a.sent.FileID, a.sent.ClaimedAt = "", time.Time{}
	if err := s.keep(ctx, a); err != nil {
		return s.trouble(ctx, a.item, err)
	}
	return next{wait: again}
}

// forPictures keeps a scope that only pictures need from stopping all else.
func (f failure) forPictures() failure {
	if f.code == "missing_scope" {
		f.kind = refused
	}
	return f
}

// shown records a picture that is in its thread, or will be in a moment.
func (s *Sender) shown(ctx context.Context, a *attempt, r Reason) next {
	a.sent.SentAt = s.now()
	if err := s.keep(ctx, a); err != nil {
		return s.trouble(ctx, a.item, err)
	}
	s.note(r, a.post, "")
	return s.finish(ctx, a.item)
}

// noPicture leaves the text as it stands and says in the thread why there is no
// picture.
func (s *Sender) noPicture(ctx context.Context, a *attempt, f failure) next {
	why := fix(f.code, f.scope)
	if f.code != "" && f.err == nil {
		why = f.code
	}
	if n, waits := s.tell(ctx, a, "picture", "The picture could not be posted: "+why+"."); waits {
		return n
	}
	s.note(ReasonNoPicture, a.post, why)
	a.sent.Channel = a.post.Channel
	return s.bury(ctx, a, why)
}

// clipAlt keeps alt_txt in Slack's limit of 1,000 characters.
func clipAlt(s string) string {
	r := []rune(s)
	return string(r[:min(len(r), 1000)])
}
