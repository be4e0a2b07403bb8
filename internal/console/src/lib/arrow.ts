// A result, as it arrives: record batches of an Arrow IPC stream. The batches stay as they are, 8 bytes
// for a number, so that a million rows fit; a row is made when it is looked at.
import { type Field, RecordBatchReader, type RecordBatch } from 'apache-arrow'
import { type Reader, kindOf, readerOf, typeName } from './arrow-value.ts'
import type { Key, ResultColumn, ResultData } from './result.ts'

/** What the page holds of one result at most. The rest is not lost: a download has all rows. */
export const limits = { rows: 1_000_000, bytes: 256 << 20, columns: 10_000 }

/** Why a result ended: all rows, a limit of the page, or a connection that was closed before its end. */
export type End = 'running' | 'complete' | 'rows' | 'bytes' | 'columns' | 'broken' | 'cancelled'

/** A result that grows while it arrives. Views read it; version changes with what it holds. */
export class Result implements ResultData {
  columns: ResultColumn[] = []
  rows = 0
  bytes = 0
  end: End = 'running'
  version = 0
  private readonly batches: RecordBatch[] = []
  private readonly starts: number[] = []
  private last = 0

  /** room is how many bytes the result may have. */
  constructor(readonly room = limits.bytes) {}

  setSchema(fields: Field[]) {
    this.columns = fields.map(f => ({
      name: f.name,
      type: typeName(f.type),
      kind: kindOf(f.type),
    }))
    this.version++
  }

  /** Adds the rows of a batch that the page has room for, and reports whether these are all of them. */
  add(batch: RecordBatch): boolean {
    const taken = Math.min(limits.rows - this.rows, batch.numRows)
    if (taken > 0) {
      this.batches.push(batch)
      this.starts.push(this.rows)
      this.rows += taken
      this.version++
    }
    return taken === batch.numRows
  }

  /** The batch of a row, and the row's place in it. */
  private find(row: number): [batch: RecordBatch, at: number] {
    if (!(this.starts[this.last]! <= row && row < (this.starts[this.last + 1] ?? this.rows))) {
      let [low, high] = [0, this.starts.length - 1]
      while (low < high) {
        const middle = (low + high + 1) >> 1
        if (this.starts[middle]! <= row) low = middle
        else high = middle - 1
      }
      this.last = low
    }
    return [this.batches[this.last]!, row - this.starts[this.last]!]
  }

  private read<T>(row: number, column: number, of: (r: Reader, at: number) => T): T | null {
    const [batch, at] = this.find(row)
    const reader = readerOf(batch.data.children[column]!)
    return reader.isNull(at) ? null : of(reader, at)
  }

  text(row: number, column: number): string | null {
    return this.read(row, column, (r, at) => r.text(at))
  }

  json(row: number, column: number): string {
    return this.read(row, column, (r, at) => r.json(at)) ?? 'null'
  }

  order(row: number, column: number): Key | null {
    return this.read(row, column, (r, at) => r.order(at))
  }

  number(row: number, column: number): number {
    return this.read(row, column, (r, at) => r.number?.(at) ?? NaN) ?? NaN
  }

  /** The raw data of a column, batch by batch, for writers of files. */
  *dataOf(column: number) {
    for (const [i, batch] of this.batches.entries())
      yield {
        data: batch.data.children[column]!,
        rows: Math.min(batch.numRows, this.rows - this.starts[i]!),
      }
  }
}

/** load reads a stream into a result and calls changed after each batch. */
export async function load(
  body: ReadableStream<Uint8Array>,
  result: Result,
  changed: () => void,
  stop: AbortSignal,
): Promise<void> {
  const counted = countBytes(body, result)
  try {
    const reader = await RecordBatchReader.from(counted.stream)
    await reader.open()
    if (reader.schema.fields.length > limits.columns) {
      result.end = 'columns'
      return
    }
    result.setSchema(reader.schema.fields)
    changed()
    let full = false
    for await (const batch of reader as AsyncIterable<RecordBatch>) {
      // A limit counts when there is more than it allows: what arrives exactly at it is complete.
      if (full && batch.numRows > 0) result.end = 'bytes'
      else if (!result.add(batch)) result.end = 'rows'
      full = result.bytes > result.room
      changed()
      if (result.end !== 'running') return
    }
    // The reader of Arrow takes a stream that fails for one that ends.
    if (result.end === 'running') result.end = counted.complete() ? 'complete' : stop.aborted ? 'cancelled' : 'broken'
  } catch (cause) {
    if (stop.aborted) result.end = 'cancelled'
    else if (result.end === 'running') {
      result.end = 'broken'
      if (result.columns.length === 0) throw cause
    }
  } finally {
    result.version++
    changed()
    await counted.cancel()
  }
}

const most = 1.5 // of the room, for one batch
const endMark = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0] // of an Arrow IPC stream

/**
 * countBytes counts what passes, and keeps the last eight bytes: a stream that was closed too early can
 * end between two batches, and then only the missing end mark tells.
 */
function countBytes(body: ReadableStream<Uint8Array>, result: Result) {
  const tail: number[] = []
  const reader = body.getReader()
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read()
      if (done) return controller.close()
      result.bytes += value.length
      if (result.bytes > most * result.room) {
        result.end = 'bytes' // in the middle of a batch, which is not read
        return controller.close()
      }
      tail.push(...value.subarray(-8))
      tail.splice(0, tail.length - 8)
      controller.enqueue(value)
    },
    cancel: () => reader.cancel().catch(() => {}),
  })
  return {
    stream,
    complete: () => tail.length === 8 && tail.every((b, i) => b === endMark[i]),
    cancel: () => reader.cancel().catch(() => {}),
  }
}
