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

// Without returns options without layers of the isolation.
func Without(o Options, layers layer) Options {
	o.off = layers
	return o
}
