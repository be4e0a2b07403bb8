-- want: (refused|parse_error): 
SELECT $$ $$; DELETE FROM k; SELECT $$ $$
-- want: (refused|parse_error): 
SELECT $a$ $b$ $a$; DROP TABLE k; --$b$
-- want: (refused|parse_error): 
SELECT $A$ $a$ $A$; DROP TABLE k --$a$
-- want: (refused|parse_error): 
SELECT $é$ $é$; DROP TABLE k
-- want: (refused|parse_error): 
SELECT $a$ $a$a$; DROP TABLE k; SELECT $a$
-- want: (refused|parse_error): 
SELECT 'a' 'b'; DROP TABLE k
-- want: (refused|parse_error): 
SELECT 'a'
'b'; DROP TABLE k
-- want: (refused|parse_error): 
SELECT 'a''; DROP TABLE k; --'; DROP TABLE k
-- want: (refused|parse_error): 
SELECT '\\'; DROP TABLE k; --'
-- want: (refused|parse_error): 
SELECT E'\\\\'; DROP TABLE k; --'
-- want: ok
SELECT e'\\'''; DROP TABLE k; --'
-- want: (refused|parse_error): 
SELECT U&'\\0027'; DROP TABLE k; --'
-- want: (refused|parse_error): 
SELECT N'x'; DROP TABLE k
-- want: (refused|parse_error): 
SELECT x'27'; DROP TABLE k
-- want: (refused|parse_error): 
SELECT b'1'; DROP TABLE k
-- want: (refused|parse_error): 
SELECT "a""; DROP TABLE k; --" FROM k; DROP TABLE k
-- want: (refused|parse_error): 
SELECT 1 /* /* */; DROP TABLE k; /* */ */; DROP TABLE k
-- want: (refused|parse_error): 
SELECT 1 /* -- */; DROP TABLE k
-- want: (refused|parse_error): 
SELECT 1 -- /*
; DROP TABLE k -- */
-- want: (refused|parse_error): 
SELECT 1 /*! ; */; DROP TABLE k
-- want: (refused|parse_error): 
SELECT 1 /*+ x */; DROP TABLE k
-- want: (refused|parse_error): 
SELECT 1 # ; DROP TABLE k
-- want: (refused|parse_error): 
SELECT 1; # DROP TABLE k
-- want: (refused|parse_error): 
SELECT 1 \\; DROP TABLE k
-- want: (refused|parse_error): 
SELECT 1 \\g DROP TABLE k
-- want: (refused|parse_error): 
SELECT 1
\\! touch {ROOT}/x
-- want: (refused|parse_error): 
SELECT 1
.shell touch {ROOT}/x
-- want: (refused|parse_error): 
SELECT 1
GO
DROP TABLE k
-- want: (refused|parse_error): 
SELECT 1 DELIMITER // DROP TABLE k //
-- want: (refused|parse_error): 
SELECT $1$; DROP TABLE k; $1$
-- want: (refused|parse_error): 
SELECT '$$'; DROP TABLE k; SELECT '$$'
-- want: (refused|parse_error): 
SELECT "$$" FROM k; DROP TABLE k; SELECT $$"$$
-- want: (refused|parse_error): 
SELECT 1 --\r
; DROP TABLE k
-- want: (refused|parse_error): 
SELECT 1 --\r; DROP TABLE k --

-- want: (refused|parse_error): 
SELECT 1 /*\r*/; DROP TABLE k
-- want: (refused|parse_error): 
SELECT [1;2]; DROP TABLE k
-- want: (refused|parse_error): 
SELECT {'a': 1;}; DROP TABLE k
-- want: (refused|parse_error): 
SELECT (1; DROP TABLE k)
-- want: (refused|parse_error): 
SELECT (SELECT 1; DROP TABLE k)
-- want: (refused|parse_error): 
SELECT * FROM (SELECT 1; DROP TABLE k)
-- want: (refused|parse_error): 
WITH a AS (SELECT 1; DROP TABLE k) FROM a
-- want: (refused|parse_error): 
VALUES (1); DROP TABLE k
-- want: (refused|parse_error): 
FROM k; DROP TABLE k
-- want: (refused|parse_error): 
TABLE k; DROP TABLE k
-- want: (refused|parse_error): 
DESCRIBE k; DROP TABLE k
-- want: (refused|parse_error): 
SUMMARIZE k; DROP TABLE k
-- want: (refused|parse_error): 
SHOW TABLES; DROP TABLE k
-- want: (refused|parse_error): 
EXPLAIN SELECT 1; EXPLAIN ANALYZE DELETE FROM k
-- want: (refused|parse_error): 
SELECT 1;


/* */ ; -- x
DROP TABLE k;
-- want: (refused|parse_error): 
PIVOT k ON i; DROP TABLE k
-- want: (parse_error|refused|not_found|invalid_argument): 
SELECT '
-- want: (parse_error|refused|not_found|invalid_argument): 
SELECT "
-- want: (parse_error|refused|not_found|invalid_argument): 
SELECT $x$ $y$
-- want: (parse_error|refused|not_found|invalid_argument): 
SELECT E'\\'
-- want: (parse_error|refused|not_found|invalid_argument): 
SELECT 'a''
-- want: (parse_error|refused|not_found|invalid_argument): 
SELECT "a""
-- want: (parse_error|refused|not_found|invalid_argument): 
SELECT '
--
/*
-- want: (parse_error|refused|not_found|invalid_argument): 
SELECT $$$
-- want: (parse_error|refused|not_found|invalid_argument): 
SELECT (/*)
-- want: (parse_error|refused|not_found|invalid_argument): 
SELECT 'a' "b
-- want: (parse_error|refused|not_found|invalid_argument): 
SELECT 1 AS ""
-- want: (parse_error|refused|not_found|invalid_argument): 
SELECT ""
-- want: (parse_error|refused|not_found|invalid_argument): 
SELECT ""."" FROM k
