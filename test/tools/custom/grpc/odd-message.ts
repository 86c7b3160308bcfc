import {
  create,
  fromJson,
  ScalarType,
  type DescField,
  type DescMessage,
  type Message,
} from "@bufbuild/protobuf";
import { reflect, type ReflectMessage } from "@bufbuild/protobuf/reflect";
import {
  DurationSchema,
  FieldMaskSchema,
  ListValueSchema,
  StructSchema,
  TimestampSchema,
  timestampFromMs,
  ValueSchema,
} from "@bufbuild/protobuf/wkt";
import type { JsonValue } from "../../../../src/domain/core/json.ts";
import fc from "fast-check";

type Value = unknown;

/** A random message of a type with all kinds of fields except google.protobuf.Any. */
export function anyMessage(type: DescMessage, depth = 2): fc.Arbitrary<Message> {
  const special = SPECIAL[type.typeName];
  if (special) return special;
  const fields = type.fields.filter((field) => settable(field, depth));
  const oneofs = type.oneofs.map(({ fields: members }) => fc.constantFrom(undefined, ...members));
  return fc
    .tuple(
      fc.tuple(...fields.map((field) => fc.option(anyValue(field, depth), { freq: 1 }))),
      fc.tuple(...oneofs),
    )
    .map(([values, chosen]) => {
      const message = create(type);
      const target = reflect(type, message);
      for (const [index, field] of fields.entries()) {
        const value = values[index];
        if (value === null || value === undefined) continue;
        if (field.oneof && !chosen.includes(field)) continue;
        assign(target, field, value);
      }
      return message;
    });
}

function settable(field: DescField, depth: number): boolean {
  if (!field.message) return true;
  if (field.message.typeName === "google.protobuf.Any") return false;
  return depth > 0 || field.message.typeName.startsWith("google.protobuf.");
}

function assign(target: ReflectMessage, field: DescField, value: Value): void {
  if (field.fieldKind === "list") for (const one of value as Value[]) target.get(field).add(one);
  else if (field.fieldKind === "map")
    for (const [key, one] of value as [string, Value][]) target.get(field).set(key, one);
  else target.set(field, value);
}

function anyValue(field: DescField, depth: number): fc.Arbitrary<Value> {
  const one = anyElement(field, depth);
  if (field.fieldKind === "list") return fc.array(one, { maxLength: 3 });
  if (field.fieldKind === "map")
    return fc.uniqueArray(fc.tuple(anyScalar(field.mapKey), one), {
      maxLength: 3,
      selector: ([key]) => String(key),
    });
  return one;
}

function anyElement(field: DescField, depth: number): fc.Arbitrary<Value> {
  if (field.message) {
    const { message } = field;
    return fc.memo(() => anyMessage(message, depth - 1).map((one) => reflect(message, one)))();
  }
  if (field.enum) return fc.constantFrom(...field.enum.values.map(({ number }) => number));
  return anyScalar(field.scalar ?? ScalarType.STRING);
}

function anyScalar(scalar: ScalarType): fc.Arbitrary<Value> {
  switch (scalar) {
    case ScalarType.DOUBLE:
      return fc.double();
    case ScalarType.FLOAT:
      return fc.float();
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.STRING:
      return fc.oneof(fc.string({ unit: "grapheme" }), fc.constantFrom("__proto__", "constructor", ""));
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 8 });
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return fc.integer({ min: 0, max: 2 ** 32 - 1 });
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    default:
      return fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
  }
}

const json = fc.jsonValue({ maxDepth: 2 }).map((value) => value as JsonValue);

const MAX_SECONDS = 315_576_000_000;

/** Types whose JSON form is narrower than their fields. */
const SPECIAL: Record<string, fc.Arbitrary<Message> | undefined> = {
  "google.protobuf.Timestamp": fc
    .tuple(
      fc.integer({ min: -62_135_596_800, max: 253_402_300_799 }),
      fc.integer({ min: 0, max: 999_999_999 }),
    )
    .map(([seconds, nanos]) => create(TimestampSchema, { ...timestampFromMs(seconds * 1000), nanos })),
  "google.protobuf.Duration": fc
    .tuple(
      fc.integer({ min: -MAX_SECONDS + 1, max: MAX_SECONDS - 1 }),
      fc.integer({ min: 0, max: 999_999_999 }),
    )
    .map(([seconds, nanos]) =>
      create(DurationSchema, { seconds: BigInt(seconds), nanos: seconds < 0 ? -nanos : nanos }),
    ),
  "google.protobuf.FieldMask": fc
    .array(fc.constantFrom("a", "b_c", "d.e_f"), { maxLength: 3 })
    .map((paths) => create(FieldMaskSchema, { paths })),
  "google.protobuf.Value": json.map((value) => fromJson(ValueSchema, value)),
  "google.protobuf.ListValue": fc
    .array(json, { maxLength: 2 })
    .map((values) => fromJson(ListValueSchema, values)),
  "google.protobuf.Struct": fc
    .dictionary(fc.string(), json, { maxKeys: 2 })
    .map((fields) => fromJson(StructSchema, fields)),
};
