import {
  create,
  createFileRegistry,
  type DescField,
  type DescMessage,
  ScalarType,
  setExtension,
} from "@bufbuild/protobuf";
import { reflect, type ReflectMessage } from "@bufbuild/protobuf/reflect";
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
  FieldOptionsSchema,
  file_google_protobuf_wrappers,
  FileDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import {
  field as fieldRules,
  type FieldRules,
  FieldRulesSchema,
  file_buf_validate_validate,
  StringRulesSchema,
} from "#gen/buf/validate/validate_pb.ts";
import { fastValidator } from "../../src/transport/fast-validation.ts";

function messageWith(rules: FieldRules, typeName = ""): DescMessage {
  const options = create(FieldOptionsSchema);
  setExtension(options, fieldRules, rules);
  const { STRING, MESSAGE } = FieldDescriptorProto_Type;
  const type = typeName === "" ? STRING : MESSAGE;
  const label = FieldDescriptorProto_Label.OPTIONAL;
  const field = create(FieldDescriptorProtoSchema, {
    name: "text",
    number: 1,
    type,
    label,
    typeName,
    options,
  });
  const dependencies = [file_buf_validate_validate, file_google_protobuf_wrappers];
  const file = create(FileDescriptorProtoSchema, {
    name: "test.proto",
    syntax: "proto3",
    dependency: dependencies.map(({ proto }) => proto.name),
    messageType: [{ name: "Test", field: [field] }],
  });
  const message = createFileRegistry(file, (name) =>
    dependencies.find(({ proto }) => proto.name === name),
  ).getMessage("Test");
  if (!message) throw new Error("no such message");
  return message;
}

const stringRules = (rules: Parameters<typeof create<typeof StringRulesSchema>>[1]) =>
  create(FieldRulesSchema, { type: { case: "string", value: create(StringRulesSchema, rules) } });

const SOME = new Map<ScalarType, unknown>([
  [ScalarType.STRING, "x"],
  [ScalarType.BOOL, true],
  [ScalarType.UINT64, 1n],
]);

/** Sets a value that is not the default. */
function set(rules: ReflectMessage, field: DescField): void {
  if (field.fieldKind === "list")
    rules.get(field).add(field.listKind === "message" ? reflect(field.message) : "x");
  else if (field.fieldKind === "message") rules.set(field, reflect(field.message));
  else if (field.fieldKind === "enum") rules.set(field, field.enum.values.at(-1)?.number);
  else if (field.fieldKind === "scalar") rules.set(field, SOME.get(field.scalar));
}

const others = (schema: DescMessage, known: readonly string[]) =>
  schema.fields.filter(({ name }) => !known.includes(name)).map((field) => [field.name, field] as const);

describe("fast validation", () => {
  it("accepts only messages whose rules it knows", () => {
    const rules = stringRules({ minLen: 1n, maxLen: 9n, pattern: "^x" });
    expect(fastValidator(messageWith({ ...rules, required: true }))).toBeDefined();
  });

  it.each(others(FieldRulesSchema, ["required", "string"]))(
    "skips messages with the field rule %s",
    (_, field) => {
      const rules = create(FieldRulesSchema);
      set(reflect(FieldRulesSchema, rules), field);
      expect(fastValidator(messageWith(rules))).toBeUndefined();
    },
  );

  it.each(others(StringRulesSchema, ["min_len", "max_len", "pattern"]))(
    "skips messages with the string rule %s",
    (_, field) => {
      const value = create(StringRulesSchema);
      set(reflect(StringRulesSchema, value), field);
      expect(fastValidator(messageWith(stringRules(value)))).toBeUndefined();
    },
  );

  it("skips messages with extension rules", () => {
    const own = { $unknown: [{ no: 1161, wireType: 0, data: Uint8Array.of(1) }] };
    const strings = Object.assign(create(StringRulesSchema, { minLen: 1n }), own);
    expect(fastValidator(messageWith(stringRules(strings)))).toBeUndefined();
    expect(
      fastValidator(messageWith(Object.assign(create(FieldRulesSchema, { required: true }), own))),
    ).toBeUndefined();
  });

  it("skips messages with string rules on a wrapper", () => {
    expect(
      fastValidator(messageWith(stringRules({ minLen: 5n }), ".google.protobuf.StringValue")),
    ).toBeUndefined();
  });
});
