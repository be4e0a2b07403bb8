package embeddings_test

// golden holds the checksums of vectors of 1024 dimensions.
var golden = map[string]uint64{
	"tide tables": 0x76e871ed155775a2,
	"haversineKm: great-circle distance, in kilometres": 0xdc32b5a075d237a5,
	"naïve Straße 東京 42":                                0xbf0f85cc8dceb068,
}

// goldenFirst are the first values of "tide tables" in 64 dimensions.
var goldenFirst = []float32{0, -0.17577729, 0, 0, -0.17577729, 0, 0, 0}
