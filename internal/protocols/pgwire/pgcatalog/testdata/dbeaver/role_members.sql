SELECT * FROM pg_catalog.pg_auth_members WHERE roleid = 10
