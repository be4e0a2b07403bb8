-- want: (timeout|limit_exceeded|execution_error|invalid_argument): 
SELECT list(range) FROM range(10000000000)
-- want: (timeout|limit_exceeded|execution_error|invalid_argument): 
SELECT string_agg(range, ',') FROM range(100000000000)
-- want: (timeout|limit_exceeded|execution_error|invalid_argument): 
SELECT length(string_agg(repeat('x', 1000000), '')) FROM range(100000)
-- want: (timeout|limit_exceeded|execution_error|invalid_argument|refused): 
SELECT range(1000000000000)
-- want: (timeout|limit_exceeded|execution_error|invalid_argument|refused): 
SELECT list_sort(range(5000000))[1], count(*) FROM range(1000000) a, range(1000000) b
-- want: (timeout|limit_exceeded|execution_error|invalid_argument): 
SELECT count(DISTINCT a.range::VARCHAR || b.range) FROM range(100000) a, range(100000) b
