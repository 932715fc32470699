// Package blocks writes cards as Slack's Block Kit.
//
// A bot.Card holds plain text that strangers chose: Worker names, function
// names, error texts. Slack gives meaning to <, > and & in its own markup, and
// to *, _, ~ and the backtick, and turns bare addresses into links. So text
// goes where Slack reads no markup at all (plain_text, rich_text, raw_text
// cells); where only markup will do, the three characters are escaped, values
// that could format something stand in code spans, and automatic links are off.
// Only a mention set by configuration and an http(s) address become live.
//
// Every limit of Block Kit is kept by cutting, with an ellipsis, before Slack
// sees it: Slack refuses a whole message for one string too long, and says
// hardly more than "invalid_blocks". Should it refuse all the same, each Level
// says the same with less: table as preformatted text, sections only, text only.
//
// The package refuses to cut ids and addresses: a button whose value would be
// cut is left out, since it would do something else.
package blocks
