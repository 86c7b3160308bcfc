import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";

// JSON that is valid for a message, made from its descriptor.

type Json = fc.Arbitrary<unknown>;

/** ProtoJSON objects of the message, at most `depth` messages deep. */
export function validJson(message: DescMessage, depth: number): Json {
  const members = message.members.flatMap((member): [string, Json][] => {
    if (member.kind === "field") {
      const value = fieldJson(member, depth);
      return value === undefined ? [] : [[member.jsonName, value]];
    }
    return [];
  });
  const plain = fc.record(Object.fromEntries(members), { requiredKeys: [] });
  const choices = message.oneofs.map((oneof) =>
    fc.oneof(
      fc.constant({}),
      ...oneof.fields.flatMap((field) => {
        const value = fieldJson(field, depth);
        return value === undefined ? [] : [value.map((json) => ({ [field.jsonName]: json }))];
      }),
    ),
  );
  return fc.tuple(plain, ...choices).map((parts): unknown => Object.assign({}, ...parts));
}

function fieldJson(field: DescField, depth: number): Json | undefined {
  const value = valueJson(field, depth);
  if (value === undefined) {
    return undefined;
  }
  switch (field.fieldKind) {
    case "list":
      return fc.array(value, { maxLength: 3 });
    case "map":
      return fc.dictionary(mapKey(field.mapKey), value, { maxKeys: 3 });
    default:
      return value;
  }
}

function valueJson(field: DescField, depth: number): Json | undefined {
  if (field.message !== undefined) {
    return messageJson(field.message, depth);
  }
  if (field.enum !== undefined) {
    const { values, typeName } = field.enum;
    return typeName === "google.protobuf.NullValue"
      ? fc.constant(null)
      : fc.constantFrom<unknown>(...values.flatMap(({ name, number }) => [name, number]), 77);
  }
  return scalarJson(field.scalar);
}

function messageJson(message: DescMessage, depth: number): Json | undefined {
  if (isWrapperDesc(message)) {
    return scalarJson(message.fields[0].scalar);
  }
  switch (message.typeName) {
    case "google.protobuf.Timestamp":
      return fc
        .date({
          min: new Date("0001-01-01T00:00:00Z"),
          max: new Date("9999-12-31T23:59:59Z"),
          noInvalidDate: true,
        })
        .map((date) => date.toISOString().replace(/^\+00/, ""));
    case "google.protobuf.Duration":
      return fc
        .tuple(fc.integer({ min: -1e9, max: 1e9 }), fc.constantFrom("", ".5", ".000000001", ".25"))
        .map(([seconds, part]) => `${seconds}${part}s`);
    case "google.protobuf.FieldMask":
      return fc.constantFrom("", "a", "fooBar", "foo.barBaz,x");
    case "google.protobuf.Empty":
      return fc.constant({});
    case "google.protobuf.Struct":
      return fc.dictionary(text, anyJson, { maxKeys: 3 });
    case "google.protobuf.ListValue":
      return fc.array(anyJson, { maxLength: 3 });
    case "google.protobuf.Value":
      return anyJson;
    default:
      return depth > 1 ? validJson(message, depth - 1) : undefined;
  }
}

const text = fc.string({ unit: "grapheme", maxLength: 8 });
const anyJson = fc.jsonValue({ maxDepth: 2 });

function scalarJson(scalar: ScalarType): Json {
  switch (scalar) {
    case ScalarType.STRING:
      return text;
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes).toString("base64"));
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return numberOrText(fc.integer());
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return numberOrText(fc.integer({ min: 0, max: 0xffff_ffff }));
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return fc.oneof(fc.maxSafeInteger(), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String));
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return fc.oneof(fc.maxSafeNat(), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String));
    case ScalarType.FLOAT:
      return fc.oneof(
        fc.float({ noNaN: true, noDefaultInfinity: true }),
        fc.constantFrom("NaN", "Infinity", "-Infinity"),
      );
    case ScalarType.DOUBLE:
      return fc.oneof(
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.constantFrom("NaN", "Infinity", "-Infinity", "1e3"),
      );
  }
}

function numberOrText(number: fc.Arbitrary<number>): Json {
  return fc.oneof(number, number.map(String));
}

function mapKey(key: ScalarType): fc.Arbitrary<string> {
  switch (key) {
    case ScalarType.STRING:
      return text;
    case ScalarType.BOOL:
      return fc.constantFrom("true", "false");
    case ScalarType.UINT64:
      return fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String);
    default:
      return fc.integer().map(String);
  }
}
