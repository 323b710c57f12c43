// Package strictyaml reads the YAML files that people write for harnessbench,
// so that a mistake is one clear error with its place instead of a surprise in
// the middle of a run. It is a leaf: it knows nothing of what the files mean.
//
//  1. [Parse] bounds the text (bytes, tokens, nesting) before any recursion sees
//     it and refuses what makes YAML unpredictable: anchors, aliases, merge keys,
//     tags, directives, several documents, duplicate keys, infinities.
//  2. The result is a tree of [Node] values that know their line and column.
//  3. [Decode] fills Go values from it: unknown keys, wrong types and missing
//     required keys are errors. Nothing is converted silently: 900 is a number,
//     "900" is a text.
//  4. [Node.AppendJSON] gives the canonical JSON of a node (sorted keys, number
//     lexemes kept), for parts that are passed on as data.
package strictyaml
