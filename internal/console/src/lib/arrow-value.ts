// Values of Arrow data as text, with all their digits. What apache-arrow returns for a value is a
// JavaScript number where Arrow has more: nanoseconds, 64-bit times, decimals. So the buffers are read
// here, and a value becomes the text that DuckDB prints for it, or JSON as POST /v1/sql writes it.
import { type Data, type DataType, type Field, Type } from 'apache-arrow'
import type { Key, Kind } from './result.ts'

/** Reads the values of one column in one batch. The index must be one of a value that is not NULL. */
export interface Reader {
  /** As DuckDB prints it; nested values are JSON with NaN and Infinity. */
  text: (i: number) => string
  /** As a part of the text of a nested value, if that is not the literal of JSON. */
  inside?: (i: number) => string
  /** As a literal of JSON, in the form of POST /v1/sql. */
  json: (i: number) => string
  /** For sorting: numbers and times as number or bigint, nested values as lists, all else as text. */
  order: (i: number) => Key
  /** For charts: numbers, and times as milliseconds since 1970. NaN if there is none, as for infinity. */
  number?: (i: number) => number
  isNull: (i: number) => boolean
}

const perSecond = [1n, 1_000n, 1_000_000n, 1_000_000_000n]
const decoder = new TextDecoder()
const readers = new WeakMap<Data, Reader>()

export function readerOf(data: Data): Reader {
  let r = readers.get(data)
  if (!r) readers.set(data, (r = make(data)))
  return r
}

export function kindOf(type: DataType): Kind {
  switch (type.typeId) {
    case Type.Int:
    case Type.Float:
    case Type.Decimal:
      return 'number'
    case Type.Date:
    case Type.Timestamp:
      return 'time'
    case Type.Bool:
      return 'bool'
    case Type.Binary:
    case Type.LargeBinary:
    case Type.FixedSizeBinary:
      return 'binary'
    case Type.List:
    case Type.FixedSizeList:
    case Type.Struct:
    case Type.Map:
    case Type.Union:
      return 'nested'
    default:
      return 'text'
  }
}

/** typeName is the name that DuckDB has for a type, where Arrow keeps it: a UUID is VARCHAR there. */
export function typeName(type: DataType): string {
  const t = type as any
  switch (type.typeId) {
    case Type.Null:
      return 'NULL'
    case Type.Bool:
      return 'BOOLEAN'
    case Type.Int: {
      const name = { 8: 'TINYINT', 16: 'SMALLINT', 32: 'INTEGER', 64: 'BIGINT' }[t.bitWidth as 8]
      return t.isSigned ? name : 'U' + name
    }
    case Type.Float:
      return ['HALF', 'FLOAT', 'DOUBLE'][t.precision as number]!
    case Type.Decimal:
      if (t.scale === 0 && t.precision >= 38) return t.precision === 38 ? 'HUGEINT' : 'UHUGEINT'
      return `DECIMAL(${t.precision},${t.scale})`
    case Type.Utf8:
    case Type.LargeUtf8:
      return 'VARCHAR'
    case Type.Binary:
    case Type.LargeBinary:
    case Type.FixedSizeBinary:
      return 'BLOB'
    case Type.Date:
      return 'DATE'
    case Type.Time:
      return t.unit === 3 ? 'TIME_NS' : 'TIME'
    case Type.Timestamp:
      return t.timezone
        ? 'TIMESTAMPTZ'
        : ['TIMESTAMP_S', 'TIMESTAMP_MS', 'TIMESTAMP', 'TIMESTAMP_NS'][t.unit as number]!
    case Type.Interval:
      return 'INTERVAL'
    case Type.Dictionary:
      return t.dictionary.typeId === Type.Utf8 ? 'ENUM' : typeName(t.dictionary)
    case Type.List:
      return typeName(t.children[0].type) + '[]'
    case Type.FixedSizeList:
      return `${typeName(t.children[0].type)}[${t.listSize}]`
    case Type.Struct:
      return `STRUCT(${members(t.children)})`
    case Type.Map:
      return `MAP(${(t.children[0].type.children as Field[]).map(f => typeName(f.type)).join(', ')})`
    case Type.Union:
      return `UNION(${members(t.children)})`
    default:
      return String(type)
  }
}

const members = (fields: Field[]): string =>
  fields
    .map(f =>
      f.name === ''
        ? typeName(f.type)
        : `${/^[a-z_][a-z0-9_]*$/i.test(f.name) ? f.name : JSON.stringify(f.name)} ${typeName(f.type)}`,
    )
    .join(', ')

/** same makes the reader of values whose text is also what they are sorted by. */
const same = (
  isNull: Reader['isNull'],
  text: Reader['text'],
  json: Reader['json'] = i => JSON.stringify(text(i)),
): Reader => ({ isNull, text, json, order: text })

function make(data: Data): Reader {
  const type = data.type as any
  const values = data.values as any
  const isNull: Reader['isNull'] = data.nullCount === 0 ? () => false : i => !data.getValid(i)
  switch (data.typeId as Type) {
    case Type.Null:
      return same(
        () => true,
        () => '',
      )
    case Type.Bool: {
      const text = (i: number) => {
        const at = data.offset + i
        return (values[at >> 3]! >> (at & 7)) & 1 ? 'true' : 'false'
      }
      return same(isNull, text, text)
    }
    case Type.Int: {
      const text = (i: number) => String(values[i])
      return { isNull, text, json: text, order: i => values[i], number: i => Number(values[i]) }
    }
    case Type.Float: {
      const text = (i: number) => floatText(values[i], type.precision)
      const json = (i: number) => (Number.isFinite(values[i]) ? text(i) : 'null')
      return {
        isNull,
        text,
        json,
        inside: i => numberName(values[i]) || text(i),
        order: i => values[i],
        number: i => values[i],
      }
    }
    case Type.Decimal: {
      const words = type.bitWidth / 32
      const order = (i: number) => bigint(values as Uint32Array, i * words, words)
      const text = (i: number) => decimalText(order(i), type.scale)
      return { isNull, text, json: text, order, number: i => Number(text(i)) }
    }
    case Type.Utf8:
    case Type.LargeUtf8:
      return same(isNull, i => decoder.decode(bytesAt(data, i)))
    case Type.Binary:
    case Type.LargeBinary:
    case Type.FixedSizeBinary:
      return {
        isNull,
        text: i => blobText(bytesAt(data, i)),
        json: i => `"${btoa(unitsOf(bytesAt(data, i)))}"`,
        order: i => unitsOf(bytesAt(data, i)),
      }
    case Type.Date: {
      const days: (i: number) => number = type.unit === 0 ? i => values[i] : i => Number(values[i] / 86_400_000n)
      return {
        isNull,
        text: i => dateText(days(i)),
        json: i => JSON.stringify(isoDate(days(i))),
        order: days,
        number: i => (beyond(days(i)) ? NaN : days(i) * 86_400_000),
      }
    }
    case Type.Time: {
      const order = (i: number) => BigInt(values[i])
      return { isNull, order, text: i => timeText(order(i), type.unit), json: i => `"${isoTime(order(i), type.unit)}"` }
    }
    case Type.Timestamp: {
      const order = (i: number): bigint => values[i]
      const perMilli = Number(perSecond[type.unit]!) / 1000
      return {
        isNull,
        order,
        number: i => (beyond64(order(i)) ? NaN : Number(order(i)) / perMilli),
        text: i => timestampText(order(i), type.unit, Boolean(type.timezone)),
        json: i => `"${isoTimestamp(order(i), type.unit, Boolean(type.timezone))}"`,
      }
    }
    case Type.Interval:
      if (type.unit !== 2) break
      return { ...same(isNull, i => intervalText(values, i)), order: i => intervalOrder(values, i) }
    case Type.Dictionary: {
      const parts = data.dictionary!.data
      if (parts.length > 1) break
      const inner = readerOf(parts[0]!)
      return {
        isNull: i => isNull(i) || inner.isNull(Number(values[i])),
        text: i => inner.text(Number(values[i])),
        json: i => inner.json(Number(values[i])),
        order: i => Number(values[i]),
      }
    }
    case Type.List:
    case Type.FixedSizeList: {
      const item = readerOf(data.children[0]!)
      return nested(
        isNull,
        (i, form) => `[${range(data, i, at => form(item, at)).join(',')}]`,
        i => range(data, i, at => keyOf(item, at)),
      )
    }
    case Type.Map: {
      const [keys, items] = data.children[0]!.children.map(readerOf) as [Reader, Reader]
      return nested(
        isNull,
        (i, form) => `{${range(data, i, at => `${jsonName(keys, at)}:${form(items, at)}`).join(',')}}`,
        i => range(data, i, at => [keyOf(keys, at), keyOf(items, at)]),
      )
    }
    case Type.Struct: {
      const names = (type.children as Field[]).map(f => JSON.stringify(f.name))
      const parts = data.children.map(readerOf)
      return nested(
        isNull,
        // As objects, structs without names could keep one value only.
        names.every(n => n === '""')
          ? (i, form) => `[${parts.map(p => form(p, i)).join(',')}]`
          : (i, form) => `{${parts.map((p, k) => `${names[k]}:${form(p, i)}`).join(',')}}`,
        i => parts.map(p => keyOf(p, i)),
      )
    }
    case Type.Union: {
      const parts = data.children.map(readerOf)
      const child = (i: number): number => type.typeIdToChildIndex[data.typeIds[i]!]
      const place: (i: number) => number = type.mode === 1 ? i => data.valueOffsets[i]! : i => i
      return nested(
        i => parts[child(i)]!.isNull(place(i)),
        (i, form) => `{${JSON.stringify(type.children[child(i)].name)}:${form(parts[child(i)]!, place(i))}}`,
        i => [child(i), keyOf(parts[child(i)]!, place(i))],
      )
    }
  }
  // Never a guess: a type that is not known reports it in each of its cells.
  return same(isNull, () => `(values of the Arrow type ${String(type)} cannot be shown)`)
}

type Form = (part: Reader, i: number) => string

const json: Form = (r, i) => (r.isNull(i) ? 'null' : r.json(i))
const inside: Form = (r, i) => (r.isNull(i) ? 'null' : (r.inside ?? r.json)(i))
const keyOf = (r: Reader, i: number): Key | null => (r.isNull(i) ? null : r.order(i))

function nested(isNull: Reader['isNull'], write: (i: number, form: Form) => string, order: Reader['order']): Reader {
  const text = (i: number) => write(i, inside)
  return { isNull, text, inside: text, json: i => write(i, json), order }
}

/** JSON has no names for these numbers; JavaScript and Python write them so. */
const numberName = (x: number): string => (Number.isFinite(x) ? '' : String(x))

/** The key of a map as the name of a member of an object. */
function jsonName(r: Reader, i: number): string {
  const json = r.json(i)
  return json.startsWith('"') ? json : JSON.stringify(json)
}

function range<T>(data: Data, i: number, of: (at: number) => T): T[] {
  const type = data.type as any
  const [from, to] =
    data.typeId === Type.FixedSizeList
      ? [i * type.listSize, (i + 1) * type.listSize]
      : [Number(data.valueOffsets[i]), Number(data.valueOffsets[i + 1])]
  const parts: T[] = []
  for (let at = from; at < to; at++) parts.push(of(at))
  return parts
}

/** The bytes of a text or of binary data. */
export function bytesAt(data: Data, i: number): Uint8Array {
  const type = data.type as any
  if (data.typeId === Type.FixedSizeBinary)
    return (data.values as Uint8Array).subarray(i * type.byteWidth, (i + 1) * type.byteWidth)
  return (data.values as Uint8Array).subarray(Number(data.valueOffsets[i]), Number(data.valueOffsets[i + 1]))
}

/** bigint is a little-endian integer of so many 32-bit words, in two's complement. */
function bigint(words: Uint32Array, from: number, count: number): bigint {
  let value = BigInt(words[from + count - 1]! | 0)
  for (let k = count - 2; k >= 0; k--) value = (value << 32n) | BigInt(words[from + k]!)
  return value
}

function decimalText(value: bigint, scale: number): string {
  if (scale <= 0) return String(value * 10n ** BigInt(-scale))
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0')
  return `${value < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}

/**
 * floatText writes the fewest digits that mean the same number, in the form of DuckDB: 1.0, 1e+16, nan.
 * DuckDB itself has a digit more for a few of the 32-bit numbers.
 */
export function floatText(x: number, precision: number): string {
  if (Number.isNaN(x)) return 'nan'
  if (!Number.isFinite(x)) return x > 0 ? 'inf' : '-inf'
  let text = x.toExponential()
  if (precision === 1)
    for (let p = 0; p < 9; p++) {
      text = x.toExponential(p)
      if (Math.fround(Number(text)) === x) break
    }
  const [mantissa, exponent] = text.split('e') as [string, string]
  const e = Number(exponent)
  const sign = Object.is(x, -0) || mantissa.startsWith('-') ? '-' : ''
  const digits = mantissa.replace(/[-.]/g, '').replace(/0+$/, '') || '0'
  if (e < -4 || e >= 16)
    return `${sign}${digits[0]}${digits.length > 1 ? '.' + digits.slice(1) : ''}e${e < 0 ? '-' : '+'}${String(Math.abs(e)).padStart(2, '0')}`
  if (e < 0) return `${sign}0.${'0'.repeat(-e - 1)}${digits}`
  return `${sign}${digits.slice(0, e + 1).padEnd(e + 1, '0')}.${digits.slice(e + 1) || '0'}`
}

/** blobText shows printable ASCII as it is, and other bytes as \xHH. */
function blobText(bytes: Uint8Array): string {
  let text = ''
  for (const b of bytes)
    text +=
      b >= 32 && b <= 126 && b !== 34 && b !== 39 && b !== 92
        ? String.fromCharCode(b)
        : '\\x' + b.toString(16).toUpperCase().padStart(2, '0')
  return text
}

/** unitsOf is a text with a character for each byte. */
function unitsOf(bytes: Uint8Array): string {
  let text = ''
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000))
  return text
}

/** civil is the proleptic Gregorian date of a day since 1970-01-01 (Howard Hinnant's algorithm). */
function civil(days: number): [year: number, month: number, day: number] {
  const z = days + 719_468
  const era = Math.floor(z / 146_097)
  const doe = z - era * 146_097
  const yoe = Math.floor((doe - Math.floor(doe / 1460) + Math.floor(doe / 36_524) - Math.floor(doe / 146_096)) / 365)
  const doy = doe - (365 * yoe + Math.floor(yoe / 4) - Math.floor(yoe / 100))
  const mp = Math.floor((5 * doy + 2) / 153)
  const month = mp < 10 ? mp + 3 : mp - 9
  return [yoe + era * 400 + (month <= 2 ? 1 : 0), month, doy - Math.floor((153 * mp + 2) / 5) + 1]
}

const two = (n: number | bigint): string => String(n).padStart(2, '0')
const maxInt32 = 2_147_483_647
const maxInt64 = 9_223_372_036_854_775_807n

const infinite = (negative: boolean): string => (negative ? '-infinity' : 'infinity')
const beyond = (days: number): boolean => Math.abs(days) === maxInt32
const beyond64 = (value: bigint): boolean => value === maxInt64 || value === -maxInt64

function dateText(days: number): string {
  if (beyond(days)) return infinite(days < 0)
  const [y, m, d] = civil(days)
  return y > 0
    ? `${String(y).padStart(4, '0')}-${two(m)}-${two(d)}`
    : `${String(1 - y).padStart(4, '0')}-${two(m)}-${two(d)} (BC)`
}

function isoDate(days: number): string {
  if (beyond(days)) return infinite(days < 0)
  const [y, m, d] = civil(days)
  return `${y < 0 ? '-' : y > 9999 ? '+' : ''}${String(Math.abs(y)).padStart(4, '0')}-${two(m)}-${two(d)}`
}

function clock(value: bigint, unit: number): [text: string, fraction: string] {
  const per = perSecond[unit]!
  const s = value / per
  const fraction = unit === 0 ? '' : String(value % per).padStart(unit * 3, '0')
  return [`${two(s / 3600n)}:${two((s / 60n) % 60n)}:${two(s % 60n)}`, fraction]
}

/** timeText has the digits of the fraction that are not 0, as DuckDB. */
function timeText(value: bigint, unit: number): string {
  const [text, fraction] = clock(value, unit)
  const digits = fraction.replace(/0+$/, '')
  return digits ? `${text}.${digits}` : text
}

/** isoTime has three, six or nine digits of a fraction, as the API. */
function isoTime(value: bigint, unit: number): string {
  const [text, fraction] = clock(value, unit)
  const digits = fraction.replace(/(000)+$/, '')
  return digits ? `${text}.${digits}` : text
}

function splitDay(value: bigint, unit: number): [days: number, rest: bigint] {
  const day = 86_400n * perSecond[unit]!
  const rest = ((value % day) + day) % day
  return [Number((value - rest) / day), rest]
}

function timestampText(value: bigint, unit: number, zoned: boolean): string {
  if (beyond64(value)) return infinite(value < 0n)
  const [days, rest] = splitDay(value, unit)
  return `${dateText(days)} ${timeText(rest, unit)}${zoned ? '+00' : ''}`
}

function isoTimestamp(value: bigint, unit: number, zoned: boolean): string {
  if (beyond64(value)) return infinite(value < 0n)
  const [days, rest] = splitDay(value, unit)
  return `${isoDate(days)}T${isoTime(rest, unit)}${zoned ? 'Z' : ''}`
}

/** The parts of an interval: months, days, nanoseconds; 16 bytes in the buffer. */
function interval(values: Int32Array, i: number): [months: number, days: number, nanos: bigint] {
  const low = BigInt(values[i * 4 + 2]! >>> 0)
  return [values[i * 4]!, values[i * 4 + 1]!, (BigInt(values[i * 4 + 3]!) << 32n) | low]
}

function intervalText(values: Int32Array, i: number): string {
  const [months, days, nanos] = interval(values, i)
  const parts: string[] = []
  const add = (n: number, unit: string) => n !== 0 && parts.push(`${n} ${unit}${Math.abs(n) === 1 ? '' : 's'}`)
  add(Math.trunc(months / 12), 'year')
  add(months % 12, 'month')
  add(days, 'day')
  if (nanos !== 0n || parts.length === 0) parts.push((nanos < 0n ? '-' : '') + timeText(nanos < 0n ? -nanos : nanos, 3))
  return parts.join(' ')
}

/** Intervals are compared as DuckDB compares them: a month is 30 days, a day is 24 hours. */
function intervalOrder(values: Int32Array, i: number): bigint {
  const [months, days, nanos] = interval(values, i)
  return BigInt(months * 30 + days) * 86_400_000_000_000n + nanos
}
