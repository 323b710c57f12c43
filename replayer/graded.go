package replayer

// Graded is what graders say of a replayed session.
type Graded struct {
	Verdict  string   `json:"verdict"`          // pass, fail or ungraded
	Score    float64  `json:"score"`            // 0 to 1; 0 when ungraded
	Grader   string   `json:"grader,omitempty"` // that decided
	Reason   string   `json:"reason,omitempty"`
	Recorded *string  `json:"recorded"`                   // verdict of the run the session lies in; null = unknown
	Changed  bool     `json:"scenario_changed,omitempty"` // the scenario is not the one recorded
	Graders  []Ruling `json:"graders,omitempty"`
}

// Ruling is what one grader says.
type Ruling struct {
	Grader  string  `json:"grader"`
	Type    string  `json:"type"`
	Verdict string  `json:"verdict"`
	Score   float64 `json:"score"`
	Reason  string  `json:"reason,omitempty"`
}
