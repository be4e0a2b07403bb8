package isolate

// offerMemory has no counterpart here.
func offerMemory() {}
