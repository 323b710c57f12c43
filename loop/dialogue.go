package loop

import (
	"regexp"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/guard"
	"github.com/harnessbench/harnessbench/loop/model"
)

// Utterance is one line of a scripted user.
type Utterance struct {
	When *regexp.Regexp // over the answer that it replies to; nil = any
	Say  string
}

// userSpeaks lets the scripted user reply to an answer without calls: with the
// first line of the script that was not said yet and fits the answer. It reports
// whether the conversation goes on with that. A blank answer gets no reply: it is
// for the guards to correct.
func (r *run) userSpeaks() bool {
	script := r.deps.Rules.User
	if len(script) == 0 || guard.Blank(r.resp) {
		return false
	}
	if r.safe.said == nil {
		r.safe.said = make([]bool, len(script))
	}
	answer := model.TextOf(r.resp.Items)
	for i := range script {
		if u := &script[i]; !r.safe.said[i] && (u.When == nil || u.When.MatchString(answer)) {
			r.safe.said[i] = true
			r.say(model.NewTextPart(model.User, u.Say), "user")
			r.consult(&event.Part{Head: r.head(), Why: "user"})
			return true
		}
	}
	return false
}
