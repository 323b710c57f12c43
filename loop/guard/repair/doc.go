// Package repair reads what is almost a JSON object, as models write the
// arguments of a call, and makes JSON of it.
//
//  1. [Object] takes a text that is no JSON. It cuts away what stands round the
//     object: a Markdown fence, words before and after it.
//  2. It reads the object once, from left to right, and writes it down again:
//     trailing commas are left out, strings in single quotes and bare control
//     characters are written as JSON has them, True, False and None as true, false
//     and null.
//  3. Brackets that are still open where the text ends are closed, if it ends where
//     a value does. A string that breaks off is closed only on request: what it
//     lost stays lost.
//  4. What it wrote is checked. Whatever else is wrong is refused: a guess that
//     runs is worse than an error that the model can read.
//
// Time is linear in the text, and size and depth are bounded.
package repair
