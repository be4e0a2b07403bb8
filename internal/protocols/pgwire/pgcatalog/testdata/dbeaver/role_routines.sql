SELECT * FROM information_schema.routine_privileges WHERE specific_catalog = 'spice' AND grantee = 'spice'
