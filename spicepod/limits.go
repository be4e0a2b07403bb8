package spicepod

// Limits of a Spicepod. They bound the time and memory of a load; exceeding one is a
// Problem that names the limit.
const (
	// MaxFileBytes is the size of spicepod.yaml.
	MaxFileBytes = 32 << 20
	// MaxPartBytes is the size of each file named by ref, body_ref or sql_ref.
	MaxPartBytes = 4 << 20
	// MaxModuleBytes is the size of each file that is a WebAssembly module.
	MaxModuleBytes = 32 << 20
	// MaxTotalBytes is the size of all those files together.
	MaxTotalBytes = 256 << 20
	// MaxEnvBytes is the size of .env and of .env.local.
	MaxEnvBytes = 1 << 20
	// MaxDepth is how deep mappings and lists may be nested.
	MaxDepth = 64
	// MaxComponents is the number of components in all lists together.
	MaxComponents = 100_000
	// MaxAliasValues is the number of values that aliases (*name, <<) may expand to.
	MaxAliasValues = 1_000_000
	// MaxProblems is the number of problems that a load collects.
	MaxProblems = 1_000
	// MaxShown is the number of problems that the text form shows before "and N more".
	MaxShown = 100
)

// maxWaiting is how many components that wait for another one a text names.
const maxWaiting = 10

// syntaxSearchBytes limits the re-parsing that finds the exact line and column of a YAML
// syntax error; beyond it the parser's own line is shown.
const syntaxSearchBytes = 4 << 20

// maxSourceLine is the maximum length of a line in a Problem.
const maxSourceLine = 64 << 10

// maxShown is how many characters of a value a message shows.
const maxShown = 60

// excerptWidth is how many terminal cells of a source line are shown.
const excerptWidth = 110
