// Package verify checks session files without running anything: what a file says
// twice must agree, and no secret may stand in it.
//
//  1. The reader checks every line: JSON, number, chain, footer.
//  2. Every line is decoded as its type asks for.
//  3. What follows from other lines is computed again: digests of config, tree,
//     parts and params, the chain of every request, the inputs digest, the counts
//     and sums of state lines and footer, one result for each call.
//  4. Contents beside the file are read and compared with the digests that name
//     them.
//  5. Every text, of lines and of contents beside the file, is looked through for
//     keys of known shapes and for declared secrets. A finding names line and
//     pointer, never the secret.
//
// Whether the loop would do the same again is the replay's question: answers,
// results and firings are believed here. A file is read once, front to back;
// memory grows with the number of parts of its requests (about 200 bytes each),
// not with their size.
package verify
