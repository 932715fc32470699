package blocks

// Slack's limits, in characters unless said otherwise.
const (
	maxBlocks     = 50  // per message; https://docs.slack.dev/reference/block-kit/blocks
	maxViewBlocks = 100 // per modal and Home tab

	maxHeader   = 150  // header block text
	maxSection  = 3000 // section text
	maxField    = 2000 // one field of a section
	maxFields   = 10   // fields of a section
	maxContext  = 10   // elements of a context block
	maxElements = 25   // elements of an actions block

	maxButtonText = 75
	maxValue      = 2000 // value of a button
	maxURL        = 3000
	maxID         = 255 // action_id and block_id
	maxOptions    = 100 // options of a select
	maxOptionText = 75
	maxOptionID   = 75 // value of an option: the older of two documented limits
	maxSelectHint = 150

	maxTableRows  = 100
	maxTableCols  = 20
	maxTableChars = 10000 // over all cells of the message

	maxViewTitle = 24 // also submit and close
	maxMetadata  = 3000
	maxLabel     = 2000 // label and hint of an input

	// maxText is where Slack advises to stop; it cuts at 40,000.
	maxText = 3900
	// maxTotal keeps all blocks, as JSON, under the undocumented
	// msg_blocks_too_long near 13,200 (slackapi/bolt-js#2509).
	maxTotal = 12000
)

// Our own measure, below Slack's: what still reads well in a thread.
const (
	goodRows    = 20
	goodCell    = 120
	goodQuote   = 1200
	goodSection = 2400
	goodContext = 300
	goodField   = 300
	goodLines   = 30
)
