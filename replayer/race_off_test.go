//go:build !race

package replayer_test

// raceDetector says whether the race detector is on.
const raceDetector = false
