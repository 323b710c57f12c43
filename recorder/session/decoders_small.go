package session

// Guard decodes a guard line.
func (l *Line) Guard() (*Guard, error) {
	g := &Guard{}
	err := l.decode(TypeGuard, func(d *fieldDec, key string, v []byte) {
		switch key {
		case "g":
			g.Name = d.str(v)
		case "v":
			g.Version = d.count(v)
		case "mode":
			g.Mode = d.str(v)
		case "act":
			g.Act = d.str(v)
		case "evidence":
			g.Evidence = d.str(v)
		case "on":
			g.On = d.str(v)
		case "failed":
			g.Failed = d.str(v)
		}
	})
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Acceptance decodes an acceptance line.
func (l *Line) Acceptance() (*Acceptance, error) {
	a := &Acceptance{}
	err := l.decode(TypeAcceptance, func(d *fieldDec, key string, v []byte) {
		switch key {
		case "checked":
			a.Checked = d.bool(v)
		case "fail":
			a.Fail = d.str(v)
		case "empty":
			a.Empty = d.bool(v)
		}
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Note decodes a note line.
func (l *Line) Note() (*Note, error) {
	n := &Note{}
	err := l.decode(TypeNote, func(d *fieldDec, key string, v []byte) {
		if key == "what" {
			n.What = d.str(v)
		}
	})
	if err != nil {
		return nil, err
	}
	return n, nil
}

// Approval decodes an approval line.
func (l *Line) Approval() (*Approval, error) {
	a := &Approval{}
	err := l.decode(TypeApproval, func(d *fieldDec, key string, v []byte) {
		switch key {
		case "id":
			a.ID = d.str(v)
		case "op":
			a.Op = d.short(v)
		case "v":
			a.Version = d.count(v)
		case "decision":
			a.Decision = d.str(v)
		case "reason":
			a.Reason = d.str(v)
		case "took_us":
			a.Took = d.micros(v)
		case "expires_us":
			a.Expires = d.micros(v)
		}
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}
