package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// section is one table that can be asked for.
type section struct {
	name   string
	titles []string // of its tables
	make   func(suites int, seed uint64, quick bool) ([]table, []string)
}

var sections = []section{
	{"size", []string{"Size: how often a test rejects what is true, %; bias where a guard fired (Monte Carlo standard error)"}, sizeTable},
	{"margin", []string{"Size of non-inferiority and equivalence: said where b is worse by exactly the margin, %"}, marginTable},
	{"coverage", []string{"Coverage of the 95 % interval of a pass rate, %, ICC 0.4, by scenarios x repetitions",
		"Coverage of 95 % intervals, %, ICC 0.4: the least over the rates above (the mean)"}, coverageTable},
	{"power", []string{"Power: the smallest effect that is seen with 80 %, and how often it is seen, %, ICC 0.4"}, powerTable},
}

// run is the command: 0 when all bounds hold, 1 when one is broken, 2 for a wrong
// command line.
func run(args []string, stdout, stderr io.Writer) int {
	fl := flag.NewFlagSet("calibrate", flag.ContinueOnError)
	fl.SetOutput(stderr)
	suites := fl.Int("suites", 1000, "suites to draw in each cell, at least 100")
	seed := fl.Uint64("seed", 1, "of the random numbers")
	which := fl.String("cells", "all", "all, or quick: a few cells")
	var names []string
	for _, s := range sections {
		names = append(names, s.name)
	}
	tables := fl.String("tables", strings.Join(names, ","), "which tables to print")
	if err := fl.Parse(args); err != nil {
		return 2
	}
	if *suites < 100 || *suites > 10_000_000 || *which != "all" && *which != "quick" || fl.NArg() > 0 {
		fmt.Fprintln(stderr, "calibrate: -suites is 100 to 10,000,000, -cells all or quick, and there are no arguments")
		return 2
	}
	var broken []string
	printed := 0
	for _, s := range sections {
		if !strings.Contains(","+*tables+",", ","+s.name+",") {
			continue
		}
		ts, bad := s.make(*suites, *seed, *which == "quick")
		for i, t := range ts {
			fmt.Fprintf(stdout, "%s\n\n", s.titles[i])
			if err := t.print(stdout); err != nil {
				fmt.Fprintln(stderr, "calibrate:", err)
				return 2
			}
			fmt.Fprintln(stdout)
		}
		printed++
		broken = append(broken, bad...)
	}
	if printed == 0 {
		fmt.Fprintf(stderr, "calibrate: -tables takes %s\n", strings.Join(names, ", "))
		return 2
	}
	fmt.Fprintf(stdout, "%d bounds broken.\n", len(broken))
	for _, b := range broken {
		fmt.Fprintf(stdout, "- %s\n", b)
	}
	if len(broken) > 0 {
		return 1
	}
	return 0
}
