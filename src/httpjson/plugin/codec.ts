import type { DescEnum, DescField, DescMessage } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import type { Printable } from "@bufbuild/protoplugin";
import type { PluginOptions } from "./options.ts";
import type { OutputFile } from "./output-file.ts";
import { generated, runtime } from "./output-file.ts";

/** How one value, not repeated and set, is written and read. */
export interface Codec {
  /** Its type on the wire. */
  readonly type: Printable;
  /** A function from the value to its JSON; undefined when the value is its own JSON. */
  readonly writer: Printable | undefined;
  /** A function from JSON, path and depth to the value. */
  readonly reader: Printable;
}

/** The codec of a field's value: of the field, of a list's items, or of a map's values. */
export function codecOf(f: OutputFile, field: DescField, options: PluginOptions): Codec {
  if (field.message !== undefined) {
    return messageCodec(f, field, field.message, options);
  }
  if (field.enum !== undefined) {
    return typeCodec(f, field.enum, options);
  }
  const codec = scalarCodec(f, field.scalar, options);
  return "longAsString" in field && field.longAsString ? longAsString(codec) : codec;
}

/** jstype = JS_STRING keeps 64-bit integers as decimal strings in the message. */
function longAsString({ type, writer, reader }: Codec): Codec {
  return {
    type,
    writer: writer && ["(value: string) => ", writer, "(BigInt(value))"],
    reader: ["(json: unknown, path: string) => ", reader, "(json, path).toString()"],
  };
}

function messageCodec(f: OutputFile, field: DescField, message: DescMessage, options: PluginOptions): Codec {
  if (!isWrapperDesc(message)) {
    return typeCodec(f, message, options);
  }
  const value = scalarCodec(f, message.fields[0].scalar, options);
  if (field.fieldKind === "message" && field.oneof === undefined) {
    return value;
  }
  const asIs = runtime(f, "asIs", "well-known");
  return {
    type: value.type,
    writer: [runtime(f, "wrapperToJson", "well-known"), "(", value.writer ?? asIs, ")"],
    reader: [
      runtime(f, "wrapperFromJson", "well-known"),
      "(",
      f.string(message.typeName),
      ", ",
      value.reader,
      ")",
    ],
  };
}

/** The codec of a message or enum: the runtime's for well-known types, else the generated one. */
export function typeCodec(
  f: OutputFile,
  desc: DescMessage | DescEnum,
  { timestamps }: Pick<PluginOptions, "timestamps">,
): Codec {
  const known = (type: Printable, name: string, reader: string, module = "well-known"): Codec => ({
    type,
    writer: runtime(f, name, module),
    reader: runtime(f, reader, module),
  });
  switch (desc.typeName) {
    case "google.protobuf.Timestamp":
      return timestamps === "milliseconds"
        ? known("string", "timestampToMilliseconds", "readTimestamp", "time-json")
        : known("string", "timestampToJson", "readTimestamp", "time-json");
    case "google.protobuf.Duration":
      return known("string", "durationToJson", "readDuration", "time-json");
    case "google.protobuf.FieldMask":
      return known("string", "fieldMaskToJson", "readFieldMask");
    case "google.protobuf.Empty":
      return known("Record<string, never>", "emptyToJson", "readEmpty");
    case "google.protobuf.Value":
      return known(f.runtime.JsonValue, "valueToJson", "readValue");
    case "google.protobuf.ListValue":
      return known(f.runtime.JsonValue, "listValueToJson", "readListValue");
    case "google.protobuf.NullValue":
      return known("null", "nullValueToJson", "readNullValue");
    case "google.protobuf.Struct":
      return {
        type: f.runtime.JsonObject,
        writer: undefined,
        reader: runtime(f, "readStruct", "read-any-json"),
      };
    default:
      return generatedCodec(f, desc);
  }
}

/** The names of a type's generated codec. */
export function generatedNames(
  f: OutputFile,
  desc: DescMessage | DescEnum,
): { type: string; toJson: string; fromJson: string } {
  const { name } = f.importShape(desc);
  const lower = name.charAt(0).toLowerCase() + name.slice(1);
  return { type: `${name}Json`, toJson: `${lower}ToJson`, fromJson: `${lower}FromJson` };
}

function generatedCodec(f: OutputFile, desc: DescMessage | DescEnum): Codec {
  const names = generatedNames(f, desc);
  return {
    type: generated(f, desc, names.type, true),
    writer: generated(f, desc, names.toJson),
    reader: generated(f, desc, names.fromJson),
  };
}

function scalarCodec(f: OutputFile, scalar: ScalarType, options: PluginOptions): Codec {
  const read = (name: string): Printable => runtime(f, name, "read-scalar");
  const plain = (type: string, reader: string): Codec => ({ type, writer: undefined, reader: read(reader) });
  const long = (reader: string): Codec =>
    options.int64 === "number"
      ? { type: "number | string", writer: runtime(f, "int64ToJson", "write"), reader: read(reader) }
      : { type: "string", writer: runtime(f, "int64ToString", "write"), reader: read(reader) };
  const float = (reader: string): Codec => ({
    type: runtime(f, "DoubleJson", "write", true),
    writer: runtime(f, "doubleToJson", "write"),
    reader: read(reader),
  });
  switch (scalar) {
    case ScalarType.STRING:
      return plain("string", "readString");
    case ScalarType.BOOL:
      return plain("boolean", "readBool");
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return plain("number", "readInt32");
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return plain("number", "readUint32");
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return long("readInt64");
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return long("readUint64");
    case ScalarType.DOUBLE:
      return float("readDouble");
    case ScalarType.FLOAT:
      return float("readFloat");
    case ScalarType.BYTES:
      return { type: "string", writer: runtime(f, "bytesToJson", "write"), reader: read("readBytes") };
  }
}
