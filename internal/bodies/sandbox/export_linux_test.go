package sandbox

// Layers of the isolation, for tests that show what each is for.
const (
	Files  = layerFiles
	Spaces = layerSpaces
	PIDs   = layerPIDs
	Calls  = layerCalls
	Limits = layerLimits
	Meter  = layerMeter
	User   = layerUser
	Env    = layerEnv
)

// Layer is a set of layers.
type Layer = layer

// NewWithout is New without layers of the isolation.
func NewWithout(o Options, layers layer) (*Pool, error) { return newPool(o, layers) }
