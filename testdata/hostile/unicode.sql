-- want: (parse_error|refused|not_found|invalid_argument): 
ЅELECT 1
-- want: (parse_error|refused|not_found|invalid_argument): 
SELECТ 1
-- want: (parse_error|refused|not_found|invalid_argument): 
ＳＥＬＥＣＴ 1
-- want: (parse_error|refused|not_found|invalid_argument): 
DЕLETE FROM k
-- want: (parse_error|refused|not_found|invalid_argument): 
ＤＥＬＥＴＥ FROM k
-- want: (parse_error|refused|not_found|invalid_argument): 
DΕLETE FROM k
-- want: (parse_error|refused|not_found|invalid_argument): 
ⅮELETE FROM k
-- want: (parse_error|refused|not_found|invalid_argument): 
ІNSERT INTO k VALUES (1)
-- want: (parse_error|refused|not_found|invalid_argument): 
UРDATE k SET i = 1
-- want: (parse_error|refused|not_found|invalid_argument): 
DRОP TABLE k
-- want: (parse_error|refused|not_found|invalid_argument): 
СOPY k TO 'x'
-- want: (parse_error|refused|not_found|invalid_argument): 
ΑTTACH 'x'
-- want: (parse_error|refused|not_found|invalid_argument): 
ſelect 1
-- want: (parse_error|refused|not_found|invalid_argument): 
ＳＥＴ threads = 1
-- want: (parse_error|refused|not_found|invalid_argument): 
ＰＲＡＧＭＡ x
-- want: (parse_error|refused|not_found|invalid_argument): 
DELETE FROM k
-- want: (parse_error|refused|not_found|invalid_argument): 
DELETE FROM k
-- want: (parse_error|refused|not_found|invalid_argument): 
﻿DELETE FROM k
-- want: (parse_error|refused|not_found|invalid_argument): 
​DROP TABLE k
-- want: (parse_error|refused|not_found|invalid_argument): 
DROP　TABLE k
-- want: (parse_error|refused|not_found|invalid_argument): 
⁠UPDATE k SET i = 1
-- want: (parse_error|refused|not_found|invalid_argument): 
INSERT INTO k VALUES (1)
-- want: (parse_error|refused|not_found|invalid_argument): 
‮DELETE FROM k
-- want: (parse_error|refused|not_found|invalid_argument): 
DELE​TE FROM k
-- want: (parse_error|refused|not_found|invalid_argument): 
SELECT 1；DROP TABLE k
-- want: (parse_error|refused|not_found|invalid_argument): 
SELECT 1; DROP TABLE k
-- want: (parse_error|refused|not_found|invalid_argument): 
SELECT 1 ; DROP TABLE k
-- want: (parse_error|refused|not_found|invalid_argument): 
SELECT 1 -- ; DROP TABLE k
; DROP TABLE k
-- want: (parse_error|refused|not_found|invalid_argument): 
SELECT 1 --
; DROP TABLE k
-- want: (parse_error|refused|not_found|invalid_argument): 
SELECT ‘a’; DROP TABLE k
-- want: (parse_error|refused|not_found|invalid_argument): 
SELECT 'a＇; DROP TABLE k; --'; DROP TABLE k
-- want: (parse_error|refused|not_found|invalid_argument): 
SELECT 1 －－ x
; DROP TABLE k
-- want: (parse_error|refused|not_found|invalid_argument): 
SELECT 1 ; DROP TABLE k
-- want: (parse_error|refused|not_found|invalid_argument): 
SELECT 1 ⁄* x *⁄; DROP TABLE k
-- want: not_found: is not declared
SELECT * FROM hіdden
-- want: not_found: is not declared
SELECT * FROM ｈｉｄｄｅｎ
-- want: not_found: is not declared
SELECT * FROM "hidden "
-- want: not_found: is not declared
SELECT * FROM "hidden​"
-- want: not_found: is not declared
SELECT * FROM "‮nedd‬ih"
-- want: not_found: is not declared
SELECT * FROM "ﬁdden"
-- want: not_found: is not declared
SELECT * FROM public."hidden­"
-- want: not_found: is not declared
SELECT * FROM "pubIic".hidden
-- want: not_found: is not declared
SELECT * FROM "spiсe".public.hidden
-- want: not_found: is not declared
SELECT * FROM "public.hidden"
-- want: not_found: is not declared
SELECT * FROM "spice.public.hidden"
-- want: not_found: is not declared
SELECT * FROM public."public.hidden"
-- want: not_found: is not declared
WITH "hıdden" AS (SELECT 1) SELECT * FROM "hıdden", hidden
-- want: not_found: is not declared
WITH "HİDDEN" AS (SELECT 1) SELECT * FROM hidden
-- want: not_found: is not declared
WITH "ﬁ" AS (SELECT 1) FROM fi
-- want: not_found: is not declared
WITH "straße" AS (SELECT 1) FROM strasse
-- want: not_found: is not declared
SELECT * FROM hidden
-- want: not_found: is not declared
SELECT * FROM​hidden
-- want: (not_found|refused|parse_error|invalid_argument): 
SELECT current_ѕetting('threads')
-- want: (not_found|refused|parse_error|invalid_argument): 
SELECT * FROM read_tехt('/etc/passwd')
-- want: (not_found|refused|parse_error|invalid_argument): 
SELECT * FROM ｒｅａｄ＿ｔｅｘｔ('/etc/passwd')
-- want: (not_found|refused|parse_error|invalid_argument): 
SELECT * FROM ｑｕｅｒｙ('SELECT 1')
-- want: (not_found|refused|parse_error|invalid_argument): 
SELECT "getvariable​"('x')
-- want: (not_found|refused|parse_error|invalid_argument): 
SELECT getvarıable('x')
-- want: (not_found|refused|parse_error|invalid_argument): 
SELECT CURRENT_SETTİNG('threads')
-- want: (not_found|refused|parse_error|invalid_argument): 
SELECT * FROM duckdb_ſettings()
-- want: refused: is refused
SELECT current_setting('threads')
-- want: refused: is refused
SELECT current_setting ('threads')
-- want: refused: is refused
SELECT current_setting​('threads')
-- want: refused: is refused
SELECT * FROM read_text　('/etc/passwd')
-- want: refused: is refused
SELECT﻿* FROM﻿read_text﻿('/etc/passwd')
-- want: refused: is refused
SELECT * FROM⁠glob('*')
