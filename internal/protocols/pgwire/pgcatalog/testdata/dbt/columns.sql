select
      column_name,
      data_type,
      character_maximum_length,
      numeric_precision,
      numeric_scale
  from "spice".INFORMATION_SCHEMA.columns
  where table_name = 'orders'
    and table_schema = 'public'
  order by ordinal_position
