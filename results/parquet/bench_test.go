package parquet

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/harnessbench/harnessbench/results"
)

func BenchmarkWriteTrials(b *testing.B) {
	type unique struct{ session, digest string }
	// What no two rows have in common: more of it than a page holds, so that no
	// page compresses better than in a run.
	pool := make([]unique, 2*pageSize/64)
	for i, t := range trials(len(pool)) {
		pool[i] = unique{t.Session, t.SessionDigest}
	}
	at := 0
	benchmarkWrite(b, trials(benchRows), func(rows []results.Trial) {
		for i := range rows {
			rows[i].Session, rows[i].SessionDigest = pool[at].session, pool[at].digest
			at = (at + 1) % len(pool)
		}
	})
}

func BenchmarkWriteVerdicts(b *testing.B) {
	rows := make([]results.Verdict, benchRows)
	for i := range rows {
		rows[i] = results.Verdict{
			RunID: "starter-0123456789ab", Scenario: fmt.Sprintf("scenario-%02d", i/1300%12), Model: "sim/weak", Arm: fmt.Sprintf("without-%d", i/5%13), Repetition: i % 5,
			Grader: "answer", Type: "file_equals", Version: 1, Digest: strings.Repeat("cd", 32), Primary: true, Verdict: results.Pass, Score: ptr(1.0),
			Reason: fmt.Sprintf("answer.txt equals %d", i%97),
		}
	}
	benchmarkWrite(b, rows, nil)
}

func BenchmarkWriteGuardEvents(b *testing.B) {
	rows := make([]results.GuardEvent, benchRows)
	for i := range rows {
		rows[i] = results.GuardEvent{
			RunID: "starter-0123456789ab", Scenario: fmt.Sprintf("scenario-%02d", i/1300%12), Model: "sim/weak", Arm: fmt.Sprintf("without-%d", i/5%13), Repetition: i % 5,
			Index: i % 3, Lane: "main", Turn: i % 50, AtUS: int64(i) * 31337 % 9_000_000, Guard: "stuck", Version: 1, Mode: results.Enforce, Act: "nudge", Evidence: "3 equal rounds",
		}
	}
	benchmarkWrite(b, rows, nil)
}

// benchRows are written again and again, as a run's rows come from a decoder:
// one after the other, and in the processor's cache.
const benchRows = 512

// benchmarkWrite says rows a second, of the clock and of the processor: on a
// machine that others use too only the second means anything. Run it with
// -cpu 1: then both are those of one core.
func benchmarkWrite[T Row](b *testing.B, rows []T, renew func([]T)) {
	b.ReportAllocs()
	n, began := 0, cpuTime()
	for b.Loop() {
		e := newEncoder[T](io.Discard, "starter-0123456789ab")
		for done := 0; done < rowGroup; done += len(rows) {
			if renew != nil {
				renew(rows)
			}
			if err := e.write(rows); err != nil {
				b.Fatal(err)
			}
		}
		if err := e.close(); err != nil {
			b.Fatal(err)
		}
		n += rowGroup
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
	if used := cpuTime() - began; used > 0 {
		b.ReportMetric(float64(n)/used.Seconds(), "rows/cpu-s")
	}
}
