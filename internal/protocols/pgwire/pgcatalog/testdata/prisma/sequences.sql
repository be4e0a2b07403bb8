SELECT sequence_name, sequence_schema AS namespace, start_value::INT8, minimum_value::INT8 AS min_value, maximum_value::INT8 AS max_value, increment::INT8 AS increment_by,
  (CASE cycle_option WHEN 'yes' THEN TRUE ELSE FALSE END) AS cycle, 0::INT8 AS cache_size
FROM information_schema.sequences WHERE sequence_schema = ANY ('{public,sales}') ORDER BY sequence_name
