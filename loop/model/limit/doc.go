// Package limit keeps all trials of a provider's account within what the
// account may be asked. It delays calls and never repeats one: that is the retry
// policy's, outside.
//
//  1. [Account.Wrap] puts the account before a model: limit(fault(provider)). A
//     call joins the account's one queue and is let through in order of arrival.
//  2. Before it goes, the tokens it may take are estimated and reserved; what it
//     really used is settled after it.
//  3. Policies, each a small state machine over (state, event, now) that reads no
//     clock, say when the head of the queue may go: [Window] how many are in
//     flight (slow start, halved on 429, climbing back additively), [Pacer] how
//     many a minute, [Meter] how many tokens a minute, [Breaker] whether at all.
//  4. A Retry-After heard by one call holds back all calls of the account. When it
//     is over they go one after the other, at the pace of the halved window, and
//     not at once.
//  5. [Account.Snapshot] says how it stands.
//
// # While the provider is down
//
// After [Options.BreakAfter] failures in a row the breaker opens. Calls then wait
// for it, and one of them probes after each cool-down. Were they to fail at once,
// every trial would spend its few attempts within seconds, and an outage of a
// minute would end a whole run with model errors. After [Options.OpenWait] a
// waiting call fails with a transport error that says so, but not while a probe is
// under way: an outage that lasts ends the trials honestly, after about attempts x
// OpenWait.
//
// # Time
//
// The time in the queue is not the model's. Request.Timeout is what the caller
// gives for both: the model is told what is left of it, and a call whose time
// ends in the queue fails as one whose session's time ran out. Timeouts of an
// adapter begin with the call itself. On a real clock the loop measures both
// together as the call's elapsed time; [WithTally] tells how much of it was
// queueing.
package limit
