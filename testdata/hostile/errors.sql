-- want: execution_error: 
SELECT error('x')
-- want: execution_error: 
SELECT CAST('abc' AS INT)
-- want: execution_error: 
SELECT 9223372036854775807 + i FROM k
-- want: execution_error: 
SELECT acos(2)
-- want: execution_error: 
SELECT 'a'::DATE
-- want: parse_error: 
SELEC 1
-- want: parse_error: 
SELECT
-- want: parse_error: 
SELECT (1
-- want: parse_error: 
SELECT 'a
-- want: parse_error: 
SELECT "a
-- want: parse_error: 
SELECT $$a
-- want: parse_error: 
/* x
-- want: parse_error: 
-- only a comment
-- want: parse_error: 
/* only */
-- want: parse_error: 
   
-- want: parse_error: got 0
;
-- want: parse_error: got 0
;;;
-- want: parse_error: 
SELECT 1 FROM
-- want: parse_error: 
SELECT /*
-- want: refused: EXPLAIN
EXPLAIN
-- want: parse_error: 
 
