package report

// maxFlips is how many flips of one comparison are shown.
const maxFlips = 20

// flipList counts flips and keeps the first of each kind.
type flipList struct{ hurt, helped []Flip }

func (l *flipList) add(f Flips, flip Flip) Flips {
	kind := &l.hurt
	if f.Hurt += count(!flip.Helped); flip.Helped {
		f.Helped++
		kind = &l.helped
	}
	if len(*kind) < maxFlips {
		*kind = append(*kind, flip)
	}
	return f
}

// shown are those that hurt, then those that helped, both in canonical order.
func (l *flipList) shown() []Flip {
	out := append([]Flip{}, l.hurt...)
	return append(out, l.helped[:min(len(l.helped), maxFlips-len(out))]...)
}

// flips lists the repetitions that are graded in both arms and differ.
func (w *contrastWork) flips(a, b *armRuns) Flips {
	var f Flips
	var l flipList
	for i, id := range w.pool.scenarios {
		each(a.runs[i], b.runs[i], func(ra, rb *run) {
			if ra != nil && rb != nil && ra.graded && rb.graded && ra.pass != rb.pass {
				f = l.add(f, w.flip(id, ra, rb))
			}
		})
	}
	f.Shown = l.shown()
	return f
}

// flipsAcross lists the scenarios that none of one model's trials passed and all of the
// other's did: between two models a repetition of one has no partner. The trials that
// stand for the scenario are the first graded ones.
func (w *contrastWork) flipsAcross(a, b *armRuns) Flips {
	var f Flips
	var l flipList
	for i, id := range w.pool.scenarios {
		ca, cb := a.counts[i], b.counts[i]
		if ca.Graded == 0 || cb.Graded == 0 {
			continue
		}
		none, all := ca.Passed == 0 && cb.Passed == cb.Graded, ca.Passed == ca.Graded && cb.Passed == 0
		if none || all {
			f = l.add(f, w.flip(id, firstGraded(a.runs[i]), firstGraded(b.runs[i])))
		}
	}
	f.Shown = l.shown()
	return f
}

// firstGraded gives the first graded trial; there is one.
func firstGraded(runs []run) *run {
	for i := range runs {
		if runs[i].graded {
			return &runs[i]
		}
	}
	return nil
}

func (w *contrastWork) flip(scenario string, a, b *run) Flip {
	f := Flip{Scenario: scenario, Repetition: a.repetition, Helped: b.pass,
		OutcomeA: w.outcomes[a.outcome], OutcomeB: w.outcomes[b.outcome], SessionA: a.session, SessionB: b.session}
	if w.guard >= 0 {
		f.FiredA, f.FiredB = a.fired>>w.guard&1 == 1, b.fired>>w.guard&1 == 1
	}
	return f
}
