// Package page draws the guard's debug pages: data in, HTML and SVG out. It
// knows nothing of guards, requests or files.
//
// [Pages] renders the documents ([Overview], [DumpPage]); [Flame], [Bar] and
// [Sparkline] are the drawings in them.
//
// # How it works
//
// The documents are html/template. The drawings are SVG that is written by hand
// and embedded in them. Everything works without a script: a flame graph's
// frames are links to the same page, drawn from that frame on. Widths are
// percentages, so a drawing fits a phone and its text is never scaled. Colours
// are classes of the style sheet, which has a light and a dark scheme.
//
// # What it defends against
//
// Names of functions, files, labels and budgets may be chosen by somebody else.
// [Clean] makes control characters, line separators and marks that reorder text
// visible, and bounds the length; whatever is written is escaped for its place
// besides. There is no script, no inline event handler, no style attribute and
// no reference to anything outside the document, so the strictest
// Content-Security-Policy will do ([Pages.Policy]).
//
// What is drawn is bounded, whatever the profile holds: see the constants of
// [Flame].
package page
