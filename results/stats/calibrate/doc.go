// Command calibrate checks the promises of results/stats by simulation:
//
//		go run ./results/stats/calibrate -suites 20000
//
//	 1. A cell ([cell]) says how suites are made: scenarios, repetitions, mean pass
//	    rate, resemblance of repetitions, coupling of the arms.
//	 2. Suites of a cell are drawn in chunks, each with a random stream of its own
//	    ([simulate]), so the result does not depend on how many cores there are.
//	 3. size.go counts how often each test rejects what is true; coverage.go how
//	    often each interval holds what is true; power.go how often an effect is seen,
//	    beside what [stats.Design] says.
//	 4. Each table is printed as Markdown, held against its bounds, and every breach
//	    is named. Exit 1 says that there was one.
//
// docs/statistics.md shows what it prints.
package main
