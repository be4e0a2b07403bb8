// The rows that are loaded as a Parquet file. A column that Parquet, or its writer, cannot hold exactly
// is refused by its name.
import { type Data, Type } from 'apache-arrow'
import { type ColumnSource, parquetWriteBuffer } from 'hyparquet-writer'
import type { Result } from './arrow.ts'
import { distinctInSql } from './result-copy.ts'
import { bytesAt, readerOf } from './arrow-value.ts'

type Element = NonNullable<Parameters<typeof parquetWriteBuffer>[0]['schema']>[number]

/** parquet writes the file. Its columns must differ in their names: equal ones are numbered. */
export function parquet(result: Result): { bytes: ArrayBuffer; renamed: [from: string, to: string][] } {
  const names = distinctInSql(result.columns.map(c => c.name))
  const schema: Element[] = [{ name: 'root', num_children: names.length }]
  const columnData: ColumnSource[] = []
  for (const [c, name] of names.entries()) {
    const first = result.dataOf(c).next().value?.data
    const { element, value } = first
      ? formOf(first, name, result.columns[c]!.type)
      : { element: text, value: () => null } // without rows, there is no value that a type could change
    schema.push({ ...element, name, repetition_type: 'OPTIONAL' })
    const data: unknown[] = []
    for (const part of result.dataOf(c)) {
      const { isNull } = readerOf(part.data)
      for (let i = 0; i < part.rows; i++) data.push(isNull(i) ? null : value(part.data, i))
    }
    columnData.push({ name, data: data as ColumnSource['data'] })
  }
  const renamed = result.columns.flatMap(({ name }, c): [string, string][] =>
    names[c] === name ? [] : [[name, names[c]!]],
  )
  return { bytes: parquetWriteBuffer({ schema, columnData, createdBy: 'spiced' }), renamed }
}

interface Form {
  element: Omit<Element, 'name'>
  value: (data: Data, i: number) => unknown
}

const text = { type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const
const units = ['MILLIS', 'MILLIS', 'MICROS', 'NANOS'] as const

function formOf(data: Data, name: string, typeName: string): Form {
  const type = data.type as any
  const refuse = (why: string): never => {
    throw new Error(`column ${JSON.stringify(name)}: ${why}; cast it to VARCHAR, or download Arrow`)
  }
  const raw = (d: Data, i: number) => d.values[i]
  const finite =
    (limit: number | bigint) =>
    (d: Data, i: number): unknown => {
      const v = d.values[i]
      return v === limit || v === -limit ? refuse(`Parquet has no ${readerOf(d).text(i)} for ${typeName}`) : v
    }
  const finite64 = finite(9_223_372_036_854_775_807n)
  switch (data.typeId as Type) {
    case Type.Bool:
      return { element: { type: 'BOOLEAN' }, value: (d, i) => readerOf(d).text(i) === 'true' }
    case Type.Int:
      return {
        element: {
          type: type.bitWidth === 64 ? 'INT64' : 'INT32',
          converted_type: `${type.isSigned ? '' : 'U'}INT_${type.bitWidth as 8 | 16 | 32 | 64}`,
        },
        value: raw,
      }
    case Type.Float:
      return { element: { type: type.precision === 1 ? 'FLOAT' : 'DOUBLE' }, value: raw }
    case Type.Decimal: {
      if (type.precision > 38) return refuse(`Parquet's DECIMAL has 38 digits, ${typeName} has more`)
      const most = 10n ** BigInt(type.precision)
      return {
        element: {
          type: 'FIXED_LEN_BYTE_ARRAY',
          type_length: 16,
          converted_type: 'DECIMAL',
          precision: type.precision,
          scale: type.scale,
        },
        value: (d, i) => {
          const v = readerOf(d).order(i) as bigint
          return v >= most || v <= -most ? refuse(`${readerOf(d).text(i)} has more than 38 digits`) : v
        },
      }
    }
    case Type.Utf8:
    case Type.LargeUtf8:
    case Type.Dictionary:
      return { element: text, value: (d, i) => readerOf(d).text(i) }
    case Type.Binary:
    case Type.LargeBinary:
      return { element: { type: 'BYTE_ARRAY' }, value: bytesAt }
    case Type.Date:
      if (type.unit !== 0) break
      return { element: { type: 'INT32', converted_type: 'DATE' }, value: finite(2_147_483_647) }
    case Type.Timestamp: {
      const scale = type.unit === 0 ? 1000n : 1n
      return {
        element: {
          type: 'INT64',
          logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: Boolean(type.timezone), unit: units[type.unit as 0]! },
        },
        value: (d, i) => (finite64(d, i) as bigint) * scale,
      }
    }
    case Type.Time:
      if (type.bitWidth !== 64) break
      return {
        element: {
          type: 'INT64',
          logical_type: { type: 'TIME', isAdjustedToUTC: false, unit: units[type.unit as 2]! },
        },
        value: raw,
      }
  }
  return refuse(`${typeName} is not written to Parquet here`)
}
