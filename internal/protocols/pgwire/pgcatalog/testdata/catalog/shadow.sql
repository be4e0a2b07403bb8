SELECT usename, usesuper, passwd, valuntil FROM pg_shadow
