SELECT table_name FROM information_schema.views WHERE table_schema = 'public' UNION SELECT matviewname FROM pg_matviews WHERE schemaname = 'public' ORDER BY 1
