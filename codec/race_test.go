//go:build race

package codec

// raceDetector says that tests run under the race detector, which slows them
// down tenfold and makes pools drop what they hold.
const raceDetector = true
