package spicepod

// Limits on what one Spicepod may hold. They bound the time and the memory of
// a load whatever the file says; a file beyond one of them is refused with a
// Problem that names the limit.
const (
	// MaxFileBytes is the size of spicepod.yaml.
	MaxFileBytes = 32 << 20
	// MaxPartBytes is the size of each file named by ref, body_ref or sql_ref.
	MaxPartBytes = 4 << 20
	// MaxTotalBytes is the size of all those files together.
	MaxTotalBytes = 256 << 20
	// MaxEnvBytes is the size of .env and of .env.local.
	MaxEnvBytes = 1 << 20
	// MaxDepth is how deep mappings and lists may nest.
	MaxDepth = 64
	// MaxComponents is how many components all lists together may hold.
	MaxComponents = 100_000
	// MaxAliasValues is how many values aliases (*name, <<) may expand to.
	MaxAliasValues = 1_000_000
	// MaxProblems is how many problems one load collects.
	MaxProblems = 1_000
	// MaxShown is how many problems the text form shows before "and N more".
	MaxShown = 100
)

// syntaxSearchBytes bounds the re-reading that finds the true line and column
// of a YAML syntax error; beyond it the parser's own line is shown.
const syntaxSearchBytes = 4 << 20

// maxSourceLine is the length of a line that a Problem carries.
const maxSourceLine = 64 << 10

// maxShown is how many characters of a value a message shows.
const maxShown = 60

// excerptWidth is how many terminal cells of a source line are shown.
const excerptWidth = 110
