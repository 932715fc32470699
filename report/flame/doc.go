// Package flame draws a report: a PNG that reads well inside a chat, an SVG for
// documents, and one interactive page.
//
// # Why so
//
// All pictures come from one folded tree and, for PNG and SVG, from one list of
// shapes, so they cannot disagree. The picture is an icicle: callers above
// callees, as in Cloudflare's dashboard, siblings by weight and then by name,
// so that two captures of the same code look alike.
//
// Colour says whose code a frame is, because that is what somebody on call asks
// first. A comparison is coloured by change instead; a change that the interval
// does not support stays grey.
//
// A PNG is drawn with one byte a pixel: sixteen grounds times sixteen levels of
// ink. Anti-aliased text then needs neither blending in four channels nor
// quantising afterwards, and encoding takes a few milliseconds.
//
// # What it refuses
//
// It draws nothing for a profile without busy samples (ErrEmpty): an empty
// picture would look like a fault. It never trusts a name: control characters,
// direction overrides and invalid bytes become a visible replacement, long
// names are cut, and no name is ever parsed as markup. Whatever the tree, the
// number of shapes, the rows and the size of the page are bounded, and what was
// left out is said in the picture.
package flame
