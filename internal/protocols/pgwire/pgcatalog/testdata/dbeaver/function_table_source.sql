SELECT pg_get_functiondef(1240364672)
