SELECT pg_get_viewdef(1361229216, true)
