//go:build !race

package isolate_test

const raceDetector = false
