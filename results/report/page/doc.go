// Package page writes the summary of a run as one HTML file that needs nothing
// else: no script, no font, no picture and no address from outside.
//
// Its part of the pipeline:
//
//  1. The command hands over a [report.Summary] and, as [Extra], what the
//     summary cannot know: one line about each guard, and the transcripts of the
//     flips that [Choose] picked.
//  2. Rules turn numbers into words (words.go): a guard helped or hurt where the
//     interval excludes 0 and the adjusted p is below 0.05; it was not measured
//     where it never fired.
//  3. Views are made of every section: texts that are cut and safe, figures as
//     inline SVG (strip.go, scatter.go), notes lettered once over the page.
//  4. One html/template (page.gohtml, parts.gohtml, page.css) lays them out.
//     It escapes every text; the figures are made here and escape their own.
//
// The page is a pure function of its input. Whatever a summary holds, the page
// is bounded, and where something is left out it says so and by which rule.
package page
