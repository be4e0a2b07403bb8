package datasets

import (
	"runtime"
	"time"
)

// Limits on what one Spicepod may ask of the runtime.
const (
	// MaxDatasets is how many datasets one Spicepod may declare.
	MaxDatasets = 10_000
	// MaxFiles is how many files one glob or folder may stand for.
	MaxFiles = 100_000
	// MaxDownload is the size of one file that is fetched over HTTP.
	MaxDownload = 8 << 30
	// MaxCache is the size of all fetched files together.
	MaxCache = 32 << 30
	// MaxRedirects is how many redirects one fetch follows.
	MaxRedirects = 5
	// MaxMessage is how much of an error of DuckDB's is shown.
	MaxMessage = 400
)

// limits holds what tests make smaller.
type limits struct {
	datasets, files      int
	download, cache      int64
	fetchTimeout         time.Duration // one attempt, to the last byte
	fetchAttempts        int
	fetchBackoff         time.Duration // before the second attempt; doubles
	retryMin, retryMax   time.Duration // between tries of a failed source or refresh
	progressAfter, every time.Duration // when and how often a load reports
}

func defaultLimits() limits {
	return limits{
		datasets: MaxDatasets, files: MaxFiles, download: MaxDownload, cache: MaxCache,
		fetchTimeout: 15 * time.Minute, fetchAttempts: 3, fetchBackoff: 500 * time.Millisecond,
		retryMin: 5 * time.Second, retryMax: 5 * time.Minute,
		progressAfter: time.Second, every: 500 * time.Millisecond,
	}
}

// backoff is how long to wait after a number of failures in a row.
func (l limits) backoff(failures int) time.Duration {
	wait := l.retryMin
	for i := 1; i < failures && wait < l.retryMax; i++ {
		wait *= 2
	}
	return min(wait, l.retryMax)
}

func parallelism(wanted ...int) int {
	for _, n := range wanted {
		if n > 0 {
			return n
		}
	}
	return runtime.GOMAXPROCS(0)
}
