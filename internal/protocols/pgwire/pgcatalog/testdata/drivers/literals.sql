SELECT '{1,2}'::int[] AS numbers, '{a,NULL,"b c"}'::text[] AS words, '{}'::text[] AS none, 'x'::name AS name, '{"a": 1}'::jsonb AS doc
