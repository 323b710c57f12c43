// Package redact takes secrets out of texts before anything is written or hashed.
//
//  1. [New] takes the exact secrets of a run, API keys from the environment above
//     all. They are found as they stand, JSON-escaped (once and twice),
//     percent-encoded, and in base64 at any alignment, as in "Basic user:key".
//  2. Besides, shapes that only keys have are found without being declared; see
//     shapes.go for each with its rule. Rules prefer a missed key to a harmed text:
//     who has a secret of no shape declares it.
//  3. What is found is overwritten by '*', byte for byte: the length stays, offsets
//     stay, JSON stays JSON and UTF-8 stays UTF-8. Of a known shape the prefix
//     that names its kind stays readable ("sk-***").
//  4. Doing it twice changes nothing. A recording and its replay do it both, and
//     agree also when only one of them knows the exact secret, if it has a shape.
//
// Names of declared secrets are never kept with a result; no error or count
// tells of what was found.
package redact
