// Package arch holds the rules of the tree's shape and the test that enforces
// them. It has no other code.
//
//  1. allowed says which packages of the module a package may import: an arrow
//     that stands in no row is an error, as is a package without a row.
//  2. forbidden and soleImporters say what may be imported from outside, where
//     it matters: the loop stays pure, and each large dependency stays behind
//     one package.
//  3. The source rules look at the code itself: no reading of the clock but in
//     loop/clock, no long files, a doc comment on all that is exported.
//
// Each rule carries its reason, which the failing test prints. The engine is
// itself tested on import graphs and sources that break the rules.
package arch
