-- want: (refused|parse_error): 
SELECT 1; SELECT 2
-- want: (refused|parse_error): 
SELECT 1; DROP TABLE k
-- want: (refused|parse_error): 
SELECT 1;DROP TABLE k;--
-- want: (refused|parse_error): 
SELECT 1 /*;*/; DELETE FROM k
-- want: (refused|parse_error): 
SELECT ';'; DELETE FROM k
-- want: (refused|parse_error): 
SELECT $$;$$; DELETE FROM k
-- want: (refused|parse_error): 
SELECT $a$;$$;$a$; DELETE FROM k
-- want: (refused|parse_error): 
SELECT e'\\';'; DELETE FROM k
-- want: (refused|parse_error): 
SELECT ";" FROM k; DELETE FROM k
-- want: (refused|parse_error): 
SELECT 1 --\r; DELETE FROM k
-- want: (refused|parse_error): 
SELECT 1 --
; DELETE FROM k
-- want: (refused|parse_error): 
;;DELETE FROM k
-- want: (refused|parse_error): 
SELECT 1; DELETE FROM k
-- want: (refused|parse_error): 
SELECT 1; DELETE FROM k
-- want: (refused|parse_error): 
EXPLAIN SELECT 1; DELETE FROM k
-- want: (refused|parse_error): 
BEGIN; DELETE FROM k; COMMIT
-- want: (refused|parse_error): 
COMMIT; DELETE FROM k
-- want: (refused|parse_error): 
SELECT '/*'; DELETE FROM k --*/
-- want: (refused|parse_error): 
/* */ SELECT 1; /* */ DELETE FROM k
-- want: (refused|parse_error): 
(SELECT 1); DELETE FROM k
-- want: (refused|parse_error): 
SELECT 1;﻿DROP TABLE k
-- want: (refused|parse_error): 
SELECT E'\\'' ; DELETE FROM k --'
