-- How late a flight was, in words. A flight without a delay did not fly.
CASE
  WHEN minutes IS NULL THEN 'cancelled'
  WHEN minutes <= 0    THEN 'early or on time'
  WHEN minutes <= 15   THEN 'on time'
  WHEN minutes <= 60   THEN 'late'
  ELSE 'very late'
END
