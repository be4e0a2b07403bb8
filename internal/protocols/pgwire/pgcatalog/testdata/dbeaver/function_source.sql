SELECT pg_get_functiondef(671138384)
