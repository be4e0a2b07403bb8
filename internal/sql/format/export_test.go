package format

// Forms lists every form; the first is the default.
func Forms() []Form { return append([]Form(nil), forms...) }
