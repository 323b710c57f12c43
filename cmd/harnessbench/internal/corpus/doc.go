// Package corpus keeps testdata/corpus: sessions that every later version must
// judge as this one does.
//
//  1. A file of the corpus is never changed and never taken away; new ones are
//     added.
//  2. expected.json names each with its SHA-256, its verdict and, where the verdict
//     is a divergence, the place: turn, stage, line, pointer. [Load] reads it.
//  3. The tests replay all of them and compare. With -update they make what the
//     recipes of this package describe and the corpus does not have yet, and add it;
//     they refuse to change an entry.
package corpus
