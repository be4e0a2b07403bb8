//! Arrow IPC streams of a few types, by the tables of their messages alone: the readers and
//! writers of the arrow crates are more convenient, and make a module of a megabyte.

use arrow_ipc::{
    root_as_message, Buffer, Endianness, Field, FieldArgs, FieldNode, Int, IntArgs, Message, MessageArgs,
    MessageHeader, MetadataVersion, RecordBatch, RecordBatchArgs, Schema, SchemaArgs, Type, Utf8, Utf8Args,
};
use flatbuffers::FlatBufferBuilder;

/// The columns of the first batch of a stream: their rows, and all their buffers in order.
pub struct Input<'a> {
    pub rows: usize,
    pub buffers: Vec<&'a [u8]>,
}

fn u32_at(data: &[u8], at: usize) -> usize {
    u32::from_le_bytes(data[at..at + 4].try_into().unwrap()) as usize
}

pub fn read(data: &[u8]) -> Vec<Input<'_>> {
    let mut batches = Vec::new();
    let mut at = 0;
    while at + 8 <= data.len() {
        let len = u32_at(data, at + 4);
        if len == 0 {
            break;
        }
        let message = root_as_message(&data[at + 8..at + 8 + len]).unwrap();
        let body = at + 8 + len;
        if let Some(batch) = message.header_as_record_batch() {
            batches.push(Input {
                rows: batch.length() as usize,
                buffers: batch
                    .buffers()
                    .unwrap()
                    .iter()
                    .map(|b| &data[body + b.offset() as usize..body + (b.offset() + b.length()) as usize])
                    .collect(),
            });
        }
        at = body + message.bodyLength() as usize;
    }
    batches
}

pub fn valid(bits: &[u8], i: usize) -> bool {
    bits.is_empty() || bits[i / 8] >> (i % 8) & 1 == 1
}

pub fn int(values: &[u8], i: usize) -> i64 {
    i64::from_le_bytes(values[8 * i..8 * i + 8].try_into().unwrap())
}

pub fn range(offsets: &[u8], i: usize) -> core::ops::Range<usize> {
    if offsets.is_empty() {
        return 0..0;
    }
    u32_at(offsets, 4 * i)..u32_at(offsets, 4 * i + 4)
}

/// A column of the output.
pub enum Column {
    Ints(Vec<Option<i64>>),
    Texts(Vec<Option<String>>),
}

fn frame(out: &mut Vec<u8>, builder: FlatBufferBuilder, body: &[u8]) {
    let message = builder.finished_data();
    let padded = (message.len() + 7) & !7;
    out.extend_from_slice(&u32::MAX.to_le_bytes());
    out.extend_from_slice(&(padded as u32).to_le_bytes());
    out.extend_from_slice(message);
    out.resize(out.len() + padded - message.len(), 0);
    out.extend_from_slice(body);
}

fn finish(b: &mut FlatBufferBuilder, kind: MessageHeader, header: flatbuffers::WIPOffset<flatbuffers::UnionWIPOffset>, body: usize) {
    let args = MessageArgs { version: MetadataVersion::V5, header_type: kind, header: Some(header), bodyLength: body as i64, custom_metadata: None };
    let message = Message::create(b, &args);
    b.finish(message, None);
}

pub fn write(columns: &[(&str, Column)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut b = FlatBufferBuilder::new();
    let mut fields = Vec::new();
    for (name, column) in columns {
        let name = b.create_string(name);
        let (type_type, type_) = match column {
            Column::Ints(_) => (Type::Int, Int::create(&mut b, &IntArgs { bitWidth: 64, is_signed: true }).as_union_value()),
            Column::Texts(_) => (Type::Utf8, Utf8::create(&mut b, &Utf8Args {}).as_union_value()),
        };
        let children = b.create_vector::<flatbuffers::ForwardsUOffset<Field>>(&[]);
        let args = FieldArgs { name: Some(name), nullable: true, type_type, type_: Some(type_), children: Some(children), ..Default::default() };
        fields.push(Field::create(&mut b, &args));
    }
    let fields = b.create_vector(&fields);
    let schema = Schema::create(&mut b, &SchemaArgs { endianness: Endianness::Little, fields: Some(fields), ..Default::default() });
    finish(&mut b, MessageHeader::Schema, schema.as_union_value(), 0);
    frame(&mut out, b, &[]);

    let mut body = Vec::new();
    let mut buffers = Vec::new();
    let mut nodes = Vec::new();
    let mut rows = 0;
    let mut add = |data: &[u8]| {
        buffers.push(Buffer::new(body.len() as i64, data.len() as i64));
        body.extend_from_slice(data);
        body.resize((body.len() + 7) & !7, 0);
    };
    for (_, column) in columns {
        let nulls: Vec<bool> = match column {
            Column::Ints(v) => v.iter().map(Option::is_none).collect(),
            Column::Texts(v) => v.iter().map(Option::is_none).collect(),
        };
        rows = nulls.len();
        let mut bits = vec![0u8; rows.div_ceil(8)];
        for (i, null) in nulls.iter().enumerate() {
            bits[i / 8] |= (!null as u8) << (i % 8);
        }
        nodes.push(FieldNode::new(rows as i64, nulls.iter().filter(|n| **n).count() as i64));
        add(&bits);
        match column {
            Column::Ints(v) => add(&v.iter().flat_map(|x| x.unwrap_or(0).to_le_bytes()).collect::<Vec<u8>>()),
            Column::Texts(v) => {
                let mut end = 0u32;
                let mut offsets = end.to_le_bytes().to_vec();
                let mut all = Vec::new();
                for text in v {
                    let text = text.as_deref().unwrap_or("");
                    end += text.len() as u32;
                    offsets.extend_from_slice(&end.to_le_bytes());
                    all.extend_from_slice(text.as_bytes());
                }
                add(&offsets);
                add(&all);
            }
        }
    }
    let mut b = FlatBufferBuilder::new();
    let nodes = b.create_vector(&nodes);
    let buffers = b.create_vector(&buffers);
    let batch = RecordBatch::create(&mut b, &RecordBatchArgs { length: rows as i64, nodes: Some(nodes), buffers: Some(buffers), ..Default::default() });
    finish(&mut b, MessageHeader::RecordBatch, batch.as_union_value(), body.len());
    frame(&mut out, b, &body);
    out.extend_from_slice(&u32::MAX.to_le_bytes());
    out.extend_from_slice(&0u32.to_le_bytes());
    out
}
