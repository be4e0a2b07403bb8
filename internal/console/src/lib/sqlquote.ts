// Literals and names in SQL.

/** sqlText is a literal of SQL. */
export const sqlText = (text: string): string => `'${text.replaceAll("'", "''")}'`

// The words that DuckDB does not take as names of columns.
const reserved = new Set(
  `all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create default
  deferrable desc describe distinct do else end except false fetch for foreign from group having in initially
  intersect into lambda lateral leading limit not null offset on only or order pivot pivot_longer pivot_wider placing
  primary qualify references returning select show some summarize symmetric table then to trailing true union unique
  unpivot using variadic when where window with`.split(/\s+/),
)

/** sqlName is a quoted identifier of SQL; plain names stay as they are. */
export const sqlName = (name: string): string =>
  /^[a-z_][a-z0-9_]*$/.test(name) && !reserved.has(name) ? name : `"${name.replaceAll('"', '""')}"`
